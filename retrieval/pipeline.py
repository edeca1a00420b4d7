"""The question pipeline: one function a stage over an immutable state. ``ask`` runs them; jobs wrap them in ops.

Order: plan, cache_lookup, shortlist, search, counter_evidence, rerank, themes, write, bind_citations, verify_claims.
A stage whose work is not needed (a cached answer, an abstention) passes the state on and says so in its record.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from corpus_assets.errors import CopilotError
from corpus_assets.settings import AnswerMode, RetrievalMode, Settings
from retrieval.answer import AnswerRecord, Citation, ClaimCheck, FaithfulnessReport, StageRecord
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
from retrieval.llm.usage import UsageLedger
from retrieval.passages import Candidate, Sentence, SentenceReader
from retrieval.plan import Plan, find_acronym_definitions, find_acronyms, rewordings_with
from retrieval.rarity import CorpusTerms
from retrieval.relevance import Relevance, judge_relevance
from retrieval.rerank import (
    CrossEncoder,
    fuse_ranks,
    keep_best,
    load_cross_encoder,
    rerank,
    score_passages,
    score_sentences,
    select_evidence,
)
from retrieval.shortlist import Shortlist, shortlist_papers
from retrieval.stance import StanceModel
from retrieval.state_store import StateStore
from retrieval.themes import Themes
from retrieval.writing.compose import Layout, compose
from retrieval.writing.draft import Draft
from retrieval.writing.extractive import WRITER as EXTRACTIVE

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation
    from retrieval.filters import Filters
    from retrieval.llm.protocol import LanguageModel
    from retrieval.search import SearchResult

logger = logging.getLogger(__name__)

REWORDING_WEIGHT = 0.5
COUNTER_WEIGHT = 0.5
MAX_COUNTER_QUERIES = 4
NUM_COUNTER = 6  # passages the counter-evidence pass may add
SentenceKey = tuple[str, int, int]


class Searcher(Protocol):
    """The signature of ``retrieval.search.search``."""

    def __call__(
        self,
        generation: Generation,
        query: str,
        *,
        mode: RetrievalMode,
        k: int,
        embedder: Embedder | None,
        filters: Filters | None,
        settings: Any,
    ) -> SearchResult: ...


@dataclass
class AskContext:
    """What the stages work with. Models load when first needed; what could not be loaded is kept in ``degraded``."""

    settings: Settings
    generation: Generation
    retrieval_mode: RetrievalMode = "hybrid"
    language_model: LanguageModel | None = None
    stance_model: StanceModel | None = None
    load_embedder: Callable[[], Embedder] | None = None
    searcher: Searcher | None = None
    use_cache: bool = True
    cross_encoder_override: CrossEncoder | None = None
    setup_degraded: tuple[str, ...] = ()
    embedder_problem: str = field(default="", init=False)

    @cached_property
    def embedder(self) -> Embedder | None:
        """Return the generation's embedder, or None with the reason in ``embedder_problem``."""
        if self.load_embedder is None:
            self.embedder_problem = "no embedder was given"
            return None
        try:
            return self.load_embedder()
        except CopilotError as error:
            self.embedder_problem = str(error)
            return None

    @cached_property
    def reader(self) -> SentenceReader:
        return SentenceReader(self.generation)

    @cached_property
    def terms(self) -> CorpusTerms:
        return CorpusTerms(self.generation)

    @cached_property
    def store(self) -> StateStore:
        return StateStore(self.settings.home)

    def search(self, query: str, k: int, filters: Filters | None, mode: RetrievalMode | None = None) -> SearchResult:
        """Run one search in the served mode (or ``mode``)."""
        searcher = self.searcher
        if searcher is None:
            from retrieval.search import search

            searcher = search
        mode = mode or self.retrieval_mode
        embedder = self.embedder if mode != "fts_only" else None
        if mode != "fts_only" and embedder is None:
            mode = "fts_only"
        return searcher(
            self.generation,
            query,
            mode=mode,
            k=k,
            embedder=embedder,
            filters=filters,
            settings=self.settings.retrieval,
        )


