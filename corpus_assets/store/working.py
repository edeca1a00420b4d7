"""Ingest's working store, ``corpus.duckdb``. One writer: the ingest run. Readers never open it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from corpus_assets.errors import StoreError
from corpus_assets.model import (
    Card,
    Chunk,
    PaperMetadata,
    PaperRecord,
    PaperStatus,
    ParsedPaper,
    SectionKind,
    SourceFile,
)
from corpus_assets.store import duck
from corpus_assets.store.records import card_from, metadata_from, parsed_from, record_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key VARCHAR PRIMARY KEY, value VARCHAR);
CREATE TABLE IF NOT EXISTS files (path VARCHAR, size BIGINT, mtime_ns BIGINT, ctime_ns BIGINT,
    hashed_at_ns BIGINT, sha256 VARCHAR);
CREATE TABLE IF NOT EXISTS docs (sha256 VARCHAR PRIMARY KEY, parse_key VARCHAR, status VARCHAR, reason VARCHAR,
    parsed VARCHAR, text_sha256 VARCHAR, num_pages INTEGER, num_expected INTEGER, num_chars BIGINT,
    signature BLOB, seconds DOUBLE, metadata VARCHAR, flags VARCHAR, states VARCHAR);
CREATE TABLE IF NOT EXISTS papers (paper_id VARCHAR, sha256 VARCHAR, record VARCHAR);
CREATE TABLE IF NOT EXISTS chunk_sets (paper_id VARCHAR PRIMARY KEY, key VARCHAR, num_chunks INTEGER);
CREATE TABLE IF NOT EXISTS chunks (chunk_id VARCHAR, paper_id VARCHAR, section VARCHAR,
    section_title VARCHAR, section_kind VARCHAR, index INTEGER, text VARCHAR, char_start BIGINT, char_end BIGINT,
    page_start INTEGER, page_end INTEGER, text_sha256 VARCHAR, num_tokens INTEGER, is_retrievable BOOLEAN,
    embed_sha256 VARCHAR);
CREATE TABLE IF NOT EXISTS embeddings (fingerprint VARCHAR, text_sha256 VARCHAR, vector BLOB,
    PRIMARY KEY (fingerprint, text_sha256));
CREATE TABLE IF NOT EXISTS cards (paper_id VARCHAR PRIMARY KEY, key VARCHAR, card VARCHAR);
"""

CHUNK_COLUMNS = {
    "chunk_id": "VARCHAR",
    "paper_id": "VARCHAR",
    "section": "VARCHAR",
    "section_title": "VARCHAR",
    "section_kind": "VARCHAR",
    "index": "INTEGER",
    "text": "VARCHAR",
    "char_start": "BIGINT",
    "char_end": "BIGINT",
    "page_start": "INTEGER",
    "page_end": "INTEGER",
    "text_sha256": "VARCHAR",
    "num_tokens": "INTEGER",
    "is_retrievable": "BOOLEAN",
}


@dataclasses.dataclass(frozen=True)
class Doc:
    """What is stored of one document (by the sha256 of its bytes), without its text."""

    sha256: str
    parse_key: str
    status: PaperStatus
    reason: str
    text_sha256: str
    num_pages: int
    num_expected: int
    num_chars: int
    signature: bytes
    seconds: float
    metadata: PaperMetadata
    flags: tuple[str, ...]
    states: Mapping[str, int]  # number of pages by state


class ChunkDigest(NamedTuple):
    """A chunk's id, a digest of all that is stored of it, and the sha256 of the text that is embedded for it."""

    chunk_id: str
    digest: str
    embed_sha256: str
    is_retrievable: bool


