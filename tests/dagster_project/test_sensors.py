"""The sensor sees every change of the folder, once, and never piles runs up."""

from __future__ import annotations

import os
import shutil
import time
from types import SimpleNamespace

import dagster as dg
import pytest

from dagster_project import sensors
from dagster_project.jobs import WRITES_TAG
from dagster_project.resources import PROCESS_TAG, CopilotResource, process_mark
from dagster_project.sensors import Cursor, find_in_flight, papers_folder_sensor

HOUR = 3600.0


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "papers"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("A paper.")
    return folder


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def clock(monkeypatch):
    """Stand an hour from now, so that what a test writes has settled; tests move it."""
    now = {"seconds": time.time() + HOUR}
    monkeypatch.setattr(sensors, "time", SimpleNamespace(time=lambda: now["seconds"]))
    return now


class Ticker:
    """Evaluates the sensor again and again, keeping its cursor and its instance as the daemon does."""

    def __init__(self, instance, folder, home):
        self.instance, self.cursor = instance, None
        self.resource = CopilotResource(papers_dir=str(folder), home=str(home))

    def tick(self):
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources={"copilot": self.resource}
        )
        result = papers_folder_sensor(context)
        self.cursor = result.cursor
        return result

    def launch(self, request, status):
        """Store a run as the daemon does for a request."""
        tags = {**request.tags, "dagster/run_key": request.run_key, WRITES_TAG: "corpus"}
        return store_run(self.instance, status, tags=tags)


def store_run(instance, status, tags, job_name="corpus"):
    run = dg.DagsterRun(job_name=job_name, run_id=dg._core.utils.make_new_run_id(), status=status, tags=tags)
    return instance.add_run(run)


@pytest.fixture
def ticker(instance, folder, tmp_path, clock):
    return Ticker(instance, folder, tmp_path / "home")


def test_a_new_folder_gets_one_run_and_an_unchanged_one_none(ticker):
    first = ticker.tick()
    assert len(first.run_requests) == 1
    ticker.launch(first.run_requests[0], dg.DagsterRunStatus.SUCCESS)

    second = ticker.tick()
    assert not second.run_requests
    assert "Nothing changed" in second.skip_reason.skip_message


def test_an_old_file_arriving_late_in_a_folder_with_an_old_date_is_seen(ticker, folder, clock):
    keys = [ticker.tick().run_requests[0].run_key]

    (folder / "b.txt").write_text("Another paper.")
    os.utime(folder / "b.txt", (0, 1546300800))
    shutil.copy2(folder / "b.txt", folder / "sub" / "old.txt")  # cp -p: dated 2019
    os.utime(folder / "sub", (1546300800, 1546300800))
    keys.append(ticker.tick().run_requests[0].run_key)
    assert not ticker.tick().run_requests

    clock["seconds"] -= 2 * HOUR  # the clock is set back
    (folder / "c.txt").write_text("A third paper.")
    keys.append(ticker.tick().run_requests[0].run_key)
    assert not ticker.tick().run_requests
    assert len(set(keys)) == 3


def test_renames_edits_and_deletes_are_seen(ticker, folder):
    ticker.tick()
    (folder / "a.txt").rename(folder / "renamed.txt")
    assert ticker.tick().run_requests

    before = (folder / "renamed.txt").stat()
    (folder / "renamed.txt").write_text("B paper.")  # same length
    os.utime(folder / "renamed.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ticker.tick().run_requests

    (folder / "b.txt").write_text("x")
    ticker.tick()
    (folder / "b.txt").unlink()
    assert ticker.tick().run_requests


def test_a_file_still_being_copied_is_waited_for(ticker, clock):
    clock["seconds"] = time.time() + 1
    result = ticker.tick()
    assert not result.run_requests
    assert "still being copied" in result.skip_reason.skip_message

    clock["seconds"] = time.time() + 60
    assert ticker.tick().run_requests


@pytest.mark.parametrize("job_name", ["corpus", "__ASSET_JOB"])
def test_no_run_is_asked_for_while_one_is_in_flight(ticker, folder, instance, job_name):
    tags = {PROCESS_TAG: process_mark()}
    run = store_run(instance, dg.DagsterRunStatus.STARTED, tags, job_name)
    assert "in flight" in ticker.tick().skip_reason.skip_message

    instance.report_run_failed(run)
    assert ticker.tick().run_requests, "the change was forgotten while a run was in flight"


def test_a_question_in_flight_does_not_hold_the_sensor_up(ticker, instance):
    store_run(instance, dg.DagsterRunStatus.STARTED, {PROCESS_TAG: process_mark()}, "ask")
    assert ticker.tick().run_requests


def test_a_run_whose_process_died_is_marked_failed_and_blocks_nothing(ticker, instance):
    host, pid, started = process_mark().rsplit(":", 2)
    dead = store_run(
        instance, dg.DagsterRunStatus.STARTED, {WRITES_TAG: "corpus", PROCESS_TAG: f"{host}:{pid}:{float(started) - 9}"}
    )
    assert find_in_flight(instance) == []
    assert instance.get_run_by_id(dead.run_id).status is dg.DagsterRunStatus.FAILURE
    assert ticker.tick().run_requests


def test_a_run_on_another_machine_is_never_called_dead(instance):
    tags = {WRITES_TAG: "corpus", PROCESS_TAG: "elsewhere:1:1.00"}
    store_run(instance, dg.DagsterRunStatus.STARTED, tags)
    assert len(find_in_flight(instance)) == 1


def test_a_failed_run_is_tried_again_with_a_new_key_but_not_for_ever(ticker):
    keys = []
    for _ in range(sensors.MAX_ATTEMPTS):
        request = ticker.tick().run_requests[0]
        keys.append(request.run_key)
        ticker.launch(request, dg.DagsterRunStatus.FAILURE)
    assert len(set(keys)) == sensors.MAX_ATTEMPTS
    assert "failed 3 times" in ticker.tick().skip_reason.skip_message


def test_a_change_after_giving_up_starts_afresh(ticker, folder):
    for _ in range(sensors.MAX_ATTEMPTS):
        ticker.launch(ticker.tick().run_requests[0], dg.DagsterRunStatus.FAILURE)
    (folder / "b.txt").write_text("Mended.")
    request = ticker.tick().run_requests[0]
    assert request.run_key.endswith("-1")


def test_a_cancelled_run_is_left_to_the_person_who_cancelled_it(ticker):
    ticker.launch(ticker.tick().run_requests[0], dg.DagsterRunStatus.CANCELED)
    assert not ticker.tick().run_requests


def test_a_missing_or_empty_folder_is_a_reason_not_a_crash(ticker, folder):
    shutil.rmtree(folder)
    assert "does not exist" in ticker.tick().skip_reason.skip_message
    folder.mkdir()
    assert "No papers" in ticker.tick().skip_reason.skip_message


def test_the_cursor_does_not_grow_with_the_folder(ticker, folder):
    for number in range(300):
        (folder / f"{number}.txt").write_text("x")
    ticker.tick()
    assert len(ticker.cursor) < 200
    assert Cursor.read(ticker.cursor).attempt == 1