@dataclass(frozen=True)
class AskState:
    """A question on its way to an answer. Every stage returns a new state."""

    question: str
    mode: AnswerMode = "standard"
    top_k: int | None = None
    filters: Filters | None = None
    plan: Plan | None = None
    cache_scope: str = ""
    cached: AnswerRecord | None = None
    cached_question: str = ""
    shortlist: Shortlist = field(default_factory=Shortlist)
    candidates: tuple[Candidate, ...] = ()
    num_pool: Mapping[int, int] = field(default_factory=dict)  # sub-query -> passages found
    sentences: Mapping[str, tuple[Sentence, ...]] = field(default_factory=dict)
    evidence: tuple[Candidate, ...] = ()
    relevance: Relevance | None = None
    abstain_reason: str = ""
    themes: Themes = field(default_factory=Themes)
    draft: Draft | None = None
    bound: Mapping[SentenceKey, Citation] = field(default_factory=dict)
    num_removed_citations: int = 0
    layout: Layout | None = None
    faithfulness: FaithfulnessReport = field(default_factory=FaithfulnessReport)
    writer: str = "none"
    stages: tuple[StageRecord, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Tell whether the answer is already known: from the cache, or that there is none."""
        return self.cached is not None or bool(self.abstain_reason)

    @property
    def planned(self) -> Plan:
        """Return the plan; the plan stage must have run."""
        if self.plan is None:
            raise RuntimeError("the plan stage has not run")
        return self.plan


@dataclass(frozen=True)
class Outcome:
    """What a stage's body returns besides the state: its ledger entry."""

    state: AskState
    num_in: int
    num_out: int
    degraded: tuple[str, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict)


Stage = Callable[[AskState, AskContext], AskState]


def stage(name: str) -> Callable[[Callable[[AskState, AskContext], Outcome]], Stage]:
    """Turn a body into a stage that adds its record to the ledger."""

    def wrap(body: Callable[[AskState, AskContext], Outcome]) -> Stage:
        def run(state: AskState, ctx: AskContext) -> AskState:
            started = time.perf_counter()
            ledger = ctx.language_model.ledger if ctx.language_model else UsageLedger(0.0)
            num_before = len(ledger.calls)
            outcome = body(state, ctx)
            spent = UsageLedger(0.0, ledger.calls[num_before:])
            calls = (
                {"num_calls": len(spent.calls), "models": sorted({call.model for call in spent.calls})}
                if spent.calls
                else {}
            )
            record = StageRecord(
                name=name,
                seconds=round(time.perf_counter() - started, 4),
                num_in=outcome.num_in,
                num_out=outcome.num_out,
                degraded=tuple(dict.fromkeys(outcome.degraded)),
                detail={**outcome.detail, **calls},
                usd=round(spent.usd, 6),
                input_tokens=spent.input_tokens,
                output_tokens=spent.output_tokens,
            )
            return replace(outcome.state, stages=(*state.stages, record))

        run.__name__ = f"stage_{name}"
        run.__doc__ = body.__doc__
        return run

    return wrap


def passed_on(state: AskState) -> Outcome:
    """Return the state unchanged, with a record that says why nothing was done."""
    return Outcome(state, 0, 0, detail={"skipped": "cached answer" if state.cached else "no answer will be written"})


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
            result = ctx.search(query, settings.k_retrieve, filters)
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
    keep = {key for key, _ in fused[: settings.k_retrieve]}
    if num_parts > 1:  # what only one part finds must not be crowded out by what all of them find
        for index in range(num_parts):
            own = [(r, w) for r, w, owner in zip(rankings, weights, owners, strict=True) if owner == index]
            best = fuse_ranks([r for r, _ in own], k=settings.rrf_k, weights=[w for _, w in own])
            keep.update(key for key, _ in best[: settings.k_retrieve // 2])
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
        state = replace(state, abstain_reason=reason_to_abstain(relevance))
    detail = {
        "scorer": ranked.scorer,
        "probability_answerable": relevance.probability,
        "signals": dict(relevance.signals),
        "chunk_ids": [item.chunk_id for item in evidence],
    }
    return Outcome(state, len(ranked.candidates), len(evidence), (*degraded, *ranked.degraded), detail)


def reason_to_abstain(relevance: Relevance) -> str:
    """Say in one sentence why the evidence does not do."""
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


def removed_claims(state: AskState) -> Sequence[ClaimCheck]:
    """Return the claims that were taken out of the answer."""
    return state.faithfulness.removed
