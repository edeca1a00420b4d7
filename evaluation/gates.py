"""Every gate of evaluation, as plain Python: floors against values on one candidate generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from corpus_assets.errors import CopilotError
from corpus_assets.gates import Gate, GateContext, GateResult, Severity
from corpus_assets.gates import run_gates as judge
from corpus_assets.settings import fingerprint
from corpus_assets.store.atomic import file_sha256
from evaluation.balance import judge_balance, measure_balance
from evaluation.golden_gates import check_floor, check_no_regression, check_p95_latency, check_retrieval_decision
from evaluation.honesty import HONESTY_SUITE, AskedCase, OfflineAsker, ask_cases, check_faithfulness, check_honesty
from evaluation.index_gates import (
    check_faiss_recall_vs_exact,
    check_known_item,
    check_no_lost_papers,
    check_unique_chunks,
)
from evaluation.quality import DEFAULT_GOLDEN, QualityOf, not_measured

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.settings import Settings
    from corpus_assets.store.generation import Generation

TOP_RETRIEVED = 10  # passages a question that count for topic balance

DESCRIPTIONS = {
    "unique_chunks": "No two passages are the same stretch of a paper.",
    "known_item": "Passages are found by their own identifiers and sentences (full text).",
    "faiss_recall_vs_exact": "The vector index finds the exact top 10.",
    "no_lost_papers": "Every published paper whose file is still there is served again, with its text.",
    "recall_at_k": "Mean recall@k of the served mode on the golden set reaches its floor.",
    "hit_rate_at_k": "Share of golden cases with any evidence within k reaches its floor.",
    "ndcg_at_k": "Mean nDCG@k of the served mode on the golden set reaches its floor.",
    "no_regression": "Retrieval is no worse than the published generation's on the same cases.",
    "p95_latency": "The p95 latency has not grown beyond a ratio to the published generation's.",
    "retrieval_decision": "Which mode is served on this corpus, decided by paired statistics, and why.",
    "topic_balance": "The largest topic does not crowd out the rest of what is retrieved and cited.",
    "faithfulness_floor": "Mean faithfulness of answers to golden questions reaches its floor.",
    "honesty": "The copilot abstains when it must, and quotes and numbers are what they claim to be.",
}


@dataclass
class Inspection:
    """One candidate under inspection; what is expensive is measured once and shared by the gates."""

    context: GateContext
    quality: QualityOf

    @cached_property
    def judged_by(self) -> str:
        """Return the digest of the golden set, the honesty suite, the floors and the retrieval settings."""
        settings = self.context.settings
        files = [settings.gates.golden_path or DEFAULT_GOLDEN, HONESTY_SUITE]
        contents = [file_sha256(path) if path.is_file() else "" for path in files]
        return fingerprint(
            [contents, settings.gates.model_dump(mode="json"), settings.retrieval.model_dump(mode="json")]
        )

    @cached_property
    def asker(self) -> OfflineAsker:
        """Return who answers this candidate's questions."""
        return OfflineAsker(self.context)

    @cached_property
    def asked(self) -> list[AskedCase]:
        """Return the answers to golden questions."""
        measured = self.quality.measured
        num = self.context.settings.gates.num_answers
        return ask_cases(self.asker, list(measured.bound.cases), num) if measured else []

    @cached_property
    def query_vectors(self) -> NDArray[np.float32] | None:
        """Return the golden questions' vectors, or None without a golden set."""
        measured = self.quality.measured
        if measured is None or not measured.bound.cases:
            return None
        return self.quality.candidate_embedder.embed_queries([item.case.query for item in measured.bound.cases])


Check = Callable[[Inspection], GateResult]


def check_answers(inspection: Inspection) -> GateResult:
    """Return the faithfulness verdict, or "not measured" without golden questions to ask."""
    if inspection.quality.measured is None:
        floor = inspection.context.settings.gates.faithfulness_floor
        return not_measured("faithfulness_floor", floor, inspection.quality.golden)
    return check_faithfulness(inspection.context, inspection.asked)


def check_topic_balance(inspection: Inspection) -> GateResult:
    """Return the topic balance of corpus, retrieved and cited passages."""
    context, measured = inspection.context, inspection.quality.measured
    retrieved: list[str] = []
    if measured is not None and measured.benchmark is not None:
        rankings = measured.benchmark.runs[inspection.quality.served_mode].rankings
        retrieved = [doc.split(":", 1)[0] for ranking in rankings.values() for doc in list(ranking)[:TOP_RETRIEVED]]
    cited = [citation.paper_id for item in inspection.asked for citation in item.answer.citations]
    balance = measure_balance(context.candidate.clusters, retrieved, cited)
    num_papers = sum(record.is_served for record in context.candidate.papers.values())
    return judge_balance(balance, num_papers=num_papers, ceiling=context.settings.gates.max_cluster_share)


