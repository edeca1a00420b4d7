"""The exported graph is the model: same vectors, any batch, no torch; damage and races are survived."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.embedding import onnx_export
from corpus_assets.embedding.checksums import Checksums, hash_file
from corpus_assets.embedding.folders import BertFolder, read_bert_folder
from corpus_assets.embedding.onnx_embedder import OnnxEmbedder, length_sorted_batches
from corpus_assets.embedding.onnx_export import ExportError, ensure_export, open_export, read_report
from corpus_assets.embedding.packaged import find_default_folder
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.embedding.registry import load_embedder

TEXTS = [f"Text {n} is about the resistance of strain {n * 7} to drugs. " * (1 + n % 9) for n in range(40)]
BERT = BertFolder(Path("/model"), "mean", 4, 16, "", "")


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def embedder(cache_dir: Path) -> Embedder:
    return load_embedder("default", cache_dir)


@pytest.mark.model
@pytest.mark.slow
class TestDefaultModel:
    def test_it_runs_as_a_verified_export(self, embedder: Embedder, cache_dir: Path) -> None:
        assert embedder.degraded == ""
        assert (embedder.dimension, embedder.max_tokens, embedder.num_special_tokens) == (384, 256, 2)
        report = read_report(embedder.fingerprint, cache_dir)
        assert report is not None
        assert report["runtimes"]["onnxruntime"]["min_cosine"] >= 0.9999
        assert report["runtimes"]["openvino"]["min_cosine"] >= 0.999
        assert report["onnx_sha256"] == hash_file(cache_dir / embedder.fingerprint / "model.onnx")

    def test_its_vectors_are_those_of_sentence_transformers(self, embedder: Embedder) -> None:
        code = (
            "import sys, json\n"
            "from sentence_transformers import SentenceTransformer\n"
            "model = SentenceTransformer(sys.argv[1], device='cpu')\n"
            "print(json.dumps(model.encode(json.load(sys.stdin), normalize_embeddings=True).tolist()))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(find_default_folder())],
            input=json.dumps([*TEXTS, "", "word " * 900]),
            capture_output=True,
            text=True,
            check=True,
        )
        reference = np.array(json.loads(done.stdout))
        ours = embedder.embed_documents([*TEXTS, "", "word " * 900])
        assert (ours * reference).sum(axis=1).min() > 0.9999
        exact = without_openvino(embedder).embed_documents([*TEXTS, "", "word " * 900])
        assert np.abs(exact - reference).max() < 1e-5

    def test_vectors_do_not_depend_on_the_batch(self, embedder: Embedder, cache_dir: Path) -> None:
        whole = embedder.embed_documents(TEXTS)
        for threads in (1, 2, 3):
            other = load_embedder("default", cache_dir, threads=threads)
            assert np.array_equal(other.embed_documents(TEXTS), whole)
        parts = np.concatenate([embedder.embed_documents(TEXTS[:5]), embedder.embed_documents(TEXTS[5:])])
        assert np.array_equal(parts, whole)

    def test_nor_in_onnxruntime(self, embedder: Embedder) -> None:
        whole = without_openvino(embedder).embed_documents(TEXTS)
        for batch_size in (1, 8, 32):
            other = without_openvino(embedder, batch_size=batch_size)
            assert np.abs(other.embed_documents(TEXTS) - whole).max() < 1e-5

    def test_several_threads_may_ask_at_once(self, embedder: Embedder) -> None:
        expected = embedder.embed_documents(TEXTS)
        found: dict[int, np.ndarray] = {}
        threads = [
            threading.Thread(target=lambda n=n: found.update({n: embedder.embed_documents(TEXTS[n : n + 10])}))
            for n in range(0, 40, 10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.array_equal(np.concatenate([found[n] for n in sorted(found)]), expected)

    def test_the_256th_token_is_read_and_the_257th_is_not(self, embedder: Embedder) -> None:
        base = "word " * 253
        inside, outside = base + "cold", base + "word cold"
        vectors = embedder.embed_documents([base + "word", inside, base + "word word", outside])
        assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
        assert np.abs(vectors[2] - vectors[3]).max() == 0

    def test_token_starts_are_offsets_into_the_text(self, embedder: Embedder) -> None:
        text = "Ünï T790M 国際 " + "A" * 30_000 + " end"
        starts = embedder.token_starts(text)
        assert starts == sorted(starts)
        assert text[starts[-1] :] == "end"
        assert len(embedder.token_starts("word " * 1000)) == 1000

    def test_a_question_is_embedded_without_torch_and_telemetry(
        self, embedder: Embedder, cache_dir: Path, tmp_path: Path
    ) -> None:
        code = (
            "import sys\nfrom pathlib import Path\n"
            "from corpus_assets.embedding.registry import load_embedder\n"
            "vectors = load_embedder('default', Path(sys.argv[1])).embed_queries(['What is T790M?'])\n"
            "assert vectors.shape == (1, 384)\n"
            "loaded = {'torch', 'transformers', 'sentence_transformers', 'faiss', 'openvino_telemetry'}\n"
            "assert not loaded & set(sys.modules), loaded & set(sys.modules)"
        )
        home = tmp_path / "home"
        home.mkdir()
        subprocess.run([sys.executable, "-c", code, str(cache_dir)], check=True, env={**os.environ, "HOME": str(home)})
        assert list(home.iterdir()) == []

    def test_an_export_that_openvino_was_not_compared_with_is_made_again(
        self, embedder: Embedder, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(onnx_export, "has_openvino", lambda: False)
        other = load_embedder("default", cache_dir / "elsewhere")
        assert isinstance(other, OnnxEmbedder)
        assert other.runtime == "onnxruntime"
        report_path = cache_dir / "elsewhere" / embedder.fingerprint / "export.json"
        report = json.loads(report_path.read_text())
        del report["runtimes"]["openvino"]
        report_path.write_text(json.dumps(report))
        assert load_embedder("default", cache_dir / "elsewhere").degraded == ""
        assert "openvino" not in json.loads(report_path.read_text())["runtimes"]
        monkeypatch.undo()
        again = load_embedder("default", cache_dir / "elsewhere")
        assert isinstance(again, OnnxEmbedder)
        assert again.runtime == "openvino"
        assert "openvino" in json.loads(report_path.read_text())["runtimes"]

    def test_a_damaged_export_is_made_again(
        self, embedder: Embedder, cache_dir: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = cache_dir / embedder.fingerprint / "model.onnx"
        path.write_bytes(path.read_bytes()[:1000])
        again = load_embedder("default", cache_dir)
        assert "is made again" in caplog.text
        assert np.abs(again.embed_documents(TEXTS[:3]) - embedder.embed_documents(TEXTS[:3])).max() < 1e-5

    def test_a_cache_that_cannot_be_written_degrades_by_name(self, embedder: Embedder, tmp_path: Path) -> None:
        blocked = tmp_path / "file"
        blocked.write_text("not a folder")
        other = load_embedder("default", blocked / "models")
        assert "sentence-transformers is used instead" in other.degraded
        assert str(blocked) in other.degraded
        assert other.fingerprint == embedder.fingerprint
        assert (other.embed_documents(TEXTS) * embedder.embed_documents(TEXTS)).sum(axis=1).min() > 0.9999
        assert other.token_starts("Ünï T790M") == embedder.token_starts("Ünï T790M")


def without_openvino(embedder: Embedder, batch_size: int = 32) -> OnnxEmbedder:
    """Return the same model in onnxruntime."""
    assert isinstance(embedder, OnnxEmbedder)
    bert = read_bert_folder(find_default_folder())
    assert bert is not None
    return open_export(
        bert, embedder.name, embedder.fingerprint, embedder.model_path, "onnxruntime", batch_size=batch_size
    )


def fake_export(folder: Path, work_dir: Path) -> None:
    (work_dir / "model.onnx").write_bytes(b"graph")
    report = {
        "onnx_sha256": hash_file(work_dir / "model.onnx"),
        "runtimes": {name: {} for name in onnx_export.usable_runtimes()},
    }
    (work_dir / "export.json").write_text(json.dumps(report))


def test_an_export_is_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(onnx_export, "_run_export", lambda *a: (calls.append(a), fake_export(*a)))
    paths = {ensure_export(BERT, "abc", tmp_path, Checksums(tmp_path)) for _ in range(3)}
    assert paths == {tmp_path / "abc" / "model.onnx"}
    assert len(calls) == 1


def test_two_exports_at_once_both_succeed_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both_at_work = threading.Barrier(2)

    def export(folder: Path, work_dir: Path) -> None:
        fake_export(folder, work_dir)
        both_at_work.wait(timeout=10)

    monkeypatch.setattr(onnx_export, "_run_export", export)
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(ensure_export(BERT, "abc", tmp_path, Checksums(tmp_path))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [tmp_path / "abc" / "model.onnx"] * 2
    assert not list(tmp_path.glob(".export-*"))


def test_a_failed_export_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="is not a BERT encoder"):
        ensure_export(BERT, "abc", tmp_path, Checksums(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == []


def test_batches_are_sorted_by_length_and_hold_every_text_once() -> None:
    lengths = [5, 256, 17, 256, 3, 100] * 20
    batches = length_sorted_batches(lengths, 32)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert [max(lengths[i] for i in batch) for batch in batches] == sorted(
        (max(lengths[i] for i in batch) for batch in batches), reverse=True
    )
    assert all(len(batch) <= 32 for batch in batches)
    assert length_sorted_batches([], 8) == []
