"""What a difference between two runs is worth: intervals, paired tests, sample sizes. Seeded, vectorised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from corpus_assets.errors import BadInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEED = 20_260
RESAMPLES = 10_000
BLOCK = 1_000  # resamples drawn at a time, to bound memory
EXACT_UP_TO = 14  # with this many non-zero differences or fewer, all 2^n sign patterns are enumerated


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    def as_list(self) -> list[float]:
        return [self.low, self.high]


@dataclass(frozen=True)
class PairedComparison:
    """Mean of ``a - b`` over the same cases, its interval, and how surprising it would be if nothing differed."""

    num_cases: int
    mean_a: float
    mean_b: float
    difference: float
    interval: Interval  # 95 %, paired bootstrap
    p_value: float  # two-sided, sign-flip permutation
    wins: int
    losses: int
    ties: int
    minimum_detectable: float | None  # at 80 % power, two-sided 5 %; None where the cases show no spread to go by
    standard_deviation: float  # of the differences

    def num_cases_for(self, effect: float) -> int | None:
        """Return how many cases would show ``effect``, or None where these show no spread to go by."""
        return cases_needed(self.standard_deviation, effect) if self.standard_deviation > 0 else None


def _as_array(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise BadInputError("A statistic needs at least one value.", hint="Is the golden set empty?")
    if not np.isfinite(array).all():
        raise BadInputError("A statistic was given a value that is not a number.")
    return array


def bootstrap_means(
    values: Sequence[float] | NDArray[np.float64], *, seed: int = SEED, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return ``resamples`` means of samples drawn with replacement (Efron 1979)."""
    import numpy as np

    array = _as_array(values)
    generator = np.random.default_rng(seed)
    means = np.empty(resamples)
    for start in range(0, resamples, BLOCK):
        stop = min(start + BLOCK, resamples)
        means[start:stop] = array[generator.integers(0, array.size, size=(stop - start, array.size))].mean(axis=1)
    return means


def bootstrap_interval(
    values: Sequence[float] | NDArray[np.float64],
    *,
    level: float = 0.95,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the percentile bootstrap interval of the mean."""
    import numpy as np

    tail = (1 - level) / 2
    low, high = np.quantile(bootstrap_means(values, seed=seed, resamples=resamples), [tail, 1 - tail])
    return Interval(float(low), float(high))


def permutation_p_value(
    differences: Sequence[float] | NDArray[np.float64], *, seed: int = SEED, resamples: int = RESAMPLES
) -> float:
    """Return the two-sided p of a paired sign-flip test (Fisher's randomisation test; Smucker et al. 2007).

    Exact for few non-zero differences; otherwise (hits + 1) / (resamples + 1), which is never 0.
    """
    import numpy as np

    array = _as_array(differences)
    moving = array[array != 0]
    if moving.size == 0:
        return 1.0
    observed = abs(moving.sum()) - 1e-12 * np.abs(moving).sum()  # equal sums in another order of adding count
    if moving.size <= EXACT_UP_TO:
        patterns = np.arange(2**moving.size)[:, None] >> np.arange(moving.size)[None, :]
        signs = 1.0 - 2.0 * (patterns & 1)
        return float(np.mean(np.abs(signs @ moving) >= observed))
    generator = np.random.default_rng(seed)
    hits = 0
    for start in range(0, resamples, BLOCK):
        rows = min(BLOCK, resamples - start)
        signs = generator.integers(0, 2, size=(rows, moving.size)) * 2.0 - 1.0
        hits += int(np.count_nonzero(np.abs(signs @ moving) >= observed))
    return (hits + 1) / (resamples + 1)


def minimum_detectable_effect(
    standard_deviation: float, num_cases: int, *, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Return the smallest true mean difference a paired test of this size finds with the given power."""
    normal = NormalDist()
    factor = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    return factor * standard_deviation / math.sqrt(num_cases)


def cases_needed(standard_deviation: float, effect: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return how many cases a paired test needs to find ``effect`` with the given power."""
    import numpy as np

    if effect <= 0:
        raise BadInputError(f"A target effect must be above 0, not {effect}.")
    normal = NormalDist()
    factor = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    return max(1, int(np.ceil((factor * standard_deviation / effect) ** 2 - 1e-9)))


def compare_paired(
    a: Mapping[str, float], b: Mapping[str, float], *, seed: int = SEED, resamples: int = RESAMPLES
) -> PairedComparison:
    """Compare two runs over the cases both have; raises BadInputError when they share none."""
    import numpy as np

    shared = sorted(a.keys() & b.keys())
    if not shared:
        raise BadInputError("Two runs without a common case cannot be compared.")
    left = _as_array([a[case_id] for case_id in shared])
    right = _as_array([b[case_id] for case_id in shared])
    differences = left - right
    deviation = float(differences.std(ddof=1)) if differences.size > 1 else 0.0
    return PairedComparison(
        num_cases=len(shared),
        mean_a=float(left.mean()),
        mean_b=float(right.mean()),
        difference=float(differences.mean()),
        interval=bootstrap_interval(differences, seed=seed, resamples=resamples),
        p_value=permutation_p_value(differences, seed=seed, resamples=resamples),
        wins=int(np.count_nonzero(differences > 0)),
        losses=int(np.count_nonzero(differences < 0)),
        ties=int(np.count_nonzero(differences == 0)),
        minimum_detectable=minimum_detectable_effect(deviation, len(shared)) if deviation > 0 else None,
        standard_deviation=deviation,
    )


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return Holm's step-down adjusted p values (Holm 1979), under the same names."""
    ordered = sorted(p_values.items(), key=lambda item: (item[1], item[0]))
    adjusted: dict[str, float] = {}
    running = 0.0
    for position, (name, value) in enumerate(ordered):
        running = max(running, min(1.0, value * (len(ordered) - position)))
        adjusted[name] = running
    return {name: adjusted[name] for name in p_values}
