"""Search a corpus: full text, dense, or both fused."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from corpus_assets.errors import BadInputError
from corpus_assets.folding import fold_for_search
from corpus_assets.fts import ChunkFilter, LexicalHit, Scores
from corpus_assets.model import Chunk
from corpus_assets.settings import RetrievalMode, RetrievalSettings
from retrieval import dense, lexical
from retrieval.corpus import Corpus
from retrieval.filters import Filters, resolve_filters
from retrieval.fusion import Fused, rrf, weigh_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder

NAMED_PAPER_SHARE = 0.6  # a question whose weight lies this much in a paper's metadata asks for that paper
REFERENCE_SPREAD = 0.129  # standard deviation of all-MiniLM-L6-v2's cosine between two of SciFact's abstracts
_WORKS: WeakKeyDictionary[Corpus, dict[str, str]] = WeakKeyDictionary()
SAME_PASSAGE = 0.9  # Jaccard overlap of word triples from which two passages of one work count as one
_SHINGLE = 3


@dataclass(frozen=True)
class Hit:
    """A passage found. ``score`` is BM25, cosine or the fused score, by mode; ranks count from 1."""

    rank: int
    score: float
    chunk: Chunk
    fts_rank: int | None = None
    dense_rank: int | None = None
    cosine: float | None = None
    same_as: tuple[str, ...] = ()  # near-identical passages of other versions of the paper, left out


@dataclass(frozen=True)
class Legs:
    """What each leg brought, for the stage ledger."""

    num_fts: int = 0
    num_dense: int = 0
    num_fused: int = 0
    num_collapsed: int = 0
    num_capped: int = 0
    fts_ids: tuple[str, ...] = ()
    dense_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first. ``degraded`` says in words which leg did not run and why."""

    hits: list[Hit]
    degraded: list[str] = field(default_factory=list)
    ms: float = 0.0
    legs: Legs = Legs()
    mode: RetrievalMode = "hybrid"


def search(
    generation: Corpus,
    query: str,
    *,
    mode: RetrievalMode = "hybrid",
    k: int = 10,
    embedder: Embedder | None = None,
    filters: Filters | None = None,
    settings: RetrievalSettings | None = None,
    max_per_paper: int | None = None,
) -> SearchResult:
    """Return the best ``k`` passages for ``query``.

    Superseded papers are never found, retracted ones only if settings or filters say so. In hybrid mode the dense leg
    is left out, and ``degraded`` says so, for questions it can only answer with noise: bare identifiers, a single word
    that the corpus has, a script the model has not learnt. Near-identical passages of versions of one work are shown
    once. Order: score, best rank in a single leg, chunk id. Raises BadInputError for a question without a searchable
    character, an unknown mode, or ``embedding_only`` without a model.
    """
    started = time.perf_counter()
    settings = settings or RetrievalSettings.model_validate({})
    terms = lexical.query_terms(query)
    allowed = resolve_filters(filters, generation, include_retracted=settings.include_retracted)
    depth = max(settings.depth, k)
    degraded: list[str] = []
    lexical_hits: list[LexicalHit] = []
    dense_hits: list[dense.DenseHit] = []
    scores = Scores([], 0.0)
    vector: NDArray[np.float32] | None = None
    if mode not in ("fts_only", "embedding_only", "hybrid"):
        raise BadInputError(f"Unknown retrieval mode {mode!r}.", hint="Use fts_only, embedding_only or hybrid.")
    dense_leg = None
    reason = "" if mode == "fts_only" else _no_dense_reason(generation, query, mode, embedder, has_lexical_hits=True)
    if embedder is not None and mode == "hybrid" and not reason:
        dense_leg = _leg_threads().submit(_search_dense, generation, query, embedder, depth, allowed)
    if mode != "embedding_only":
        try:
            scores = lexical.score(generation, terms, allowed, paper_weight=settings.paper_weight)
            lexical_hits = scores.top(depth)
        finally:
            if dense_leg is not None:
                wait([dense_leg])  # nothing runs on after an error, nor when the corpus is closed
        if not lexical_hits:
            degraded.append("no lexical hit: no passage holds a word of the question")
    if mode != "fts_only":
        if reason and not lexical_hits:
            reason = _no_dense_reason(generation, query, mode, embedder, has_lexical_hits=False)
        if reason:
            degraded.append(reason)
        elif dense_leg is not None:
            vector, dense_hits = dense_leg.result()
        elif embedder is not None:
            vector, dense_hits = _search_dense(generation, query, embedder, depth, allowed)
    cosine_of = {hit.chunk_id: hit.cosine for hit in dense_hits}
    if mode == "hybrid" and vector is not None and settings.fusion == "scores":
        cosine_of |= dense.cosines(
            generation, vector, [hit.chunk_id for hit in lexical_hits if hit.chunk_id not in cosine_of]
        )
        ranking = _fuse_scores(generation, scores, cosine_of, lexical_hits, dense_hits, settings.dense_share)
    else:
        ranking = _fuse_ranks(lexical_hits, dense_hits, mode, settings)
    selection = _select(generation, ranking, k, max_per_paper)
    if vector is not None:
        unknown = [item.id for item in selection.kept if item.id not in cosine_of]
        cosine_of |= dense.cosines(generation, vector, unknown)
    hits = _hits(generation, selection, lexical_hits, dense_hits, cosine_of)
    legs = Legs(
        num_fts=len(lexical_hits),
        num_dense=len(dense_hits),
        num_fused=len(ranking),
        num_collapsed=selection.num_collapsed,
        num_capped=selection.num_capped,
        fts_ids=tuple(hit.chunk_id for hit in lexical_hits),
        dense_ids=tuple(hit.chunk_id for hit in dense_hits),
    )
    return SearchResult(hits, degraded, (time.perf_counter() - started) * 1000, legs, mode)


