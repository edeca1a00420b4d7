"""Ours and what a user would pick instead, on the same PDFs and SciFact, each in a process of its own.

``python -m benchmarks.peers --data DIR [--papers N] [--only NAME,…] [--json FILE]``; DIR holds ``pdf/papers`` and
``beir/scifact``. All dense peers use the default model. SciFact's documents are embedded once, by
sentence-transformers, and given to each; PDFs are embedded by each peer itself, and that time counts. The peak of
memory is that of ingest. A peer that is not installed says so: ``pip install "research-copilot[peers]"``. No bound: the
table says where we lose.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.peers.work import PEERS, Row

COLUMNS = (
    ("ingest s", "ingest_seconds", "{:.1f}"),
    ("pieces", "num_pieces", "{:d}"),
    ("peak MB", "peak_mb", "{:.0f}"),
    ("query p95 ms", "query_p95_ms", "{:.2f}"),
    ("nDCG@10", "ndcg", "{:.3f}"),
)
LESS_IS_BETTER = ("ingest_seconds", "peak_mb", "query_p95_ms")
OURS = PEERS[0]


def measure(name: str, data: Path, scratch: Path, num_papers: int) -> Row:
    """Run one peer in a fresh process and return its row; a failure is a row that says so."""
    path = scratch / f"{name}.json"
    command = [sys.executable, "-m", "benchmarks.peers.work", name, "--data", str(data), "--scratch", str(scratch)]
    command += ["--papers", str(num_papers), "--json", str(path)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode or not path.exists():
        lines = done.stderr.strip().splitlines()
        return Row(name, "", problem=f"failed: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return Row(**json.loads(path.read_text(encoding="utf-8")))


def find_losses(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each figure in which another peer is better than the first row."""
    ours, *others = rows
    losses = []
    for title, field, style in COLUMNS:
        mine = getattr(ours, field)
        if field == "num_pieces" or mine is None:
            continue
        for other in others:
            theirs = getattr(other, field)
            if theirs is not None and (theirs < mine if field in LESS_IS_BETTER else theirs > mine):
                losses.append(f"{title}: {other.name} {style.format(theirs)} against our {style.format(mine)}")
    return losses


def print_rows(rows: Sequence[Row]) -> None:
    """Print the table and where we lose."""
    print(f"\n{'peer':24}" + "".join(f"{title:>14}" for title, _, _ in COLUMNS) + "  what")
    for row in rows:
        values = [(getattr(row, field), style) for _, field, style in COLUMNS]
        cells = "".join(f"{'-' if value is None else style.format(value):>14}" for value, style in values)
        print(f"{row.name:24}{cells}  {row.problem or row.what}")
    if rows[0].name == "ours":
        print("\nWhere we lose:")
        print("\n".join(f"  {loss}" for loss in find_losses(rows)) or "  nowhere")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--papers", type=int, default=0, help="How many PDFs; 0: all.")
    parser.add_argument("--only", default=",".join(PEERS), help="Names of peers, joined by commas.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    wanted = [name for name in options.only.split(",") if name]
    if unknown := set(wanted) - set(PEERS):
        parser.error(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in PEERS:
            if name in wanted:
                rows.append(measure(name, options.data.absolute(), Path(scratch), options.papers))
                print(f"{rows[-1].name}: {rows[-1].problem or 'measured'}", file=sys.stderr, flush=True)
    print_rows(rows)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return int(any(row.problem.startswith("failed") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
