"""The table of ingest's figures says no when one figure, or one benchmark, does."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks import bench_ingest
from benchmarks.bench_ingest import PARTS, Figure, Part, main, print_summary


def read(report):
    return [Figure("share", report["share"], 0.9)]


@pytest.mark.parametrize(
    ("code", "figures", "is_well"),
    [
        (0, [Figure("share", 0.95, 0.9)], True),
        (0, [Figure("share", 0.95, 0.9), Figure("reported", 0.1)], True),
        (0, [Figure("share", 0.85, 0.9)], False),
        (1, [Figure("share", 0.95, 0.9)], False),
        (0, [], False),
    ],
)
def test_a_missed_bound_a_failure_or_silence_is_no_success(capsys, code, figures, is_well):
    assert print_summary([(Part("bench_x", (), read), code, figures)]) is is_well
    assert ("MISSED" in capsys.readouterr().out) == any(figure.is_missed for figure in figures)


def test_every_benchmark_of_the_table_is_there():
    for part in PARTS:
        assert importlib.util.find_spec(f"benchmarks.{part.name}"), part.name


def test_the_exit_code_is_the_verdict(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench_ingest, "run_part", lambda part, data: (0, [Figure("share", 0.5, 0.9)]))
    assert main([str(tmp_path), "--only", "bench_metadata"]) == 1
    monkeypatch.setattr(bench_ingest, "run_part", lambda part, data: (0, [Figure("share", 0.9, 0.9)]))
    assert main([str(tmp_path), "--only", "bench_metadata"]) == 0
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--only", "bench_nothing"])
