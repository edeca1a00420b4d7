"""``papers.duckdb`` of a generation: records, pages, sections and texts of its papers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from corpus_assets.model import Page, PaperRecord, ParsedPaper, Section
from corpus_assets.store import duck
from corpus_assets.store.records import page_from, record_from, section_from

_SCHEMA = """
CREATE TABLE papers (paper_id VARCHAR, record VARCHAR);
CREATE TABLE bodies (paper_id VARCHAR, text VARCHAR, pages VARCHAR, sections VARCHAR);
"""


def write_papers(path: Path, papers: Iterable[tuple[PaperRecord, ParsedPaper | None]]) -> int:
    """Write the file anew; returns the number of records. Bodies are kept for served papers only."""
    path.unlink(missing_ok=True)
    con = duck.connect(path, read_only=False)
    bodies = []
    records = []
    for record, parsed in papers:
        records.append((record.paper_id, duck.to_json(record)))
        if parsed is not None:
            bodies.append((record.paper_id, parsed.text, duck.to_json(parsed.pages), duck.to_json(parsed.sections)))
    con.execute(_SCHEMA)
    duck.insert_rows(con, "papers", {"paper_id": "VARCHAR", "record": "VARCHAR"}, records, path.parent)
    columns = {"paper_id": "VARCHAR", "text": "VARCHAR", "pages": "VARCHAR", "sections": "VARCHAR"}
    duck.insert_rows(con, "bodies", columns, bodies, path.parent)
    con.execute("CHECKPOINT")
    con.close()
    return len(records)


class PapersFile:
    """Reader of ``papers.duckdb``."""

    def __init__(self, path: Path) -> None:
        self._con = duck.connect(path, read_only=True, threads=1)

    def records(self) -> dict[str, PaperRecord]:
        """Return every record, in order of paper id."""
        rows = self._con.execute("SELECT record FROM papers ORDER BY paper_id").fetchall()
        return {record.paper_id: record for record in (record_from(json.loads(row[0])) for row in rows)}

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
