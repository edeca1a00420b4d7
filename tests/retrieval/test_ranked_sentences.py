"""Sentences are chosen against those already shown, also those that another one brought along."""

from __future__ import annotations

from dataclasses import replace

from corpus_assets.model import SectionKind
from retrieval.passages import Sentence
from retrieval.plan import plan_by_rules
from retrieval.writing.extractive import ranked


def make(number: int, text: str, score: float) -> Sentence:
    return Sentence("p", "p:r:0", number * 100, number * 100 + len(text), text, "Results", SectionKind.RESULTS,
                    similarities=(score, score), coverage=(score, score))  # fmt: skip


def test_a_sentence_that_is_only_brought_along_does_not_stop_the_next_choice():
    brought = make(1, "Twelve jars of sedge stood in salt.", 0.0)
    first = replace(make(2, "They grew 4 mm a year on the moor.", 0.6), antecedent=brought, news=0.3)
    second = make(3, "Gulls ate moss beside the warm pipes.", 0.59)
    chosen = ranked(plan_by_rules("How fast does sedge grow?"), [first, second], 0, 2, [])
    assert [sentence.key for sentence in chosen] == [first.key, second.key]
