"""BEIR folders run on the project's own indexes."""

import json

import pytest

from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.errors import BadInputError
from corpus_assets.settings import IndexSettings, RetrievalSettings, Settings
from evaluation import bench, peers
from evaluation.beir import BeirCorpus, BeirDocument, build_beir_segment, load_beir, run_modes

INDEX = IndexSettings.model_validate({})
SETTINGS = RetrievalSettings.model_validate({})


def write_collection(folder):
    (folder / "qrels").mkdir(parents=True)
    documents = [
        {"_id": "1", "title": "Snow lines", "text": "Snow lines rise in warm years."},
        {"_id": "MED/2 x", "title": "Bees", "text": "Polar bees fly at four degrees."},
        {"_id": "3", "title": "", "text": ""},
    ]
    queries = [
        {"_id": "q1", "text": "polar bees"},
        {"_id": "q2", "text": "snow line rise"},
        {"_id": "q3", "text": "unjudged"},
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tMED/2 x\t1\nq2\t1\t2\nq3\t1\t0\n")
    return folder


def test_a_folder_is_loaded_and_searched(tmp_path):
    data = load_beir(write_collection(tmp_path / "tiny"))
    assert data.queries.keys() == {"q1", "q2"}
    assert data.qrels == {"q1": {"MED/2 x": 1}, "q2": {"1": 2}}
    embedder = HashEmbedder()
    folder = build_beir_segment(data.documents, tmp_path / "built", embedder, INDEX)
    assert build_beir_segment(data.documents, tmp_path / "built", embedder, INDEX) == folder
    runs = run_modes(data, BeirCorpus(folder), embedder=embedder, settings=SETTINGS)
    assert runs.keys() == {"fts_only", "embedding_only", "hybrid"}
    for run in runs.values():
        assert run["q1"][0] == "MED/2 x"
        assert run["q2"][0] == "1"


def test_titles_are_not_doubled():
    assert BeirDocument("1", "A title", "a title and more").full_text == "a title and more"
    assert BeirDocument("1", "A title", "more").full_text == "A title\n\nmore"
    assert BeirDocument("1", "A title", "more").embedding_text == "A title more"


def test_missing_and_malformed_files_are_named(tmp_path):
    with pytest.raises(BadInputError, match=r"corpus\.jsonl is missing"):
        load_beir(tmp_path)
    folder = write_collection(tmp_path / "tiny")
    with pytest.raises(BadInputError, match=r"dev\.tsv is missing") as caught:
        load_beir(folder, "dev")
    assert "test" in caught.value.hint
    (folder / "qrels" / "dev.tsv").write_text("q1\t99\t1\n")
    with pytest.raises(BadInputError, match="'99'"):
        load_beir(folder, "dev")
    (folder / "qrels" / "dev.tsv").write_text("q1\t1\tgood\n")
    with pytest.raises(BadInputError, match="line 1"):
        load_beir(folder, "dev")


class CountingEmbedder(HashEmbedder):
    def __init__(self):
        super().__init__()
        self.asked = []

    def embed_queries(self, texts):
        self.asked += texts
        return super().embed_queries(texts)


def bench_tiny(tmp_path, monkeypatch, embedder):
    monkeypatch.setattr("corpus_assets.embedding.registry.load_embedder", lambda *args, **options: embedder)
    folder = write_collection(tmp_path / "tiny")
    modes = ["fts_only", "embedding_only", "hybrid"]
    return bench.bench_beir(folder, qrels="test", settings=Settings(home=tmp_path / "home"), modes=modes)


def test_no_mode_finds_a_questions_vector_left_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "measure_peers", lambda *args, **options: {})
    embedder = CountingEmbedder()
    bench_tiny(tmp_path, monkeypatch, embedder)
    # two modes embed, each once untimed with the first question
    assert sorted(embedder.asked) == sorted(["polar bees", "polar bees", "snow line rise"] * 2)


def test_peers_stand_beside_the_modes(tmp_path, monkeypatch):
    pytest.importorskip("bm25s", reason="the optional package bm25s is not installed")
    report = bench_tiny(tmp_path, monkeypatch, HashEmbedder())
    assert report["peers"].keys() == {"bm25s", "faiss", "faiss_search_only"}
    for peer in report["peers"].values():
        assert peer["avg_latency_ms"] > 0 and peer["p95_latency_ms"] > 0
    assert report["peers"]["bm25s"]["ndcg@10"] == report["modes"]["fts_only"]["ndcg@10"] == 1.0
    assert report["peers"]["faiss"]["ndcg@10"] == report["modes"]["embedding_only"]["ndcg@10"]
    assert report["machine"]["num_cores"] >= 1


def test_an_absent_peer_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "has_bm25s", lambda: False)
    report = bench_tiny(tmp_path, monkeypatch, HashEmbedder())
    assert "bm25s is not installed" in report["peers"]["bm25s"]["absent"]
    assert report["peers"]["faiss"]["p95_latency_ms"] > 0
