"""Fit the gates' floors on half of a golden set: mean less two standard errors of fts_only, the tier every corpus has.

    research-copilot bench evaluation/fixtures/document_evidence/bench_v1.json --output report.json
    python -m benchmarks.fit_floors report.json

The halves go by the parity of a case id's sha256, so that adding a case moves no other one. The other half is printed
beside the floors: it is what they are held against.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

METRICS = ("recall@10", "hit_rate@10", "ndcg@10")


def is_for_tuning(case_id: str) -> bool:
    """Tell whether a case is of the half that floors may be fitted on."""
    return hashlib.sha256(case_id.encode()).digest()[-1] % 2 == 0


def fit_floor(values: Sequence[float]) -> float:
    """Return mean less two standard errors, rounded down to two decimals."""
    return math.floor(100 * (mean(values) - 2 * stdev(values) / math.sqrt(len(values)))) / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("--mode", default="fts_only")
    arguments = parser.parse_args()
    cases: list[dict[str, Any]] = json.loads(arguments.report.read_text("utf-8"))["cases"]
    tuning = [case for case in cases if is_for_tuning(case["case_id"])]
    rest = [case for case in cases if not is_for_tuning(case["case_id"])]
    print(f"{'metric':<12} {'floor':>6} {'tuning':>7} {'gating':>7}   ({len(tuning)} and {len(rest)} cases)")
    for metric in METRICS:
        on_tuning = [case["modes"][arguments.mode][metric] for case in tuning]
        on_rest = mean(case["modes"][arguments.mode][metric] for case in rest)
        print(f"{metric:<12} {fit_floor(on_tuning):>6.2f} {mean(on_tuning):>7.3f} {on_rest:>7.3f}")


if __name__ == "__main__":
    main()
