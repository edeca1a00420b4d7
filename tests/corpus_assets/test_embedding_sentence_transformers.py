"""Any sentence-transformers folder works: by ONNX where it is a plain BERT, through the library where it is not."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from corpus_assets.embedding.cross_encoder import load_cross_encoder
from corpus_assets.embedding.onnx_embedder import OnnxEmbedder
from corpus_assets.embedding.registry import load_embedder
from corpus_assets.embedding.sentence_transformers import SentenceTransformerEmbedder
from corpus_assets.errors import BadInputError, ModelMissingError

pytestmark = [pytest.mark.slow, pytest.mark.model]

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789:."
PROMPTS = {"query": "query: ", "document": "passage: "}


def save_bert(folder: Path, **config: int) -> Path:
    """A BERT of random weights whose word pieces are letters."""
    import torch
    from transformers import AutoModel, AutoModelForSequenceClassification, BertConfig, BertTokenizerFast

    folder.mkdir(parents=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    torch.manual_seed(7)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    settings = BertConfig(vocab_size=len(pieces), max_position_embeddings=64, **shape, **config)
    factory = AutoModelForSequenceClassification if config else AutoModel
    factory.from_config(settings).save_pretrained(folder)
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    BertTokenizerFast(vocab=vocabulary, model_max_length=64).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def save_model(tmp_path_factory: pytest.TempPathFactory):
    def save(pooling: str) -> Path:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

        root = tmp_path_factory.mktemp(pooling)
        transformer = Transformer(str(save_bert(root / "bert")), max_seq_length=32)
        model = SentenceTransformer(modules=[transformer, Pooling(16, pooling_mode=pooling)], prompts=PROMPTS)
        model.save(str(root / "model"))
        return root / "model"

    return save


@pytest.mark.parametrize(("pooling", "kind"), [("cls", OnnxEmbedder), ("max", SentenceTransformerEmbedder)])
def test_a_folder_is_embedded_as_the_library_does_with_its_prompts(save_model, pooling, kind, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    folder = save_model(pooling)
    embedder = load_embedder(str(folder), tmp_path)
    assert isinstance(embedder, kind), embedder.degraded
    assert embedder.degraded == ""
    reference = SentenceTransformer(str(folder), device="cpu")
    texts = ["abc def", "", "one two three four five six seven eight nine ten", "abc"]
    options = {"normalize_embeddings": True, "show_progress_bar": False}
    # bfloat16, where the processor has it, shows in the fifth decimal; without a prompt the cosine would be below .9.
    assert np.abs(embedder.embed_documents(texts) - reference.encode_document(texts, **options)).max() < 1e-3
    assert np.abs(embedder.embed_queries(texts) - reference.encode_query(texts, **options)).max() < 1e-3
    assert (embedder.dimension, embedder.max_tokens) == (16, 32)
    assert embedder.num_special_tokens == 2 + len("passage:")
    assert embedder.token_starts("ab c") == [0, 1, 3]
    assert embedder.embed_documents([]).shape == (0, 16)


def test_models_never_share_a_fingerprint(save_model, tmp_path: Path) -> None:
    names = [str(save_model("max")), str(save_model("lasttoken")), "hash"]
    prints = [load_embedder(name, tmp_path).fingerprint for name in names]
    assert all(a != b for a, b in itertools.combinations(prints, 2))


def test_a_damaged_model_is_named(save_model, tmp_path: Path) -> None:
    folder = save_model("max")
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises((ModelMissingError), match="cannot be loaded"):
        load_embedder(str(folder), tmp_path)


def test_a_cross_encoder_folder_gives_logits(tmp_path: Path) -> None:
    folder = save_bert(tmp_path / "ranker", num_labels=1)
    model = load_cross_encoder(str(folder))
    pairs = [("what", "abc def"), ("why", "abc " * 100)]
    scores = model.predict(pairs)
    assert scores == pytest.approx([model.predict([pair])[0] for pair in pairs], abs=1e-5)
    assert model.predict([]) == []
    with pytest.raises(BadInputError, match="3 scores a pair"):
        load_cross_encoder(str(save_bert(tmp_path / "nli", num_labels=3)))
