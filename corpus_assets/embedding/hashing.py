"""A deterministic embedder without a model: words and word pairs hashed into a vector.

For tests and the offline benchmark tier. It knows no meaning: texts are near when they share words.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"\w{1,16}|[^\w\s]")
_PAIR_WEIGHT = 0.5


class HashEmbedder:
    """Hash each word and each pair of neighbours (signed feature hashing, Weinberger et al. 2009; tf is 1 + ln tf)."""

    name = "hash"
    fingerprint = "hash-v1-384"
    dimension = 384
    max_tokens = 256
    num_special_tokens = 0
    degraded = ""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text; a text without words gets the same fixed vector each time."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float64)
        for row, text in zip(vectors, texts, strict=True):
            for slot, value in _features(text, self.dimension):
                row[slot] += value
            length = float(np.linalg.norm(row))
            if length > 0:
                row /= length
            else:
                row[:] = 1 / math.sqrt(self.dimension)
        return vectors.astype(np.float32)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same as for documents: there is no query prompt."""
        return self.embed_documents(texts)

    def token_starts(self, text: str) -> list[int]:
        """Return where words (cut every 16 letters) and single marks start."""
        return [piece.start() for piece in _PIECE.finditer(text)]


def _features(text: str, dimension: int) -> Iterator[tuple[int, float]]:
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    counts = Counter(words)
    pairs = Counter(pairwise(words))
    for word, count in counts.items():
        slot, sign = _hash(word, dimension)
        yield slot, sign * (1 + math.log(count))
    for (first, second), count in pairs.items():
        slot, sign = _hash(f"{first} {second}", dimension)
        yield slot, sign * _PAIR_WEIGHT * (1 + math.log(count))


@lru_cache(maxsize=262_144)
def _hash(feature: str, dimension: int) -> tuple[int, float]:
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return (number >> 1) % dimension, 1.0 if number & 1 else -1.0
