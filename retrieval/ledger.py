"""Reading the stage ledger: for a paper or passage that should be in an answer, the first stage that lost it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus_assets.errors import BadInputError
from retrieval.answer import AnswerRecord, StageRecord
from retrieval.finding import narrowed, wordings_of
from retrieval.rerank import select_evidence

if TYPE_CHECKING:
    from corpus_assets.model import Chunk
    from corpus_assets.settings import RetrievalMode
    from corpus_assets.store.generation import Generation
    from retrieval.asking import AskContext, AskState

STAGES = (
    "parse", "chunk", "shortlist", "full_text", "dense", "fusion", "cap", "rerank", "writer",
)  # fmt: skip


@dataclass(frozen=True)
class Loss:
    """Where a wanted paper or passage went missing. ``stage`` is "" when it is cited."""

    stage: str
    reason: str

    @property
    def is_lost(self) -> bool:
        return bool(self.stage)


def find_loss(state: AskState, ctx: AskContext, *, paper_id: str, chunk_id: str = "", quote: str = "") -> Loss:
    """Return the first stage that lost a paper (or one passage of it) on the way to the answer.

    ``quote`` is a golden case's anchor: text the wanted passage must hold, which tells a parsing loss from others.
    Raises BadInputError for a question that never went through the stages: cached, or asked back.
    """
    if state.cached is not None or state.planned.clarification:
        why = state.planned.clarification or "the answer came from the cache"
        raise BadInputError(f"No stage searched for {paper_id}: {why}", hint="Ask a full question, without the cache.")
    generation = ctx.generation
    paper = generation.papers.get(paper_id)
    if paper is None:
        return Loss("parse", f"{paper_id} is not in the corpus")
    if not paper.is_served:
        return Loss("parse", f"{paper_id} is {paper.status.value}: {paper.reason or 'no reason given'}")
    if quote and not find_quotes(generation.text(paper_id), quote):
        return Loss("parse", "the anchor quote is not in the paper's text")
    wanted = wanted_chunks(generation, paper_id, chunk_id, quote)
    if not wanted:
        return Loss("chunk", "no retrievable passage holds the anchor")
    shortlist = state.shortlist
    pooled = set(detail_ids(state.stages, "search")) | set(detail_ids(state.stages, "counter_evidence"))
    if not shortlist.is_skipped and paper_id not in shortlist.paper_ids and not wanted & pooled:
        return Loss("shortlist", f"not among the {len(shortlist.paper_ids)} papers picked")
    if not wanted & pooled:
        return lost_in_search(state, ctx, wanted)
    evidence = {item.chunk_id for item in state.evidence}
    if not wanted & evidence:
        return lost_in_ranking(state, ctx, wanted)
    if state.layout is None:
        return Loss("writer", state.abstain_reason or "no answer was written")
    cited = {(citation.paper_id, citation.chunk_id) for citation in state.layout.citations}
    if not any(chunk in wanted for _, chunk in cited) and (chunk_id or quote or paper_id not in {p for p, _ in cited}):
        return Loss("writer", "no sentence of it was used")
    return Loss("", "cited")


def find_quotes(text: str, quote: str) -> list[tuple[int, int]]:
    """Return the spans of a quote in a text, white space aside; an abstract and a body may both hold it."""
    pattern = r"\s+".join(map(re.escape, quote.split()))
    return [found.span() for found in re.finditer(pattern, text)] if pattern else []


def wanted_chunks(generation: Generation, paper_id: str, chunk_id: str, quote: str) -> set[str]:
    """Return the ids of the retrievable passages that would do."""
    chunks = [chunk for chunk in generation.chunks_of(paper_id) if chunk.is_retrievable]
    if chunk_id:
        chunks = [chunk for chunk in chunks if chunk.chunk_id == chunk_id]
    if quote:
        spans = find_quotes(generation.text(paper_id), quote)
        whole = [c for c in chunks if any(c.char_start <= start and c.char_end >= end for start, end in spans)]
        chunks = whole or [c for c in chunks if any(holds_half(c, start, end) for start, end in spans)]
    return {chunk.chunk_id for chunk in chunks}


def holds_half(chunk: Chunk, start: int, end: int) -> bool:
    """Tell whether at least half of a span lies in the chunk."""
    return 2 * (min(end, chunk.char_end) - max(start, chunk.char_start)) >= end - start


def lost_in_search(state: AskState, ctx: AskContext, wanted: set[str]) -> Loss:
    """Tell which leg of the search missed the passages, by running the legs one at a time at their full depth."""
    if wanted & set(detail_ids(state.stages, "search", "capped_ids")):
        most = ctx.settings.retrieval.pool_per_paper
        return Loss("cap", f"high enough, but the paper's {most} places among the candidates were taken")
    depth = ctx.settings.retrieval.depth
    filters = narrowed(state.filters, state.shortlist)
    queries = [query for sub_query in state.planned.sub_queries for query in wordings_of(sub_query)]
    legs: list[tuple[str, RetrievalMode]] = []
    if ctx.retrieval_mode != "embedding_only" or ctx.embedder is None:
        legs.append(("full_text", "fts_only"))
    if ctx.retrieval_mode != "fts_only" and ctx.embedder is not None:
        legs.append(("dense", "embedding_only"))
    missing = []
    for leg, mode in legs:
        found = [hit for query in queries for hit in ctx.search(query, depth, filters, mode).hits]
        twin = next((hit for hit in found if wanted & set(hit.same_as)), None)
        if twin is not None:
            return Loss("fusion", f"shown once, as {twin.chunk.chunk_id} of another version of the paper")
        if not any(hit.chunk.chunk_id in wanted for hit in found):
            missing.append(leg)
    named = " or ".join(leg.replace("_", " ") for leg, _ in legs)
    if len(missing) == len(legs):
        return Loss(missing[0], f"not in the first {depth} of {named}")
    if missing:
        return Loss(missing[0], f"not in the first {depth} of this leg, and too low in the other")
    return Loss("fusion", "found by each leg, but below the passages kept after fusion")


def lost_in_ranking(state: AskState, ctx: AskContext, wanted: set[str]) -> Loss:
    """Tell whether candidates fell to the cap on passages a paper, by selecting the evidence anew without it."""
    settings = ctx.settings.retrieval
    uncapped = select_evidence(
        state.planned,
        state.candidates,
        state.sentences,
        k=state.top_k or settings.k_rerank,
        max_per_paper=len(state.candidates) or 1,
    )
    if wanted & {item.chunk_id for item in uncapped}:
        return Loss("cap", f"{settings.max_per_paper} other passages of the paper filled its share of the evidence")
    return Loss("rerank", "ranked below the passages that were kept")


def detail_ids(stages: Iterable[StageRecord], name: str, key: str = "chunk_ids") -> list[str]:
    """Return the chunk ids a stage recorded under a key."""
    return [
        str(item)
        for stage in stages
        if stage.name == name
        for item in (stage.detail.get(key) or ())  # type: ignore[attr-defined]
    ]


def stage_table(record: AnswerRecord) -> list[Mapping[str, object]]:
    """Return the stage ledger as rows for a table."""
    return [
        {
            "stage": stage.name,
            "seconds": stage.seconds,
            "in": stage.num_in,
            "out": stage.num_out,
            "degraded": "; ".join(stage.degraded),
        }
        for stage in record.stages
    ]
