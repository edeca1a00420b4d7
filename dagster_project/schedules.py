"""Build the corpus every night, whatever the sensor saw: the safety net, and the retry of transient failures."""

from __future__ import annotations

import dagster as dg

from dagster_project.jobs import corpus_job
from dagster_project.sensors import find_in_flight


@dg.schedule(
    job=corpus_job,
    cron_schedule="17 3 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Runs the corpus job at 03:17. With nothing changed it ends at once; failed files are tried again.",
)
def nightly_corpus(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Ask for one run, unless one is in flight."""
    if find_in_flight(context.instance):
        return dg.SkipReason("A run of the corpus is in flight.")
    return dg.RunRequest()
