"""Reading the stage ledger: for a paper or passage that should be in an answer, the first stage that lost it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieval.answer import AnswerRecord, StageRecord
from retrieval.passages import SentenceReader

if TYPE_CHECKING:
    from corpus_assets.store.generation import Generation
    from retrieval.asking import AskContext, AskState

STAGES = (
    "parse", "chunk", "shortlist", "full_text", "dense", "fusion", "rerank", "cap", "writer",
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
    """
    generation = ctx.generation
    paper = generation.papers.get(paper_id)
    if paper is None:
        return Loss("parse", f"{paper_id} is not in the corpus")
    if not paper.is_served:
        return Loss("parse", f"{paper_id} is {paper.status.value}: {paper.reason or 'no reason given'}")
    if quote and quote not in SentenceReader(generation).text(paper_id):
        return Loss("parse", "the anchor quote is not in the paper's text")
    wanted = wanted_chunks(generation, paper_id, chunk_id, quote)
    if not wanted:
        return Loss("chunk", "no retrievable passage holds the anchor")
    if not state.shortlist.is_skipped and paper_id not in state.shortlist.paper_ids:
        return Loss("shortlist", f"not among the {len(state.shortlist.paper_ids)} papers picked")
    pooled = {item.chunk_id for item in state.candidates}
    searched = set(detail_ids(state.stages, "search")) | set(detail_ids(state.stages, "counter_evidence"))
    if not wanted & (pooled | searched):
        return lost_in_search(state, ctx, wanted)
    evidence = {item.chunk_id for item in state.evidence}
    if not wanted & evidence:
        num_of_paper = sum(item.paper_id == paper_id for item in state.evidence)
        if num_of_paper >= ctx.settings.retrieval.max_per_paper:
            return Loss("cap", f"{num_of_paper} other passages of the paper filled its share of the evidence")
        return Loss("rerank", "ranked below the passages that were kept")
    if state.layout is None:
        return Loss("writer", state.abstain_reason or "no answer was written")
    cited = {(citation.paper_id, citation.chunk_id) for citation in state.layout.citations}
    if not any(chunk in wanted for _, chunk in cited) and (chunk_id or quote or paper_id not in {p for p, _ in cited}):
        return Loss("writer", "no sentence of it was used")
    return Loss("", "cited")


def wanted_chunks(generation: Generation, paper_id: str, chunk_id: str, quote: str) -> set[str]:
    """Return the ids of the retrievable passages that would do."""
    chunks = [chunk for chunk in generation.chunks_of(paper_id) if chunk.is_retrievable]
    if chunk_id:
        chunks = [chunk for chunk in chunks if chunk.chunk_id == chunk_id]
    if quote:
        text = generation.text(paper_id)
        start = text.find(quote)
        chunks = [c for c in chunks if c.char_start < start + len(quote) and c.char_end > start]
    return {chunk.chunk_id for chunk in chunks}


def lost_in_search(state: AskState, ctx: AskContext, wanted: set[str]) -> Loss:
    """Tell which leg of the search missed the passages, by running the legs one at a time at their full depth."""
    depth = ctx.settings.retrieval.depth
    found: dict[str, bool] = {}
    for leg, mode in (("full_text", "fts_only"), ("dense", "embedding_only")):
        if mode == "embedding_only" and (ctx.retrieval_mode == "fts_only" or ctx.embedder is None):
            continue
        if mode == "fts_only" and ctx.retrieval_mode == "embedding_only":
            continue
        found[leg] = any(
            hit.chunk.chunk_id in wanted
            for sub_query in state.planned.sub_queries
            for hit in ctx.search(sub_query.text, depth, state.filters, mode).hits  # type: ignore[arg-type]
        )
    missing = [leg for leg, was_found in found.items() if not was_found]
    if len(missing) == len(found):
        return Loss(missing[0], f"not in the first {depth} of {' or '.join(leg.replace('_', ' ') for leg in found)}")
    if missing:
        return Loss(missing[0], f"not in the first {depth} of this leg, and too low in the other")
    return Loss("fusion", "found by each leg, but below the passages kept after fusion")


def detail_ids(stages: Iterable[StageRecord], name: str) -> list[str]:
    """Return the chunk ids a stage recorded."""
    return [
        str(item)
        for stage in stages
        if stage.name == name
        for item in (stage.detail.get("chunk_ids") or ())  # type: ignore[attr-defined]
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
