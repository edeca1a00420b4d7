"""What every embedder offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turn texts into unit vectors.

    ``fingerprint`` identifies everything that shapes the vectors (weights, pooling, prompts, precision); vectors of
    different fingerprints are never mixed. ``max_tokens`` counts word pieces including ``num_special_tokens``, which
    are those the model adds to every document (a document prompt among them). ``degraded`` is empty, or names what
    could not be had and what is used instead.
    """

    name: str
    fingerprint: str
    dimension: int
    max_tokens: int
    num_special_tokens: int
    degraded: str

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return ``(len(texts), dimension)`` float32 unit vectors, in the order of ``texts``."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same for questions, with the model's own query prompt."""
        ...

    def token_starts(self, text: str) -> list[int]:
        """Return the character offset at which each word piece of ``text`` starts, untruncated, without specials."""
        ...
