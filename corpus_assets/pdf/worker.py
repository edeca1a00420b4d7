"""Read files in worker processes, so that a crash, a hang or a memory bomb costs its own file and nothing else.

One worker reads one file at a time over a pipe of its own, so a death is always the fault of the file it was reading.
(pebble's ProcessPool was tried: its workers share one pipe, and of 100 files that killed their worker at once, one was
only reported after its full time limit, as a timeout.) Workers come from a fork server that has the PDF library loaded:
a new one costs milliseconds. They die with their parent, however it dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import PurePath
from typing import NamedTuple

from corpus_assets.cores import num_cores
from corpus_assets.errors import CopilotError, ParseError
from corpus_assets.folder import is_unchanged
from corpus_assets.manifest import ManifestRow
from corpus_assets.model import PageState, PaperStatus, ParsedPaper, SourceFile
from corpus_assets.pdf.lost_content import DAMAGED_FLAG
from corpus_assets.settings import ParseSettings, Settings

_main_module_lock = threading.Lock()

ReadPaper = Callable[[str, ParseSettings, ManifestRow | None], ParsedPaper]

START_SECONDS = 60.0  # a cold disk, a busy machine
STOP_SECONDS = 2.0  # how long a worker may take to leave when it is told to
FILES_PER_WORKER = 200  # then a fresh one, so that what a library leaks stays small
MAX_REASON_CHARS = 500
_TOO_LONG, _TOO_LARGE = "took longer than", "needed more than"
PR_SET_PDEATHSIG = 1  # linux/prctl.h
OUT_OF_MEMORY_SIGNS = ("malloc", "calloc", "realloc", "bad_alloc", "cannot allocate memory", "out of memory")


@dataclass(frozen=True)
class ParseOutcome:
    """What came of one file. ``reason`` is empty for ``READY``; ``parsed`` is there
    whenever the file could be read, a ``REFUSED`` one without any text included (its pages are accounted for)."""

    path: str
    sha256: str
    status: PaperStatus
    reason: str
    parsed: ParsedPaper | None
    seconds: float


def is_over_limit(outcome: ParseOutcome) -> bool:
    """Return whether reading a file was ended by the limit of time or of memory, not by a fault."""
    return outcome.status is PaperStatus.FAILED and outcome.reason.startswith((_TOO_LONG, _TOO_LARGE))


class Task(NamedTuple):
    file: SourceFile
    manifest_row: ManifestRow | None


def parse_files(
    files: Sequence[SourceFile],
    manifest: Mapping[str, ManifestRow],
    settings: Settings,
    on_done: Callable[[ParseOutcome], None] | None = None,
    *,
    read_paper: ReadPaper | None = None,
) -> Iterator[ParseOutcome]:
    """Yield one outcome a file as they finish, each file tried once; never raises for what a file does.

    A worker is given its next file only after its last outcome was taken, so memory holds at most one outcome a worker.
    Closing the generator, or an exception in it (Ctrl-C included), ends all workers before it returns.
    ``read_paper`` is for tests; it must be importable by the workers.
    """
    num_workers = min(settings.run.workers or num_cores(), len(files))
    tasks = iter([Task(file, manifest.get(file.path)) for file in files])
    workers: list[_Worker] = []
    try:
        workers.extend(_Worker(settings.parse, read_paper) for _ in range(num_workers))
        for worker in workers:
            worker.start_next(tasks)
        while busy := [worker for worker in workers if worker.task]:
            for worker in _wait(busy):
                outcome = worker.take_outcome()
                worker.start_next(tasks)
                if on_done:
                    on_done(outcome)
                yield outcome
    finally:
        for worker in workers:
            worker.connection.close()  # all at once, so that they leave at the same time
        for worker in workers:
            worker.leave()


def _wait(busy: Sequence[_Worker]) -> list[_Worker]:
    """Return the workers that answered, died or ran out of time; wait for the first of these."""
    timeout = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
    ready = set(multiprocessing.connection.wait([worker.connection for worker in busy], timeout))
    now = time.monotonic()
    return [worker for worker in busy if worker.connection in ready or worker.deadline <= now]


class _Worker:
    """The parent's end of one worker process; the process is replaced when it dies."""

    def __init__(self, settings: ParseSettings, read_paper: ReadPaper | None) -> None:
        self.settings = settings
        self.read_paper = read_paper
        self.task: Task | None = None
        self.deadline = 0.0
        self.started = 0.0
        self._launch()

    def _launch(self) -> None:
        context = _process_context()
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_serve, args=(theirs, self.settings, self.read_paper), name="parse-worker", daemon=True
        )
        with _without_main_module():
            self.process.start()
        theirs.close()  # so that a worker's death closes the pipe
        self.is_ready = False
        self.num_files = 0

    def _await_ready(self) -> None:
        if self.is_ready:
            return
        try:
            failure = self.connection.recv() if self.connection.poll(START_SECONDS) else f"no sign in {START_SECONDS} s"
        except (EOFError, OSError):
            self.process.join(STOP_SECONDS)
            failure = f"it ended with exit code {self.process.exitcode}"
        if failure:
            raise CopilotError(
                f"A process that reads papers cannot start: {failure}.",
                hint="Run `research-copilot doctor`; parse.memory_mb may be too small.",
            )
        self.is_ready = True

    def start_next(self, tasks: Iterator[Task]) -> None:
        self.task = None
        task = next(tasks, None)
        if task is None:
            return
        if self.num_files >= FILES_PER_WORKER:
            self.leave()
        if not self.process.is_alive():
            self.kill()
            self._launch()
        self._await_ready()
        self.num_files += 1
        self.task = task
        self.started = time.monotonic()
        self.deadline = self.started + self.settings.timeout_seconds
        with contextlib.suppress(OSError):  # a worker that died just now is found dead by take_outcome
            self.connection.send(task)

    def take_outcome(self) -> ParseOutcome:
        """Return what came of the current file: its answer, or what ended the worker."""
        assert self.task is not None
        file = self.task.file
        seconds = time.monotonic() - self.started
        try:
            if self.connection.poll(0):
                status, reason, parsed = self.connection.recv()
                return ParseOutcome(file.path, file.sha256, status, reason, parsed, seconds)
            reason = f"{_TOO_LONG} {self.settings.timeout_seconds} s and was stopped"
        except (EOFError, OSError, pickle.UnpicklingError):
            self.process.join(STOP_SECONDS)
            reason = _describe_death(self.process.exitcode)
        self.kill()
        return ParseOutcome(file.path, file.sha256, PaperStatus.FAILED, reason, None, seconds)

    def leave(self) -> None:
        """Let the worker go: an idle one leaves at the end of its pipe, a busy one is killed."""
        self.connection.close()
        if self.task is None and self.is_ready:
            self.process.join(STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the worker and what it has started (an OCR program); do nothing when it has ended."""
        self.connection.close()
        if self.process.is_alive():
            pid = self.process.pid
            try:
                os.killpg(pid or 0, signal.SIGKILL) if pid and os.getpgid(pid) == pid else self.process.kill()
            except (ProcessLookupError, PermissionError):
                self.process.kill()
        self.process.join()


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Hide the program's main module while a process starts.

    Else each worker would import it again: Dagster and the whole command line for one, seconds each; and a person's
    script that is not guarded by ``if __name__ == "__main__"`` would start itself over.
    """
    with _main_module_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _process_context() -> ForkServerContext | SpawnContext:
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["corpus_assets.pdf.preload"])
    return context