CHECKS: tuple[tuple[str, Severity, Check], ...] = (
    ("unique_chunks", "ERROR", lambda item: check_unique_chunks(item.context)),
    ("known_item", "ERROR", lambda item: check_known_item(item.context)),
    ("faiss_recall_vs_exact", "ERROR", lambda item: check_faiss_recall_vs_exact(item.context, item.query_vectors)),
    ("no_lost_papers", "ERROR", lambda item: check_no_lost_papers(item.context)),
    (
        "recall_at_k",
        "ERROR",
        lambda item: check_floor(item.quality, "recall", "recall_at_k", item.context.settings.gates.recall_floor),
    ),
    (
        "hit_rate_at_k",
        "ERROR",
        lambda item: check_floor(item.quality, "hit_rate", "hit_rate_at_k", item.context.settings.gates.hit_rate_floor),
    ),
    (
        "ndcg_at_k",
        "ERROR",
        lambda item: check_floor(item.quality, "ndcg", "ndcg_at_k", item.context.settings.gates.ndcg_floor),
    ),
    ("no_regression", "ERROR", lambda item: check_no_regression(item.quality)),
    ("p95_latency", "ERROR", lambda item: check_p95_latency(item.quality)),
    ("retrieval_decision", "WARN", lambda item: check_retrieval_decision(item.quality)),
    ("faithfulness_floor", "ERROR", check_answers),
    ("honesty", "ERROR", lambda item: check_honesty(item.context, item.asker, item.asked)),
    ("topic_balance", "WARN", check_topic_balance),
)


class _Inspections:
    """Hands every gate of one run the same inspection of a candidate."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._current: Inspection | None = None

    def of(self, context: GateContext) -> Inspection:
        if self._current is None or self._current.context is not context:
            self._current = Inspection(context, QualityOf(context, self._embedder))
        return self._current


def evaluation_gates(embedder: Embedder | None = None) -> list[Gate]:
    """Return evaluation's gates in the order they are run; the embedder defaults to the candidate's own.

    The gates of one list share their measurements of a candidate: make a new list for each run.
    """
    inspections = _Inspections(embedder)

    def bind(name: str, check: Check) -> Callable[[GateContext], GateResult]:
        def run(context: GateContext) -> GateResult:
            try:
                return check(inspections.of(context))
            except CopilotError as error:  # a verdict that is missing would block nothing
                return GateResult(
                    name, 0.0, 0.0, passed=False, detail=str(error), extra={"error": type(error).__name__}
                )

        run.__doc__ = DESCRIPTIONS[name]
        return run

    def judged_by(context: GateContext) -> str:
        return inspections.of(context).judged_by

    return [Gate(name, severity, bind(name, check), judged_by) for name, severity, check in CHECKS]


def run_gates(
    settings: Settings,
    *,
    generation_id: str | None = None,
    gates: Sequence[Gate] | None = None,
    embedder: Embedder | None = None,
) -> list[GateResult]:
    """Judge a generation anew (default: the published one) by the corpus' and evaluation's gates; store the verdicts.

    It is compared with the generation published before it, if there still is one. Raises NothingPublishedError.
    """
    from corpus_assets.corpus_gates import corpus_gates
    from corpus_assets.store.generation import open_generation, open_published

    home = settings.home
    candidate = open_generation(home, generation_id) if generation_id else open_published(home)
    with candidate:
        before = _open_previous(settings, candidate.id)
        try:
            context = GateContext(home, settings, candidate, before)
            return judge(gates or [*corpus_gates(), *evaluation_gates(embedder)], context, rerun=True)
        finally:
            if before is not None:
                before.close()


def _open_previous(settings: Settings, generation_id: str) -> Generation | None:
    from corpus_assets.store.generation import open_generation
    from corpus_assets.store.manifest import MANIFEST_FILE
    from corpus_assets.store.publish import generations_dir, read_pointer

    pointer = read_pointer(settings.home)
    earlier = [pointer["id"], *pointer["previous"]]
    if generation_id in earlier:
        earlier = earlier[earlier.index(generation_id) + 1 :]
    for name in earlier:
        if name and (generations_dir(settings.home) / name / MANIFEST_FILE).exists():
            return open_generation(settings.home, name)
    return None


def describe_results(results: Sequence[GateResult]) -> dict[str, object]:
    """Return the JSON of ``research-copilot gate``: every verdict, and whether all blocking ones passed."""
    return {
        "gates": [
            {
                "name": result.name,
                "value": result.value,
                "floor": result.floor,
                "passed": result.passed,
                "severity": result.severity,
                "num_cases": result.num_cases,
                "detail": result.detail,
                "golden_hash": result.extra.get("golden_hash", ""),
            }
            for result in results
        ],
        "passed": all(result.passed for result in results if result.severity == "ERROR"),
    }
