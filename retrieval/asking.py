"""What a question carries from stage to stage, what the stages work with, and how each is put in the ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from corpus_assets.errors import CopilotError
from corpus_assets.settings import AnswerMode, RetrievalMode, Settings
from retrieval.answer import AnswerRecord, Citation, FaithfulnessReport, StageRecord
from retrieval.llm.usage import UsageLedger
from retrieval.passages import Candidate, Sentence, SentenceReader
from retrieval.plan import Plan
from retrieval.rarity import CorpusTerms
from retrieval.relevance import Relevance, covers_one_field
from retrieval.rerank import CrossEncoder
from retrieval.shortlist import Shortlist
from retrieval.stance import StanceModel
from retrieval.state_store import StateStore
from retrieval.themes import Themes
from retrieval.writing.compose import Layout
from retrieval.writing.draft import Draft

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.store.generation import Generation
    from retrieval.filters import Filters
    from retrieval.llm.protocol import LanguageModel
    from retrieval.search import SearchResult

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
    def is_one_field(self) -> bool:
        return covers_one_field(self.generation, self.embedder)

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
