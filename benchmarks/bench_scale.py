"""How build, memory, disk, search and a change grow with the corpus: 1,000 to 1,000,000 passages of synthetic papers.

``python -m benchmarks.bench_scale [--sizes 1000,10000,100000] [--questions 100] [--repeat 5] [--json FILE]``

Each size runs in a process of its own: a whole ingest with its gates, one paper more, nothing changed, and each
question in every mode. The vectors are of a stand-in that costs next to nothing: embedding grows in step with the
passages and would hide the rest. The exponent beside a figure is the slope of its logarithm over that of the number of
passages: 1 is in proportion, 0 is flat. Bounds are on exponents, judged from 10,000 passages on, where fixed costs no
longer count.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.bench_incremental import QuickEmbedder, disk_mb, peak_mb, time_ingest, use_quick_embedder
from benchmarks.synthetic import questions, write_papers
from benchmarks.timing import MODES, p95, time_modes
from corpus_assets.settings import EmbeddingSettings, Settings
from corpus_assets.store.generation import open_published

PASSAGES_A_PAPER = 34.0  # of a synthetic paper of the default size
JUDGED_FROM = 10_000


class Column(NamedTuple):
    """A figure of the table; ``most`` is the largest exponent it may grow with."""

    name: str
    title: str
    most: float


COLUMNS = (
    Column("build_seconds", "build s", 1.1),
    Column("peak_mb", "peak MB", 1.0),
    Column("disk_mb", "disk MB", 1.1),
    *(Column(f"{mode}_{point}_ms", f"{mode} {point}", 1.0) for mode in MODES for point in ("p50", "p95")),
    Column("add_seconds", "add s", 1.0),
    Column("noop_seconds", "no-op s", 1.0),
)


def measure(work: Path, num_passages: int, num_questions: int, repeat: int) -> dict[str, float]:
    """Return the figures of one size."""
    folder, home = work / "papers", work / "home"
    settings = Settings(home=home, papers_dir=folder, embedding=EmbeddingSettings(model="hash"))
    use_quick_embedder()
    num_papers = max(2, round(num_passages / PASSAGES_A_PAPER))
    write_papers(folder, range(num_papers))

    build_seconds, report = time_ingest(settings)
    figures = {
        "papers": float(report.num_papers),
        "chunks": float(report.num_chunks),
        "build_seconds": build_seconds,
        "peak_mb": peak_mb(),
        "disk_mb": disk_mb(home),
    }
    figures |= measure_search(home, num_questions)
    added = []
    for number in range(repeat):
        write_papers(folder, [num_papers + number])
        added.append(time_ingest(settings)[0])
    figures["add_seconds"] = median(added)
    figures["noop_seconds"] = median(time_ingest(settings)[0] for _ in range(repeat))
    return figures


def measure_search(home: Path, num_questions: int) -> dict[str, float]:
    """Return p50 and p95 of each mode."""
    with open_published(home) as corpus:
        spent = time_modes(corpus, QuickEmbedder(), questions(num_questions))
    return {
        f"{mode}_{name}_ms": value
        for mode, values in spent.items()
        for name, value in (("p50", median(values)), ("p95", p95(values)))
    }


def fit_exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the least-squares slope of log value over log size; NaN for fewer than two sizes."""
    if len(sizes) < 2:
        return math.nan
    x = [math.log(size) for size in sizes]
    y = [math.log(max(value, 1e-9)) for value in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((one - mean_x) ** 2 for one in x)
    return sum((one - mean_x) * (two - mean_y) for one, two in zip(x, y, strict=True)) / spread if spread else math.nan


def print_table(rows: Sequence[dict[str, float]]) -> bool:
    """Print a line for each figure, its growth and bound; return whether all bounds are kept."""
    print(f"\n{'':20}" + "".join(f"{row['chunks']:12,.0f}" for row in rows) + f"{'growth':>9}{'at most':>9}")
    judged = [row for row in rows if row["chunks"] >= JUDGED_FROM * 0.9]
    is_well = True
    for column in COLUMNS:
        exponent = fit_exponent([row["chunks"] for row in judged], [row[column.name] for row in judged])
        is_missed = exponent > column.most
        is_well = is_well and not is_missed
        values = "".join(f"{row[column.name]:12.2f}" for row in rows)
        growth = "-" if math.isnan(exponent) else f"{exponent:.2f}"
        print(f"{column.title:20}{values}{growth:>9}{column.most:9.1f}{'   MISSED' if is_missed else ''}")
    return is_well


def run_size(size: int, options: argparse.Namespace) -> dict[str, float]:
    """Measure one size in a fresh process, so that its peak of memory is its own."""
    with tempfile.TemporaryDirectory(dir=options.work) as scratch:
        path = Path(scratch) / "figures.json"
        command = [sys.executable, "-m", "benchmarks.bench_scale", "--one", str(size), "--json", str(path)]
        command += ["--questions", str(options.questions), "--repeat", str(options.repeat), "--work", scratch]
        subprocess.run(command, check=True)
        figures: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        return figures


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="Passages, joined by commas; 1000000 takes hours.")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help="A folder to work in; default: the system's temporary one.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.one:
        options.json.write_text(json.dumps(measure(options.work, options.one, options.questions, options.repeat)))
        return 0
    rows = []
    for size in sorted(int(size) for size in options.sizes.split(",")):
        rows.append(run_size(size, options))
        print(f"{rows[-1]['chunks']:,.0f} passages: built in {rows[-1]['build_seconds']:.1f} s", flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if print_table(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
