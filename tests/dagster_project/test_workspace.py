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