@functools.cache
def _leg_threads() -> ThreadPoolExecutor:
    """Return the threads dense legs run in, beside full text: DuckDB, FAISS and numpy let each other work."""
    return ThreadPoolExecutor(max_workers=4, thread_name_prefix="dense-leg")


def _search_dense(
    corpus: Corpus, query: str, embedder: Embedder, depth: int, allowed: ChunkFilter
) -> tuple[NDArray[np.float32], list[dense.DenseHit]]:
    vector = dense.embed_question(embedder, query)
    return vector, dense.search(corpus, vector, depth, allowed)


def _no_dense_reason(
    corpus: Corpus, query: str, mode: RetrievalMode, embedder: Embedder | None, *, has_lexical_hits: bool
) -> str:
    """Return why the dense leg does not run, or ``""``."""
    if embedder is None:
        if mode == "embedding_only":
            raise BadInputError(
                "embedding_only needs the embedding model, and none is loaded.", hint="`research-copilot doctor`."
            )
        return "dense leg skipped: no embedding model is loaded"
    if not dense.has_vectors(corpus):
        return "dense leg skipped: the corpus has no vectors"
    if mode == "embedding_only":
        return ""
    if lexical.is_foreign_script(query):
        return "dense leg skipped: the embedding model has not learnt the question's script"
    if lexical.is_identifiers_only(query):
        return "dense leg skipped: the question holds only identifiers"
    if has_lexical_hits and lexical.is_one_word(query):
        return "dense leg skipped: the question is one word, which the corpus has"
    return ""


def _fuse_ranks(
    lexical_hits: Sequence[LexicalHit],
    dense_hits: Sequence[dense.DenseHit],
    mode: RetrievalMode,
    settings: RetrievalSettings,
) -> list[Fused]:
    if mode == "fts_only" or not dense_hits:
        return [Fused(hit.chunk_id, hit.score, rank) for rank, hit in enumerate(lexical_hits, start=1)]
    if mode == "embedding_only":
        return [Fused(hit.chunk_id, hit.cosine, rank) for rank, hit in enumerate(dense_hits, start=1)]
    rankings = [[hit.chunk_id for hit in lexical_hits], [hit.chunk_id for hit in dense_hits]]
    named: dict[str, str] = {}
    for hit in lexical_hits:
        if hit.paper_share >= NAMED_PAPER_SHARE:
            named.setdefault(paper_of(hit.chunk_id), hit.chunk_id)
    if named:
        rankings.append(list(named.values()))
    return rrf(rankings, k=settings.rrf_k)


def _fuse_scores(
    corpus: Corpus,
    scores: Scores,
    cosine: Mapping[str, float],
    lexical_hits: Sequence[LexicalHit],
    dense_hits: Sequence[dense.DenseHit],
    dense_share: float,
) -> list[Fused]:
    """Fuse by BM25 over the question's idf, which is about 0 to 2, and cosine; both legs score what either found.

    Cosines of a model that sets texts less far apart than all-MiniLM-L6-v2, for which the weight was chosen, are
    stretched to the same spread.
    """
    rankings = [[hit.chunk_id for hit in lexical_hits], [hit.chunk_id for hit in dense_hits]]
    bm25 = {hit.chunk_id: hit.score for hit in lexical_hits}
    bm25 |= scores.of([chunk_id for chunk_id in rankings[1] if chunk_id not in bm25])
    spread = dense.spread(corpus)
    stretch = min(max(REFERENCE_SPREAD / spread, 0.5), 3.0) if spread else 1.0
    weight = scores.question_weight or 1.0
    shares = {chunk_id: score / weight for chunk_id, score in bm25.items()}
    fused = weigh_scores((shares, cosine), rankings, weights=(1 - dense_share, dense_share * stretch))
    return [item for item in fused if item.score > 0]


