"""The golden set that applies to a candidate, and the candidate's measurements on it: taken once, read by all gates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.errors import BadInputError, StoreError
from corpus_assets.gates import GateContext, GateResult
from evaluation.bench import FixtureBench, measure_fixture, open_embedder
from evaluation.cases import Fixture, load_fixture
from evaluation.metrics import DEFAULT_METRICS
from evaluation.policy import ModeDecision
from evaluation.runner import decide_benchmark

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.settings import Settings
    from corpus_assets.store.generation import Generation

DEFAULT_GOLDEN = Path(__file__).parent / "fixtures" / "document_evidence" / "bench_v1.json"
MIN_SHARE_PRESENT = 0.5


@dataclass(frozen=True)
class GoldenChoice:
    """The golden set that applies to a candidate, or why none does (``problem`` when one should have)."""

    fixture: Fixture | None
    reason: str = ""
    problem: str = ""


def choose_golden(settings: Settings, candidate: Generation) -> GoldenChoice:
    """Return the set named in the settings, or the sample corpus' own when this is (mostly) the sample corpus."""
    named = settings.gates.golden_path
    try:
        fixture = load_fixture(named or DEFAULT_GOLDEN)
    except BadInputError as error:
        return GoldenChoice(None, problem=str(error))
    if named is not None:
        return GoldenChoice(fixture)
    judged = fixture.judged_paper_ids
    num_present = sum(paper_id in candidate.papers for paper_id in judged)
    if num_present < MIN_SHARE_PRESENT * len(judged):
        return GoldenChoice(
            None,
            reason="No golden set: quality not measured. Judge some questions (docs/golden_set.md) and name the set in "
            "gates.golden_path.",
        )
    return GoldenChoice(fixture)


@dataclass
class QualityOf:
    """The measurements of one candidate, taken once when first asked for."""

    context: GateContext
    embedder: Embedder | None = None

    @property
    def settings(self) -> Settings:
        return self.context.settings

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        k = self.settings.gates.k
        wanted = (f"ndcg@{k}", f"recall@{k}", f"hit_rate@{k}", *DEFAULT_METRICS)
        return tuple(dict.fromkeys(wanted))

    @cached_property
    def golden(self) -> GoldenChoice:
        return choose_golden(self.settings, self.context.candidate)

    @cached_property
    def candidate_embedder(self) -> Embedder:
        return self.embedder or open_embedder(self.context.candidate, self.settings)

    def _measure(self, generation: Generation, paper_ids: frozenset[str] = frozenset()) -> FixtureBench | None:
        """Return a generation's measurements with the model it was built with, or None without a golden set."""
        if self.golden.fixture is None:
            return None
        own = self.context.candidate.manifest.embedder.fingerprint
        is_same_model = generation.manifest.embedder.fingerprint == own
        return measure_fixture(
            self.golden.fixture,
            generation,
            settings=self.settings,
            embedder=self.candidate_embedder if is_same_model else open_embedder(generation, self.settings),
            metrics=self.metrics,
            paper_ids=paper_ids,
        )

    @cached_property
    def measured(self) -> FixtureBench | None:
        """Return the candidate's measurements, or None without a golden set."""
        return self._measure(self.context.candidate)

    @cached_property
    def published_problem(self) -> str:
        """Return why the published generation cannot be searched by this program, nothing when it can.

        An index written by an earlier program is no reason to keep it: only a new generation can mend that.
        """
        try:
            for segment in self.context.published.segments if self.context.published else ():
                _ = segment.fts, segment.vectors  # opened when first looked at
        except StoreError as error:
            return error.message
        return ""

    @cached_property
    def published_measured(self) -> FixtureBench | None:
        """Return the published generation's measurements on the same set, or None without either."""
        published = self.context.published
        return None if published is None or self.published_problem else self._measure(published)

    @cached_property
    def common_paper_ids(self) -> frozenset[str]:
        """Return the papers that the published generation and the candidate both serve."""
        published = self.context.published
        if published is None:
            return frozenset()
        return _served(published) & _served(self.context.candidate)

    @cached_property
    def comparable(self) -> tuple[FixtureBench | None, FixtureBench | None]:
        """Return the measurements of candidate and published generation on the papers that both serve.

        A paper that was added or removed changes every ranking without anything having got worse; searched within
        the common papers, only a change of retrieval (or of a paper's text) can show.
        """
        published, common = self.context.published, self.common_paper_ids
        if published is None or not common or self.published_problem:
            return self.measured, None
        now = (
            self.measured
            if _served(self.context.candidate) == common
            else self._measure(self.context.candidate, common)
        )
        before = self.published_measured if _served(published) == common else self._measure(published, common)
        return now, before

    @cached_property
    def decision(self) -> ModeDecision | None:
        if self.measured is None or self.measured.benchmark is None:
            return None
        return decide_benchmark(
            self.measured.benchmark, embedder=self.candidate_embedder.name, gates=self.settings.gates
        )

    @property
    def served_mode(self) -> str:
        """Return the mode this candidate would be served in: the settings', else the policy's, else hybrid."""
        if self.settings.retrieval.mode != "auto":
            return self.settings.retrieval.mode
        return self.decision.mode if self.decision else "hybrid"


def _served(generation: Generation) -> frozenset[str]:
    return frozenset(paper_id for paper_id, record in generation.papers.items() if record.is_served)


def not_measured(name: str, floor: float, golden: GoldenChoice) -> GateResult:
    """Return the explicit verdict for a corpus without a usable golden set: failing if it should have one."""
    is_broken = bool(golden.problem)
    return GateResult(
        name,
        0.0,
        floor,
        passed=False,
        severity="ERROR" if is_broken else "WARN",
        detail=golden.problem or golden.reason,
        extra={"golden_hash": ""},
    )