class WorkingStore:
    """The tables behind an ingest. Use as a context manager; every public method is one transaction."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "corpus.duckdb"
        self._con = duck.connect(self.path, read_only=False)
        self._con.execute(_SCHEMA)
        version = self.get_meta("schema_version")
        if version is None:
            self.set_meta("schema_version", SCHEMA_VERSION)
        elif version != SCHEMA_VERSION:
            self._con.close()
            raise StoreError(
                f"{self.path} was written by another version of this program (schema {version}).",
                hint="Delete it and ingest again; the published corpus is not affected.",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close; a database error of the body (a full disk, say) becomes a ``StoreError`` that names the file."""
        import duckdb

        try:
            self.close()
        except duckdb.Error as closing:
            error = error or closing
        if isinstance(error, duckdb.Error):
            raise duck.explain_error(error, self.path) from error

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._con.close()

    # -- small values ------------------------------------------------------------------------------------------

    def get_meta(self, key: str) -> Any:
        """Return a stored small value, or ``None``."""
        row = self._con.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return json.loads(row[0]) if row else None

    def set_meta(self, key: str, value: Any) -> None:
        """Store a small JSON-able value."""
        self._con.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, duck.to_json(value)])

    # -- files and documents -----------------------------------------------------------------------------------

    def known_files(self) -> dict[str, tuple[int, int, int, str, int]]:
        """Return path -> (size, mtime_ns, ctime_ns, sha256, hashed_at_ns) as of the last ingest."""
        rows = self._con.execute("SELECT path, size, mtime_ns, ctime_ns, sha256, hashed_at_ns FROM files").fetchall()
        return {row[0]: (row[1], row[2], row[3], row[4], row[5]) for row in rows}

    def replace_files(self, files: Sequence[SourceFile], hashed_at_ns: Mapping[str, int]) -> None:
        """Make ``files`` the known state of the folder and drop documents no file has any more."""
        with self._transaction():
            self._con.execute("DELETE FROM files")
            self._insert(
                "files",
                {
                    "path": "VARCHAR",
                    "size": "BIGINT",
                    "mtime_ns": "BIGINT",
                    "ctime_ns": "BIGINT",
                    "hashed_at_ns": "BIGINT",
                    "sha256": "VARCHAR",
                },
                [(f.path, f.size, f.mtime_ns, f.ctime_ns, hashed_at_ns[f.path], f.sha256) for f in files],
            )
            self._con.execute("DELETE FROM docs WHERE sha256 NOT IN (SELECT sha256 FROM files)")

    def docs(self) -> dict[str, Doc]:
        """Return every stored document by sha256."""
        rows = self._con.execute(
            "SELECT sha256, parse_key, status, reason, text_sha256, num_pages, num_expected, num_chars, signature, "
            "seconds, metadata, flags, states FROM docs"
        ).fetchall()
        return {row[0]: _doc_from(row) for row in rows}

    def put_doc(self, doc: Doc, parsed: ParsedPaper | None) -> None:
        """Store what became of one document."""
        self._con.execute(
            "INSERT OR REPLACE INTO docs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                doc.sha256,
                doc.parse_key,
                doc.status.value,
                doc.reason,
                duck.to_json(parsed) if parsed else "",
                doc.text_sha256,
                doc.num_pages,
                doc.num_expected,
                doc.num_chars,
                doc.signature,
                doc.seconds,
                duck.to_json(doc.metadata),
                duck.to_json(doc.flags),
                duck.to_json(doc.states),
            ],
        )

    def parsed(self, sha256: str) -> ParsedPaper | None:
        """Return a document's parsed text, or ``None`` when it was not readable."""
        row = self._con.execute("SELECT parsed FROM docs WHERE sha256 = ?", [sha256]).fetchone()
        return parsed_from(json.loads(row[0])) if row and row[0] else None

    # -- papers ------------------------------------------------------------------------------------------------

    def papers(self) -> dict[str, PaperRecord]:
        """Return every record, in order of paper id."""
        rows = self._con.execute("SELECT record FROM papers ORDER BY paper_id").fetchall()
        records = [record_from(json.loads(row[0])) for row in rows]
        return {record.paper_id: record for record in records}

    def replace_papers(self, records: Iterable[PaperRecord]) -> None:
        """Make ``records`` the corpus; chunks and cards of papers that are gone or not served go with them."""
        records = list(records)
        served = [record.paper_id for record in records if record.is_served]
        with self._transaction():
            self._con.execute("DELETE FROM papers")
            self._insert(
                "papers",
                {"paper_id": "VARCHAR", "sha256": "VARCHAR", "record": "VARCHAR"},
                [(record.paper_id, record.doc_sha256, duck.to_json(record)) for record in records],
            )
            for table in ("chunks", "chunk_sets", "cards"):
                self._con.execute(f"DELETE FROM {table} WHERE NOT list_contains(?::VARCHAR[], paper_id)", [served])

    # -- chunks ------------------------------------------------------------------------------------------------

    def chunk_keys(self) -> dict[str, str]:
        """Return paper id -> the key its chunks were made under."""
        return dict(self._con.execute("SELECT paper_id, key FROM chunk_sets").fetchall())

    def replace_chunks(self, paper_id: str, key: str, chunks: Sequence[Chunk], embed_sha256s: Sequence[str]) -> None:
        """Replace one paper's chunks."""
        with self._transaction():
            self._con.execute("DELETE FROM chunks WHERE paper_id = ?", [paper_id])
            rows = [
                (*(getattr(chunk, name) for name in CHUNK_COLUMNS), sha)
                for chunk, sha in zip(chunks, embed_sha256s, strict=True)
            ]
            self._insert("chunks", {**CHUNK_COLUMNS, "embed_sha256": "VARCHAR"}, rows)
            self._con.execute("INSERT OR REPLACE INTO chunk_sets VALUES (?, ?, ?)", [paper_id, key, len(chunks)])

    def chunks(self, paper_id: str | None = None) -> Iterator[tuple[Chunk, str]]:
        """Yield (chunk, sha256 of its embedded text) in order of chunk id, all or one paper's."""
        where, values = ("WHERE paper_id = ?", [paper_id]) if paper_id else ("", [])
        cursor = self._con.cursor()
        cursor.execute(f"SELECT {', '.join(CHUNK_COLUMNS)}, embed_sha256 FROM chunks {where} ORDER BY chunk_id", values)
        while rows := cursor.fetchmany(2000):
            for row in rows:
                fields = dict(zip(CHUNK_COLUMNS, row, strict=False))
                yield Chunk(**{**fields, "section_kind": SectionKind(fields["section_kind"])}), row[-1]

    def chunk_digest_rows(self) -> list[ChunkDigest]:
        """Return what identifies each chunk's content, in order of chunk id."""
        rows = self._con.execute(
            "SELECT chunk_id, sha256(concat_ws('|', text_sha256, char_start, char_end, page_start, page_end, "
            "section_title, section_kind, is_retrievable)), embed_sha256, is_retrievable FROM chunks ORDER BY chunk_id"
        ).fetchall()
        return [ChunkDigest(*row) for row in rows]

    def num_chunks(self) -> int:
        """Return how many chunks the corpus has."""
        return self._count("SELECT count(*) FROM chunks")

    # -- embeddings --------------------------------------------------------------------------------------------

    def missing_embeddings(self, fingerprint: str, keys: Sequence[str]) -> set[str]:
        """Return those of ``keys`` (sha256 of embedded texts) that have no vector under this fingerprint."""
        have = self._con.execute("SELECT text_sha256 FROM embeddings WHERE fingerprint = ?", [fingerprint]).fetchall()
        return set(keys) - {row[0] for row in have}

    def put_embeddings(self, fingerprint: str, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Cache unit vectors, one a key."""
        rows = [[fingerprint, key, vector.tobytes()] for key, vector in zip(keys, vectors, strict=True)]
        if rows:
            with self._transaction():
                self._con.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)

    def embeddings(self, fingerprint: str, keys: Sequence[str], dimension: int) -> NDArray[np.float32]:
        """Return ``(len(keys), dimension)`` vectors in order of ``keys``; raises ``StoreError`` if one is missing."""
        import numpy as np

        rows = self._con.execute(
            "SELECT text_sha256, vector FROM embeddings WHERE fingerprint = ?", [fingerprint]
        ).fetchall()
        found = dict(rows)
        matrix = np.empty((len(keys), dimension), dtype=np.float32)
        for i, key in enumerate(keys):
            if key not in found:
                raise StoreError(
                    f"A vector is missing in {self.path} (text {key[:12]}).",
                    hint="Materialise the embeddings asset (or run ingest) again.",
                )
            matrix[i] = np.frombuffer(found[key], dtype=np.float32)
        return matrix

    def drop_unused_embeddings(self, used: Sequence[str]) -> int:
        """Delete vectors whose text is in no chunk and no card any more; return how many."""
        before = self._count("SELECT count(*) FROM embeddings")
        with self._transaction():
            self._con.execute("CREATE OR REPLACE TEMP TABLE used (text_sha256 VARCHAR)")
            self._insert("used", {"text_sha256": "VARCHAR"}, [(key,) for key in used])
            self._con.execute("DELETE FROM embeddings WHERE text_sha256 NOT IN (SELECT text_sha256 FROM used)")
        return before - self._count("SELECT count(*) FROM embeddings")

    # -- cards -------------------------------------------------------------------------------------------------

    def cards(self) -> dict[str, tuple[str, Card]]:
        """Return paper id -> (key, card)."""
        rows = self._con.execute("SELECT paper_id, key, card FROM cards ORDER BY paper_id").fetchall()
        return {row[0]: (row[1], card_from(json.loads(row[2]))) for row in rows}

    def card_keys(self) -> dict[str, str]:
        """Return paper id -> key of its card."""
        return dict(self._con.execute("SELECT paper_id, key FROM cards ORDER BY paper_id").fetchall())

    def put_card(self, key: str, card: Card) -> None:
        """Store a paper's card."""
        self._con.execute("INSERT OR REPLACE INTO cards VALUES (?, ?, ?)", [card.paper_id, key, duck.to_json(card)])

    # -- whole file --------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Rewrite the file so that no byte of deleted rows is left in it."""
        fresh = self.path.with_name(".corpus.duckdb.part")
        fresh.unlink(missing_ok=True)
        target = duck.connect(fresh, read_only=False)
        target.close()
        quoted = str(fresh).replace("'", "''")
        self._con.execute("CHECKPOINT")
        self._con.execute(f"ATTACH '{quoted}' AS fresh")
        name = self._con.execute("SELECT current_database()").fetchone()
        assert name is not None
        self._con.execute(f'COPY FROM DATABASE "{name[0]}" TO fresh')
        self._con.execute("DETACH fresh")
        self._con.close()
        fresh.replace(self.path)
        self._con = duck.connect(self.path, read_only=False)

    def _count(self, query: str) -> int:
        row = self._con.execute(query).fetchone()
        return int(row[0]) if row else 0

    def _insert(self, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
        duck.insert_rows(self._con, table, columns, rows, self.home)

    def _transaction(self) -> _Transaction:
        return _Transaction(self)


def _doc_from(row: Sequence[Any]) -> Doc:
    return Doc(
        sha256=row[0],
        parse_key=row[1],
        status=PaperStatus(row[2]),
        reason=row[3],
        text_sha256=row[4],
        num_pages=row[5],
        num_expected=row[6],
        num_chars=row[7],
        signature=bytes(row[8] or b""),
        seconds=row[9],
        metadata=metadata_from(json.loads(row[10])),
        flags=tuple(json.loads(row[11])),
        states=json.loads(row[12]),
    )


class _Transaction:
    def __init__(self, store: WorkingStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        self._store._con.execute("BEGIN")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._store._con.execute("COMMIT" if kind is None else "ROLLBACK")
