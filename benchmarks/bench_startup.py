"""What a person waits for before anything is done: imports, help, a question from cold, an ingest with nothing to do.

``python -m benchmarks.bench_startup [--rounds 5] [--only import,help,ask,noop] [--papers DIR] [--json FILE]``

Each measure is the time on the clock of a fresh process beside that of what it is held against, in turn in every round;
printed are the medians and the median of the rounds' ratios (differences, for help). ``ask`` and ``noop`` ingest DIR
(default: the sample corpus) once into a temporary home. The empty Dagster job runs in process, with an instance of its
own on disk, as ``ask`` does. Exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from corpus_assets.settings import PROJECT_ROOT

QUESTION = "What are the resistance mechanisms to EGFR inhibitors in lung cancer?"
PYTHON = (sys.executable, "-c")
PROGRAM = (*PYTHON, "import sys; from dagster_project.cli.main import main; sys.exit(main())")
EMPTY_JOB = """
import tempfile
import dagster as dg

@dg.op
def nothing(): ...

@dg.job(executor_def=dg.in_process_executor)
def empty(): nothing()

with tempfile.TemporaryDirectory() as folder, dg.DagsterInstance.local_temp(folder) as instance:
    assert empty.execute_in_process(instance=instance).success
"""


@dataclass(frozen=True)
class Measure:
    """A command and what it is held against: their ratio, or their difference in seconds, has a bound."""

    name: str
    command: tuple[str, ...]
    peer: tuple[str, ...]
    bound: float
    is_difference: bool = False


@dataclass(frozen=True)
class Figure:
    name: str
    seconds: float
    peer_seconds: float
    value: float
    bound: float

    @property
    def is_missed(self) -> bool:
        return self.value > self.bound


def list_measures(home: Path, papers: Path) -> list[Measure]:
    """Return every measure, in order."""
    program = (*PROGRAM, "--home", str(home))
    empty = (*PYTHON, EMPTY_JOB)
    return [
        Measure("import", (*PYTHON, "import dagster_project.definitions"), (*PYTHON, "import dagster"), bound=1.3),
        Measure("help", (*PROGRAM, "--help"), (*PYTHON, "pass"), bound=0.4, is_difference=True),
        Measure("ask", (*program, "ask", QUESTION, "--no-cache"), empty, bound=3.0),
        Measure("noop", (*program, "ingest", str(papers)), empty, bound=2.0),
    ]


def run_seconds(command: Sequence[str]) -> float:
    """Return how long a fresh process takes; raises when it fails."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "DAGSTER_DISABLE_TELEMETRY": "1"}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)[:200]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return seconds


def measure(one: Measure, rounds: int) -> Figure:
    """Return a measure's medians over ``rounds``; one round before them warms the disk's cache."""
    pairs = [(run_seconds(one.command), run_seconds(one.peer)) for _ in range(rounds + 1)][1:]
    values = [mine - peer if one.is_difference else mine / peer for mine, peer in pairs]
    return Figure(
        one.name, median(mine for mine, _ in pairs), median(peer for _, peer in pairs), median(values), one.bound
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="import,help,ask,noop")
    parser.add_argument("--papers", type=Path, default=PROJECT_ROOT / "sample_corpus" / "papers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    wanted = options.only.split(",")
    figures = []
    print(f"{'measure':10}{'seconds':>10}{'peer':>10}{'value':>10}{'bound':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        measures = [one for one in list_measures(home, options.papers) if one.name in wanted]
        if {"ask", "noop"} & set(wanted):
            run_seconds((*PROGRAM, "--home", str(home), "ingest", str(options.papers)))
        for one in measures:
            figure = measure(one, options.rounds)
            figures.append(figure)
            unit = "s more" if one.is_difference else "times"
            print(
                f"{figure.name:10}{figure.seconds:10.2f}{figure.peer_seconds:10.2f}{figure.value:10.2f}"
                f"{figure.bound:8.1f} {unit}{'   MISSED' if figure.is_missed else ''}",
                flush=True,
            )
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1), encoding="utf-8")
    return 1 if any(figure.is_missed for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
