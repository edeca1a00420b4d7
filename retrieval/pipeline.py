"""The question pipeline: one function a stage over an immutable state. ``ask`` runs them; jobs wrap them in ops.

Order: plan, cache_lookup, shortlist, search, counter_evidence, rerank, themes, write, bind_citations, verify_claims.
A stage whose work is not needed (a cached answer, an abstention) passes the state on and says so in its record.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from corpus_assets.errors import CopilotError
from retrieval.acronyms import find_acronym_definitions, find_acronyms, rewordings_with
from retrieval.answer import FaithfulnessReport
from retrieval.asking import AskContext, AskState, Outcome, Stage, passed_on, stage
from retrieval.branches import (
    WROTE_INSTEAD,
    bind_draft,
    check_draft,
    extract_draft,
    find_cached,
    has_answer,
    judged_themes,
    make_plan,
    num_claims_of,
    pick_by_model,
    scope_of,
    write_draft,
)
from retrieval.counter_evidence import counter_queries
from retrieval.faithfulness import report
from retrieval.passages import GLYPH_LOSS, Candidate
from retrieval.relevance import Relevance, judge_relevance
from retrieval.rerank import (
    fuse_ranks,
    keep_best,
    load_cross_encoder,
    rerank,
    score_passages,
    score_sentences,
    select_evidence,
)
from retrieval.shortlist import Shortlist, shortlist_papers
from retrieval.writing.compose import compose
from retrieval.writing.extractive import WRITER as EXTRACTIVE

if TYPE_CHECKING:
    from retrieval.filters import Filters

__all__ = [
    "STAGES",
    "AskContext",
    "AskState",
    "Outcome",
    "Stage",
    "run_stages",
    "stage_bind_citations",
    "stage_cache_lookup",
    "stage_counter_evidence",
    "stage_plan",
    "stage_rerank",
    "stage_search",
    "stage_shortlist",
    "stage_themes",
    "stage_verify_claims",
    "stage_write",
]

logger = logging.getLogger(__name__)

REWORDING_WEIGHT = 0.5
COUNTER_WEIGHT = 0.5
POOL_DEPTH = 3  # times k_retrieve are searched, so that papers behind one that takes many places are seen
MAX_COUNTER_QUERIES = 4
HASH_EMBEDDER = "hash"
NUM_COUNTER = 6  # passages the counter-evidence pass may add


@stage("plan")
def stage_plan(state: AskState, ctx: AskContext) -> Outcome:
    """Plan the question: intent, shape, sub-queries, rewordings with acronyms the corpus itself defines."""
    plan, notes = make_plan(state, ctx)
    if plan.clarification:
        return Outcome(
            replace(state, plan=plan, abstain_reason=plan.clarification),
            1,
            0,
            detail={"clarification": plan.clarification},
        )
    wanted = find_acronyms(plan.question)
    if wanted:
        texts = [hit.chunk.text for name in wanted[:3] for hit in ctx.search(f"{name}", 10, None, "fts_only").hits]
        expansions = find_acronym_definitions(texts, wanted)
        plan = replace(
            plan,
            expansions=expansions,
            sub_queries=tuple(
                replace(item, rewordings=(*item.rewordings, *rewordings_with(item.text, expansions)))
                for item in plan.sub_queries
            ),
        )
    detail: dict[str, object] = {
        "intent": plan.intent,
        "is_claim": plan.is_claim,
        "is_comparison": plan.is_comparison,
        "is_multi_hop": plan.is_multi_hop,
        "sub_queries": [item.text for item in plan.sub_queries],
        "expansions": plan.expansions,
        "planner": plan.planner,
    }
    return Outcome(replace(state, plan=plan), 1, len(plan.sub_queries), (*ctx.setup_degraded, *notes), detail)


@stage("cache_lookup")
def stage_cache_lookup(state: AskState, ctx: AskContext) -> Outcome:
    """Look for an earlier answer to the same question on the same corpus, mode, filters and settings."""
    if state.is_settled:
        return passed_on(state)
    scope = scope_of(state, ctx)
    state = replace(state, cache_scope=scope)
    if not (ctx.use_cache and ctx.settings.retrieval.use_answer_cache):
        return Outcome(state, 1, 0, detail={"skipped": "the cache is off"})
    try:
        hit = find_cached(state.planned.question, scope, ctx)
    except CopilotError as error:
        return Outcome(state, 1, 0, (f"cache: {error}",))
    if hit is None:
        return Outcome(state, 1, 0)
    state = replace(state, cached=hit.record, cached_question=hit.question)
    return Outcome(state, 1, 1, detail={"question": hit.question, "similarity": hit.similarity})


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
        for query in dict.fromkeys([sub_query.text, *filter(None, [sub_query.focus]), *sub_query.rewordings]):
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
    if num_parts > 1:  # what only one part finds must not be crowded out by what all of them find
        for index in range(num_parts):
            own = [(r, w) for r, w, owner in zip(rankings, weights, owners, strict=True) if owner == index]
            best = fuse_ranks([r for r, _ in own], k=settings.rrf_k, weights=[w for _, w in own])
            spread_out = spread(best, paper_of, settings.pool_per_paper)
            keep.update(key for key, _ in spread_out[: settings.k_retrieve // 2])
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
    detail = {"queries": len(rankings), "mode": ctx.retrieval_mode, "chunk_ids": [item.chunk_id for item in candidates]}
    return Outcome(state, len(rankings), len(candidates), tuple(degraded), detail)


def spread(fused: Sequence[tuple[str, float]], paper_of: Mapping[str, str], most: int) -> list[tuple[str, float]]:
    """Return the ranking with what exceeds ``most`` chunks of one paper put behind the rest, in order.

    A paper whose title repeats the question matches with every chunk; it must not crowd the others out.
    """
    counts: dict[str, int] = {}
    first, rest = [], []
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


@stage("rerank")
def stage_rerank(state: AskState, ctx: AskContext) -> Outcome:
    """Order candidates against the original question, keep the evidence, and abstain when it is not about it."""
    if state.is_settled:
        return passed_on(state)
    settings = ctx.settings.retrieval
    embedder = ctx.embedder if settings.reranker != "lexical" else None
    degraded: list[str] = []
    if embedder is None and settings.reranker != "lexical":
        degraded.append(f"sentence similarity: {ctx.embedder_problem}; word overlap used")
    if embedder is not None and embedder.name == HASH_EMBEDDER:
        embedder = None  # it knows words only, and the plain overlap of words is the better measure of that
    cross_encoder, note = ctx.cross_encoder_override, ""
    if cross_encoder is None:
        cross_encoder, note = load_cross_encoder(settings)
    if note:
        degraded.append(note)
    k = state.top_k or settings.k_rerank
    candidates = list(state.candidates)
    scores: Mapping[str, float] | None = None
    if cross_encoder is not None:  # sentences are embedded for its best passages only
        scored = score_passages(state.planned, candidates, cross_encoder)
        candidates = keep_best(scored, num=max(k + k // 2, 12), rrf_k=settings.rrf_k)
        scores = {item.chunk_id: item.relevance for item in candidates}
    sentences = score_sentences(state.planned, candidates, ctx.reader, ctx.terms, embedder)
    ranked = rerank(
        candidates,
        sentences,
        scores=scores,
        scorer=f"cross-encoder {cross_encoder.name}" if cross_encoder else "",
        has_embedder=embedder is not None,
        settings=settings,
    )
    evidence = select_evidence(state.planned, ranked.candidates, sentences, k=k, max_per_paper=settings.max_per_paper)
    relevance = judge_relevance(state.planned, evidence, sentences, ctx.terms, has_embedder=embedder is not None)
    state = replace(
        state, candidates=ranked.candidates, sentences=sentences, evidence=tuple(evidence), relevance=relevance
    )
    if not relevance.is_answerable:
        state = replace(state, abstain_reason=reason_to_abstain(relevance, evidence, ctx))
    detail = {
        "scorer": ranked.scorer,
        "probability_answerable": relevance.probability,
        "signals": dict(relevance.signals),
        "chunk_ids": [item.chunk_id for item in evidence],
    }
    return Outcome(state, len(ranked.candidates), len(evidence), (*degraded, *ranked.degraded), detail)


def reason_to_abstain(relevance: Relevance, evidence: Sequence[Candidate], ctx: AskContext) -> str:
    """Say in one sentence or two why the evidence does not do."""
    damaged = next((item for item in evidence[:3] if GLYPH_LOSS in item.chunk.text), None)
    if damaged is not None:
        paper = ctx.generation.papers[damaged.paper_id]
        return (
            f"The nearest passage ({paper.label}, page {damaged.chunk.pages}) holds characters that could not be read, "
            "perhaps signs or units, so it is not quoted; open the page itself."
        )
    if relevance.missing:
        named = ", ".join(f"“{word}”" for word in relevance.missing[:4])
        return f"The nearest passages say nothing about {named}."
    return "The nearest passages are not about the question."


@stage("themes")
def stage_themes(state: AskState, ctx: AskContext) -> Outcome:
    """Give passages their stances and find real splits between papers."""
    if state.is_settled:
        return passed_on(state)
    evidence, themes, judge, notes = judged_themes(state, ctx)
    state = replace(state, evidence=evidence, themes=themes)
    detail: dict[str, object] = {
        "stances_by": judge,
        "themes": [{"label": item.label, "kind": item.kind, "papers": list(item.paper_ids)} for item in themes.themes],
        "num_splits": len(themes.splits),
        "num_to_check": len(themes.checks),
    }
    return Outcome(state, len(evidence), len(themes.splits), notes, detail)


@stage("write")
def stage_write(state: AskState, ctx: AskContext) -> Outcome:
    """Write the draft in the asked mode."""
    if state.is_settled:
        return passed_on(state)
    draft, notes = write_draft(state, ctx)
    statements = draft.statements()
    state = replace(state, draft=draft, writer=draft.writer)
    if not statements:
        state = replace(state, abstain_reason="The nearest passages hold no whole sentence that can be quoted.")
    detail: dict[str, object] = {"writer": draft.writer, "num_removed": len(draft.removed)}
    return Outcome(state, len(state.evidence), len(statements), notes, detail)


@stage("bind_citations")
def stage_bind_citations(state: AskState, ctx: AskContext) -> Outcome:
    """Bind each cited sentence to its place in its paper; statements whose sentences cannot be bound go."""
    if state.is_settled or state.draft is None:
        return passed_on(state)
    draft, bound, num_cited = bind_draft(state.draft, ctx)
    num_removed = draft.num_removed_citations + num_cited - len(bound)
    state = replace(state, draft=draft, bound=bound, num_removed_citations=num_removed)
    if not draft.statements():
        state = replace(state, abstain_reason="No statement could be tied to an exact quote.")
    return Outcome(state, num_cited, len(bound))


@stage("verify_claims")
def stage_verify_claims(state: AskState, ctx: AskContext) -> Outcome:
    """Check every claim against its quotes, take out what fails, lay the answer out within its word limit."""
    if state.is_settled or state.draft is None:
        return passed_on(state)
    draft, failed, verifier, notes = check_draft(state.draft, state.bound, ctx)
    num_claims = num_claims_of(state.draft)
    if state.draft.writer != EXTRACTIVE and not has_answer(draft):
        notes = (*notes, f"write: no statement of {state.draft.writer}'s answer passed its checks. {WROTE_INSTEAD}")
        extracted, bound, _ = bind_draft(extract_draft(state, ctx), ctx)
        state = replace(state, bound=bound, writer=EXTRACTIVE)
        draft, more_failed, verifier, _ = check_draft(extracted, bound, ctx)
        failed = [*failed, *more_failed]
        num_claims += num_claims_of(extracted)
    score_before = round(1 - len(failed) / num_claims, 4) if num_claims else None
    if not draft.statements():
        state = replace(
            state,
            faithfulness=FaithfulnessReport(removed=tuple(failed), score_before=score_before),
            abstain_reason="No statement passed the check against its quotes.",
        )
        return Outcome(state, len(failed), 0, notes)
    layout = compose(draft, state.bound, state.mode)
    faithfulness = report(layout.draft, state.bound, layout.numbers, failed, score_before)
    faithfulness = faithfulness.model_copy(update={"verifier": verifier})
    num_claims = len(faithfulness.claims)
    state = replace(state, draft=layout.draft, layout=layout, faithfulness=faithfulness)
    return Outcome(
        state,
        num_claims + len(failed),
        num_claims,
        notes,
        {"verifier": faithfulness.verifier, "num_removed": len(failed), "writer": state.writer},
    )


STAGES: tuple[tuple[str, Stage], ...] = (
    ("plan", stage_plan),
    ("cache_lookup", stage_cache_lookup),
    ("shortlist", stage_shortlist),
    ("search", stage_search),
    ("counter_evidence", stage_counter_evidence),
    ("rerank", stage_rerank),
    ("themes", stage_themes),
    ("write", stage_write),
    ("bind_citations", stage_bind_citations),
    ("verify_claims", stage_verify_claims),
)


def run_stages(state: AskState, ctx: AskContext) -> AskState:
    """Run every stage in order."""
    for _, run in STAGES:
        state = run(state, ctx)
    return state
