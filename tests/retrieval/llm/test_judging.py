"""A model as judge of claims, driven through the real client."""

from __future__ import annotations

import pytest

from retrieval.llm import judging
from retrieval.llm.judging import ClaimToJudge, judge_claims
from retrieval.llm.replies import MalformedReplyError
from tests.retrieval.llm.scripted_model import fenced, judge_all, make_model
from tests.retrieval.llm.scripted_server import scripted_server, tool_use

CLAIMS = [
    ClaimToJudge("Zinc slows growth.", ("Zinc slowed growth in nine tanks.",)),
    ClaimToJudge("Copper cures fish.", ("Copper increased growth.", "Fish were kept in tanks.")),
]


def answer(make):
    def play(handler, body):
        tool_use(make(body))(handler, body)

    return play


def test_each_claim_is_judged_by_its_own_quotes_with_the_large_model():
    with scripted_server(answer(judge_all("supported", cures="unsupported"))) as script:
        verdicts = judge_claims(make_model(script), CLAIMS)
    assert [item.verdict for item in verdicts] == ["supported", "unsupported"]
    assert verdicts[1].reason.startswith("claude-sonnet-5-5: ")
    shown = fenced(script.requests[0])
    assert shown["quote 2 of C2"] == "Fish were kept in tanks."
    assert script.requests[0]["model"] == "claude-sonnet-5-5"


def test_many_claims_go_in_batches(monkeypatch):
    monkeypatch.setattr(judging, "BATCH_SIZE", 3)
    with scripted_server(answer(judge_all())) as script:
        verdicts = judge_claims(make_model(script), CLAIMS * 4)
    assert len(verdicts) == 8
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    ("verdicts", "what"),
    [
        ([("C1", "supported")], "no verdict on C2"),
        ([("C1", "supported"), ("C2", "supported"), ("C2", "contradicted")], "two verdicts"),
        ([("C1", "supported"), ("claim two", "supported")], "no verdict on C2"),
    ],
)
def test_claims_without_one_clear_verdict_are_an_error(verdicts, what):
    reply = {"verdicts": [{"claim": key, "verdict": label, "reason": ""} for key, label in verdicts]}
    with scripted_server(tool_use(reply)) as script, pytest.raises(MalformedReplyError, match=what):
        judge_claims(make_model(script), CLAIMS)


def test_nothing_to_judge_is_no_call():
    with scripted_server(tool_use({})) as script:
        assert judge_claims(make_model(script), []) == []
    assert script.requests == []
