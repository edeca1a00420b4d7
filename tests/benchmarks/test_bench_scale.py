"""The fit beside the scale table, and its verdict."""

from __future__ import annotations

import math

import pytest

from benchmarks.bench_scale import COLUMNS, fit_exponent, print_table

SIZES = [1_000.0, 10_000.0, 100_000.0]


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_found(exponent):
    assert fit_exponent(SIZES, [3 * size**exponent for size in SIZES]) == pytest.approx(exponent)


def test_one_size_has_no_growth():
    assert math.isnan(fit_exponent([10.0], [1.0]))


def rows_that_grow(exponent):
    return [{"chunks": size, **{column.name: size**exponent for column in COLUMNS}} for size in SIZES]


def test_a_curve_that_is_too_steep_is_named(capsys):
    assert print_table(rows_that_grow(0.9))
    assert "MISSED" not in capsys.readouterr().out
    assert not print_table(rows_that_grow(1.3))
    assert capsys.readouterr().out.count("MISSED") == len(COLUMNS)
