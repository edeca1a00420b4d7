"""The hash embedder gives the same vectors everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from corpus_assets.embedding.hashing import HashEmbedder

EMBEDDER = HashEmbedder()
TEXTS = ["Osimertinib improved survival.", "", "TNF-α rose in 12 mice", "国際標準化", "x " * 5000]


def test_vectors_are_unit_float32_in_order() -> None:
    vectors = EMBEDDER.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), EMBEDDER.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors[::-1], EMBEDDER.embed_documents(TEXTS[::-1]))
    assert EMBEDDER.embed_documents([]).shape == (0, EMBEDDER.dimension)


def test_shared_words_make_texts_near_and_order_counts_a_little() -> None:
    base, same, swapped, half, other = EMBEDDER.embed_documents(
        ["lung cancer drug", "LUNG cancer drug", "drug cancer lung", "lung cancer trial", "basalt lichen growth"]
    )
    assert base @ same == pytest.approx(1, abs=1e-6)
    assert base @ same > base @ swapped > base @ half > base @ other


@pytest.mark.parametrize("seed", ["0", "1"])
def test_another_process_with_another_hash_seed_agrees(seed: str) -> None:
    code = (
        "from corpus_assets.embedding.hashing import HashEmbedder\n"
        f"print(HashEmbedder().embed_documents({TEXTS!r}).tobytes().hex())"
    )
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == EMBEDDER.embed_documents(TEXTS).tobytes().hex()


def test_a_known_vector_does_not_move() -> None:
    vector = EMBEDDER.embed_documents(["resistance"])[0]
    [slot] = np.flatnonzero(vector)
    assert (int(slot), float(vector[slot])) == (332, -1.0)


def test_token_starts_are_words_and_marks() -> None:
    assert EMBEDDER.token_starts("A, bc (d)") == [0, 1, 3, 6, 7, 8]
    assert EMBEDDER.token_starts("x" * 40) == [0, 16, 32]
