"""The stages that find passages: which papers to search in, the search itself, and the search for the other side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from retrieval.asking import AskContext, AskState, Outcome, passed_on, stage
from retrieval.branches import pick_by_model
from retrieval.counter_evidence import counter_queries
from retrieval.passages import Candidate
from retrieval.plan import SubQuery
from retrieval.rerank import fuse_ranks
from retrieval.shortlist import Shortlist, shortlist_papers

if TYPE_CHECKING:
    from retrieval.filters import Filters

REWORDING_WEIGHT = 0.5
COUNTER_WEIGHT = 0.5
POOL_DEPTH = 3  # times k_retrieve are searched, so that papers behind one that takes many places are seen
MAX_COUNTER_QUERIES = 4
NUM_COUNTER = 6  # passages the counter-evidence pass may add


@stage("shortlist")
def stage_shortlist(state: AskState, ctx: AskContext) -> Outcome:
    """Pick the papers to search in from their cards; small corpora are searched whole."""
    if state.is_settled:
        return passed_on(state)
    questions = [state.planned.question, *(item.text for item in state.planned.sub_queries)]
    num_papers = sum(paper.is_served for paper in ctx.generation.papers.values())
    needs_model = num_papers >= ctx.settings.retrieval.shortlist_min_papers
    questions = list(dict.fromkeys(questions))
    picks, notes = pick_by_model(questions, ctx) if needs_model else ((), ())
    shortlist = shortlist_papers(
        questions,
        ctx.generation,
        ctx.embedder if needs_model else None,
        ctx.settings.retrieval,
        picks,
        ctx.language_model.name_of("small") if ctx.language_model else "",
    )
    return Outcome(
        replace(state, shortlist=shortlist),
        num_papers,
        num_papers if shortlist.is_skipped else len(shortlist.paper_ids),
        (*notes, *shortlist.degraded),
        {"reason": shortlist.reason, "paper_ids": list(shortlist.paper_ids)},
    )


@stage("search")
def stage_search(state: AskState, ctx: AskContext) -> Outcome:
    """Search for each sub-query and its rewordings; pool by chunk id with reciprocal rank fusion."""
    if state.is_settled:
        return passed_on(state)
    settings = ctx.settings.retrieval
    filters = narrowed(state.filters, state.shortlist)
    rankings: list[list[str]] = []
    weights: list[float] = []
    owners: list[int] = []
    found: dict[str, Candidate] = {}
    found_by: dict[str, set[int]] = {}
    degraded: list[str] = []
    if ctx.retrieval_mode != "fts_only" and ctx.embedder is None:
        degraded.append(f"dense search: {ctx.embedder_problem}; full text only")
    for index, sub_query in enumerate(state.planned.sub_queries):
        for query in wordings_of(sub_query):
            result = ctx.search(query, settings.k_retrieve * POOL_DEPTH, filters)
            degraded.extend(result.degraded)
            ranking = []
            for hit in result.hits:
                chunk = hit.chunk
                ranking.append(chunk.chunk_id)
                found.setdefault(chunk.chunk_id, Candidate(chunk=chunk, score=hit.score, cosine=hit.cosine))
                found_by.setdefault(chunk.chunk_id, set()).add(index)
            rankings.append(ranking)
            owners.append(index)
            weights.append(1.0 if query == sub_query.text else REWORDING_WEIGHT)
    fused = fuse_ranks(rankings, k=settings.rrf_k, weights=weights)
    num_parts = len(state.planned.sub_queries)
    paper_of = {key: item.paper_id for key, item in found.items()}
    keep = {key for key, _ in spread(fused, paper_of, settings.pool_per_paper)[: settings.k_retrieve]}
    uncapped = {key for key, _ in fused[: settings.k_retrieve]}
    if num_parts > 1:  # what only one part finds must not be crowded out by what all of them find
        for index in range(num_parts):
            own = [(r, w) for r, w, owner in zip(rankings, weights, owners, strict=True) if owner == index]
            best = fuse_ranks([r for r, _ in own], k=settings.rrf_k, weights=[w for _, w in own])
            spread_out = spread(best, paper_of, settings.pool_per_paper)
            keep.update(key for key, _ in spread_out[: settings.k_retrieve // 2])
            uncapped.update(key for key, _ in best[: settings.k_retrieve // 2])
    fused = [(key, score) for key, score in fused if key in keep]
    candidates = tuple(
        replace(found[key], score=score, rank=rank, sub_queries=tuple(sorted(found_by[key])))
        for rank, (key, score) in enumerate(fused, start=1)
    )
    num_pool = {
        index: sum(index in item.sub_queries for item in candidates) for index in range(len(state.planned.sub_queries))
    }
    state = replace(state, candidates=candidates, num_pool=num_pool)
    if not candidates:
        state = replace(state, abstain_reason="No passage of the corpus matches the question.")
    detail = {
        "queries": len(rankings),
        "mode": ctx.retrieval_mode,
        "chunk_ids": [item.chunk_id for item in candidates],
        "capped_ids": sorted(uncapped - keep),
    }
    return Outcome(state, len(rankings), len(candidates), tuple(degraded), detail)


def wordings_of(sub_query: SubQuery) -> list[str]:
    """Return what is searched for a sub-query: itself, its focus, its rewordings."""
    return list(dict.fromkeys([sub_query.text, *filter(None, [sub_query.focus]), *sub_query.rewordings]))


def spread(fused: Sequence[tuple[str, float]], paper_of: Mapping[str, str], most: int) -> list[tuple[str, float]]:
    """Return the ranking with what exceeds ``most`` chunks of one paper put behind the rest, in order.

    A paper whose title repeats the question matches with every chunk; it must not crowd the others out.
    """
    counts: dict[str, int] = {}
    first: list[tuple[str, float]] = []
    rest: list[tuple[str, float]] = []
    for key, score in fused:
        counts[paper_of[key]] = counts.get(paper_of[key], 0) + 1
        (first if counts[paper_of[key]] <= most else rest).append((key, score))
    return first + rest


def narrowed(filters: Filters | None, shortlist: Shortlist) -> Filters | None:
    """Return the filters with the shortlist's papers added; a person's own choice of papers stands."""
    if shortlist.is_skipped:
        return filters
    from retrieval.filters import Filters

    if filters is None:
        return Filters(paper_ids=frozenset(shortlist.paper_ids))
    if filters.paper_ids:
        return filters
    return replace(filters, paper_ids=frozenset(shortlist.paper_ids))


@stage("counter_evidence")
def stage_counter_evidence(state: AskState, ctx: AskContext) -> Outcome:
    """For a claim, search once more for evidence against it, outside the shortlist too."""
    if state.is_settled:
        return passed_on(state)
    if not state.planned.is_claim:
        return Outcome(state, len(state.candidates), len(state.candidates), detail={"skipped": "not a claim"})
    own = state.planned.counter_queries
    queries = tuple(dict.fromkeys((*own, *counter_queries(state.planned.question))))[:MAX_COUNTER_QUERIES]
    settings = ctx.settings.retrieval
    rankings: list[list[str]] = []
    found: dict[str, Candidate] = {}
    degraded: list[str] = []
    for query in queries:
        result = ctx.search(query, settings.k_retrieve, state.filters)
        degraded.extend(result.degraded)
        rankings.append([hit.chunk.chunk_id for hit in result.hits])
        for hit in result.hits:
            found.setdefault(hit.chunk.chunk_id, Candidate(chunk=hit.chunk, score=hit.score, cosine=hit.cosine))
    present = {item.chunk_id for item in state.candidates}
    listed = set(state.shortlist.paper_ids)
    added: list[Candidate] = []
    for key, score in fuse_ranks(rankings, k=settings.rrf_k):
        if key in present or len(added) >= NUM_COUNTER:
            continue
        is_outside = bool(listed) and found[key].paper_id not in listed
        rank = len(state.candidates) + len(added) + 1
        added.append(
            replace(
                found[key], score=score * COUNTER_WEIGHT, rank=rank, is_counter=True, is_outside_shortlist=is_outside
            )
        )
    detail = {
        "queries": list(queries),
        "num_added": len(added),
        "num_outside_shortlist": sum(item.is_outside_shortlist for item in added),
        "chunk_ids": [item.chunk_id for item in added],
    }
    candidates = (*state.candidates, *added)
    return Outcome(
        replace(state, candidates=candidates), len(state.candidates), len(candidates), tuple(degraded), detail
    )
