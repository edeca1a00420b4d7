"""One ingest at a time in a home. The kernel drops the lock with the process, so a kill leaves nothing to clean."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from corpus_assets.errors import HomeLockedError
from corpus_assets.store.atomic import explained_writes

_held: dict[Path, int] = {}  # home -> descriptor; a process that holds a home may enter it again
_guard = threading.Lock()


def lock_path(home: Path) -> Path:
    """Return the lock file of a home."""
    return home / "ingest.lock"


def acquire_home(home: Path) -> None:
    """Take the home for this process until :func:`release_home` or the end of the process.

    Entering again in the same process is allowed: the steps of one run share it. Raises ``HomeLockedError``.
    """
    home = home.resolve()
    with _guard:
        if home in _held:
            return
        path = lock_path(home)
        with explained_writes(path):
            home.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise HomeLockedError(
                f"Another ingest (pid {holder}) is using {home}.", hint="Wait for it to end, then run again."
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode("ascii"), 0)
        _held[home] = descriptor


def release_home(home: Path) -> None:
    """Give the home back; nothing happens when this process does not hold it."""
    with _guard:
        descriptor = _held.pop(home.resolve(), None)
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def home_lock(home: Path) -> Iterator[None]:
    """Hold the home for the body; an outer holder in the same process keeps it afterwards."""
    was_held = home.resolve() in _held
    acquire_home(home)
    try:
        yield
    finally:
        if not was_held:
            release_home(home)
