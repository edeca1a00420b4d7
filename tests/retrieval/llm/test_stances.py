"""Verdicts on passages by a model: each needs an exact quote; rules' splits need its word."""

from __future__ import annotations

import pytest

from corpus_assets.model import SectionKind
from retrieval.llm.replies import MalformedReplyError
from retrieval.llm.stances import ModelStances, confirm_splits
from retrieval.passages import Sentence
from retrieval.themes import Side, ThemeSplit
from tests.retrieval.llm.scripted_model import fenced, make_model
from tests.retrieval.llm.scripted_server import scripted_server, tool_use

PASSAGES = [
    "Zinc slowed growth in nine tanks. Feed was the same.",
    "Zinc had no significant effect on growth.",
    "Tanks were cleaned on Mondays.",
]


def row(passage, stance, quote=""):
    return {"passage": passage, "stance": stance, "quote": quote, "reason": "as it\nsays"}


GOOD = [
    row("P1", "supports", "Zinc slowed growth in nine tanks."),
    row("P2", "contradicts", "no significant effect on growth"),
    row("P3", "neutral"),
]


def judge(*rows):
    with scripted_server(tool_use({"stances": list(rows)})) as script:
        return ModelStances(make_model(script)).judge("Zinc slows growth", PASSAGES), script


def test_verdicts_come_in_the_passages_order_with_their_quotes():
    stances, script = judge(*reversed(GOOD))
    assert [item.label for item in stances] == ["supports", "contradicts", "neutral"]
    assert [item.is_verdict for item in stances] == [True, True, False]
    assert stances[1].quote == "no significant effect on growth"
    assert stances[0].reason == "as it says"
    assert fenced(script.requests[0])["claim"] == "Zinc slows growth"
    assert script.requests[0]["model"] == "claude-haiku-5-5"


@pytest.mark.parametrize("quote", ["", "Zinc slowed growth in ten tanks.", "no significant effect on growth", "growth"])
def test_a_verdict_without_an_exact_quote_is_neutral(quote):
    stances, _ = judge(row("P1", "supports", quote), *GOOD[1:])
    assert stances[0].label == "neutral"
    assert not stances[0].is_verdict
    assert "does not stand in the passage" in stances[0].reason


@pytest.mark.parametrize(
    ("rows", "what"),
    [(GOOD[:2], "no stance for P3"), ([*GOOD, row("P1", "contradicts", "x")], "two stances"), ([], "no stance for P1")],
)
def test_passages_passed_over_or_judged_twice_are_an_error(rows, what):
    with pytest.raises(MalformedReplyError, match=what):
        judge(*rows)


def split(label, first, second):
    sides = [
        Side(position, Sentence(paper, f"{paper}:r:0", 0, len(text), text, "Results", SectionKind.RESULTS))
        for paper, position, text in (("a", "For", first), ("b", "Against", second))
    ]
    return ThemeSplit(label, tuple(sides), "explicit opposite statements; found by rules", note="check both quotes")


def test_splits_of_the_rules_stay_only_with_the_models_word():
    real = split("real", "Zinc slowed growth in tanks.", "Zinc had no significant effect on growth.")
    false = split("false", "Zinc slowed growth in mice.", "Zinc did not slow growth in the control pond.")

    def play(handler, body):
        passage = fenced(body)["P1"]
        is_real = "significant" in passage
        tool_use({"stances": [row("P1", "contradicts", passage) if is_real else row("P1", "neutral")]})(handler, body)

    with scripted_server(play) as script:
        (kept,) = confirm_splits(make_model(script), [real, false])
    assert kept.label == "real"
    assert kept.is_verdict
    assert kept.basis.endswith("confirmed by claude-haiku-5-5")
    assert kept.note == ""
