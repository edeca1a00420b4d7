"""Statistics against values computed by hand and by scipy."""

import math

import numpy as np
import pytest

from corpus_assets.errors import BadInputError
from evaluation.statistics import (
    bootstrap_interval,
    cases_needed,
    compare_paired,
    holm,
    minimum_detectable_effect,
    permutation_p_value,
)


def test_bootstrap_interval_agrees_with_scipy_and_is_seeded():
    from scipy.stats import bootstrap

    values = np.random.default_rng(3).normal(0.6, 0.2, size=80)
    ours = bootstrap_interval(values)
    theirs = bootstrap((values,), np.mean, method="percentile", n_resamples=9999, rng=1).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.005)
    assert ours.high == pytest.approx(theirs.high, abs=0.005)
    assert ours == bootstrap_interval(values)
    assert ours != bootstrap_interval(values, seed=1)
    assert bootstrap_interval([0.5]).as_list() == [0.5, 0.5]


def test_permutation_is_exact_for_few_differences():
    # 4 positive differences: only the all-plus and all-minus patterns are as extreme: 2 / 16
    assert permutation_p_value([0.1, 0.2, 0.3, 0.4, 0.0]) == pytest.approx(2 / 16)
    # 1, 1, -1: |sum| = 1; every one of the 8 patterns has |sum| >= 1
    assert permutation_p_value([1, 1, -1]) == 1.0
    assert permutation_p_value([0, 0, 0]) == 1.0


def test_permutation_agrees_with_scipy_and_never_returns_zero():
    from scipy.stats import permutation_test

    differences = np.random.default_rng(4).normal(0.05, 0.2, size=60)
    theirs = permutation_test(
        (differences, np.zeros(60)),
        lambda x, y: np.mean(x) - np.mean(y),
        permutation_type="samples",
        n_resamples=9999,
        rng=2,
    ).pvalue
    assert permutation_p_value(differences) == pytest.approx(theirs, abs=0.02)
    assert permutation_p_value(np.full(100, 0.5)) == pytest.approx(1 / 10_001)


def test_false_alarms_are_as_rare_as_promised():
    generator = np.random.default_rng(6)
    p_values = [permutation_p_value(generator.normal(0, 1, size=30), resamples=500) for _ in range(200)]
    assert np.mean(np.array(p_values) < 0.05) < 0.10


def test_sample_sizes_by_hand():
    # (1.959964 + 0.841621) * 0.25 / sqrt(100) = 0.0700396
    assert minimum_detectable_effect(0.25, 100) == pytest.approx(0.0700396, abs=1e-6)
    # (2.801585 * 0.25 / 0.05)^2 = 196.2
    assert cases_needed(0.25, 0.05) == 197
    assert cases_needed(0.0, 0.05) == 1
    with pytest.raises(BadInputError):
        cases_needed(0.2, 0)


def test_the_promised_power_is_reached():
    generator = np.random.default_rng(7)
    effect = minimum_detectable_effect(0.2, 50)
    found = [permutation_p_value(generator.normal(effect, 0.2, size=50), resamples=500) < 0.05 for _ in range(200)]
    assert 0.70 < np.mean(found) < 0.90


def test_holm_by_hand():
    # sorted .01 .02 .04 -> x3 = .03, x2 = .04, x1 = .04 (monotone)
    assert holm({"a": 0.04, "b": 0.01, "c": 0.02}) == pytest.approx({"a": 0.04, "b": 0.03, "c": 0.04})
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_paired_comparison_counts_and_pairs_by_case():
    a = {"q1": 1.0, "q2": 0.5, "q3": 0.2, "only_a": 1.0}
    b = {"q3": 0.4, "q2": 0.5, "q1": 0.0}
    result = compare_paired(a, b)
    assert (result.num_cases, result.wins, result.losses, result.ties) == (3, 1, 1, 1)
    assert result.difference == pytest.approx((1.0 + 0 - 0.2) / 3)
    assert result.interval.low <= result.difference <= result.interval.high
    with pytest.raises(BadInputError, match="common case"):
        compare_paired({"x": 1}, {"y": 1})
    with pytest.raises(BadInputError, match="not a number"):
        compare_paired({"x": math.nan}, {"x": 1})


def test_cases_without_any_spread_promise_no_detectable_difference():
    """One case, or many that all tie, say nothing about what could be found: not that anything could."""
    one = compare_paired({"q": 0.9}, {"q": 0.2})
    ties = compare_paired(dict.fromkeys("abc", 0.5), dict.fromkeys("abc", 0.5))
    for result in (one, ties):
        assert result.minimum_detectable is None
        assert result.num_cases_for(0.05) is None
    spread = compare_paired({"q1": 1.0, "q2": 0.5}, {"q1": 0.0, "q2": 0.5})
    assert spread.num_cases_for(0.05) == cases_needed(spread.standard_deviation, 0.05)


def test_pairing_sees_what_two_means_hide():
    """A small, steady gain over very unequal cases is found only because cases are paired."""
    base = np.random.default_rng(8).uniform(0, 1, size=60)
    a = {str(i): float(value + 0.02) for i, value in enumerate(base)}
    b = {str(i): float(value) for i, value in enumerate(base)}
    assert compare_paired(a, b).p_value < 0.001
