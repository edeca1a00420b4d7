"""The dense leg: cosine between the question's vector and the chunks'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from corpus_assets.fts import ANY_RETRIEVABLE, ChunkFilter
from corpus_assets.memory import Memory
from corpus_assets.pdf.normalise import clean_text
from corpus_assets.vectors import vector_id
from retrieval.corpus import Corpus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder

_MIN_COSINE = 1e-6
_CACHED_QUESTIONS = 256
# The same text embedded in another batch differs in the sixth decimal; beyond it, order is by chunk id.
_COSINE_DECIMALS = 5

_SPREAD_SAMPLE = 256
_SPREAD_MINIMUM = 12

_spreads: WeakKeyDictionary[Corpus, float] = WeakKeyDictionary()
_questions: Memory[tuple[str, str], NDArray[np.float32]] = Memory(_CACHED_QUESTIONS)


class DenseHit(NamedTuple):
    chunk_id: str
    cosine: float


def embed_question(embedder: Embedder, query: str) -> NDArray[np.float32]:
    """Return the question's unit vector ``(d,)``; the last few hundred are remembered.

    The question is cleaned as the papers' text was: one pasted from a PDF, ligatures and all, asks the same.
    """
    query = clean_text(query)
    key = (embedder.fingerprint, query)
    known = _questions.get([key])
    if not known:
        known = {key: embedder.embed_queries([query])[0]}
        _questions.put(known)
    return known[key]


def forget_questions() -> None:
    """Forget the vectors of questions asked before: a timed search must not find its own from another mode's turn."""
    _questions.clear()


def search(
    corpus: Corpus, vector: NDArray[np.float32], k: int, allowed: ChunkFilter = ANY_RETRIEVABLE
) -> list[DenseHit]:
    """Return the ``k`` nearest chunks with a cosine above 0; cosine first (5 decimals), then chunk id."""
    hits: list[DenseHit] = []
    for segment in corpus.segments:
        if segment.vectors is None or not segment.vectors.num_vectors:
            continue
        allowed_ids = segment.fts.vector_ids(allowed)
        is_everything = len(allowed_ids) == segment.vectors.num_vectors and not allowed.include_unretrievable
        scores, ids = segment.vectors.search(vector, k, None if is_everything else allowed_ids)
        names = segment.fts.chunk_ids_by_vector_id(ids.tolist())
        hits.extend(
            DenseHit(name, round(float(score), _COSINE_DECIMALS)) for name, score in zip(names, scores, strict=True)
        )
    hits = [hit for hit in hits if hit.cosine > _MIN_COSINE]
    hits.sort(key=lambda hit: (-hit.cosine, hit.chunk_id))
    return hits[:k]


def cosines(corpus: Corpus, vector: NDArray[np.float32], chunk_ids: Sequence[str]) -> dict[str, float]:
    """Return the cosine of each of ``chunk_ids`` that has a vector."""
    import numpy as np

    found: dict[str, float] = {}
    for segment in corpus.segments:
        if segment.vectors is None:
            continue
        asked = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
        wanted = {vector_id(chunk_id): chunk_id for chunk_id in segment.fts.chunk_numbers(asked)}
        known: list[int] = segment.vectors.known(np.array(list(wanted), dtype=np.int64)).tolist() if wanted else []
        if known:
            scores = segment.vectors.reconstruct(np.array(known, dtype=np.int64)) @ vector
            found |= {wanted[number]: float(score) for number, score in zip(known, scores, strict=True)}
    return found


def spread(corpus: Corpus) -> float:
    """Return the standard deviation of the cosine between two passages, from a fixed sample; 0 if there are too few.

    Models differ by a factor of two and more in how far apart they set unrelated texts. The sample is the passages with
    the smallest vector ids, so that it does not depend on segments or on the order of an ingest.
    """
    import numpy as np

    known = _spreads.get(corpus)
    if known is not None:
        return known
    candidates = []
    for segment in corpus.segments:
        if segment.vectors is not None:
            ids = np.sort(segment.vectors.known(segment.fts.vector_ids()))[:_SPREAD_SAMPLE]
            candidates += [(int(number), segment.vectors) for number in ids]
    candidates.sort(key=lambda item: item[0])
    rows = [vectors.reconstruct(np.array([number], dtype=np.int64)) for number, vectors in candidates[:_SPREAD_SAMPLE]]
    found = 0.0
    if len(rows) >= _SPREAD_MINIMUM:
        matrix = np.concatenate(rows)
        pairs = (matrix @ matrix.T)[np.triu_indices(len(rows), 1)]
        found = round(float(pairs.std()), 3)
    _spreads[corpus] = found
    return found


def has_vectors(corpus: Corpus) -> bool:
    """Tell whether any segment can be searched by vector."""
    return any(segment.vectors is not None and segment.vectors.num_vectors for segment in corpus.segments)
