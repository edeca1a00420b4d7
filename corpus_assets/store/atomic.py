"""Files that are either the old or the new one, never a mix; and errors that name the path."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from corpus_assets.errors import StoreError

_FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def explain_os_error(error: OSError, path: Path) -> StoreError:
    """Return a store error that says which path could not be written and what to do."""
    if error.errno in _FULL_DISK:
        return StoreError(
            f"No space left (or the file would be too large) writing {path}.",
            hint="Free space or raise the file size limit, then run again; what was published is untouched.",
        )
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return StoreError(
            f"Not allowed to write {path}.",
            hint="Set RESEARCH_COPILOT_HOME (or --home) to a folder you may write to.",
        )
    return StoreError(f"Could not write {path}: {error.strerror or error}.", hint="Mend that and run again.")


@contextlib.contextmanager
def explained_writes(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` of the body into a :class:`StoreError` naming ``path``."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path) from error


def write_atomic(path: Path, data: bytes | str) -> None:
    """Replace ``path`` by ``data``: temporary file in the same folder, fsync, rename, fsync of the folder."""
    payload = data.encode("utf-8") if isinstance(data, str) else data
    with explained_writes(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        sync_dir(path.parent)


def sync_dir(path: Path) -> None:
    """Flush a folder's entries to disk, so that a rename in it survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Flush a finished file to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_SETTLED_NS = 2_000_000_000  # a file changed less long ago may change again within the clock's grain
_digests: dict[tuple[int, int, int, int], str] = {}  # by device, inode, size, time of change


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes as hex; a file that has long been as it is, is read once a process."""
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
        if key in _digests:
            return _digests[key]
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if time.time_ns() - state.st_mtime_ns > _SETTLED_NS:
        _digests[key] = digest
    return digest


def link_or_copy(source: Path, target: Path) -> bool:
    """Give ``target`` the bytes of ``source`` (files here never change); return whether the file is shared.

    Where the file system cannot link, the bytes are copied.
    """
    with explained_writes(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            target.hardlink_to(source)
        except OSError:
            shutil.copyfile(source, target)
            return False
    return True


def remove_tree(path: Path) -> None:
    """Delete a folder if it is there."""
    if path.exists():
        shutil.rmtree(path)
