"""bge-small-en-v1.5 (int8 ONNX) from the optional package: a stronger embedder than the default, 512 tokens."""

from __future__ import annotations

from corpus_assets.embedding.checksums import Checksums, digest_of
from corpus_assets.embedding.onnx_embedder import OnnxEmbedder
from corpus_assets.embedding.packaged import check_extra_folder, find_extra_folder

_QUERY_PROMPT = "Represent this sentence for searching relevant passages: "
_MAX_TOKENS = 512
_DIMENSION = 384


def load_bge_small(checksums: Checksums, *, threads: int = 1, batch_size: int = 32) -> OnnxEmbedder:
    """Return the embedder, its files checked against the package's checksums; CLS pooling, query prompt.

    Texts run one at a time: the graph's int8 arithmetic depends on the whole batch, and vectors may not.
    """
    folder = find_extra_folder("bge_small_en")
    check_extra_folder(folder, checksums)
    parts = [checksums.sha256(folder / name) for name in ("model.onnx", "tokenizer.json")]
    return OnnxEmbedder(
        "bge-small",
        digest_of(["embedder-v1", "cls", str(_MAX_TOKENS), _QUERY_PROMPT, *parts]),
        folder / "model.onnx",
        folder / "tokenizer.json",
        dimension=_DIMENSION,
        max_tokens=_MAX_TOKENS,
        pooling="cls",
        query_prompt=_QUERY_PROMPT,
        threads=threads,
        batch_size=batch_size,
        one_by_one=True,
    )
