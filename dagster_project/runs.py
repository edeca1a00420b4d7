"""Run one of the project's jobs in this process, in the history that the Dagster UI shows."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

from corpus_assets.errors import CopilotError, GateFailedError
from dagster_project.instance import open_instance
from dagster_project.interrupts import remember_interrupts
from dagster_project.resources import PROCESS_TAG, ProgressCallback, process_mark, show_progress

if TYPE_CHECKING:
    from corpus_assets.settings import Settings

MAX_REASON = 300
LOCATION_NAME = "research_copilot"  # as in workspace.yaml and pyproject.toml
REPOSITORY_TAG = ".dagster/repository"  # what the UI finds a job's runs by


def run_job(
    job_name: str,
    settings: Settings,
    *,
    run_config: Mapping[str, Any],
    progress: ProgressCallback | None = None,
    is_debug: bool = False,
    is_persistent: bool = True,
) -> dg.ExecuteInProcessResult:
    """Run a job to its end and return its result; ``run_config`` is the job's flat config.

    Raises the ``CopilotError`` that ended the run, ``GateFailedError`` when a blocking check did, or whatever else a
    step raised. The history has the run in every case.
    """
    from dagster_project.definitions import defs

    job = defs.resolve_job_def(job_name)
    level = "DEBUG" if is_debug else "CRITICAL"
    config = {**run_config, "log_level": level}
    tags = {REPOSITORY_TAG: f"__repository__@{LOCATION_NAME}", PROCESS_TAG: process_mark()}
    with warnings.catch_warnings(), open_instance(settings, is_persistent=is_persistent) as instance:
        warnings.simplefilter("ignore", dg.BetaWarning)
        logging.getLogger("dagster").setLevel(level)
        run_id = str(uuid4())
        with remember_interrupts() as is_interrupted, show_progress(_interruptible(progress, is_interrupted)):
            try:
                return job.execute_in_process(
                    run_config=config, instance=instance, tags=tags, raise_on_error=True, run_id=run_id
                )
            except DagsterExecutionInterruptedError:
                raise KeyboardInterrupt from None
            except Exception as error:
                if is_interrupted():
                    raise KeyboardInterrupt from None
                if not isinstance(error, (dg.DagsterError, dg.Failure)):
                    raise
                failure = error
            cause = find_cause(failure)
            if isinstance(cause, GateFailedError):
                reasons = failed_checks(instance, run_id)
                cause = GateFailedError("\n".join([cause.message, *reasons]) + "\n", hint=cause.hint)
            raise cause or failure from failure


def _interruptible(progress: ProgressCallback | None, is_interrupted: Callable[[], bool]) -> ProgressCallback:
    """Return a callback that ends the run at the next sign of progress after Ctrl-C."""

    def report(step: str, done: int, total: int, detail: str) -> None:
        if is_interrupted():
            raise DagsterExecutionInterruptedError
        if progress is not None:
            progress(step, done, total, detail)

    return report


def failed_checks(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    """Return "  name: why" of each check that failed and blocks, in the run's order."""
    reasons = []
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        found = entry.asset_check_evaluation
        if found is not None and not found.passed and found.severity == dg.AssetCheckSeverity.ERROR:
            why = " ".join((found.description or "no reason given").split())
            reasons.append(f"  {found.check_name}: {why if len(why) <= MAX_REASON else why[: MAX_REASON - 1] + '…'}")
    return reasons


def find_cause(error: BaseException) -> CopilotError | None:
    """Return our own error behind one of Dagster's, or a ``GateFailedError`` for a blocking check that failed."""
    for cause in _chain(error):
        if isinstance(cause, CopilotError):
            return cause
        if type(cause).__name__ == "DagsterAssetCheckFailedError":
            return GateFailedError(str(cause).strip(), hint="The corpus published before still answers.")
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__
