"""DuckDB's full-text extension as it comes: ``PRAGMA create_fts_index`` and ``match_bm25``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.work import NUM_FOUND, Search, Work, read_pieces
from corpus_assets.duckdb_files import load_full_text

NAME = "DuckDB match_bm25"
WHAT = "PyMuPDF text, create_fts_index with its defaults"
PACKAGES = ("duckdb", "duckdb_extension_fts", "pymupdf")


def build(names: Sequence[str], texts: Sequence[str]) -> Any:
    """Return a connection with the texts indexed."""
    import duckdb

    con = duckdb.connect()
    load_full_text(con)
    con.execute("CREATE TABLE documents (name VARCHAR, text VARCHAR)")
    # A lone surrogate of a damaged PDF is nothing DuckDB takes.
    clean = [text.encode("utf-8", "ignore").decode() for text in texts]
    con.execute("INSERT INTO documents SELECT unnest(?), unnest(?)", [list(names), clean])
    con.execute("PRAGMA create_fts_index('documents', 'name', 'text')")
    return con


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Index the pieces and return how many there are."""
    pieces = read_pieces(files)
    build([str(number) for number in range(len(pieces))], pieces).close()
    return len(pieces)


def index(work: Work) -> Search:
    """Return the search over SciFact."""
    con = build(work.doc_ids, [document.full_text for document in work.scifact.documents])

    def run(question: str) -> list[str]:
        rows = con.execute(
            "SELECT name, fts_main_documents.match_bm25(name, ?) AS score FROM documents "
            f"WHERE score IS NOT NULL ORDER BY score DESC, name LIMIT {NUM_FOUND}",
            [question],
        ).fetchall()
        return [name for name, _ in rows]

    return run
