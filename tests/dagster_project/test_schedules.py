"""The nightly run: one a night, none while another writes the corpus."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_project.definitions import defs
from dagster_project.jobs import CORPUS_JOB
from dagster_project.schedules import nightly_corpus
from tests.dagster_project.test_sensors import store_run


@pytest.fixture
def instance(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


def tick(instance):
    with dg.build_schedule_context(instance=instance) as context:
        return nightly_corpus(context)


def test_it_asks_for_one_run_of_the_corpus_job_every_night(instance):
    assert isinstance(tick(instance), dg.RunRequest)
    assert nightly_corpus.job_name == CORPUS_JOB
    minute, hour, *rest = str(nightly_corpus.cron_schedule).split()
    assert rest == ["*", "*", "*"]
    assert minute.isdigit() and hour.isdigit()
    assert nightly_corpus.name in {schedule.name for schedule in defs.schedules or ()}


@pytest.mark.parametrize("job_name", [CORPUS_JOB, "__ASSET_JOB"])
def test_it_waits_for_a_run_that_is_in_flight_also_one_from_the_ui(instance, job_name):
    store_run(instance, dg.DagsterRunStatus.STARTED, tags={}, job_name=job_name)
    assert isinstance(tick(instance), dg.SkipReason)


def test_a_finished_run_does_not_hold_it_back(instance):
    store_run(instance, dg.DagsterRunStatus.FAILURE, tags={})
    assert isinstance(tick(instance), dg.RunRequest)
