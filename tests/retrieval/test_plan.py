import time

import pytest

from corpus_assets.errors import BadInputError
from retrieval.acronyms import find_acronym_definitions, rewordings_with
from retrieval.plan import check_question, plan_by_rules

CANONICAL = (
    "What are the resistance mechanisms to EGFR inhibitors in lung cancer, and how can resistance be detected early?"
)


def test_both_parts_of_a_question_keep_its_entities() -> None:
    plan = plan_by_rules(CANONICAL)
    assert [item.text for item in plan.sub_queries] == [
        "What are the resistance mechanisms to EGFR inhibitors in lung cancer?",
        "How can resistance to EGFR inhibitors in lung cancer be detected early?",
    ]
    assert plan.is_multi_hop and plan.intent == "act" and not plan.is_claim


@pytest.mark.parametrize(
    "question",
    ["What is the median PFS in FLAURA?", "What is the role of T790M?", "How strong was the association?", "T790M"],
)
def test_a_factual_lookup_stays_one_query(question: str) -> None:
    assert len(plan_by_rules(question).sub_queries) == 1


def test_pronouns_are_replaced_by_what_they_stand_for() -> None:
    plan = plan_by_rules("What is osimertinib and how does it work?")
    assert [item.text for item in plan.sub_queries] == ["What is osimertinib?", "How does osimertinib work?"]


def test_comparisons_search_each_side() -> None:
    plan = plan_by_rules("What is the difference between osimertinib and gefitinib in progression-free survival?")
    assert plan.is_comparison
    assert [item.text for item in plan.sub_queries[1:]] == [
        "osimertinib in progression-free survival",
        "gefitinib in progression-free survival",
    ]


def test_coordinated_entities_become_two_queries() -> None:
    plan = plan_by_rules("What are the effects of zinc and copper on growth in rats?")
    assert [item.text for item in plan.sub_queries] == [
        "What are the effects of zinc on growth in rats?",
        "What are the effects of copper on growth in rats?",
    ]


@pytest.mark.parametrize(
    "question",
    [
        "What about its side effects?",
        "no",
        "No.",
        "And in children?",
        "How does this drug work?",
        "Does it help?",
        "why?",
    ],
)
def test_what_names_no_subject_is_asked_back(question: str) -> None:
    assert plan_by_rules(question).clarification


@pytest.mark.parametrize(
    "question",
    [
        "Is it true that aspirin prevents cancer?",
        "What is the effect of aspirin on its target?",
        "Do these papers agree on T790M?",
        "Do patients with T790M respond to this drug?",
        "Why is T790M important?",
    ],
)
def test_what_names_its_subject_is_not_asked_back(question: str) -> None:
    assert not plan_by_rules(question).clarification


@pytest.mark.parametrize("question", ["", "   ", "?!…", "\x00\x07"])
def test_a_question_without_words_is_refused(question: str) -> None:
    with pytest.raises(BadInputError):
        check_question(question)


@pytest.mark.parametrize(
    "question", ["'; DROP TABLE chunks; --", 'NOT (a AND b) OR "c*"', "42", "the of and", "质量 控制", "x" * 5000]
)
def test_odd_questions_are_planned_without_a_fault(question: str) -> None:
    assert plan_by_rules(question).sub_queries


def test_a_very_long_question_is_one_query() -> None:
    assert len(plan_by_rules("What does alpha do and how does it act? " * 2500).sub_queries) == 1


def test_claims_are_told_from_questions() -> None:
    assert plan_by_rules("Vitamin D reduces mortality in adults.").is_claim
    assert plan_by_rules("Does drug Q halve relapse?").is_claim
    assert not plan_by_rules("What reduces mortality in adults?").is_claim


def test_acronyms_are_learnt_from_the_corpus() -> None:
    found = find_acronym_definitions(
        ["We measured progression-free survival (PFS) in non-small cell lung cancer (NSCLC)."]
    )
    assert found == {"NSCLC": "non-small cell lung cancer", "PFS": "progression-free survival"}
    assert rewordings_with("What is the PFS?", found) == ("What is the progression-free survival?",)


@pytest.mark.parametrize(
    "question",
    ["a" * 30_000, "zinc versus copper " * 1500, "does zinc raise it? " * 1500, "is this paper right " * 1500],
)
def test_planning_takes_no_longer_than_the_question_is_long(question) -> None:
    started = time.process_time()
    plan_by_rules(question)
    assert time.process_time() - started < 2
