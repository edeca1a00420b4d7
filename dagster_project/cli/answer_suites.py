"""`bench answers`: the suites over whole answers, as a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_project.cli.terminal import print_note, print_table, print_text

if TYPE_CHECKING:
    from corpus_assets.settings import Settings


def bench_answers(
    settings: Settings, data: Path | None, suites: list[str], embedder: str, part: str, limit: int
) -> dict[str, Any]:
    """Run the suites and return their report; progress goes to stderr."""
    from corpus_assets.errors import BadInputError
    from dagster_project.question import built_from
    from evaluation.answers.suite import SuiteRun, run_suites

    if part not in ("dev", "test"):
        raise BadInputError(f"There is no half {part!r}.", hint="Use test, or dev to look for what to mend.")
    if embedder:
        embedding = settings.embedding.model_copy(update={"model": embedder})
        settings = settings.model_copy(update={"embedding": embedding})
    started = time.monotonic()

    def tell(text: str) -> None:
        print_note(f"{time.monotonic() - started:6.0f} s  {text}")

    run = SuiteRun(
        settings,
        data,
        "dev" if part == "dev" else "test",
        limit,
        built_from(settings),
        on_progress=tell,
    )
    report = run_suites(run, suites)
    return {**report, "seconds": round(time.monotonic() - started, 1)}


def print_answer_suites(report: dict[str, Any]) -> None:
    """Print the table of results and what failed."""
    print_text(f"Written by {report['writer']}, embedder {report['embedder']}, {report['part']} half\n")
    rows = [
        (
            row["suite"],
            row["name"],
            "" if row["value"] is None else f"{row['value']:.4g}",
            "" if row["bound"] == "report" else row["bound"],
            str(row["num_cases"]),
            _verdict(row),
        )
        for row in report["rows"]
    ]
    print_table(("suite", "what", "value", "bound", "n", ""), rows)
    for row in report["rows"]:
        if row["passed"] is False or (row["value"] is None and row["bound"] != "report"):
            print_text(f"\n{_verdict(row)}: {row['suite']}, {row['name']}. {row['note']}")
            for miss in row["misses"][:3]:
                print_text("  " + "; ".join(f"{key}: {str(value)[:160]}" for key, value in miss.items()))


def _verdict(row: dict[str, Any]) -> str:
    if row["bound"] == "report":
        return "reported"
    if row["value"] is None:
        return "not measured"
    return "passed" if row["passed"] else "FAILED"
