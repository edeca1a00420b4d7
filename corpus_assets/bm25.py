"""Rank chunks over several segments by BM25 with exact global statistics.

Scores are those of DuckDB's ``match_bm25`` (Okapi BM25, decimal logarithm, no stop words), computed from the postings
of the question's own terms only. Order: score, highest first; equal scores by chunk id, smallest first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from corpus_assets.fts_query import ANY_RETRIEVABLE, ChunkFilter, FtsIndex, tokenize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_QUERY_TERMS = 256  # of a longer question the rarest terms count
PAPER_ONLY_SHARE = 0.6  # from this share of the question on, metadata alone brings a paper's first chunk
_SCORE_DECIMALS = 9


class LexicalHit(NamedTuple):
    """``paper_share`` is the share of the question's weight found in the paper's title, authors, year, ids."""

    chunk_id: str
    score: float
    paper_share: float = 0.0


class GlobalStats:
    """Term statistics summed over segments: the same numbers one index over everything would have."""

    def __init__(self, segments: Sequence[FtsIndex], terms: Sequence[str]) -> None:
        per_segment = [segment.term_stats(terms) for segment in segments]
        self.num_chunks = sum(segment.num_live for segment in segments)
        self.num_papers = sum(segment.num_live_papers for segment in segments)
        total = sum(segment.total_terms for segment in segments)
        self.average_length = total / self.num_chunks if self.num_chunks else 0.0
        self.chunk_df = {term: sum(stats[term].chunk_df for stats in per_segment) for term in terms}
        self.paper_df = {term: sum(stats[term].paper_df for stats in per_segment) for term in terms}

    def chunk_idf(self, term: str) -> float:
        return _idf(self.num_chunks, self.chunk_df[term])

    def paper_idf(self, term: str) -> float:
        return _idf(self.num_papers, self.paper_df[term])


def search_segments(
    segments: Sequence[FtsIndex],
    query: str,
    k: int,
    allowed: ChunkFilter = ANY_RETRIEVABLE,
    *,
    paper_weight: float = 0.0,
    weights: Mapping[str, float] | None = None,
) -> list[tuple[str, float]]:
    """Return the best ``k`` (chunk id, score), every score above 0; score first, then chunk id.

    With ``paper_weight`` 0 this is ``match_bm25``'s ranking over all segments together. Otherwise a chunk whose text
    matches gains from its paper's metadata, see ``search_terms``.
    """
    terms = tokenize(query) if weights is None else list(weights)
    hits = search_terms(segments, dict.fromkeys(terms, 1.0) if weights is None else weights, k, allowed, paper_weight)
    return [(hit.chunk_id, hit.score) for hit in hits]


def search_terms(
    segments: Sequence[FtsIndex],
    weights: Mapping[str, float],
    k: int,
    allowed: ChunkFilter = ANY_RETRIEVABLE,
    paper_weight: float = 0.0,
) -> list[LexicalHit]:
    """Return the best ``k`` chunks for weighted terms (folded and stemmed), see ``score_terms``."""
    return score_terms(segments, weights, allowed, paper_weight).top(k)


def score_terms(
    segments: Sequence[FtsIndex],
    weights: Mapping[str, float],
    allowed: ChunkFilter = ANY_RETRIEVABLE,
    paper_weight: float = 0.0,
) -> Scores:
    """Score every allowed chunk for weighted terms (folded and stemmed).

    A paper's metadata adds ``paper_weight * share² * sum of idf of its matched terms`` to each of its matching chunks,
    ``share`` being the part of the question's idf that the metadata holds: next to nothing for a question that shares
    a word with a title, decisive for a title, "author year" or DOI. Above ``PAPER_ONLY_SHARE`` the paper's first
    allowed chunk is returned even if no text matches.
    """
    import numpy as np

    if not weights:
        return Scores([], 0.0)
    stats = GlobalStats(segments, list(weights))
    known = sorted(term for term in weights if stats.chunk_df[term] or (paper_weight and stats.paper_df[term]))
    if len(known) > MAX_QUERY_TERMS:
        known = sorted(sorted(known, key=lambda term: (-weights[term] * stats.chunk_idf(term), term))[:MAX_QUERY_TERMS])
    question_weight = sum(stats.chunk_idf(term) * weights[term] for term in weights)
    parts = []
    for segment in segments:
        scores = _bm25(segment, known, weights, stats)
        shares = np.zeros(len(segment.paper_ids))
        mask = segment.mask(allowed)
        if paper_weight and question_weight:
            shares, gains = _paper_match(segment, known, weights, stats, question_weight)
            _add_first_chunks(segment, scores, mask, shares)
            matched = scores > 0
            scores[matched] += paper_weight * gains[segment.paper_of_chunk[matched]]
        scores[~mask] = 0.0
        np.round(scores, _SCORE_DECIMALS, out=scores)
        parts.append(_SegmentScores(segment, scores, shares))
    return Scores(parts, question_weight)


@dataclass(frozen=True)
class _SegmentScores:
    segment: FtsIndex
    scores: NDArray[np.float64]  # by chunk number
    shares: NDArray[np.float64]  # by paper number


class Scores:
    """The scores of one question. ``question_weight`` is the sum of its terms' idf: divided by it, scores compare."""

    def __init__(self, parts: Sequence[_SegmentScores], question_weight: float) -> None:
        self._parts = parts
        self.question_weight = question_weight

    def top(self, k: int) -> list[LexicalHit]:
        """Return the best ``k`` chunks, every score above 0; score first, then chunk id."""
        import numpy as np

        hits: list[LexicalHit] = []
        for part in self._parts if k > 0 else ():
            numbers = np.flatnonzero(part.scores)
            if len(numbers) > k:
                worst = np.partition(part.scores[numbers], len(numbers) - k)[len(numbers) - k]
                numbers = numbers[part.scores[numbers] >= worst]
            papers = part.shares[part.segment.paper_of_chunk[numbers]]
            ids = part.segment.chunk_ids(numbers.tolist())
            hits.extend(map(LexicalHit, ids, part.scores[numbers].tolist(), papers.tolist()))
        hits.sort(key=lambda hit: (-hit.score, hit.chunk_id))
        return hits[:k]

    def of(self, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Return the scores of some chunks; 0 for one that matches nothing or may not be returned."""
        found = dict.fromkeys(chunk_ids, 0.0)
        for part in self._parts:
            for chunk_id, number in part.segment.chunk_numbers(chunk_ids).items():
                found[chunk_id] = float(part.scores[number])
        return found


def _bm25(
    segment: FtsIndex, terms: Sequence[str], weights: Mapping[str, float], stats: GlobalStats
) -> NDArray[np.float64]:
    import numpy as np

    scores = np.zeros(segment.num_rows)
    if not stats.average_length:
        return scores
    k1, b = segment.k1, segment.b
    norms = k1 * ((1 - b) + b / stats.average_length * segment.lengths)
    postings = segment.postings(terms)
    for term in terms:
        if term in postings:
            numbers, counts = postings[term]
            weight = weights[term] * stats.chunk_idf(term) * (k1 + 1)
            scores[numbers] += weight * counts / (counts + norms[numbers])
    return scores


def _paper_match(
    segment: FtsIndex, terms: Sequence[str], weights: Mapping[str, float], stats: GlobalStats, question_weight: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return, by paper number, the share of the question in its metadata, and what that adds to its chunks."""
    import numpy as np

    shares, gains = np.zeros(len(segment.paper_ids)), np.zeros(len(segment.paper_ids))
    postings = segment.paper_postings(terms)
    for term in terms:
        if term in postings:
            numbers, _ = postings[term]
            shares[numbers] += weights[term] * stats.chunk_idf(term) / question_weight
            gains[numbers] += weights[term] * stats.chunk_idf(term)
    return shares, gains * shares**2


def _add_first_chunks(
    segment: FtsIndex, scores: NDArray[np.float64], mask: NDArray[np.bool_], shares: NDArray[np.float64]
) -> None:
    """Let papers that match by metadata alone in with their first allowed chunk."""
    import numpy as np

    for paper in np.flatnonzero(shares >= PAPER_ONLY_SHARE).tolist():
        chunks = np.flatnonzero((segment.paper_of_chunk == paper) & mask)
        if len(chunks) and not scores[chunks].any():
            scores[chunks[0]] = 1e-6


def _idf(num: int, df: int) -> float:
    return math.log10((num - df + 0.5) / (df + 0.5) + 1)
