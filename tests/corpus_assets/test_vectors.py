"""The vector index: exact while small, approximate and measured when large, never a padding id."""

import sys

import numpy as np
import pytest

from corpus_assets.errors import StoreError
from corpus_assets.settings import IndexSettings
from corpus_assets.vectors import build_vectors, open_vectors, vector_id

FLAT = IndexSettings.model_validate({})
APPROXIMATE = IndexSettings.model_validate({"exact_up_to": 0})


def clustered(num, dimension=24, seed=0):
    random = np.random.default_rng(seed)
    centres = random.standard_normal((20, dimension))
    vectors = (centres[random.integers(0, 20, num)] + 0.6 * random.standard_normal((num, dimension))).astype(np.float32)
    ids = np.array([vector_id(f"c{number}") for number in range(num)], dtype=np.int64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), ids


def test_ids_are_stable_positive_63_bit():
    assert all(0 <= vector_id(str(number)) < 2**63 for number in range(100))
    assert len({vector_id(str(number)) for number in range(1000)}) == 1000


def test_flat_search_is_exact_and_round_trips(tmp_path):
    vectors, ids = clustered(300)
    stats = build_vectors(vectors, ids, tmp_path / "v.faiss", FLAT)
    assert (stats.kind, stats.num_vectors, stats.recall_at_10) == ("flat", 300, 1.0)
    index = open_vectors(tmp_path / "v.faiss")
    for query in vectors[:20]:
        scores, found = index.search(query, 7)
        order = np.argsort(-(vectors @ query), kind="stable")[:7]
        assert set(found.tolist()) == set(ids[order].tolist())
        assert scores == pytest.approx((vectors @ query)[order], abs=1e-5)
    assert np.array_equal(index.reconstruct(ids[[5, 2]]), vectors[[5, 2]])
    assert np.array_equal(index.ids(), ids)


def test_faiss_itself_reads_the_file_alike(tmp_path):
    import faiss

    vectors, ids = clustered(50)
    build_vectors(vectors, ids, tmp_path / "v.faiss", FLAT)
    theirs = faiss.read_index(str(tmp_path / "v.faiss"))
    _, found = theirs.search(vectors[:5], 4)
    index = open_vectors(tmp_path / "v.faiss")
    assert found.tolist() == [index.search(query, 4)[1].tolist() for query in vectors[:5]]


@pytest.mark.parametrize("settings", [FLAT, APPROXIMATE])
def test_fewer_vectors_than_asked_for(tmp_path, settings):
    vectors, ids = clustered(1)
    build_vectors(vectors, ids, tmp_path / "v.faiss", settings)
    scores, found = open_vectors(tmp_path / "v.faiss").search(vectors[0], 20)
    assert found.tolist() == ids.tolist()
    assert scores == pytest.approx([1.0], abs=1e-5)


@pytest.mark.parametrize("settings", [FLAT, APPROXIMATE])
def test_allowed_ids(tmp_path, settings):
    vectors, ids = clustered(2000)
    build_vectors(vectors, ids, tmp_path / "v.faiss", settings)
    index = open_vectors(tmp_path / "v.faiss")
    for allowed in (ids[:3], ids[:500], ids[:1900], np.array([7], dtype=np.int64)):
        _, found = index.search(vectors[0], 10, allowed)
        assert set(found.tolist()) <= set(allowed.tolist())
        assert len(found) == min(10, len(set(allowed.tolist()) & set(ids.tolist())))


def test_approximate_index_reaches_its_recall(tmp_path):
    vectors, ids = clustered(4000)
    stats = build_vectors(vectors, ids, tmp_path / "v.faiss", APPROXIMATE)
    assert stats.kind == "ivf"
    assert stats.recall_at_10 >= 0.99
    index = open_vectors(tmp_path / "v.faiss")
    hits = [
        len(set(index.search(query, 10)[1].tolist()) & set(ids[np.argsort(-(vectors @ query))[:10]].tolist()))
        for query in vectors[:100]
    ]
    assert np.mean(hits) / 10 >= 0.98
    assert index.reconstruct(ids[:4]) == pytest.approx(vectors[:4])


def test_equal_scores_come_by_id(tmp_path):
    vectors = np.tile(np.array([[1.0, 0.0]], np.float32), (6, 1))
    ids = np.array([5, 3, 9, 1, 7, 2], dtype=np.int64)
    build_vectors(vectors, ids, tmp_path / "v.faiss", FLAT)
    assert open_vectors(tmp_path / "v.faiss").search(vectors[0], 4)[1].tolist() == [1, 2, 3, 5]


def test_empty_index(tmp_path):
    build_vectors(np.zeros((0, 8), np.float32), np.zeros(0, np.int64), tmp_path / "v.faiss", FLAT)
    index = open_vectors(tmp_path / "v.faiss")
    assert index.search(np.ones(8, np.float32), 5)[1].tolist() == []


def test_wrong_input_is_refused(tmp_path):
    vectors, ids = clustered(4)
    with pytest.raises(StoreError, match="repeat"):
        build_vectors(vectors, ids[[0, 0, 1, 2]], tmp_path / "v.faiss", FLAT)
    broken = vectors.copy()
    broken[2, 0] = np.nan
    with pytest.raises(StoreError, match="not finite"):
        build_vectors(broken, ids, tmp_path / "v.faiss", FLAT)
    build_vectors(vectors, ids, tmp_path / "v.faiss", FLAT)
    index = open_vectors(tmp_path / "v.faiss")
    with pytest.raises(StoreError, match="dimensions"):
        index.search(np.ones(5, np.float32), 3)
    with pytest.raises(StoreError, match="No vector"):
        index.reconstruct(np.array([1], dtype=np.int64))


def test_damaged_files_are_named(tmp_path):
    vectors, ids = clustered(50)
    path = tmp_path / "v.faiss"
    build_vectors(vectors, ids, path, FLAT)
    whole = path.read_bytes()
    for cut in (0, 3, 40, 90, len(whole) // 2, len(whole) - 8):
        path.write_bytes(whole[:cut])
        with pytest.raises(StoreError, match=r"v\.faiss"):
            open_vectors(path)
    with pytest.raises(StoreError, match="cannot be read"):
        open_vectors(tmp_path / "absent.faiss")


def test_small_indexes_are_searched_without_faiss(tmp_path):
    import subprocess

    vectors, ids = clustered(10)
    build_vectors(vectors, ids, tmp_path / "v.faiss", FLAT)
    code = (
        "import sys, numpy as np; from pathlib import Path; from corpus_assets.vectors import open_vectors; "
        f"index = open_vectors(Path({str(tmp_path / 'v.faiss')!r})); "
        "assert len(index.search(np.ones(24, np.float32), 3)[1]) == 3; assert 'faiss' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
