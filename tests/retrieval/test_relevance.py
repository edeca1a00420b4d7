"""Answering, answering with a warning, and abstaining."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from retrieval.copilot import finish, start
from retrieval.pipeline import run_stages
from retrieval.relevance import ANSWER_THRESHOLD, TENTATIVE_THRESHOLD, Relevance, covers_one_field
from retrieval.terms import stem, words
from tests.retrieval.fakes import fake_context, paper

MEANS = {"renal": "kidney", "murine": "mouse", "oedema": "swelling", "hepatic": "liver", "recurred": "returned"}


class MeaningEmbedder:
    """Knows that some words mean the same; one dimension a meaning."""

    name = "default"  # whose cosines between cards are known
    fingerprint = "meanings-1"
    dimension = 512
    max_tokens = 256
    num_special_tokens = 2
    degraded = ""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def embed_documents(self, texts):
        vectors = np.full((len(texts), self.dimension), 1e-6, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in words(text):
                place = self._places.setdefault(stem(MEANS.get(word, word)), len(self._places))
                vectors[row, place] = 1.0
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    embed_queries = embed_documents

    def token_starts(self, text):
        return list(range(0, len(text), 3)) if "zor" in text else [0]


@pytest.fixture
def ctx(tmp_path):
    papers = [
        paper("a", "Renal oedema recurred in 4 of 21 murine recipients.", "Hepatic values stayed normal throughout."),
        paper("b", "Wheat yield rose by 12 % under shade nets in the driest of three summers."),
    ]
    return fake_context(tmp_path, papers, embedder=MeaningEmbedder(), use_cache=False)


def ask(ctx, question, mode="standard"):
    return finish(run_stages(start(question, mode=mode), ctx), ctx, save=False)


def detail_of(record):
    return next(stage.detail for stage in record.stages if stage.name == "rerank")


@pytest.mark.parametrize("mode", ["brief", "standard", "detailed", "ideas"])
def test_a_question_in_other_words_is_answered_with_a_warning(ctx, mode) -> None:
    record = ask(ctx, "How often had kidney swelling returned in mouse recipients?", mode)
    assert detail_of(record)["is_tentative"] is True
    assert not record.abstained
    first = record.answer.split("\n\n")[1]
    assert first.startswith("*This may not answer the question") and "“kidney”" in first
    assert record.citations[0].quote == "Renal oedema recurred in 4 of 21 murine recipients."
    assert record.faithfulness.score == 1.0


def test_the_papers_own_words_need_no_warning(ctx) -> None:
    record = ask(ctx, "How often had renal oedema recurred in murine recipients?")
    assert detail_of(record)["is_tentative"] is False
    assert not record.abstained and "may not answer" not in record.answer


def test_a_name_that_no_paper_holds_is_not_guessed_at(ctx) -> None:
    record = ask(ctx, "How often had kidney swelling returned in mouse recipients of zorbitane?")
    assert detail_of(record)["probability_answerable"] >= TENTATIVE_THRESHOLD
    assert record.abstained and not record.citations
    assert record.abstain_reason.startswith("The nearest passages say nothing about “zorbitane”")


def test_papers_of_many_fields_give_no_answer_in_other_words(ctx) -> None:
    ctx.generation.card_rows = np.eye(2, dtype=np.float32)
    record = ask(ctx, "How often had kidney swelling returned in mouse recipients?")
    assert detail_of(record)["is_one_field"] is False
    assert detail_of(record)["probability_answerable"] >= TENTATIVE_THRESHOLD
    assert record.abstained and not record.citations


@pytest.mark.parametrize(
    ("name", "vectors", "expected"),
    [
        ("default", [[1, 0], [0.8, 0.6]], True),
        ("default", [[1, 0], [0.2, 0.98]], False),
        ("bge-small", [[1, 0], [0.6, 0.8]], False),
        ("another model", [[1, 0], [1, 0]], False),
        ("default", [[1, 0]], True),
        ("default", np.zeros((0, 2)), False),
    ],
)
def test_one_field_or_several(name, vectors, expected) -> None:
    generation = SimpleNamespace(card_vectors=lambda: ([], np.asarray(vectors, dtype=np.float32)))
    assert covers_one_field(generation, SimpleNamespace(name=name)) is expected


def test_without_a_model_fields_are_not_told_apart() -> None:
    assert covers_one_field(SimpleNamespace(), None) is False


@pytest.mark.parametrize(
    ("probability", "names", "expected"),
    [
        (ANSWER_THRESHOLD, ("x",), (True, False)),
        (ANSWER_THRESHOLD - 1e-6, (), (True, True)),
        (ANSWER_THRESHOLD - 1e-6, ("x",), (False, False)),
        (TENTATIVE_THRESHOLD, (), (True, True)),
        (TENTATIVE_THRESHOLD - 1e-6, (), (False, False)),
        (0.0, (), (False, False)),
    ],
)
def test_the_three_outcomes(probability, names, expected) -> None:
    found = Relevance(probability, ANSWER_THRESHOLD, {}, (), names)
    assert (found.is_answerable, found.is_tentative) == expected
