"""Which retrieval mode is served: hybrid only where it proves itself on this corpus, else fts_only.

Hybrid is served when, against fts_only on the same cases,
1. its mean nDCG@10 is higher by at least ``min_gain`` and the paired test says so after Holm's correction over modes,
2. its mean MRR@10 is not lower, and
3. its evidence hit rate is not lower, and
4. its p95 latency is within the budget.
embedding_only is measured and may lose; it is never served. Vectors of the hash embedder hold no meaning: it is a
stand-in for tests, and never the reason to serve hybrid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from corpus_assets.errors import BadInputError
from corpus_assets.settings import GateSettings, RetrievalMode
from evaluation.metrics import PerQuery
from evaluation.statistics import PairedComparison, compare_paired, holm

BASELINE = "fts_only"
CHALLENGER = "hybrid"
RANKING, FIRST_HIT, HIT_RATE = "ndcg@10", "mrr@10", "hit_rate@10"
TARGET_EFFECT = 0.05  # "how many cases would be needed" is answered for this difference
SMALL_SAMPLE = 50

ModeValues = Mapping[str, Mapping[str, PerQuery]]  # mode -> metric -> query id -> value


@dataclass(frozen=True)
class Comparison:
    """Two modes on one metric, with the p value after Holm's correction over the modes compared."""

    a: str
    b: str
    metric: str
    paired: PairedComparison
    p_holm: float

    def as_dict(self) -> dict[str, Any]:
        numbers = asdict(self.paired)
        return {
            "a": self.a,
            "b": self.b,
            "metric": self.metric,
            "diff": numbers.pop("difference"),
            "ci95": self.paired.interval.as_list(),
            "p": numbers.pop("p_value"),
            "p_holm": self.p_holm,
            **{name: value for name, value in numbers.items() if name != "interval"},
            "cases_needed": self.paired.num_cases_for(TARGET_EFFECT),
            "cases_needed_for": TARGET_EFFECT,
        }


@dataclass(frozen=True)
class ModeDecision:
    """The mode to serve, the tests it passed or failed, and the reason in words."""

    mode: RetrievalMode
    reason: str
    tests: Mapping[str, bool] = field(default_factory=dict)
    numbers: Mapping[str, Any] = field(default_factory=dict)
    num_cases: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "reason": self.reason,
            "tests": dict(self.tests),
            "numbers": dict(self.numbers),
            "num_cases": self.num_cases,
        }


def compare_modes(values: ModeValues, metric: str, *, baseline: str = BASELINE) -> list[Comparison]:
    """Compare each other mode with the baseline on one metric; Holm's correction runs over these comparisons."""
    others = [mode for mode in values if mode != baseline]
    paired = {mode: compare_paired(values[mode][metric], values[baseline][metric]) for mode in others}
    adjusted = holm({mode: comparison.p_value for mode, comparison in paired.items()})
    return [Comparison(mode, baseline, metric, paired[mode], adjusted[mode]) for mode in others]


def decide_mode(
    values: ModeValues, p95_ms: Mapping[str, float], *, embedder: str, settings: GateSettings
) -> ModeDecision:
    """Choose between fts_only and hybrid by the rule above.

    ``values`` hold nDCG@10, MRR@10 and hit rate@10 of each mode on the same cases. Raises BadInputError when a mode
    or a metric is missing.
    """
    for mode in (BASELINE, CHALLENGER):
        missing = [name for name in (RANKING, FIRST_HIT, HIT_RATE) if name not in values.get(mode, {})]
        if missing:
            raise BadInputError(f"The decision needs {', '.join(missing)} of {mode}; it was not measured.")
    ranking = _pick(compare_modes(values, RANKING))
    first_hit = _pick(compare_modes(values, FIRST_HIT))
    hit_rate = _pick(compare_modes(values, HIT_RATE))
    is_hash = embedder == "hash"
    tests = {
        "embedder_has_meaning": not is_hash,
        "ndcg_gain": ranking.paired.difference >= settings.min_gain,
        "ndcg_significant": ranking.p_holm < settings.alpha and ranking.paired.difference > 0,
        "mrr_not_lower": first_hit.paired.difference >= 0,
        "hit_rate_not_lower": hit_rate.paired.difference >= 0,
        "within_latency": p95_ms[CHALLENGER] <= settings.max_p95_ms,
    }
    is_hybrid = all(tests.values())
    reason = _write_reason(tests, ranking, first_hit, hit_rate, p95_ms[CHALLENGER], settings)
    return ModeDecision(
        mode="hybrid" if is_hybrid else "fts_only",
        reason=reason,
        tests=tests,
        numbers={
            RANKING: ranking.as_dict(),
            FIRST_HIT: first_hit.as_dict(),
            HIT_RATE: hit_rate.as_dict(),
            "p95_ms": {mode: p95_ms[mode] for mode in sorted(p95_ms)},
        },
        num_cases=ranking.paired.num_cases,
    )


def _pick(comparisons: list[Comparison]) -> Comparison:
    return next(comparison for comparison in comparisons if comparison.a == CHALLENGER)


def _write_reason(
    tests: Mapping[str, bool],
    ranking: Comparison,
    first_hit: Comparison,
    hit_rate: Comparison,
    p95_ms: float,
    settings: GateSettings,
) -> str:
    paired = ranking.paired
    facts = (
        f"nDCG@10 {paired.mean_a:.3f} against {paired.mean_b:.3f} "
        f"({paired.difference:+.3f}, 95 % interval {paired.interval.low:+.3f} to {paired.interval.high:+.3f}, "
        f"p {ranking.p_holm:.3f} after Holm), MRR@10 {first_hit.paired.difference:+.3f}, "
        f"hit rate {hit_rate.paired.difference:+.3f}"
    )
    size = describe_sample(paired)
    if all(tests.values()):
        return (
            f"hybrid is served: clearly better than fts_only on {paired.num_cases} cases and within "
            f"{settings.max_p95_ms:g} ms: {facts}. {size}"
        )
    whys = {
        "embedder_has_meaning": "the vectors come from the hash embedder, a stand-in for tests without meaning",
        "ndcg_gain": f"its ranking gains less than {settings.min_gain:g} nDCG@10",
        "ndcg_significant": f"the gain in ranking is not significant at {settings.alpha:g}",
        "mrr_not_lower": "its first hit comes later (MRR@10)",
        "hit_rate_not_lower": "it finds evidence for fewer cases (hit rate)",
        "within_latency": f"its p95 of {p95_ms:.0f} ms is over the budget of {settings.max_p95_ms:g} ms",
    }
    failed = "; ".join(text for name, text in whys.items() if not tests[name])
    return f"fts_only is served: hybrid is not clearly better on {paired.num_cases} cases: {failed}. {facts}. {size}"


def describe_sample(paired: PairedComparison) -> str:
    """Say what this many cases can and cannot show."""
    needed = paired.num_cases_for(TARGET_EFFECT)
    if paired.minimum_detectable is None:
        unseen = 1 - 0.05 ** (1 / paired.num_cases)  # the share of cases that may differ without one of these doing so
        text = (
            f"No spread is seen in {paired.num_cases} case(s), so no detectable difference can be named: up to "
            f"{unseen:.0%} of all cases may still differ."
        )
        return f"This is a small sample. {text}" if paired.num_cases < SMALL_SAMPLE else text
    text = (
        f"With {paired.num_cases} cases a true difference below {paired.minimum_detectable:.3f} would be missed more "
        f"often than one time in five; {needed} cases would show {TARGET_EFFECT:g}."
    )
    if paired.num_cases < SMALL_SAMPLE:
        return f"This is a small sample. {text}"
    return text