def paper_of(chunk_id: str) -> str:
    """Return the paper a chunk id belongs to: what stands before the first colon."""
    return chunk_id.split(":", 1)[0]


@dataclass(frozen=True)
class _Selection:
    kept: list[Fused]
    same_as: Mapping[str, list[str]]
    num_collapsed: int = 0
    num_capped: int = 0


def _select(corpus: Corpus, ranking: Sequence[Fused], k: int, max_per_paper: int | None) -> _Selection:
    """Walk down the ranking: leave out repeats from other versions and what a paper has beyond its cap."""
    works = _shared_works(corpus, ranking)
    texts: dict[str, frozenset[tuple[str, ...]]] = {}
    if works:
        shared = [item.id for item in ranking if paper_of(item.id) in works]
        texts = {chunk.chunk_id: _shingles(chunk.text) for chunk in corpus.chunks(shared)}
    kept: list[Fused] = []
    same_as: dict[str, list[str]] = {}
    per_paper: dict[str, int] = {}
    num_collapsed = num_capped = 0
    for item in ranking:
        if len(kept) == k:
            break
        paper = paper_of(item.id)
        twin = _twin(item, kept, works, texts) if paper in works else None
        if twin is not None:
            same_as.setdefault(twin, []).append(item.id)
            num_collapsed += 1
        elif max_per_paper is not None and per_paper.get(paper, 0) >= max_per_paper:
            num_capped += 1
        else:
            per_paper[paper] = per_paper.get(paper, 0) + 1
            kept.append(item)
    return _Selection(kept, same_as, num_collapsed, num_capped)


def _twin(
    item: Fused, kept: Sequence[Fused], works: Mapping[str, str], texts: Mapping[str, frozenset[tuple[str, ...]]]
) -> str | None:
    """Return a passage already kept that is the same one in another version of the work."""
    paper = paper_of(item.id)
    for other in kept:
        other_paper = paper_of(other.id)
        is_version = other_paper != paper and works.get(other_paper) == works[paper]
        if is_version and _overlap(texts[item.id], texts[other.id]) >= SAME_PASSAGE:
            return other.id
    return None


def _shared_works(corpus: Corpus, ranking: Sequence[Fused]) -> dict[str, str]:
    """Return paper id -> work, for papers in the ranking that share a work with another one there."""
    all_works = _WORKS.get(corpus)
    if all_works is None:
        all_works = _WORKS[corpus] = _find_works(corpus)
    works = {
        paper_id: all_works[paper_id]
        for paper_id in dict.fromkeys(paper_of(item.id) for item in ranking)
        if paper_id in all_works
    }
    counts = Counter(works.values())
    return {paper_id: work for paper_id, work in works.items() if counts[work] > 1}


def _find_works(corpus: Corpus) -> dict[str, str]:
    """Return paper id -> work for all papers that share a title or are linked as versions."""
    works: dict[str, str] = {}
    for paper_id, record in corpus.papers.items():
        title = " ".join(record.metadata.title.casefold().split())
        works[paper_id] = title or record.version_of or paper_id
    for paper_id, record in corpus.papers.items():
        if record.version_of in works:
            works[paper_id] = works[record.version_of]
    counts = Counter(works.values())
    return {paper_id: work for paper_id, work in works.items() if counts[work] > 1}


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = fold_for_search(text).split()
    return frozenset(tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1)))


def _overlap(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b)


def _hits(
    corpus: Corpus,
    selection: _Selection,
    lexical_hits: Sequence[LexicalHit],
    dense_hits: Sequence[dense.DenseHit],
    cosine_of: Mapping[str, float],
) -> list[Hit]:
    fts_ranks = {hit.chunk_id: rank for rank, hit in enumerate(lexical_hits, start=1)}
    dense_ranks = {hit.chunk_id: rank for rank, hit in enumerate(dense_hits, start=1)}
    ids = [item.id for item in selection.kept]
    return [
        Hit(
            rank=rank,
            score=item.score,
            chunk=chunk,
            fts_rank=fts_ranks.get(item.id),
            dense_rank=dense_ranks.get(item.id),
            cosine=cosine_of.get(item.id),
            same_as=tuple(selection.same_as.get(item.id, ())),
        )
        for rank, (item, chunk) in enumerate(zip(selection.kept, corpus.chunks(ids), strict=True), start=1)
    ]
