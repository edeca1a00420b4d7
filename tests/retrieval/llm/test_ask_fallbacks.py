"""Asking when the model fails, is silent, too dear, or not there: the rules answer, and the answer says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from retrieval.copilot import ask
from tests.retrieval.llm.asking import (
    QUESTION,
    degraded,
    model,
)
from tests.retrieval.llm.scripted_model import (
    Playing,
    by_form,
    forms,
    judge_all,
)
from tests.retrieval.llm.scripted_server import error, hang, text

FAILURES = {
    "rate limit": (Playing(error(429, "rate_limit_error", "slow down")), "error 429: slow down"),
    "overload": (Playing(error(529, "overloaded_error", "busy")), "error 529: busy"),
    "malformed": ({"wrong": 1}, "does not fit"),
    "chatter": (Playing(text("I would rather talk.")), "does not fit"),
    "refusal": (Playing(text("no", "refusal")), "declined"),
    "cut off": (Playing(text("{", "max_tokens")), "cut off"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_model_that_fails_everywhere_leaves_the_rules_answer_and_says_so(asked, failure):
    bad, message = FAILURES[failure]
    answer, _ = asked(by_form(PlanReply=bad, StanceReply=bad, AnswerReply=bad))
    assert answer.writer == "extractive"
    assert not answer.abstained
    for name, instead in {"plan": "by rules", "themes": "by rules", "write": "extractive writer"}.items():
        assert message in degraded(answer, name)
        assert instead in degraded(answer, name)
    assert answer.faithfulness.verifier == "rules"


@pytest.mark.parametrize(
    ("form", "stage", "writer"),
    [
        ("PlanReply", "plan", "claude-sonnet-5-5"),
        ("StanceReply", "themes", "claude-sonnet-5-5"),
        ("AnswerReply", "write", "extractive"),
        ("JudgeReply", "verify_claims", "claude-sonnet-5-5"),
    ],
)
def test_one_stage_that_fails_leaves_the_others_to_the_model(asked, form, stage, writer):
    answer, _ = asked(model(**{form: Playing(error(500, "api_error", "broken"))}))
    assert answer.writer == writer
    assert "error 500: broken" in degraded(answer, stage)
    assert [item.name for item in answer.stages if "broken" in "; ".join(item.degraded)] == [stage]


def test_silence_ends_at_the_timeout_and_is_named(asked):
    answer, _ = asked(model(AnswerReply=Playing(hang(2.0))), timeout_seconds=0.5)
    assert answer.writer == "extractive"
    assert "did not answer in 0.5 s" in degraded(answer, "write")


def test_rate_limits_are_waited_out_within_the_retries(asked):
    limited = error(429, "rate_limit_error", "slow down", {"retry-after": "0.2"})
    played = []

    def first_limited(handler, body):
        played.append(body)
        (limited if len(played) == 1 else model())(handler, body)

    answer, script = asked(first_limited, max_retries=2)
    assert forms(script)[:2] == ["PlanReply", "PlanReply"]
    assert answer.writer == "claude-sonnet-5-5"
    assert degraded(answer, "plan") == ""


def test_the_budget_stops_before_it_is_passed(asked):
    answer, script = asked(model(), budget_usd_per_question=0.05)
    assert "AnswerReply" not in forms(script)  # writing could have passed it
    assert "The write call was not made" in degraded(answer, "write")
    assert answer.writer == "extractive"
    assert 0 < answer.cost.usd <= 0.05
    nothing, script = asked(model(), budget_usd_per_question=0.0)
    assert script.requests == []
    assert nothing.cost.calls == 0
    assert nothing.citations


def test_an_answer_that_loses_every_statement_is_written_by_extraction(asked):
    answer, _ = asked(model(JudgeReply=judge_all("unsupported")))
    assert answer.writer == "extractive"
    assert not answer.abstained
    assert "passed its checks" in degraded(answer, "verify_claims")
    assert answer.faithfulness.removed
    assert answer.faithfulness.verifier == "rules"


def test_without_a_network_the_answer_comes_once_the_first_call_has_failed(corpus, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    answer = ask(QUESTION, settings=corpus, use_cache=False)
    assert answer.writer == "extractive"
    assert "could not be reached" in degraded(answer, "plan")
    assert "was not asked" in degraded(answer, "write")


OFFLINE = """
import sys
from pathlib import Path
from corpus_assets.settings import EmbeddingSettings, Settings
from retrieval.copilot import ask
settings = Settings(home=Path(sys.argv[1]), embedding=EmbeddingSettings(model="hash"))
answer = ask("Does zinc slow the growth of perch?", settings=settings, use_cache=False, save=False)
assert answer.citations and answer.writer == "extractive" and answer.cost.calls == 0
print(sorted(name for name in sys.modules if name.split(".")[0] in {"anthropic", "httpx", "httpx2"}))
"""


def test_without_a_key_nothing_of_the_sdk_is_imported(corpus, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    command = [sys.executable, "-c", OFFLINE, str(corpus.home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
