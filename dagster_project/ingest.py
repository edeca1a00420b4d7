"""Run the corpus job in this process and gather what its steps reported."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from corpus_assets.build import IngestReport, summarise
from corpus_assets.steps.report import Problem, StepReport
from corpus_assets.store.lock import home_lock
from corpus_assets.store.working import WorkingStore
from dagster_project.jobs import CORPUS_JOB
from dagster_project.resources import ProgressCallback
from dagster_project.runs import run_job

if TYPE_CHECKING:
    from corpus_assets.settings import Settings


def run_ingest(
    settings: Settings,
    *,
    full: bool = False,
    only_papers: Sequence[str] = (),
    embedder: str = "",
    progress: ProgressCallback | None = None,
    is_debug: bool = False,
) -> IngestReport:
    """Run the corpus job on ``settings.papers_dir`` and return what it did; the run is in Dagster's history.

    Raises what :func:`corpus_assets.build.ingest` raises.
    """
    started = time.monotonic()
    config = {
        "home": str(settings.home),
        "papers_dir": str(settings.papers_dir),
        "embedder": embedder,
        "full": full,
        "only_papers": list(only_papers),
    }
    with home_lock(settings.home):  # taken before the run, so that a busy home leaves no failed run in the history
        result = run_job(CORPUS_JOB, settings, run_config=config, progress=progress, is_debug=is_debug)
        with WorkingStore(settings.home) as store:
            problems = tuple(Problem(**row) for row in store.get_meta("problems") or ())
    return summarise(settings.home, _reports(result, problems), time.monotonic() - started)


def _reports(result: dg.ExecuteInProcessResult, problems: tuple[Problem, ...]) -> dict[str, StepReport]:
    """Return the steps' reports, read back from the run's materializations."""
    reports = {}
    for event in result.get_asset_materialization_events():
        materialization = event.step_materialization_data.materialization
        metadata = {name: value.value for name, value in materialization.metadata.items()}
        counts = {name: value for name, value in metadata.items() if isinstance(value, (int, float))}
        name = materialization.asset_key.to_user_string()
        notes = tuple(line.removeprefix("- ") for line in str(metadata.get("notes", "")).splitlines())
        version = (materialization.tags or {})["dagster/data_version"]
        reports[name] = StepReport(name, counts, version, problems=problems if name == "raw_text" else (), notes=notes)
    return reports
