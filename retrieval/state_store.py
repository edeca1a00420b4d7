"""Answers, the answer cache and feedback in the home's ``state.duckdb``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.errors import StoreError
from corpus_assets.store.duck import first_line
from retrieval.state_file import LOCK_WAIT_SECONDS, STATE_FILE, open_state

if TYPE_CHECKING:
    import duckdb

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

        with open_state(self.path.parent, read_only=read_only, wait_seconds=self._wait_seconds) as connection:
            try:
                if not read_only:
                    connection.execute(SCHEMA)
                yield connection
            except duckdb.Error as error:
                raise StoreError(f"{self.path} could not be used: {first_line(error)}.") from error

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
