"""The one resource: which home and papers folder a run works on, and who is told how far it is."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from corpus_assets.settings import Settings

if TYPE_CHECKING:
    from corpus_assets.gates import Gate

PROCESS_TAG = "research_copilot/process"  # host:pid:start time of the process that executes a run

HOME_HELP = "Where stores and generations live; empty: RESEARCH_COPILOT_HOME, else .copilot."
PAPERS_HELP = "The papers folder; empty: RESEARCH_COPILOT_PAPERS_DIR, else the sample."
EMBEDDER_HELP = "default, hash, bge-small, or a model's name or path; empty: the setting."

ProgressCallback = Callable[[str, int, int, str], None]  # step, done, total, detail

_progress: ContextVar[ProgressCallback | None] = ContextVar("progress", default=None)


class CopilotResource(dg.ConfigurableResource["CopilotResource"]):
    """Settings of the environment, with what this run changes in them."""

    home: str = Field(default="", description=HOME_HELP)
    papers_dir: str = Field(default="", description=PAPERS_HELP)
    embedder: str = Field(default="", description=EMBEDDER_HELP)

    def settings(self) -> Settings:
        """Return the settings of this run."""
        settings = Settings()
        changes: dict[str, object] = {"home": Path(self.home or settings.home).absolute()}
        changes["papers_dir"] = Path(self.papers_dir or settings.papers_dir).absolute()
        if self.embedder:
            changes["embedding"] = settings.embedding.model_copy(update={"model": self.embedder})
        return settings.model_copy(update=changes)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Mark the run with the process that executes it, so that a dead run can be told from a slow one."""
        if context.run is not None and context.instance is not None and context.run.tags.get(PROCESS_TAG) is None:
            context.instance.add_run_tags(context.run.run_id, {PROCESS_TAG: process_mark()})

    @staticmethod
    def report_progress(step: str, done: int, total: int, detail: str = "") -> None:
        """Tell whoever started this run in this process (a command) how far a step is; elsewhere nothing happens."""
        callback = _progress.get()
        if callback is not None:
            callback(step, done, total, detail)


@contextlib.contextmanager
def show_progress(callback: ProgressCallback | None) -> Iterator[None]:
    """Send what :meth:`CopilotResource.report_progress` is told to a callback for the length of the body."""
    token = _progress.set(callback)
    try:
        yield
    finally:
        _progress.reset(token)


def process_mark() -> str:
    """Return what names this process, and no later one that gets the same pid."""
    import psutil

    return f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time():.2f}"


def is_process_gone(mark: str) -> bool:
    """Tell whether the process of a mark has ended; never claimed of a process on another machine."""
    import psutil

    host, pid, started = mark.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    try:
        return bool(abs(psutil.Process(int(pid)).create_time() - float(started)) > 0.02)
    except psutil.NoSuchProcess:
        return True


class GateSuiteResource(dg.ConfigurableResource["GateSuiteResource"]):
    """Every gate a candidate must pass before it is published."""

    def gates(self) -> Sequence[Gate]:
        """Return the gates, in the order they are run."""
        from corpus_assets.corpus_gates import corpus_gates
        from evaluation.gates import evaluation_gates

        return [*corpus_gates(), *evaluation_gates()]
