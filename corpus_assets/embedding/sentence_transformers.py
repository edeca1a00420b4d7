"""Any sentence-transformers model on this machine, through that library (and torch)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import ModelMissingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DEFAULT_MAX_TOKENS = 512  # when neither the model nor its tokeniser names a limit


class SentenceTransformerEmbedder:
    """Embed with ``SentenceTransformer``: its prompts, its pooling, its ``max_seq_length``; unit vectors.

    Loading imports torch, which takes seconds. The folder must exist: nothing is ever downloaded.
    """

    def __init__(
        self,
        name: str,
        fingerprint: str,
        folder: Path,
        *,
        threads: int = 1,
        batch_size: int = 32,
        degraded: str = "",
    ) -> None:
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelMissingError(
                f"The model {name} needs sentence-transformers and torch, which cannot be imported: {error}.",
                hint="Install them: pip install sentence-transformers",
            ) from error
        torch.set_num_threads(threads)
        self.name = name
        self.fingerprint = fingerprint
        self.batch_size = batch_size
        self.degraded = degraded
        try:
            self.model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        except Exception as error:  # whatever a damaged or unknown folder makes three libraries raise
            raise ModelMissingError(
                f"The model in {folder} cannot be loaded: {error}", hint="Copy or download the whole model again."
            ) from error
        self.dimension = int(self.model.get_embedding_dimension() or 0)
        self.max_tokens = _max_tokens(self.model)
        prompts = self.model.prompts
        default = prompts.get(self.model.default_prompt_name or "", "")
        names = [name for name in ("document", "passage", "corpus") if name in prompts]
        prompt = (prompts[names[0]] if names else default) or ""
        self.num_special_tokens = _num_special_tokens(self.model.tokenizer) + len(self.token_starts(prompt))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors in the order of ``texts``, with the model's document prompt."""
        return self._embed(self.model.encode_document, texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of questions, with the model's query prompt."""
        return self._embed(self.model.encode_query, texts)

    def token_starts(self, text: str) -> list[int]:
        """Return the character offset of each word piece; of a slow tokeniser only the words' offsets are known."""
        tokenizer = self.model.tokenizer
        if getattr(tokenizer, "is_fast", False):
            encoded = tokenizer(
                text, add_special_tokens=False, truncation=False, return_offsets_mapping=True, verbose=False
            )
            return [int(start) for start, _ in encoded["offset_mapping"]]
        starts: list[int] = []
        at = 0
        for word in text.split():
            at = text.index(word, at)
            starts.extend([at] * max(1, len(tokenizer.tokenize(word))))
            at += len(word)
        return starts

    def _embed(self, encode: Any, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors: NDArray[np.float32] = encode(
            list(texts), batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False
        ).astype(np.float32)
        return vectors


def _max_tokens(model: Any) -> int:
    limit = model.max_seq_length or getattr(model.tokenizer, "model_max_length", None) or _DEFAULT_MAX_TOKENS
    return _DEFAULT_MAX_TOKENS if limit > 1_000_000 else int(limit)  # "no limit" is written as 1e30


def _num_special_tokens(tokenizer: Any) -> int:
    counter = getattr(tokenizer, "num_special_tokens_to_add", None)
    return int(counter()) if counter is not None else 2
