"""``papers.duckdb``: of a generation, its papers' records; of a segment, its papers' pages, sections and texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from corpus_assets.model import Page, PaperRecord, ParsedPaper, Section
from corpus_assets.store import duck
from corpus_assets.store.records import page_from, record_from, section_from

_SCHEMA = """
CREATE TABLE papers (paper_id VARCHAR, record VARCHAR);
CREATE TABLE bodies (paper_id VARCHAR PRIMARY KEY, text VARCHAR, pages VARCHAR, sections VARCHAR);
"""
_BATCH = 256
BODIES_VERSION = "1"  # raised when the same papers give another file


def write_papers(path: Path, papers: Iterable[tuple[PaperRecord, ParsedPaper | None]]) -> int:
    """Write the file anew, a batch in memory at a time; returns the number of records. No body, no row for it."""
    path.unlink(missing_ok=True)
    con = duck.connect(path, read_only=False)
    con.execute(_SCHEMA)
    num_records = 0
    iterator = iter(papers)
    while batch := list(islice(iterator, _BATCH)):
        num_records += len(batch)
        records = [(record.paper_id, duck.to_json(record)) for record, _ in batch]
        duck.insert_rows(con, "papers", {"paper_id": "VARCHAR", "record": "VARCHAR"}, records, path.parent)
        bodies = [
            (record.paper_id, parsed.text, duck.to_json(parsed.pages), duck.to_json(parsed.sections))
            for record, parsed in batch
            if parsed is not None
        ]
        columns = {"paper_id": "VARCHAR", "text": "VARCHAR", "pages": "VARCHAR", "sections": "VARCHAR"}
        duck.insert_rows(con, "bodies", columns, bodies, path.parent)
    con.execute("CHECKPOINT")
    con.close()
    return num_records


class PapersFile:
    """Reader of ``papers.duckdb``."""

    def __init__(self, path: Path) -> None:
        self._con = duck.connect(path, read_only=True, threads=1)

    def records(self) -> dict[str, PaperRecord]:
        """Return every record, in order of paper id."""
        rows = self._con.execute("SELECT record FROM papers ORDER BY paper_id").fetchall()
        return {record.paper_id: record for record in (record_from(json.loads(row[0])) for row in rows)}

    def bodies(self) -> Iterator[tuple[str, str, tuple[Page, ...]]]:
        """Yield (paper id, text, pages) of every paper, a few at a time."""
        cursor = self._con.cursor()
        cursor.execute("SELECT paper_id, text, pages FROM bodies")
        while rows := cursor.fetchmany(64):
            for paper_id, text, pages in rows:
                yield paper_id, text, tuple(page_from(page) for page in json.loads(pages))

    def has(self, paper_id: str) -> bool:
        """Tell whether the file has the paper's body."""
        return self._con.execute("SELECT 1 FROM bodies WHERE paper_id = ?", [paper_id]).fetchone() is not None

    def text(self, paper_id: str) -> str:
        """Return a paper's normalised text; empty for papers that are not served."""
        row = self._con.execute("SELECT text FROM bodies WHERE paper_id = ?", [paper_id]).fetchone()
        return row[0] if row else ""

    def pages(self, paper_id: str) -> tuple[Page, ...]:
        """Return a paper's page ledger; empty for papers that are not served."""
        row = self._con.execute("SELECT pages FROM bodies WHERE paper_id = ?", [paper_id]).fetchone()
        return tuple(page_from(page) for page in json.loads(row[0])) if row else ()

    def sections(self, paper_id: str) -> tuple[Section, ...]:
        """Return a paper's sections; empty for papers that are not served."""
        row = self._con.execute("SELECT sections FROM bodies WHERE paper_id = ?", [paper_id]).fetchone()
        return tuple(section_from(section) for section in json.loads(row[0])) if row else ()

    def close(self) -> None:
        """Close the file."""
        self._con.close()
