"""The question pipeline: one function a stage over an immutable state. ``ask`` runs them; jobs wrap them in ops.

Order: plan, cache_lookup, shortlist, search, counter_evidence, rerank, themes, write, bind_citations, verify_claims.
A stage whose work is not needed (a cached answer, an abstention) passes the state on and says so in its record.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from corpus_assets.errors import CopilotError
from retrieval.acronyms import find_acronym_definitions, find_acronyms, infer_long_forms, rewordings_with
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
    scope_of,
    write_draft,
)
from retrieval.faithfulness import report
from retrieval.finding import stage_counter_evidence, stage_search, stage_shortlist
from retrieval.other_names import known_names, read_as, replace_names, say_readings
from retrieval.passages import GLYPH_LOSS, Candidate
from retrieval.relevance import Relevance, judge_relevance
from retrieval.rerank import (
    keep_best,
    keep_head,
    load_cross_encoder,
    rerank,
    score_passages,
    score_sentences,
    select_evidence,
)
from retrieval.writing.compose import compose
from retrieval.writing.extractive import WRITER as EXTRACTIVE

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

HASH_EMBEDDER = "hash"
PAGES_FOR_ACRONYMS = 20  # passages an acronym's long form is looked for in


@stage("plan")
def stage_plan(state: AskState, ctx: AskContext) -> Outcome:
    """Plan the question: names as the papers have them, shape, sub-queries, acronyms the corpus itself defines."""
    names = known_names(ctx.settings.retrieval.names_path)
    readings = read_as(state.question, names, ctx.terms.document_frequency)
    plan, notes = make_plan(replace_names(state.question, readings), state, ctx)
    plan = replace(plan, readings=readings)
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
        unknown = [name for name in wanted if name not in expansions]
        if unknown:
            near = [hit.chunk.text for hit in ctx.search(plan.question, PAGES_FOR_ACRONYMS, None, "fts_only").hits]
            expansions = {**infer_long_forms([*texts, *near], unknown), **expansions}
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
        "read_as": plan.readings,
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
    else:
        candidates = keep_head(candidates, num=max(k + k // 2, 12))
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
    relevance = judge_relevance(state.planned, evidence, sentences, ctx.terms, embedder, is_one_field=ctx.is_one_field)
    state = replace(
        state, candidates=ranked.candidates, sentences=sentences, evidence=tuple(evidence), relevance=relevance
    )
    if not relevance.is_answerable:
        reason = reason_to_abstain(relevance, evidence, ctx)
        state = replace(state, abstain_reason=f"{reason} {say_readings(state.planned.readings)}".strip())
    detail = {
        "scorer": ranked.scorer,
        "probability_answerable": relevance.probability,
        "is_tentative": relevance.is_tentative,
        "is_one_field": ctx.is_one_field,
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
        return f"The nearest passages say nothing about {relevance.quote_missing()}."
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
    tentative = state.relevance.caveat if state.relevance is not None and state.relevance.is_tentative else ""
    draft = replace(draft, caveat=f"{tentative} {say_readings(state.planned.readings)}".strip())
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