def _describe_death(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"the reader ended unexpectedly (exit code {exit_code}) on this file"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return f"the reader crashed ({name}) on this file{hint}"


def _serve(connection: Connection, settings: ParseSettings, read_paper: ReadPaper | None) -> None:
    """Run in the worker: answer each task with (status, reason, parsed) until the pipe ends."""
    try:
        _prepare_process(settings.memory_mb)
        if read_paper is None:
            from corpus_assets.pdf.reader import read_paper as read_paper_of_project

            read_paper = read_paper_of_project
    except Exception as error:  # told to the parent, which raises it
        connection.send(f"{type(error).__name__}: {error}")
        return
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the parent has closed the pipe
        connection.send("")
        while True:
            task: Task = connection.recv()
            answer = _read(task, settings, read_paper)
            try:
                connection.send(answer)
            except MemoryError:
                connection.send((PaperStatus.FAILED, _memory_reason(settings), None))


def _read(task: Task, settings: ParseSettings, read_paper: ReadPaper) -> tuple[PaperStatus, str, ParsedPaper | None]:
    try:
        if not is_unchanged(task.file):
            return PaperStatus.FAILED, "changed or vanished since the folder was scanned", None
        parsed = read_paper(task.file.fs_path, settings, task.manifest_row)
    except ParseError as error:
        if _is_out_of_memory(error):
            return PaperStatus.FAILED, _memory_reason(settings), None
        return (PaperStatus.FAILED if error.retryable else PaperStatus.REFUSED), _printable(str(error)), None
    except MemoryError:
        return PaperStatus.FAILED, _memory_reason(settings), None
    except Exception as error:  # a bug of ours or the library's: this file's row, not the end of the run
        if _is_out_of_memory(error):
            return PaperStatus.FAILED, _memory_reason(settings), None
        return PaperStatus.FAILED, _printable(f"the reader failed with {_describe_error(error)}"), None
    if not is_unchanged(task.file):
        return PaperStatus.FAILED, "changed while it was being read", None
    status, reason = judge_pages(parsed)
    return status, _printable(reason), parsed


def judge_pages(parsed: ParsedPaper) -> tuple[PaperStatus, str]:
    """Return READY, PARTIAL with the unreadable and damaged pages named, or REFUSED when there is no text at all."""
    unreadable = [page for page in parsed.pages if page.state is PageState.UNREADABLE]
    cut_off = [page.number for page in parsed.pages if DAMAGED_FLAG in page.flags]
    num_missing = parsed.num_pages_expected - len(parsed.pages)
    reasons = []
    if unreadable:
        why = sorted({page.reason for page in unreadable if page.reason})
        pages = _number_ranges([page.number for page in unreadable])
        reasons.append(f"unreadable: page {pages}" + (f" ({'; '.join(why)})" if why else ""))
    if cut_off:
        reasons.append(f"damaged, and read only in part: page {_number_ranges(cut_off)}")
    if num_missing > 0:
        reasons.append(f"{num_missing} of {parsed.num_pages_expected} pages missing")
    if not parsed.text.strip():
        return PaperStatus.REFUSED, "no readable text: " + ("; ".join(reasons) or "every page is blank")
    return (PaperStatus.PARTIAL if reasons else PaperStatus.READY), "; ".join(reasons)


def _describe_error(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _printable(reason: str) -> str:
    """Return a reason that is one printable line, whatever a library quoted from the file."""
    text = " ".join("".join(char if char.isprintable() else " " for char in reason).split())
    return text if len(text) <= MAX_REASON_CHARS else text[: MAX_REASON_CHARS - 1] + "…"


def _number_ranges(numbers: Sequence[int]) -> str:
    """Return ``"1-3, 7"`` for ``[1, 2, 3, 7]``."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _memory_reason(settings: ParseSettings) -> str:
    return f"{_TOO_LARGE} {settings.memory_mb} MB (parse.memory_mb)"


def _is_out_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        text = str(error).lower()
        if isinstance(error, MemoryError) or any(sign in text for sign in OUT_OF_MEMORY_SIGNS):
            return True
        error = error.__cause__ or error.__context__
    return False


def _prepare_process(memory_mb: int) -> None:
    """Leave Ctrl-C to the parent, die with the parent, and limit the address space."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setsid"):
        os.setsid()  # a group of its own: Ctrl-C in the terminal does not reach it, and its helpers die with it
    if sys.platform == "linux":
        _die_with_parent()
        _limit_memory(memory_mb)


def _die_with_parent() -> None:
    """Have the kernel kill this worker when the fork server goes, and let that go when the ingest process does.

    The fork server leaves when nobody holds its "alive" pipe any more. Every worker is handed that pipe too: one
    that hangs would keep it, and itself, alive.
    """
    alive_fd = getattr(forkserver._forkserver, "_forkserver_alive_fd", None)
    if alive_fd is not None:
        os.close(alive_fd)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # gone before we asked
        os._exit(1)


def _limit_memory(memory_mb: int) -> None:
    import resource

    import corpus_assets.pdf.preload  # noqa: F401 - counted in the start size

    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123
        start_bytes = int(statm.read().split()[0]) * resource.getpagesize()
    limit = start_bytes + memory_mb * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
