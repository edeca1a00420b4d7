"""Where the history of runs is kept when a command, not ``dagster dev``, runs a job."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.instance import InstanceRef

from corpus_assets.settings import PROJECT_ROOT, Settings

DAGSTER_YAML = "dagster.yaml"
HISTORY_DIR = ".dagster_home"  # as in the project's dagster.yaml


def history_dir(settings: Settings) -> Path:
    """Return the folder the run history of this home is kept in.

    ``DAGSTER_HOME``, where it is set; the project's own ``.dagster_home`` (what ``dagster dev`` shows) for the default
    home; ``<home>/dagster`` for any other home.
    """
    if os.environ.get("DAGSTER_HOME"):  # Dagster's variable: its own tools obey it, so ours do too
        return Path(os.environ["DAGSTER_HOME"]).absolute()
    default_home = Settings.model_fields["home"].default
    if settings.home.absolute() == default_home and (PROJECT_ROOT / DAGSTER_YAML).is_file():
        return PROJECT_ROOT / HISTORY_DIR
    return settings.home.absolute() / "dagster"


@contextlib.contextmanager
def open_instance(settings: Settings, *, is_persistent: bool = True) -> Iterator[dg.DagsterInstance]:
    """Open the Dagster instance of a home, independent of the current folder.

    Where the history cannot be written (a read-only home), the run is kept in memory only and a line on stderr says so.
    """
    base = history_dir(settings)
    reason = _why_not_writable(base) if is_persistent else ""
    if not is_persistent or reason:
        if reason:
            print(f"Note: this run is not kept in the history ({reason}).", file=sys.stderr)
        with dg.DagsterInstance.ephemeral(settings={"telemetry": {"enabled": False}}) as instance:
            yield instance
        return
    config_dir = PROJECT_ROOT if base == PROJECT_ROOT / HISTORY_DIR else base
    if not (config_dir / DAGSTER_YAML).exists():
        _write_settings(config_dir / DAGSTER_YAML)
    ref = InstanceRef.from_dir(str(base), config_dir=str(config_dir), overrides=_absolute_paths(base))
    with _unhurried_commits(), dg.DagsterInstance.from_ref(ref) as instance:
        yield instance


@contextlib.contextmanager
def _unhurried_commits() -> Iterator[None]:
    """Spare the history a wait for the disk at each event: most of a short run's time.

    Dagster opens a connection for each event and commits; SQLite then flushes twice, at the commit and again because
    the last connection closes (a checkpoint). So commits leave flushing to the operating system, which in WAL mode
    loses no event when the process dies (sqlite.org/pragma.html#pragma_synchronous), and a connection stays open.
    """
    from sqlalchemy import Engine, event

    kept_open: dict[str, sqlite3.Connection] = {}

    def relax(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA synchronous=NORMAL")
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        if path and path not in kept_open and connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            kept_open[path] = sqlite3.connect(path, check_same_thread=False)
            kept_open[path].execute("SELECT count(*) FROM sqlite_master").fetchone()

    event.listen(Engine, "connect", relax)
    try:
        yield
    finally:
        event.remove(Engine, "connect", relax)
        for connection in kept_open.values():
            connection.close()


def _absolute_paths(base: Path) -> Mapping[str, Any]:
    """Return the overrides that make the history's place independent of the current folder.

    A command's own stdout and stderr stay its own: Dagster would redirect both into files while a step runs.
    """
    return {
        "storage": {"sqlite": {"base_dir": str(base)}},
        "local_artifact_storage": {
            "module": "dagster._core.storage.root",
            "class": "LocalArtifactStorage",
            "config": {"base_dir": str(base)},
        },
        "compute_logs": {
            "module": "dagster._core.storage.noop_compute_log_manager",
            "class": "NoOpComputeLogManager",
            "config": {},
        },
        "telemetry": {"enabled": False},
    }


def _write_settings(path: Path) -> None:
    """Write the Dagster settings of a home of its own, so that ``DAGSTER_HOME=<dir> dagster dev`` shows its history."""
    path.write_text(
        "# Written by research-copilot; yours to change.\n"
        "telemetry:\n  enabled: false\n"
        "run_coordinator:\n  module: dagster._core.run_coordinator\n  class: QueuedRunCoordinator\n"
        "  config:\n    dequeue_interval_seconds: 1\n"
        "concurrency:\n  runs:\n    tag_concurrency_limits:\n"
        "      - key: research_copilot/writes\n        value: corpus\n        limit: 1\n"
        "  pools:\n    granularity: run\n    default_limit: 1\n",
        encoding="utf-8",
    )


def _why_not_writable(base: Path) -> str:
    """Return why a folder cannot take the history, or an empty text when it can."""
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"{error.filename or base}: {error.strerror}"
    databases = [path for pattern in ("*.db", "*/*.db", "*/*/*.db") for path in base.glob(pattern)]
    for path in [base, *databases]:
        if not os.access(path, os.W_OK):
            return f"{path} cannot be written"
    return ""
