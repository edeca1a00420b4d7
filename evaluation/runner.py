"""Run judged queries through several retrieval modes and measure them; per-query values are kept, means come last.

The core takes (queries, qrels, search functions) and knows neither fixtures nor generations, so that BEIR data and
golden cases go through the same code. Two runs on the same corpus give the same numbers to the last digit, latency
aside.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpus_assets.errors import BadInputError, CopilotError, GateFailedError
from corpus_assets.settings import GateSettings
from evaluation.metrics import DEFAULT_METRICS, PerQuery, Qrels, mean, measure, scored_queries
from evaluation.policy import BASELINE, ModeDecision, compare_modes, decide_mode
from evaluation.statistics import SEED, bootstrap_interval

logger = logging.getLogger(__name__)

SearchFunction = Callable[[str], Sequence[str]]  # query text -> document ids, best first
Slices = Mapping[str, Mapping[str, Sequence[str]]]  # e.g. "query_type" -> "exact" -> query ids

COMPARED_METRICS = ("ndcg@10", "mrr@10", "recall@10", "hit_rate@10")


@dataclass(frozen=True)
class ModeRun:
    """What one mode returned: a ranking and a latency for each query."""

    mode: str
    rankings: Mapping[str, Sequence[str]]
    latencies_ms: Mapping[str, float]


@dataclass(frozen=True)
class Benchmark:
    """Every measured value of one benchmark, before any mean is taken."""

    queries: Mapping[str, str]
    qrels: Qrels
    runs: Mapping[str, ModeRun]
    values: Mapping[str, Mapping[str, PerQuery]]  # mode -> metric -> query id -> value
    slices: Slices = field(default_factory=dict)

    @property
    def case_ids(self) -> list[str]:
        return scored_queries(self.qrels)

    def latency_ms(self, mode: str) -> dict[str, float]:
        """Return avg_latency_ms and p95_latency_ms of a mode, over all its queries."""
        return summarize_latency(list(self.runs[mode].latencies_ms.values()))


def summarize_latency(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return avg_latency_ms and p95_latency_ms."""
    import numpy as np

    return {
        "avg_latency_ms": float(np.mean(milliseconds)),
        "p95_latency_ms": float(np.percentile(milliseconds, 95)),
    }


def run_queries(queries: Mapping[str, str], search: SearchFunction, mode: str) -> ModeRun:
    """Search each query once, timed; one untimed search goes first, so that caches and models are warm.

    A question's vector left by an earlier search is forgotten first: embedding it is part of what is timed.
    Raises GateFailedError naming the case if a search fails: a failed case is never left out of a mean.
    """
    from retrieval.dense import forget_questions

    if not queries:
        raise BadInputError("There are no queries to run.")
    rankings: dict[str, list[str]] = {}
    latencies: dict[str, float] = {}
    is_warm = False
    for query_id, text in queries.items():
        try:
            if not is_warm:
                search(text)
                is_warm = True
            forget_questions()
            started = time.perf_counter()
            found = search(text)
            latencies[query_id] = (time.perf_counter() - started) * 1000
        except CopilotError as error:
            raise GateFailedError(f"Case {query_id!r} failed in mode {mode}: {error}") from error
        rankings[query_id] = list(found)
    return ModeRun(mode, rankings, latencies)


