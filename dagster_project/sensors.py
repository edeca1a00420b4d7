"""Notice that the papers folder changed, and ask for one run of the corpus job."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import dagster as dg

from corpus_assets.errors import CopilotError
from corpus_assets.folder import scan_folder, settled, snapshot_digest
from corpus_assets.model import SourceFile
from dagster_project.jobs import CORPUS_JOB, WRITES_TAG, corpus_job
from dagster_project.resources import PROCESS_TAG, CopilotResource, is_process_gone

MAX_ATTEMPTS = 3  # for one state of the folder; after that the nightly run is the next to try
IN_FLIGHT = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
RUN_KEY_TAG = "dagster/run_key"
UI_ASSET_JOB = "__ASSET_JOB"  # what "Materialize" in the UI runs


@dataclass(frozen=True)
class Cursor:
    """The state of the folder a run was last asked for, and how often: small, however many files there are."""

    digest: str = ""
    attempt: int = 0

    @property
    def run_key(self) -> str:
        """Return the key of the run. Dagster never runs a key twice, a failed run's included: so it has the attempt."""
        return f"{self.digest[:32]}-{self.attempt}"

    @classmethod
    def read(cls, text: str | None) -> Cursor:
        return cls(**json.loads(text)) if text else cls()


class Decision(NamedTuple):
    """Ask for a run with the new cursor's key, or (``skip`` is not empty) say why not."""

    cursor: Cursor
    skip: str = ""


def decide(
    files: Sequence[SourceFile],
    *,
    cursor: Cursor,
    last_status: dg.DagsterRunStatus | None,
    num_in_flight: int,
    now: float,
    settle_seconds: float,
) -> Decision:
    """Say whether this state of the folder needs a run. ``last_status`` is how the run last asked for stands.

    Nothing here compares times of files with each other or with the last tick: a file that arrives with an old date, or
    while the clock is wrong, changes the digest like any other.
    """
    if num_in_flight:
        return Decision(cursor, f"{num_in_flight} run(s) of the corpus in flight; looking again at the next tick")
    if not files:
        return Decision(cursor, "No papers in the folder")
    num_moving = len(files) - len(settled(files, now, settle_seconds))
    if num_moving:
        return Decision(cursor, f"{num_moving} file(s) changed less than {settle_seconds:g} s ago: still being copied?")
    digest = snapshot_digest(files)
    if digest != cursor.digest:
        return Decision(Cursor(digest, 1))
    if last_status is not dg.DagsterRunStatus.FAILURE:
        return Decision(cursor, f"Nothing changed in {len(files)} files")
    if cursor.attempt >= MAX_ATTEMPTS:
        return Decision(cursor, f"The run failed {cursor.attempt} times on these files; the nightly run is next")
    return Decision(Cursor(digest, cursor.attempt + 1))


@dg.sensor(
    job=corpus_job,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Runs the corpus job once when files of the papers folder were added, edited, renamed or deleted and "
    "have come to rest. Reads only names, sizes and times. Tries again after a failed run.",
)
def papers_folder_sensor(context: dg.SensorEvaluationContext, copilot: CopilotResource) -> dg.SensorResult:
    """Ask for one run for a changed and settled papers folder."""
    settings = copilot.settings()
    cursor = Cursor.read(context.cursor)
    try:
        files = scan_folder(settings.papers_dir, settings).files
    except CopilotError as error:
        return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)
    decision = decide(
        files,
        cursor=cursor,
        last_status=_find_status(context.instance, cursor),
        num_in_flight=len(find_in_flight(context.instance)),
        now=time.time(),
        settle_seconds=settings.run.settle_seconds,
    )
    text = json.dumps(asdict(decision.cursor))
    if decision.skip:
        return dg.SensorResult(skip_reason=decision.skip, cursor=text)
    request = dg.RunRequest(run_key=decision.cursor.run_key, tags={"research_copilot/num_files": str(len(files))})
    return dg.SensorResult(run_requests=[request], cursor=text)


def find_in_flight(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    """Return the unfinished runs that write the corpus; one whose process has died is marked as failed first."""
    filters = [
        dg.RunsFilter(tags={WRITES_TAG: "corpus"}, statuses=IN_FLIGHT),
        dg.RunsFilter(job_name=UI_ASSET_JOB, statuses=IN_FLIGHT),
        dg.RunsFilter(job_name=CORPUS_JOB, statuses=IN_FLIGHT),
    ]
    runs = {run.run_id: run for one in filters for run in instance.get_runs(filters=one)}
    alive = []
    for run in runs.values():
        mark = run.tags.get(PROCESS_TAG)
        if mark is not None and is_process_gone(mark):
            instance.report_run_failed(run, f"The process that executed this run ({mark}) ended without finishing it.")
        else:
            alive.append(run)
    return alive


def _find_status(instance: dg.DagsterInstance, cursor: Cursor) -> dg.DagsterRunStatus | None:
    if not cursor.digest:
        return None
    runs = instance.get_runs(filters=dg.RunsFilter(tags={RUN_KEY_TAG: cursor.run_key}), limit=1)
    return runs[0].status if runs else None
