"""dagster.yaml, workspace.yaml and pyproject.toml name one code location and keep history in the project."""

from __future__ import annotations

import tomllib

import dagster as dg
import yaml

from corpus_assets.settings import PROJECT_ROOT
from dagster_project.instance import HISTORY_DIR
from dagster_project.jobs import WRITES_TAG
from dagster_project.runs import LOCATION_NAME


def read_yaml(name):
    return yaml.safe_load((PROJECT_ROOT / name).read_text())


def test_every_way_to_load_the_code_gives_the_same_location():
    block = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["tool"]["dagster"]
    (entry,) = read_yaml("workspace.yaml")["load_from"]
    module = entry["python_module"]
    assert block["module_name"] == module["module_name"] == "dagster_project.definitions"
    assert block["code_location_name"] == module["location_name"] == LOCATION_NAME
    assert module["working_directory"] == "."


def test_the_code_location_loads_as_the_ui_loads_it():
    from dagster_project.definitions import defs

    repository = defs.get_repository_def()
    repository.load_all_definitions()  # names that collide show only here
    assert {"corpus", "ask"} <= set(repository.job_names)


def test_history_is_kept_in_the_project_and_nothing_is_sent():
    settings = read_yaml("dagster.yaml")
    assert settings["storage"]["sqlite"]["base_dir"] == HISTORY_DIR
    assert settings["local_artifact_storage"]["config"]["base_dir"] == HISTORY_DIR
    assert settings["compute_logs"]["config"]["base_dir"].startswith(HISTORY_DIR)
    assert settings["telemetry"] == {"enabled": False}


def test_runs_that_write_the_corpus_are_serialised():
    limits = read_yaml("dagster.yaml")["concurrency"]["runs"]["tag_concurrency_limits"]
    assert {"key": WRITES_TAG, "value": "corpus", "limit": 1} in limits


def test_dagster_accepts_the_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the paths in the file are relative
    from dagster._core.instance import InstanceRef

    ref = InstanceRef.from_dir(str(tmp_path), config_dir=str(PROJECT_ROOT))
    with dg.DagsterInstance.from_ref(ref) as instance:
        assert instance.run_coordinator.dequeue_interval_seconds == 1
        assert not instance.telemetry_enabled


def test_a_run_from_the_ui_waits_for_the_one_that_writes_the_corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from dagster._core.instance import InstanceRef
    from dagster._core.op_concurrency_limits_counter import GlobalOpConcurrencyLimitsCounter

    from dagster_project.definitions import defs

    ref = InstanceRef.from_dir(str(tmp_path), config_dir=str(PROJECT_ROOT))
    everything = defs.resolve_implicit_global_asset_job_def()  # what "Materialize all" starts: it carries no tag
    with dg.DagsterInstance.from_ref(ref) as instance:
        waiting, asking = (instance.create_run_for_job(job) for job in (everything, defs.resolve_job_def("ask")))
        assert WRITES_TAG not in waiting.tags

        def is_held_back(run):
            """Ask as the daemon does, before it takes a run off the queue."""
            storage = instance.event_log_storage
            counter = GlobalOpConcurrencyLimitsCounter(
                instance,
                [waiting, asking],
                instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])),
                storage.get_concurrency_keys(),
                storage.get_pool_limits(),
                pool_granularity=instance.get_concurrency_config().pool_config.pool_granularity,
            )
            return counter.is_blocked(run)

        assert not is_held_back(waiting)
        writing = instance.create_run_for_job(defs.resolve_job_def("corpus"), status=dg.DagsterRunStatus.STARTED)
        assert is_held_back(waiting)
        assert not is_held_back(asking)
        instance.report_run_failed(writing)
        assert not is_held_back(waiting)