def measure_modes(
    queries: Mapping[str, str],
    qrels: Qrels,
    searches: Mapping[str, SearchFunction],
    *,
    slices: Slices | None = None,
    twins: Mapping[str, Mapping[str, str]] | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> Benchmark:
    """Run every mode over the queries that can score, and measure each.

    ``twins`` names, per query, documents that repeat a judged one (see ``labels``). Raises BadInputError when no query
    has a relevant judgment, GateFailedError when a case fails or a value is not a number.
    """
    from evaluation.labels import canonical_ranking

    judged = [query_id for query_id in scored_queries(qrels) if query_id in queries]
    if not judged:
        raise BadInputError("No query has a judgment above 0: nothing can be measured.")
    kept = {query_id: queries[query_id] for query_id in judged}
    kept_qrels = {query_id: qrels[query_id] for query_id in judged}
    runs: dict[str, ModeRun] = {}
    values: dict[str, Mapping[str, PerQuery]] = {}
    for mode, search in searches.items():
        run = run_queries(kept, search, mode)
        if twins:
            renamed = {name: canonical_ranking(docs, twins.get(name, {})) for name, docs in run.rankings.items()}
            run = ModeRun(mode, renamed, run.latencies_ms)
        runs[mode] = run
        values[mode] = measure(kept_qrels, run.rankings, metrics)
        logger.info("measured %s on %d cases", mode, len(judged))
    return Benchmark(kept, kept_qrels, runs, values, slices or {})


def summarize(
    benchmark: Benchmark,
    *,
    num_docs: int,
    embedder: str,
    gates: GateSettings,
    seed: int = SEED,
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the report: JSON-able, with the keys DESIGN section 8 promises for ``bench``.

    ``details`` (golden hash, generation, ...) is merged in at the top level.
    """
    modes = {mode: _summarize_mode(benchmark, mode, seed) for mode in benchmark.runs}
    decision = decide_benchmark(benchmark, embedder=embedder, gates=gates)
    num_unjudged = len(benchmark.queries) - len(benchmark.case_ids)
    report: dict[str, Any] = {
        "corpus": {"num_docs": num_docs},
        "embedder": embedder,
        "num_cases": len(benchmark.case_ids),
        "num_unjudged": num_unjudged,
        "modes": modes,
        "slices": _summarize_slices(benchmark),
        "comparisons": [
            comparison.as_dict() for metric in COMPARED_METRICS for comparison in _all_comparisons(benchmark, metric)
        ],
        "decision": decision.as_dict() if decision else None,
        "cases": _list_cases(benchmark),
    }
    report.update(details or {})
    return report


def decide_benchmark(benchmark: Benchmark, *, embedder: str, gates: GateSettings) -> ModeDecision | None:
    """Return the policy's decision, or None when fts_only and hybrid were not both run."""
    if not {"fts_only", "hybrid"} <= benchmark.runs.keys():
        return None
    p95 = {mode: benchmark.latency_ms(mode)["p95_latency_ms"] for mode in benchmark.runs}
    return decide_mode(benchmark.values, p95, embedder=embedder, settings=gates)


def _summarize_mode(benchmark: Benchmark, mode: str, seed: int) -> dict[str, Any]:
    values = benchmark.values[mode]
    means = {metric: mean(per_query.values()) for metric, per_query in values.items()}
    intervals = {
        metric: bootstrap_interval(list(per_query.values()), seed=seed).as_list()
        for metric, per_query in values.items()
    }
    return {**means, **benchmark.latency_ms(mode), "ci95": intervals}


def _all_comparisons(benchmark: Benchmark, metric: str) -> list[Any]:
    if metric not in next(iter(benchmark.values.values())) or len(benchmark.values) < 2:
        return []
    baseline = BASELINE if BASELINE in benchmark.values else next(iter(benchmark.values))
    comparisons = compare_modes(benchmark.values, metric, baseline=baseline)
    if {"hybrid", "hybrid_rerank"} <= benchmark.values.keys():
        pair = {mode: benchmark.values[mode] for mode in ("hybrid", "hybrid_rerank")}
        comparisons += compare_modes(pair, metric, baseline="hybrid")
    return comparisons


def _summarize_slices(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Return slice -> value -> {num_cases, modes, regressions}; modes that rank below fts_only there are listed."""
    summary: dict[str, dict[str, Any]] = {}
    for slice_name, groups in benchmark.slices.items():
        rows: dict[str, Any] = {}
        for group, query_ids in groups.items():
            kept = [query_id for query_id in query_ids if query_id in benchmark.queries]
            if not kept:
                continue
            modes = {
                mode: {metric: mean(per_query[query_id] for query_id in kept) for metric, per_query in values.items()}
                for mode, values in benchmark.values.items()
            }
            base = modes.get(BASELINE, {}).get("ndcg@10")
            regressions = [
                {"mode": mode, "metric": "ndcg@10", "diff": numbers["ndcg@10"] - base}
                for mode, numbers in modes.items()
                if base is not None and mode != BASELINE and numbers["ndcg@10"] < base
            ]
            rows[group] = {"num_cases": len(kept), "modes": modes, "regressions": regressions}
        summary[slice_name] = rows
    return summary


def _list_cases(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Return each case with its values per mode and the rank of its first relevant document."""
    tags: dict[str, dict[str, str]] = {}
    for slice_name, groups in benchmark.slices.items():
        for group, query_ids in groups.items():
            for query_id in query_ids:
                tags.setdefault(query_id, {})[slice_name] = group
    cases: list[dict[str, Any]] = []
    for query_id in benchmark.case_ids:
        relevant = {doc_id for doc_id, grade in benchmark.qrels[query_id].items() if grade > 0}
        modes: dict[str, Any] = {}
        for mode, run in benchmark.runs.items():
            ranks = [rank for rank, doc_id in enumerate(run.rankings[query_id], start=1) if doc_id in relevant]
            per_metric = {metric: per_query[query_id] for metric, per_query in benchmark.values[mode].items()}
            modes[mode] = {**per_metric, "first_relevant_rank": ranks[0] if ranks else None}
        cases.append(
            {"case_id": query_id, "query": benchmark.queries[query_id], **tags.get(query_id, {}), "modes": modes}
        )
    return cases


def require_floors(
    report: Mapping[str, Any], *, hybrid_recall: float | None = None, hybrid_hit_rate: float | None = None
) -> None:
    """Raise GateFailedError when hybrid's recall@10 or hit rate@10 is under the given floor, or was not measured."""
    for metric, floor in (("recall@10", hybrid_recall), ("hit_rate@10", hybrid_hit_rate)):
        if floor is None:
            continue
        value = report["modes"].get("hybrid", {}).get(metric)
        if value is None or not value >= floor:
            shown = "not measured" if value is None else f"{value:.4f}"
            raise GateFailedError(f"hybrid {metric} is {shown}, the floor is {floor:g}.")
