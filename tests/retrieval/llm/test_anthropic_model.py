"""The real SDK against a scripted loopback server."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict

from corpus_assets.settings import LlmSettings
from retrieval.llm.anthropic_model import ModelCallError, load_language_model
from retrieval.llm.replies import MalformedReplyError, RefusedReplyError, parse_reply
from retrieval.llm.usage import BudgetExceededError
from tests.retrieval.llm.scripted_model import make_model
from tests.retrieval.llm.scripted_server import cut_off, error, hang, scripted_server, text, tool_use


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    intent: str
    queries: list[str]


GOOD = {"intent": "understand", "queries": ["a", "b"]}


def ask(script, *, tier="small", budget=1.0, **settings):
    model = make_model(script, budget=budget, **{"max_retries": 2, **settings})
    script.ledger = model.ledger
    return call(model, tier)


def call(model, tier):
    return model.complete_structured(
        stage="plan",
        system="Plan the question.",
        messages=[{"role": "user", "content": "Why?"}],
        schema=Plan,
        tier=tier,
    )


def test_a_tool_reply_is_validated_and_paid_for():
    with scripted_server(tool_use(GOOD, cache_read_input_tokens=1000, cache_creation_input_tokens=400)) as script:
        assert ask(script) == Plan(**GOOD)
    request = script.requests[0]
    assert request["tool_choice"] == {"type": "tool", "name": request["tools"][0]["name"]}
    assert request["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert request["model"] == LlmSettings().small_model
    (call,) = script.ledger.calls
    assert call.usd == pytest.approx((100 + 400 * 1.25 + 1000 * 0.1) * 1.0 / 1e6 + 20 * 5.0 / 1e6)
    assert (script.ledger.input_tokens, script.ledger.output_tokens) == (1500, 20)


def test_the_large_tier_uses_the_large_model():
    with scripted_server(tool_use(GOOD)) as script:
        ask(script, tier="large")
    assert script.requests[0]["model"] == LlmSettings().large_model


@pytest.mark.parametrize(
    "reply",
    [
        '{"intent": "understand", "queries": ["a", "b"]}',
        'Here you are:\n```json\n{"intent": "understand", "queries": ["a", "b"]}\n```\nAnything else?',
        'I think {maybe} this: {"intent": "understand", "queries": ["a", "b"]} fits.',
    ],
)
def test_a_server_that_ignores_tools_is_read_as_text(reply):
    with scripted_server(text(reply)) as script:
        assert ask(script) == Plan(**GOOD)


def test_a_malformed_reply_is_sent_back_once_with_the_reason():
    with scripted_server(tool_use({"intent": "understand"}), tool_use(GOOD)) as script:
        assert ask(script) == Plan(**GOOD)
    again = script.requests[1]["messages"]
    assert [turn["role"] for turn in again] == ["user", "assistant", "user"]
    assert "queries" in again[-1]["content"]
    assert len(script.ledger.calls) == 2


@pytest.mark.parametrize("play", [tool_use({"wrong": 1}), text("I would rather chat."), text('{"intent": "x", ')])
def test_a_reply_that_stays_malformed_is_an_error_after_two_calls(play):
    with scripted_server(play) as script, pytest.raises(MalformedReplyError, match="plan"):
        ask(script)
    assert len(script.requests) == 2


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "model_context_window_exceeded"])
def test_a_refused_or_cut_reply_is_not_parsed(reason):
    with scripted_server(text('{"intent": "x", "queries": []}', reason)) as script, pytest.raises(RefusedReplyError):
        ask(script)
    assert len(script.requests) == 1


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "pause_turn"])
def test_other_stop_reasons_are_read(reason):
    with scripted_server(text('{"intent": "x", "queries": []}', reason)) as script:
        assert ask(script).intent == "x"


def test_429_waits_as_long_as_it_is_told():
    limited = error(429, "rate_limit_error", "slow down", {"retry-after": "1"})
    with scripted_server(limited, tool_use(GOOD)) as script:
        assert ask(script) == Plan(**GOOD)
    assert script.times[1] - script.times[0] >= 1.0


@pytest.mark.parametrize("status", [500, 529])
def test_overload_is_tried_again_and_then_named(status):
    says = rf"plan: .* error {status}: busy"
    with (
        scripted_server(error(status, "overloaded_error", "busy")) as script,
        pytest.raises(ModelCallError, match=says) as caught,
    ):
        ask(script, max_retries=1)
    assert len(script.requests) == 2
    assert caught.value.retryable


def test_a_bad_request_is_not_tried_again():
    with (
        scripted_server(error(400, "invalid_request_error", "prompt is too long")) as script,
        pytest.raises(ModelCallError, match="prompt is too long") as caught,
    ):
        ask(script)
    assert len(script.requests) == 1
    assert not caught.value.retryable


def test_silence_ends_at_the_timeout():
    with scripted_server(hang(3)) as script, pytest.raises(ModelCallError, match=r"did not answer in 0\.3 s"):
        ask(script, timeout_seconds=0.3, max_retries=0)


def test_after_silence_the_next_stage_does_not_wait_again():
    with scripted_server(hang(1)) as script:
        model = make_model(script, timeout_seconds=0.3)
        for says in ("did not answer", "was not asked"):
            with pytest.raises(ModelCallError, match=says):
                call(model, "small")
        model._unreachable_since -= 61.0
        with pytest.raises(ModelCallError, match="did not answer"):
            call(model, "small")
    assert len(script.requests) == 2


def test_a_truncated_body_is_a_named_error():
    with scripted_server(cut_off) as script, pytest.raises(ModelCallError, match="plan"):
        ask(script, max_retries=0)


def test_a_call_that_could_pass_the_budget_is_not_made():
    with scripted_server(tool_use(GOOD)) as script, pytest.raises(BudgetExceededError, match="was not made"):
        ask(script, budget=0.001)
    assert script.requests == []


def test_without_a_key_or_when_off_there_is_no_model(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    assert load_language_model(LlmSettings(), 1.0) is None
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert load_language_model(LlmSettings(enabled="off"), 1.0) is None
    assert load_language_model(LlmSettings(), 1.0) is not None


def test_the_error_of_a_malformed_text_names_the_field():
    with pytest.raises(MalformedReplyError, match="queries: Field required"):
        parse_reply('{"intent": "x"}', Plan)
