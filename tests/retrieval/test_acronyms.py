"""Acronyms and their long forms, learnt from the corpus itself."""

from __future__ import annotations

from retrieval.acronyms import find_acronym_definitions, find_acronyms, infer_long_forms, rewordings_with

TEXTS = [
    "Median progression-free survival was 18.9 months. Progression-free survival favoured the drug.",
    "The hazard ratio for progression-free survival was 0.46; overall survival is not mature.",
]


def test_a_long_form_nobody_defines_is_found_by_its_initials() -> None:
    assert infer_long_forms(TEXTS, ("PFS",)) == {"PFS": "progression-free survival"}
    assert rewordings_with("What is the PFS?", {"PFS": "progression-free survival"}) == (
        "What is the progression-free survival?",
    )


def test_what_is_seen_too_seldom_or_has_two_letters_is_left_alone() -> None:
    assert infer_long_forms(TEXTS[:1], ("PFS",)) == {}
    assert infer_long_forms([*TEXTS, *TEXTS, *TEXTS], ("OS", "HR", "XYZ")) == {}


def test_the_most_frequent_form_wins_and_words_between_do_not_count() -> None:
    texts = ["low birth weight"] * 4 + ["lean body weight"] * 3 + ["lower the body of weight"] * 9
    assert infer_long_forms(texts, ("LBW",)) == {"LBW": "low birth weight"}


def test_a_definition_of_the_papers_own_is_still_found() -> None:
    assert find_acronyms("Does PFS improve?") == ("PFS",)
    assert find_acronym_definitions(["progression-free survival (PFS)"], ("PFS",)) == {
        "PFS": "progression-free survival"
    }
