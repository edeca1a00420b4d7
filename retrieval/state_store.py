"""The home's ``state.duckdb``: answers, the answer cache, feedback. Opened for a moment, then closed again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import StoreError
from corpus_assets.store.duck import connect, first_line

if TYPE_CHECKING:
    import duckdb

STATE_FILE = "state.duckdb"
LOCK_WAIT_SECONDS = 10.0
RETRY_SECONDS = 0.05

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    answer_id VARCHAR PRIMARY KEY, created_at VARCHAR, question VARCHAR, generation VARCHAR, mode VARCHAR,
    record VARCHAR);
CREATE TABLE IF NOT EXISTS answer_cache (
    scope VARCHAR, question VARCHAR, answer_id VARCHAR, created_at VARCHAR,
    PRIMARY KEY (scope, question));
CREATE TABLE IF NOT EXISTS feedback (
    feedback_id VARCHAR PRIMARY KEY, answer_id VARCHAR, created_at VARCHAR, rating INTEGER, payload VARCHAR);
"""


class StateStore:
    """Open-write-close access, so that several processes can share the file; waits a few seconds for a lock."""

    def __init__(self, home: Path, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> None:
        self.path = home / STATE_FILE
        self._wait_seconds = wait_seconds

    @contextmanager
    def open(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        """Hand out a connection. Raises ``StoreError`` when the file stays locked or cannot be opened."""
        import duckdb

        deadline = time.monotonic() + self._wait_seconds
        while True:
            try:
                connection = connect(self.path, read_only=read_only, threads=1)
                break
            except (StoreError, duckdb.ConnectionException) as error:
                text = str(error).casefold()
                is_passing = "lock" in text or "different configuration" in text or "conflicting" in text
                if not is_passing or time.monotonic() > deadline:
                    raise StoreError(
                        f"{self.path} could not be opened: {first_line(error)}.",
                        hint="Another process holds it, or the folder cannot be written; try again.",
                        retryable=is_passing,
                    ) from error
                time.sleep(RETRY_SECONDS)
        try:
            if not read_only:
                connection.execute(SCHEMA)
            yield connection
        except duckdb.Error as error:
            raise StoreError(f"{self.path} could not be used: {first_line(error)}.") from error
        finally:
            connection.close()

    def write(self, statement: str, values: list[Any]) -> None:
        """Run one statement that changes something."""
        with self.open(read_only=False) as connection:
            connection.execute(statement, values)

    def read(self, statement: str, values: list[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none when there is no state yet."""
        if not self.path.is_file():
            return []
        with self.open(read_only=True) as connection:
            known = {
                row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
            }
            if not {"answers", "answer_cache", "feedback"} <= known:
                return []
            return connection.execute(statement, values).fetchall()

    def save_answer(
        self, answer_id: str, created_at: str, question: str, generation: str, mode: str, record: str
    ) -> None:
        """Store an answer's JSON; the same id again replaces it."""
        self.write(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)",
            [answer_id, created_at, question, generation, mode, record],
        )

    def load_answer(self, answer_id: str) -> str | None:
        """Return an answer's JSON, or None."""
        rows = self.read("SELECT record FROM answers WHERE answer_id = ?", [answer_id])
        return str(rows[0][0]) if rows else None
