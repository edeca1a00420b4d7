"""A whole ``ask`` with a model: the real client, a real small corpus, a scripted server."""

from __future__ import annotations

import pytest

from retrieval.copilot import verify
from tests.retrieval.llm.asking import (
    NO_EFFECT,
    QUESTION,
    SLOWED,
    contradict,
    degraded,
    model,
    neutral,
)
from tests.retrieval.llm.scripted_model import (
    Playing,
    claim,
    fenced,
    find_passage,
    forms,
    plan_reply,
)
from tests.retrieval.llm.scripted_server import error, scripted_server


def test_every_stage_asks_the_model_and_the_answer_says_so(asked, corpus):
    answer, script = asked(model())
    assert forms(script) == ["PlanReply", "StanceReply", "AnswerReply", "JudgeReply"]
    assert answer.writer == "claude-sonnet-5-5"
    assert not answer.abstained
    assert "zinc slowed the growth of perch by 12 percent. [" in answer.answer
    assert answer.faithfulness.verifier == "rules, then claude-sonnet-5-5"
    assert answer.faithfulness.score == 1.0
    models = [stage.detail["models"] for stage in answer.stages if "models" in stage.detail]
    assert models == [["claude-haiku-5-5"], ["claude-haiku-5-5"], ["claude-sonnet-5-5"], ["claude-sonnet-5-5"]]
    assert not [name for stage in answer.stages if stage.name != "rerank" for name in stage.degraded]
    assert answer.next_steps[1].text == "Weigh perch in your own tanks first."
    assert verify(answer, settings=corpus).passed


def test_both_sides_of_a_split_stand_on_the_quotes_that_decided_them(asked):
    for mode in ("brief", "standard", "detailed"):
        answer, _ = asked(model(), mode=mode)
        (split,) = answer.splits
        assert split.is_verdict
        quotes = {citation.n: citation.quote for citation in answer.citations}
        assert [quotes[side.citations[0]] for side in split.sides] == [SLOWED, NO_EFFECT]
        assert "Where the evidence splits" in answer.answer
    assert len(answer.answer.split()) > 20


def test_the_cost_is_the_ledgers_by_stage_and_in_all(asked):
    answer, script = asked(model())
    assert answer.cost.calls == len(script.requests) == 4
    small, large = (100 * 1 + 20 * 5) / 1e6, (100 * 3 + 20 * 15) / 1e6
    spent = {stage.name: stage.usd for stage in answer.stages if stage.usd}
    assert spent == pytest.approx({"plan": small, "themes": small, "write": large, "verify_claims": large})
    assert answer.cost.usd == pytest.approx(2 * small + 2 * large)
    assert (answer.cost.input_tokens, answer.cost.output_tokens) == (400, 80)


def test_the_models_counter_queries_are_searched(asked):
    answer, _ = asked(model())
    stage = next(stage for stage in answer.stages if stage.name == "counter_evidence")
    assert stage.detail["queries"][0] == "zinc does not affect perch growth"


def test_no_evidence_is_no_call_to_the_writer(asked):
    answer, script = asked(model(), question="What is the boiling point of francium in Kelvin?")
    assert answer.abstained
    assert answer.citations == ()
    assert answer.writer == "none"
    assert forms(script) == ["PlanReply"]


def test_a_question_that_lacks_its_subject_is_no_call_at_all(asked):
    answer, script = asked(model(), question="Does it help?")
    assert answer.abstained
    assert script.requests == []


def test_rules_add_no_disagreement_once_the_model_has_judged_the_passages(asked):
    answer, _ = asked(model(StanceReply=neutral))
    assert answer.splits == ()
    answer, _ = asked(model(StanceReply=Playing(error(500, "api_error", "broken"))))
    assert answer.splits
    assert not answer.splits[0].is_verdict


def test_splits_of_a_question_that_claims_nothing_need_the_models_word(asked):
    question = "What is known of zinc and the growth of perch?"
    unclaimed = plan_reply(question)
    for reply, num_splits in ((neutral, 0), (contradict, 1)):
        answer, script = asked(model(PlanReply=unclaimed, StanceReply=reply), question=question)
        assert "StanceReply" in forms(script)
        assert len(answer.splits) == num_splits
        assert all(split.is_verdict for split in answer.splits)


def test_the_shortlist_is_picked_from_cards_and_falls_back_to_cosine(asked):
    small = {"shortlist_min_papers": 2, "shortlist_size": 3, "min_silhouette": 1.0}  # no widening: it has its own tests

    def pick(body):
        cards = {key: card for key, card in fenced(body).items() if key.startswith("C")}
        wanted = [key for key, card in cards.items() if "perch" in card.casefold()]
        return {"picks": [{"card": key, "fit": 90} for key in [*wanted, "C99"]]}

    answer, script = asked(model(PickReply=pick), retrieval=small)
    stage = next(stage for stage in answer.stages if stage.name == "shortlist")
    assert "PickReply" in forms(script)
    assert "by claude-haiku-5-5's reading" in stage.detail["reason"]
    picked = sorted(paper_id.rsplit("-", 1)[0] for paper_id in stage.detail["paper_ids"])
    assert picked == ["a-study-of-lake", "a-study-of-ponds", "a-study-of-tanks"]
    answer, _ = asked(model(PickReply={"picks": []}), retrieval=small)
    assert "named no paper" in degraded(answer, "shortlist")
    assert "card cosine" in degraded(answer, "shortlist")


def test_ideas_are_written_by_the_model_too(asked):
    def think(body):
        passage = find_passage(body, SLOWED)
        return {
            "findings": [claim("In nine tanks, zinc slowed the growth of perch by 12 percent.", passage, SLOWED)],
            "synthesis": [],
            "extrapolations": [claim("Zinc might slow the growth of other fish.", passage, SLOWED)],
            "hypotheses": [],
            "next_steps": [],
        }

    answer, script = asked(model(IdeasReply=think), mode="ideas")
    assert "IdeasReply" in forms(script)
    assert "**Finding.**" in answer.answer
    assert "**Extrapolation.** Zinc might slow the growth of other fish." in answer.answer
    assert answer.splits == ()


def test_an_answer_is_cached_with_its_writer_and_a_fallback_is_not(asked):
    question = "Does zinc slow the growth of perch in tanks?"
    broken = model(AnswerReply=Playing(error(500, "api_error", "broken")))
    fallen, _ = asked(broken, question=question, use_cache=True)
    assert fallen.writer == "extractive"
    written, script = asked(model(), question=question, use_cache=True)
    assert not written.cached
    assert "AnswerReply" in forms(script)
    again, script = asked(model(), question=question, use_cache=True)
    assert again.cached
    assert again.writer == "claude-sonnet-5-5"
    assert script.requests == []
    assert again.cost.calls == 0


@pytest.mark.slow
def test_the_ask_job_of_the_command_line_uses_the_model_too(corpus, monkeypatch):
    from dagster_project.question import run_ask

    with scripted_server(model()) as script:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", script.url)
        monkeypatch.setenv("RESEARCH_COPILOT_EMBEDDING__MODEL", "hash")
        answer = run_ask(corpus, QUESTION, use_cache=False)
    assert answer.writer == "claude-sonnet-5-5"
    assert answer.cost.calls == len(script.requests) == 4
