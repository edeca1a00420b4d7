"""A segment's full-text index: written by ``fts_build``, read by ``fts_query``, ranked by ``bm25``."""

from __future__ import annotations

from corpus_assets.bm25 import LexicalHit, Scores, score_terms, search_segments, search_terms
from corpus_assets.fts_build import FtsStats, build_fts
from corpus_assets.fts_query import (
    ANY_RETRIEVABLE,
    ChunkFilter,
    FtsIndex,
    TermStats,
    open_fts,
    tokenize,
)

__all__ = [
    "ANY_RETRIEVABLE",
    "ChunkFilter",
    "FtsIndex",
    "FtsStats",
    "LexicalHit",
    "Scores",
    "TermStats",
    "build_fts",
    "open_fts",
    "score_terms",
    "search_segments",
    "search_terms",
    "tokenize",
]
