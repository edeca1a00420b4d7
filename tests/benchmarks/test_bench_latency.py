"""What the search bench makes of its rounds."""

from __future__ import annotations

from benchmarks.bench_latency import middle
from benchmarks.timing import Figure


def rounds_of(*values):
    return [[Figure("fast", value, 2.0, False, f"round {value}")] for value in values]


def test_each_figure_is_the_median_round_with_its_own_detail():
    (figure,) = middle(rounds_of(9.0, 1.0, 1.5, 5.0, 1.2))
    assert (figure.value, figure.detail, figure.is_missed) == (1.5, "round 1.5", False)


def test_of_an_even_number_the_upper_one_counts():
    assert middle(rounds_of(1.0, 3.0))[0].is_missed
