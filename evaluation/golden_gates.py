"""Gates that need judged cases: is the candidate good enough, and no worse than what is published?

The candidate is measured once and all gates read the same numbers. Without a golden set for the corpus each of these
gates says "not measured" as a warning that did not pass; with one that cannot be read, they fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from corpus_assets.gates import GateResult
from evaluation.bench import measure_fixture
from evaluation.metrics import mean
from evaluation.policy import ModeDecision, describe_sample
from evaluation.quality import QualityOf, not_measured
from evaluation.runner import Benchmark, decide_benchmark, summarize
from evaluation.statistics import bootstrap_interval, compare_paired, holm

NUM_WORST = 5
NUM_REPEATS = 3  # a p95 over the ceiling is taken again this often; the best counts


def check_floor(quality: QualityOf, kind: str, name: str, floor: float) -> GateResult:
    """Return whether the mean of ``kind@k`` in the served mode reaches ``floor``; an unbound label fails it."""
    if quality.measured is None:
        return not_measured(name, floor, quality.golden)
    bound, benchmark = quality.measured.bound, quality.measured.benchmark
    lost = [str(label) for label in bound.unbound]
    lost_text = f"{len(lost)} golden label(s) are not in the corpus any more: {'; '.join(lost[:3])}" if lost else ""
    if benchmark is None:
        detail = lost_text or "no case of the golden set is about this corpus"
        return GateResult(name, 0.0, floor, passed=False, detail=detail, extra={"golden_hash": bound.golden_hash})
    mode = quality.served_mode
    metric = f"{kind}@{quality.settings.gates.k}"
    per_query = benchmark.values[mode][metric]
    value = mean(per_query.values())
    interval = bootstrap_interval(list(per_query.values()))
    left_out = f", {len(bound.left_out)} left out (papers not in this corpus)" if bound.left_out else ""
    detail = lost_text or (
        f"{metric} of {mode} {value:.3f} (95 % interval {interval.low:.3f} to {interval.high:.3f}) "
        f"on {len(per_query)} cases{left_out}; floor {floor:g}"
    )
    return GateResult(
        name,
        value,
        floor,
        passed=not lost and math.isfinite(value) and value >= floor,
        num_cases=len(per_query),
        detail=detail,
        extra={
            "golden_hash": bound.golden_hash,
            "mode": mode,
            "metric": metric,
            "ci95": interval.as_list(),
            "unbound": lost,
            "num_left_out": len(bound.left_out),
            "by_mode": {name: mean(values[metric].values()) for name, values in benchmark.values.items()},
            "worst_cases": list_worst(benchmark, mode, metric),
        },
    )


def list_worst(benchmark: Benchmark, mode: str, metric: str, num: int = NUM_WORST) -> list[dict[str, Any]]:
    """Return the cases with the lowest values, worst first, with where their evidence was found."""
    per_query = benchmark.values[mode][metric]
    rows = []
    for case_id in sorted(per_query, key=lambda name: (per_query[name], name))[:num]:
        relevant = {doc for doc, grade in benchmark.qrels[case_id].items() if grade > 0}
        ranking = list(benchmark.runs[mode].rankings[case_id])
        ranks = [rank for rank, doc in enumerate(ranking, start=1) if doc in relevant]
        rows.append(
            {
                "case": case_id,
                "query": benchmark.queries[case_id],
                metric: round(per_query[case_id], 4),
                "first_relevant_rank": ranks[0] if ranks else None,
            }
        )
    return rows


def check_no_regression(quality: QualityOf) -> GateResult:
    """Compare the candidate with the published generation on the same cases: no mean may fall for certain, or far.

    Both are searched within the papers that both serve, so that added or removed papers are no regression. Compared
    are fts_only and the mode each would be served in, on nDCG@k and recall@k. A fall counts when it is
    significant (one-sided paired permutation test, Holm over the comparisons) or larger than ``max_drop``.
    """
    name, gates = "no_regression", quality.settings.gates
    floor = -gates.max_drop
    if quality.measured is None:
        return not_measured(name, floor, quality.golden)
    golden_hash = quality.measured.bound.golden_hash
    if quality.context.published is None:
        return GateResult(
            name,
            0.0,
            floor,
            passed=True,
            detail="no other generation is published: there is nothing to fall behind",
            extra={"golden_hash": golden_hash},
        )
    measured, before = quality.comparable
    now = measured.benchmark if measured else None
    if now is None:
        return GateResult(
            name,
            0.0,
            floor,
            passed=False,
            detail="no case could be measured on the candidate",
            extra={"golden_hash": golden_hash},
        )
    if before is None or before.benchmark is None:
        return GateResult(
            name,
            0.0,
            floor,
            passed=True,
            severity="WARN",
            detail=quality.published_problem
            or "the published corpus shares no paper with a case of this golden set: nothing to compare with",
            extra={"golden_hash": golden_hash},
        )
    old_decision = decide_benchmark(
        before.benchmark, embedder=quality.context.published.manifest.embedder.name, gates=gates
    )
    forced = quality.settings.retrieval.mode
    old_mode = forced if forced != "auto" else (old_decision.mode if old_decision else "fts_only")
    pairs = {"served": (quality.served_mode, old_mode), "fts_only": ("fts_only", "fts_only")}
    compared = {
        f"{label} {metric}": compare_paired(
            now.values[new][f"{metric}@{gates.k}"], before.benchmark.values[old][f"{metric}@{gates.k}"]
        )
        for label, (new, old) in pairs.items()
        for metric in ("ndcg", "recall")
    }
    one_sided = holm({key: item.p_value / 2 if item.difference < 0 else 1.0 for key, item in compared.items()})
    failed = [
        key
        for key, item in compared.items()
        if item.difference < -gates.max_drop or (item.difference < 0 and one_sided[key] < gates.regression_alpha)
    ]
    worst = min(compared, key=lambda key: (compared[key].difference, key))
    shown = failed or [worst]
    parts = [
        f"{key}@{gates.k} {compared[key].mean_b:.3f} -> {compared[key].mean_a:.3f} "
        f"({compared[key].difference:+.3f}, p {one_sided[key]:.3f})"
        for key in shown
    ]
    served = compared["served ndcg"]
    against = (
        f"on {served.num_cases} cases and the {len(quality.common_paper_ids)} papers shared with generation "
        f"{quality.context.published.id}"
    )
    detail = f"{'; '.join(parts)} {against}. {describe_sample(served)}"
    return GateResult(
        name,
        compared[worst].difference,
        floor,
        passed=not failed,
        num_cases=served.num_cases,
        detail=detail,
        extra={
            "golden_hash": golden_hash,
            "published": quality.context.published.id,
            "failed": failed,
            "comparisons": {
                key: {
                    "before": item.mean_b,
                    "now": item.mean_a,
                    "diff": item.difference,
                    "ci95": item.interval.as_list(),
                    "p_one_sided_holm": one_sided[key],
                }
                for key, item in compared.items()
            },
            "worst_cases": _list_falls(now, before.benchmark, quality.served_mode, old_mode, f"ndcg@{gates.k}"),
            "slices": _list_slice_falls(now, before.benchmark, quality.served_mode, old_mode, f"ndcg@{gates.k}"),
        },
    )


def _list_falls(now: Benchmark, before: Benchmark, mode: str, old_mode: str, metric: str) -> list[dict[str, Any]]:
    new, old = now.values[mode][metric], before.values[old_mode][metric]
    fallen = sorted((new[key] - old[key], key) for key in new.keys() & old.keys() if new[key] < old[key])
    return [
        {"case": key, "query": now.queries[key], "before": round(old[key], 4), "now": round(new[key], 4)}
        for _, key in fallen[:NUM_WORST]
    ]


def _list_slice_falls(now: Benchmark, before: Benchmark, mode: str, old_mode: str, metric: str) -> list[dict[str, Any]]:
    """Return the slices whose mean fell, also when the overall mean holds."""
    new, old = now.values[mode][metric], before.values[old_mode][metric]
    falls: list[dict[str, Any]] = []
    for slice_name, groups in now.slices.items():
        for group, case_ids in groups.items():
            shared = [case_id for case_id in case_ids if case_id in new and case_id in old]
            difference = mean(new[case_id] - old[case_id] for case_id in shared) if shared else 0.0
            if difference < 0:
                falls.append({"slice": slice_name, "group": group, "num_cases": len(shared), "diff": difference})
    return falls


def check_p95_latency(quality: QualityOf) -> GateResult:
    """Compare the served mode's p95 latency with the published generation's, on this machine, now: a ceiling.

    A p95 below ``latency_grace_ms`` passes at any ratio. One over the ceiling is measured again; the best ratio counts.
    """
    name, gates = "p95_latency", quality.settings.gates
    ceiling = gates.max_latency_ratio
    if quality.measured is None:
        return not_measured(name, ceiling, quality.golden)
    benchmark = quality.measured.benchmark
    golden_hash = quality.measured.bound.golden_hash
    if benchmark is None:
        return GateResult(
            name,
            0.0,
            ceiling,
            passed=False,
            detail="no case could be measured on the candidate",
            extra={"golden_hash": golden_hash},
        )
    mode = quality.served_mode
    p95 = benchmark.latency_ms(mode)["p95_latency_ms"]
    before = quality.published_measured
    extra: dict[str, Any] = {
        "golden_hash": golden_hash,
        "mode": mode,
        "is_ceiling": True,
        "p95_ms": p95,
        "worst_cases": _list_slowest(benchmark, mode),
    }
    num = len(benchmark.case_ids)
    if before is None or before.benchmark is None:
        return GateResult(
            name,
            1.0,
            ceiling,
            passed=True,
            num_cases=num,
            detail=f"p95 of {mode} {p95:.0f} ms; "
            + (quality.published_problem or "no other generation is published to compare with"),
            extra=extra,
        )
    old_mode = mode if mode in before.benchmark.runs else "fts_only"
    old_p95 = before.benchmark.latency_ms(old_mode)["p95_latency_ms"]
    repeats = 1
    while p95 > ceiling * old_p95 and p95 > gates.latency_grace_ms and repeats < NUM_REPEATS:
        again = measure_fixture(
            quality.measured.bound.fixture,
            quality.context.candidate,
            settings=quality.settings,
            embedder=quality.candidate_embedder,
            modes=(mode,),
            metrics=("ndcg@10",),
        ).benchmark
        p95 = min(p95, again.latency_ms(mode)["p95_latency_ms"]) if again else p95
        repeats += 1
    ratio = p95 / old_p95 if old_p95 > 0 else 1.0
    return GateResult(
        name,
        ratio,
        ceiling,
        passed=ratio <= ceiling or p95 <= gates.latency_grace_ms,
        num_cases=num,
        detail=f"p95 of {mode} {p95:.0f} ms, published {old_p95:.0f} ms: {ratio:.2f} times (ceiling {ceiling:g}; "
        f"below {gates.latency_grace_ms:g} ms always passes)",
        extra={**extra, "p95_ms": p95, "published_p95_ms": old_p95, "num_repeats": repeats},
    )


def _list_slowest(benchmark: Benchmark, mode: str) -> list[dict[str, Any]]:
    latencies = benchmark.runs[mode].latencies_ms
    slowest = sorted(latencies, key=lambda key: (-latencies[key], key))[:NUM_WORST]
    return [{"case": key, "query": benchmark.queries[key], "ms": round(latencies[key], 1)} for key in slowest]


def check_retrieval_decision(quality: QualityOf) -> GateResult:
    """Decide which mode serves this candidate, and store the decision for ``ask``; a person's decision is kept.

    Effect: one row in ``state.duckdb`` of the home.
    """
    from retrieval.decision import RetrievalDecision, latest_decision, store_decision

    name, candidate = "retrieval_decision", quality.context.candidate
    embedder = candidate.manifest.embedder.name
    decision = quality.decision
    golden_hash = quality.golden.fixture.golden_hash if quality.golden.fixture else ""
    if decision is None and embedder != "hash":
        return not_measured(name, quality.settings.gates.min_gain, quality.golden)
    if decision is None:
        decision = ModeDecision(
            "fts_only", "fts_only is served: hash vectors hold no meaning, and there is no golden set to say otherwise."
        )
    current = latest_decision(quality.context.home, candidate.id)
    numbers: Mapping[str, Any] = decision.as_dict()
    gain = float(decision.numbers.get("ndcg@10", {}).get("diff", 0.0))
    is_kept = current is not None and current.decided_by != "policy"
    if not is_kept:
        store_decision(
            quality.context.home,
            RetrievalDecision(
                generation=candidate.id,
                mode=decision.mode,
                reason=decision.reason,
                numbers=numbers,
                embedder=embedder,
                golden_hash=golden_hash,
                num_cases=decision.num_cases,
            ),
        )
    report_path = _write_candidate_report(quality)
    kept = f" A person chose {current.mode} for this generation, and that stands." if is_kept and current else ""
    return GateResult(
        name,
        gain,
        quality.settings.gates.min_gain,
        passed=True,
        severity="WARN",
        num_cases=decision.num_cases,
        detail=decision.reason + kept,
        extra={
            "golden_hash": golden_hash,
            "mode": decision.mode,
            "tests": dict(decision.tests),
            "numbers": numbers,
            "report_path": report_path,
        },
    )


def _write_candidate_report(quality: QualityOf) -> str:
    """Write the candidate's report under ``reports`` of the home and return its path; empty without measurements."""
    from evaluation.bench import describe_binding
    from evaluation.report import write_report

    measured, candidate = quality.measured, quality.context.candidate
    if measured is None or measured.benchmark is None:
        return ""
    report = summarize(
        measured.benchmark,
        num_docs=candidate.num_chunks,
        embedder=candidate.manifest.embedder.name,
        gates=quality.settings.gates,
        details=describe_binding(measured.bound, candidate),
    )
    folder = quality.context.home / "reports"
    name = f"{candidate.id}.html"
    return str(write_report(report, folder / name, markdown_path=folder / f"{candidate.id}.md"))
