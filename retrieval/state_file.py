"""The home's ``state.duckdb``: opened for a moment, then closed again, so that several processes can share it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.errors import StoreError
from corpus_assets.store.duck import connect

if TYPE_CHECKING:
    import duckdb

STATE_FILE = "state.duckdb"
LOCK_WAIT_SECONDS = 10.0
RETRY_SECONDS = 0.05


@contextmanager
def open_state(
    home: Path, *, read_only: bool, wait_seconds: float = LOCK_WAIT_SECONDS
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Hand out a connection; wait up to ``wait_seconds`` while somebody else holds the file.

    Raises ``StoreError`` when the file stays locked (retryable) or cannot be opened.
    """
    path = home / STATE_FILE
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            connection = connect(path, read_only=read_only, threads=1)
            break
        except StoreError as error:
            if not _is_passing(error.__cause__):
                raise
            if time.monotonic() > deadline:
                raise StoreError(
                    error.message, hint="Another process is holding it; try again when it is done.", retryable=True
                ) from error
            time.sleep(RETRY_SECONDS)
    try:
        yield connection
    finally:
        connection.close()


def _is_passing(cause: BaseException | None) -> bool:
    """Tell a held lock, of another process or of this one in the other mode, from a damaged or forbidden file."""
    import duckdb

    text = str(cause).lower()
    is_held = isinstance(cause, duckdb.IOException) and "lock" in text
    # Two threads that open the file in the same moment: the later one finds it attached already.
    is_opening = isinstance(cause, duckdb.BinderException) and "already attached" in text
    return is_held or is_opening or isinstance(cause, duckdb.ConnectionException)
