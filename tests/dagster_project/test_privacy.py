"""Libraries that report home by default are told not to, before they are loaded."""

from __future__ import annotations

import subprocess
import sys

RUN_A_MODEL = """
import corpus_assets, numpy as np, onnx
from onnx import TensorProto, helper
import onnxruntime
node = helper.make_node("Identity", ["x"], ["y"])
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
model = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]), ir_version=10)
model.opset_import[0].version = 17
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
print(session.run(None, {"x": np.ones(1, dtype=np.float32)})[0][0])
"""


def run(code, home):
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


def test_onnxruntime_writes_no_device_id_and_says_nothing(tmp_path):
    done = run(RUN_A_MODEL, tmp_path)
    assert done.stdout.strip() == "1.0"
    assert done.stderr == ""
    assert list(tmp_path.rglob("*")) == []
