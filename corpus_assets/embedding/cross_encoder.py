"""Cross-encoders: score how well a passage answers a question, one logit a pair.

The one that needs no download is ms-marco-MiniLM-L-12-v2 (int8 ONNX) of the optional package.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from corpus_assets.embedding.checksums import Checksums
from corpus_assets.embedding.onnx_embedder import BertTokenizer, OnnxSession, pad_batch
from corpus_assets.embedding.packaged import check_extra_folder, find_extra_folder
from corpus_assets.embedding.registry import find_model_folder
from corpus_assets.errors import BadInputError, ModelMissingError

_FOLDER = "reranker_en"
_QUESTION_SHARE = 2  # a question may take at most half of the tokens


class CrossEncoder(Protocol):
    """Scores (question, passage) pairs: logits, higher is better, unbounded, in the order of the pairs."""

    name: str

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]: ...


def find_cross_encoder() -> Path | None:
    """Return the folder of the packaged cross-encoder, None when the optional package is not installed."""
    try:
        return find_extra_folder(_FOLDER)
    except ModelMissingError:
        return None


def cross_encoder_available() -> bool:
    """Tell whether the packaged cross-encoder is installed (its checksum is tested when it is loaded)."""
    return find_cross_encoder() is not None


def load_cross_encoder(name: str, threads: int = 1) -> CrossEncoder:
    """Return the packaged cross-encoder for ``default``, else a sentence-transformers one by name or folder.

    Raises ``ModelMissingError`` at once when it is not on this machine; nothing is downloaded.
    """
    if name in {"auto", "default", "cross-encoder"}:
        return OnnxCrossEncoder(threads=threads)
    return SentenceTransformersCrossEncoder(name, find_model_folder(name), threads=threads)


class OnnxCrossEncoder:
    """ms-marco-MiniLM-L-12-v2. Only the passage is cut (a question past half of ``max_tokens`` is, too).

    Pairs run one at a time: the graph's int8 arithmetic depends on the whole batch, and a score may not.
    """

    name = "ms-marco-MiniLM-L-12-v2"

    def __init__(
        self,
        folder: Path | None = None,
        *,
        max_tokens: int = 256,
        threads: int = 1,
        cache_dir: Path | None = None,
    ) -> None:
        self.folder = find_extra_folder(_FOLDER) if folder is None else folder
        self.max_tokens = max_tokens
        self.threads = threads
        check_extra_folder(self.folder, Checksums(cache_dir))
        self._tokenizer = BertTokenizer(self.folder / "tokenizer.json", max_tokens, strategy="only_second")

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return one logit a pair."""
        return [self._score(question, passage) for question, passage in pairs]

    @cached_property
    def _session(self) -> OnnxSession:
        return OnnxSession(self.folder / "model.onnx", self.threads)

    def _score(self, question: str, passage: str) -> float:
        starts = self._tokenizer.token_starts(question)
        limit = self.max_tokens // _QUESTION_SHARE
        if len(starts) > limit:
            question = question[: starts[limit]]
        encoding = self._tokenizer.truncating.encode(question, passage)
        return float(self._session.run(*pad_batch([encoding]))[0, 0])


class SentenceTransformersCrossEncoder:
    """Any sentence-transformers ``CrossEncoder`` with one output, through that library (and torch)."""

    def __init__(self, name: str, folder: Path, *, threads: int = 1, batch_size: int = 16) -> None:
        try:
            import torch
            from sentence_transformers import CrossEncoder as Model
        except ImportError as error:
            raise ModelMissingError(
                f"The cross-encoder {name} needs sentence-transformers and torch, which cannot be imported: {error}.",
                hint="Install them: pip install sentence-transformers",
            ) from error
        torch.set_num_threads(threads)
        self.name = name
        self.batch_size = batch_size
        self._identity = torch.nn.Identity()
        try:
            self._model = Model(str(folder), device="cpu", local_files_only=True)
        except Exception as error:  # whatever a damaged or unknown folder makes three libraries raise
            raise ModelMissingError(
                f"The cross-encoder in {folder} cannot be loaded: {error}",
                hint="Copy or download the whole model again.",
            ) from error
        if self._model.num_labels != 1:
            raise BadInputError(
                f"The model {name} gives {self._model.num_labels} scores a pair; a reranker gives one.",
                hint="Name a cross-encoder trained for ranking.",
            )

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return one logit a pair (no sigmoid)."""
        if not pairs:
            return []
        scores = self._model.predict(
            list(pairs), batch_size=self.batch_size, activation_fn=self._identity, show_progress_bar=False
        )
        return [float(score) for score in scores]
