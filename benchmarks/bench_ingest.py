"""Everything that is measured of ingest, in one table: what was found beside what is asked for.

``python -m benchmarks.bench_ingest DATA [--only NAME,…]`` or ``make bench-ingest DATA=…``; DATA holds the folders below
``pdf/`` that the single benchmarks name. Each runs in a process of its own, and its output is shown. Exits 1 when a
figure misses its bound or a benchmark fails; a figure without a bound is reported.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.bench_extraction import SPEED_FLOOR
from benchmarks.bench_ingest_quality import ORDER_FLOOR, WORD_RECALL_FLOOR
from benchmarks.bench_metadata import FLOORS


class Figure(NamedTuple):
    """A measured value; ``floor`` is the least it must be, NaN for one that is only reported."""

    name: str
    value: float
    floor: float = float("nan")

    @property
    def is_missed(self) -> bool:
        return self.value < self.floor


class Part(NamedTuple):
    """One benchmark. ``read_figures`` takes the JSON it wrote; without it the exit code alone speaks.

    ``folder`` is what it is given of DATA.
    """

    name: str
    arguments: tuple[str, ...]
    read_figures: Callable[[Mapping[str, Any]], list[Figure]] | None = None
    folder: str = ""


def _quality(report: Mapping[str, Any]) -> list[Figure]:
    papers, scanned = report["papers"], report["scanned"]
    return [
        Figure("words of the body found", papers["word_recall"], WORD_RECALL_FLOOR),
        Figure("sentence pairs in order", papers["order_kept"], ORDER_FLOOR),
        Figure("headings found", papers["titles_found"]),
        Figure("scans: characters right", scanned["char_accuracy"]),
        Figure("scans: assertions passed", scanned["passed"] / max(1, scanned["assertions"])),
    ]


def _metadata(report: Mapping[str, Any]) -> list[Figure]:
    names = ("title", "doi", "year", "authors", "first_author")
    return [Figure(f"{name} right", report[name]["share"], FLOORS.get(name, float("nan"))) for name in names]


def _hostile(report: Mapping[str, Any]) -> list[Figure]:
    return [Figure("hostile files: outcomes right", report["num_right"] / report["num_files"], 1.0)]


def _kill(report: Mapping[str, Any]) -> list[Figure]:
    return [Figure("kills that lost nothing", 1.0 if not report["faults"] else 0.0, 1.0)]


def _extraction(report: Mapping[str, Any]) -> list[Figure]:
    return [
        Figure("pages/s over a bare get_text()", report["ratio"], SPEED_FLOOR),
        Figure("the library's own, spans read", report["library_ratio"]),
    ]


PARTS = (
    Part("bench_ingest_quality", ("--part", "papers", "--part", "scanned"), _quality),
    Part("bench_metadata", (), _metadata),
    Part("bench_hostile", (), _hostile),
    Part("bench_kill", (), _kill),
    Part("bench_extraction", (), _extraction, folder="pdf/papers"),
)


def run_part(part: Part, data: Path) -> tuple[int, list[Figure]]:
    """Run one benchmark and return its exit code and its figures."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "figures.json"
        command = [sys.executable, "-m", f"benchmarks.{part.name}", str(data / part.folder), *part.arguments]
        if part.read_figures is not None:
            command += ["--json", str(path)]
        code = subprocess.run(command, check=False).returncode
        if part.read_figures is None or not path.exists():
            return code, []
        return code, part.read_figures(json.loads(path.read_text(encoding="utf-8")))


def print_summary(rows: Sequence[tuple[Part, int, list[Figure]]]) -> bool:
    """Print every figure beside its bound and return whether all is well."""
    print(f"\n{'figure':34}{'value':>8}{'at least':>10}")
    is_well = True
    for part, code, figures in rows:
        for figure in figures:
            bound = "-" if figure.floor != figure.floor else f"{figure.floor:.3f}"
            print(f"{figure.name:34}{figure.value:8.3f}{bound:>10}{'   MISSED' if figure.is_missed else ''}")
        if code or (part.read_figures is not None and not figures):
            print(f"{part.name} ended with exit code {code}")
        is_well = is_well and not code and not any(figure.is_missed for figure in figures)
        is_well = is_well and (part.read_figures is None or bool(figures))
    return is_well


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="", help="Names of benchmarks, joined by commas; default: all.")
    options = parser.parse_args(arguments)
    wanted = [name for name in options.only.split(",") if name]
    if unknown := set(wanted) - {part.name for part in PARTS}:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(part.name for part in PARTS)}")
    rows = []
    for part in PARTS:
        if wanted and part.name not in wanted:
            continue
        print(f"== {part.name}", flush=True)
        started = time.monotonic()
        rows.append((part, *run_part(part, options.data)))
        print(f"== {part.name}: {time.monotonic() - started:.0f} s", flush=True)
    return 0 if print_summary(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
