"""From a folder of papers to a published corpus."""

import os

# onnxruntime 1.29 and later sends usage data to Microsoft and writes a device id below HOME, unless this is set before
# it is imported (https://github.com/microsoft/onnxruntime/pull/27379). Nothing leaves a reader's machine unasked, so it
# is off for whatever imports this project, worker processes included.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
