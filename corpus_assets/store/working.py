"""Ingest's working store, ``corpus.duckdb``. One writer: the ingest run. Readers never open it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
CREATE TABLE IF NOT EXISTS paper_vectors (paper_id VARCHAR PRIMARY KEY, key VARCHAR, vector BLOB, text VARCHAR);
ALTER TABLE chunk_sets ADD COLUMN IF NOT EXISTS digest VARCHAR DEFAULT '';
ALTER TABLE chunk_sets ADD COLUMN IF NOT EXISTS num_retrievable INTEGER DEFAULT 0;
ALTER TABLE docs ADD COLUMN IF NOT EXISTS parsed_sha256 VARCHAR DEFAULT '';
"""
_IN_JSON = """(SELECT unnest(from_json(?, '["VARCHAR"]')))"""  # a list as one parameter: 50 µs a value otherwise
_PAPERS_AT_ONCE = 64  # papers whose chunks are fetched together

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


class PaperContent(NamedTuple):
    """What a served paper amounts to: digests of its chunks and of its text, pages and sections."""

    chunks_digest: str
    body_digest: str
    num_chunks: int
    num_retrievable: int


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
        body = duck.to_json(parsed) if parsed else ""
        self._con.execute(
            "INSERT OR REPLACE INTO docs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                doc.sha256,
                doc.parse_key,
                doc.status.value,
                doc.reason,
                body,
                doc.text_sha256,
                doc.num_pages,
                doc.num_expected,
                doc.num_chars,
                doc.signature,
                doc.seconds,
                duck.to_json(doc.metadata),
                duck.to_json(doc.flags),
                duck.to_json(doc.states),
                hashlib.sha256(body.encode("utf-8")).hexdigest(),
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
            for table in ("chunks", "chunk_sets", "cards", "paper_vectors"):
                self._con.execute(f"DELETE FROM {table} WHERE paper_id NOT IN {_IN_JSON}", [json.dumps(served)])

    def records_digest(self) -> str:
        """Return the digest of every record, served or not."""
        digest = hashlib.sha256()
        for (record,) in self._con.execute("SELECT record FROM papers ORDER BY paper_id").fetchall():
            digest.update(record.encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()[:16]

    def paper_contents(self) -> dict[str, PaperContent]:
        """Return what each served paper amounts to, in order of paper id; papers not chunked yet are left out."""
        rows = self._con.execute(
            "SELECT sets.paper_id, sets.digest, docs.parsed_sha256, sets.num_chunks, sets.num_retrievable "
            "FROM chunk_sets AS sets JOIN papers USING (paper_id) JOIN docs USING (sha256) ORDER BY sets.paper_id"
        ).fetchall()
        return {row[0]: PaperContent(*row[1:]) for row in rows}

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
            self._con.execute(
                "INSERT OR REPLACE INTO chunk_sets (paper_id, key, num_chunks, digest, num_retrievable) "
                "VALUES (?, ?, ?, ?, ?)",
                [paper_id, key, len(chunks), _digest_of(rows), sum(chunk.is_retrievable for chunk in chunks)],
            )

    def chunks(self, paper_id: str | None = None) -> Iterator[tuple[Chunk, str]]:
        """Yield (chunk, sha256 of its embedded text) in order of chunk id, all or one paper's."""
        where, values = ("WHERE paper_id = ?", [paper_id]) if paper_id else ("", [])
        cursor = self._con.cursor()
        cursor.execute(f"SELECT {', '.join(CHUNK_COLUMNS)}, embed_sha256 FROM chunks {where} ORDER BY chunk_id", values)
        while rows := cursor.fetchmany(2000):
            for row in rows:
                fields = dict(zip(CHUNK_COLUMNS, row, strict=False))
                yield Chunk(**{**fields, "section_kind": SectionKind(fields["section_kind"])}), row[-1]

    def chunks_of(self, paper_ids: Sequence[str]) -> Iterator[tuple[Chunk, str]]:
        """Yield (chunk, sha256 of its embedded text) of some papers, a few dozen papers in memory at a time.

        In order of paper id, within a paper of chunk id.
        """
        fields = ", ".join(CHUNK_COLUMNS)
        ordered = sorted(paper_ids)
        for start in range(0, len(ordered), _PAPERS_AT_ONCE):
            some = ordered[start : start + _PAPERS_AT_ONCE]
            rows = self._con.execute(
                f"SELECT {fields}, embed_sha256 FROM chunks WHERE paper_id BETWEEN ? AND ? "
                f"AND paper_id IN {_IN_JSON} ORDER BY paper_id, chunk_id",
                [some[0], some[-1], json.dumps(some)],
            ).fetchall()
            for row in rows:
                values = dict(zip(CHUNK_COLUMNS, row, strict=False))
                yield Chunk(**{**values, "section_kind": SectionKind(values["section_kind"])}), row[-1]

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
        have = self._con.execute(
            f"SELECT text_sha256 FROM embeddings WHERE fingerprint = ? AND text_sha256 IN {_IN_JSON}",
            [fingerprint, json.dumps(list(keys))],
        ).fetchall()
        return set(keys) - {row[0] for row in have}

    def papers_to_embed(self, fingerprint: str) -> tuple[list[str], int]:
        """Return the papers with retrievable chunks whose text has no vector yet, and the number of such texts."""
        rows = self._con.execute(
            "SELECT paper_id, embed_sha256 FROM chunks WHERE is_retrievable AND NOT EXISTS (SELECT 1 FROM embeddings "
            "WHERE embeddings.fingerprint = ? AND embeddings.text_sha256 = chunks.embed_sha256)",
            [fingerprint],
        ).fetchall()
        return sorted({row[0] for row in rows}), len({row[1] for row in rows})

    def retrievable_ids(self, paper_ids: Collection[str]) -> Iterator[str]:
        """Yield the ids of papers' retrievable chunks, in no order."""
        cursor = self._con.cursor()
        cursor.execute(
            f"SELECT chunk_id FROM chunks WHERE is_retrievable AND paper_id IN {_IN_JSON}",
            [json.dumps(list(paper_ids))],
        )
        while rows := cursor.fetchmany(4096):
            yield from (row[0] for row in rows)

    def chunk_vectors(
        self, fingerprint: str, paper_ids: Collection[str], dimension: int
    ) -> Iterator[tuple[list[tuple[str, str]], NDArray[np.float32]]]:
        """Yield ([(chunk id, paper id)], vectors (n, dimension)) of retrievable chunks, in batches, in no order.

        Raises ``StoreError`` when a vector is missing.
        """
        import numpy as np

        wanted = json.dumps(list(paper_ids))
        chosen = f"FROM chunks WHERE is_retrievable AND paper_id IN {_IN_JSON}"
        row = self._con.execute(f"SELECT count(*) {chosen}", [wanted]).fetchone()
        num_wanted = int(row[0]) if row else 0
        cursor = self._con.cursor()
        cursor.execute(
            "SELECT chosen.chunk_id, chosen.paper_id, embeddings.vector FROM embeddings JOIN "
            f"(SELECT chunk_id, paper_id, embed_sha256 {chosen}) AS chosen "
            "ON embeddings.text_sha256 = chosen.embed_sha256 WHERE embeddings.fingerprint = ?",
            [wanted, fingerprint],
        )
        num_found = 0
        while rows := cursor.fetchmany(4096):
            num_found += len(rows)
            vectors = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.float32)
            yield [(row[0], row[1]) for row in rows], vectors.reshape(len(rows), dimension)
        cursor.close()
        if num_found != num_wanted:
            raise StoreError(
                f"{num_wanted - num_found} of {num_wanted} vectors are missing in {self.path}.",
                hint="Materialise the embeddings asset (or run ingest) again.",
            )

    def paper_vectors(self) -> dict[str, tuple[str, bytes, str]]:
        """Return paper id -> (key, vector as bytes, text that names it), as last put."""
        rows = self._con.execute("SELECT paper_id, key, vector, text FROM paper_vectors").fetchall()
        return {row[0]: (row[1], row[2], row[3]) for row in rows}

    def put_paper_vectors(self, rows: Iterable[tuple[str, str, bytes, str]]) -> None:
        """Keep (paper id, key, vector, text) for the next ingest."""
        with self._transaction():
            self._con.executemany("INSERT OR REPLACE INTO paper_vectors VALUES (?, ?, ?, ?)", [list(r) for r in rows])

    def put_embeddings(self, fingerprint: str, keys: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Cache unit vectors, one a key."""
        import base64

        rows = [
            {"key": key, "vector": base64.b64encode(vector.tobytes()).decode("ascii")}
            for key, vector in zip(keys, vectors, strict=True)
        ]
        if rows:  # as one parameter: several milliseconds a row otherwise
            self._con.execute(
                "INSERT OR REPLACE INTO embeddings SELECT ?, row.key, from_base64(row.vector) FROM (SELECT "
                """unnest(from_json(?, '[{"key": "VARCHAR", "vector": "VARCHAR"}]')) AS row)""",
                [fingerprint, json.dumps(rows)],
            )

    def embeddings(self, fingerprint: str, keys: Sequence[str], dimension: int) -> NDArray[np.float32]:
        """Return ``(len(keys), dimension)`` vectors in order of ``keys``; raises ``StoreError`` if one is missing."""
        import numpy as np

        rows = self._con.execute(
            f"SELECT text_sha256, vector FROM embeddings WHERE fingerprint = ? AND text_sha256 IN {_IN_JSON}",
            [fingerprint, json.dumps(list(keys))],
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

    def drop_unused_embeddings(self, of_cards: Sequence[str]) -> int:
        """Delete vectors whose text is in no chunk and is none of the cards' any more; return how many."""
        rows = self._con.execute(
            "SELECT text_sha256 FROM embeddings ANTI JOIN (SELECT embed_sha256 AS text_sha256 FROM chunks "
            f"WHERE is_retrievable) AS of_chunks USING (text_sha256) WHERE text_sha256 NOT IN {_IN_JSON}",
            [json.dumps(list(of_cards))],
        ).fetchall()
        if rows:
            unused = json.dumps([row[0] for row in rows])
            self._con.execute(f"DELETE FROM embeddings WHERE text_sha256 IN {_IN_JSON}", [unused])
        return len(rows)

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


def _digest_of(rows: Iterable[Sequence[Any]]) -> str:
    """Return the digest of chunk rows, whatever their order."""
    lines = sorted(json.dumps(row, ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


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
