"""Write a segment's ``chunks.duckdb``: chunks, DuckDB's full-text index, and postings sorted by term.

Tables
    chunks(chunk_no, chunk_id, vector_id, paper_no, …)   chunk_no counts from 0 in the order given
    papers(paper_no, paper_id)                           one row a paper that has chunks here
    terms(term_key, term, df, numbers, counts)           a term's postings: chunk numbers in rising order (int32) and
                                                         occurrences (uint16), little-endian; ``term_key`` is its digest
    paper_terms                                          the same over the papers' metadata
    fts_main_chunks.*                                    DuckDB's own index, what ``match_bm25`` reads
    info(key, value)

``match_bm25`` scans every posting on each query. A term's own postings, fetched by key, give the same scores in a
fraction of the time.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.duckdb_files import connect_writer, load_full_text
from corpus_assets.errors import StoreError
from corpus_assets.folding import fold_for_search
from corpus_assets.fts_query import FORMAT_VERSION
from corpus_assets.model import Chunk, PaperRecord
from corpus_assets.settings import IndexSettings
from corpus_assets.vectors import vector_id

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

_BATCH = 2048
_POSTINGS_BATCH = 1_000_000
_FRONT_CHARS = 300
_BRACKETED = re.compile(r"[(\[][^)\]]*(?:[)\]]|$)")

# Tokens come folded and joined by spaces: the extension only has to split and stem them.
_INDEX_OPTIONS = "stemmer='porter', stopwords='none', ignore='\\s+', strip_accents=0, lower=0, overwrite=1"

_CHUNK_COLUMNS = (
    ("chunk_no", "INTEGER"),
    ("chunk_id", "VARCHAR"),
    ("vector_id", "BIGINT"),
    ("paper_no", "INTEGER"),
    ("section", "VARCHAR"),
    ("section_title", "VARCHAR"),
    ("section_kind", "VARCHAR"),
    ("index", "INTEGER"),
    ("text", "VARCHAR"),
    ("char_start", "INTEGER"),
    ("char_end", "INTEGER"),
    ("page_start", "INTEGER"),
    ("page_end", "INTEGER"),
    ("text_sha256", "VARCHAR"),
    ("num_tokens", "INTEGER"),
    ("is_retrievable", "BOOLEAN"),
)


_TERM_COLUMNS = (
    ("term_key", "BIGINT PRIMARY KEY"),
    ("term", "VARCHAR"),
    ("df", "INTEGER"),
    ("numbers", "BLOB"),
    ("counts", "BLOB"),
)


@dataclass(frozen=True)
class FtsStats:
    """What was written; ``num_postings`` counts distinct (term, chunk) pairs."""

    num_chunks: int
    num_papers: int
    num_terms: int
    num_postings: int


def build_fts(
    chunks: Iterable[Chunk], papers: Mapping[str, PaperRecord], path: Path, settings: IndexSettings
) -> FtsStats:
    """Write the index of ``chunks`` to ``path``, atomically, and return its counts.

    ``chunks`` is read once, in batches. Raises StoreError on a repeated chunk id, an unknown paper, or a disk that is
    full; ``path`` is then as it was before.
    """
    import duckdb

    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    _remove(scratch)
    try:
        con = connect_writer(scratch)
        try:
            load_full_text(con)
            stats = _write(con, chunks, papers, settings)
            con.execute("CHECKPOINT")
        finally:
            con.close()
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        scratch.replace(path)
    except (duckdb.Error, OSError) as error:
        raise StoreError(f"The full-text index {path} could not be written: {error}", retryable=True) from error
    finally:
        _remove(scratch)
    return stats


def _remove(scratch: Path) -> None:
    for leftover in (scratch, Path(f"{scratch}.wal")):
        leftover.unlink(missing_ok=True)
    shutil.rmtree(f"{scratch}.spill", ignore_errors=True)


def _write(
    con: duckdb.DuckDBPyConnection, chunks: Iterable[Chunk], papers: Mapping[str, PaperRecord], settings: IndexSettings
) -> FtsStats:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in _CHUNK_COLUMNS)
    con.execute(f"CREATE TEMP TABLE stored ({columns})")
    con.execute("CREATE TABLE chunks (chunk_id VARCHAR, folded VARCHAR)")
    con.execute("CREATE TABLE paper_texts (paper_id VARCHAR, folded VARCHAR)")
    paper_numbers = _insert_chunks(con, chunks, papers)

    # DuckDB's index is named after its table, so the folded text is called "chunks" until it has been indexed.
    con.execute(f"PRAGMA create_fts_index('chunks', 'chunk_id', 'folded', {_INDEX_OPTIONS})")
    con.execute(f"PRAGMA create_fts_index('paper_texts', 'paper_id', 'folded', {_INDEX_OPTIONS})")
    con.execute("DROP TABLE chunks")
    con.execute("DROP TABLE paper_texts")
    con.execute("CHECKPOINT")

    num_postings = _store_postings(
        con, "fts_main_chunks", "SELECT chunk_id AS name, chunk_no AS number FROM stored", "terms"
    )
    con.execute(f"CREATE TABLE chunks ({columns}, num_terms INTEGER, PRIMARY KEY (chunk_no))")
    con.execute(
        "INSERT INTO chunks SELECT stored.*, coalesce(docs.len, 0)::INTEGER "
        "FROM stored LEFT JOIN fts_main_chunks.docs AS docs ON docs.name = stored.chunk_id ORDER BY chunk_no"
    )
    con.execute("DROP TABLE stored")
    con.execute("CREATE TABLE papers (paper_no INTEGER, paper_id VARCHAR)")
    _insert(con, "papers", {"paper_id": list(paper_numbers), "paper_no": list(paper_numbers.values())})
    _store_postings(
        con, "fts_main_paper_texts", "SELECT paper_id AS name, paper_no AS number FROM papers", "paper_terms"
    )
    con.execute("DROP SCHEMA fts_main_paper_texts CASCADE")
    con.execute("CREATE TABLE info (key VARCHAR, value VARCHAR)")
    con.executemany(
        "INSERT INTO info VALUES (?, ?)",
        [
            ("format", FORMAT_VERSION),
            ("bm25_k1", repr(settings.bm25_k1)),
            ("bm25_b", repr(settings.bm25_b)),
        ],
    )
    counts = [
        (con.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,))[0] for table in ("chunks", "papers", "terms")
    ]
    return FtsStats(counts[0], counts[1], counts[2], num_postings)


def _store_postings(con: duckdb.DuckDBPyConnection, schema: str, names: str, table: str) -> int:
    """Turn DuckDB's term occurrences into one row a term; return the number of (term, document) pairs."""
    import numpy as np

    con.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in _TERM_COLUMNS)})")
    con.execute(
        "CREATE TEMP TABLE sorted AS SELECT termid, number::INTEGER AS number, "
        "least(count(*), 65535)::USMALLINT AS tf "
        f"FROM {schema}.terms AS occurrences JOIN {schema}.docs AS docs USING (docid) "
        f"JOIN ({names}) AS numbered ON numbered.name = docs.name "
        "GROUP BY termid, number ORDER BY termid, number"
    )
    terms = con.execute(
        f"SELECT termid, term, n FROM {schema}.dict JOIN (SELECT termid, count(*) AS n FROM sorted GROUP BY termid) "
        "USING (termid) ORDER BY termid"
    ).fetchall()
    num_postings = 0
    for group in _groups(terms):
        first, last = group[0][0], group[-1][0]
        data = con.execute(
            f"SELECT number, tf FROM sorted WHERE termid BETWEEN {int(first)} AND {int(last)} ORDER BY termid, number"
        ).fetchnumpy()
        numbers, counts = np.asarray(data["number"], "<i4"), np.asarray(data["tf"], "<u2")
        rows: dict[str, list[object]] = {name: [] for name, _ in _TERM_COLUMNS}
        start = 0
        for _, term, df in group:
            values = (
                term_key(term),
                term,
                df,
                _base64(numbers[start : start + df]),
                _base64(counts[start : start + df]),
            )
            for (name, _), value in zip(_TERM_COLUMNS, values, strict=True):
                rows[name].append(value)
            start += df
        _insert(con, table, rows)
        num_postings += start
    con.execute("DROP TABLE sorted")
    return num_postings


def term_key(term: str) -> int:
    """Return a term's row key: 63 bits of its sha256."""
    return vector_id(term)


def _base64(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _groups(terms: Sequence[tuple[int, str, int]]) -> Iterator[list[tuple[int, str, int]]]:
    """Yield runs of terms with about ``_POSTINGS_BATCH`` postings each."""
    group: list[tuple[int, str, int]] = []
    size = 0
    for term in terms:
        group.append(term)
        size += term[2]
        if size >= _POSTINGS_BATCH:
            yield group
            group, size = [], 0
    if group:
        yield group


def _insert_chunks(
    con: duckdb.DuckDBPyConnection, chunks: Iterable[Chunk], papers: Mapping[str, PaperRecord]
) -> dict[str, int]:
    numbers: dict[str, int] = {}
    seen: set[str] = set()
    count = 0
    for batch in _batches(chunks):
        rows: dict[str, list[object]] = {name: [] for name, _ in _CHUNK_COLUMNS}
        folded: list[str] = []
        new_papers: dict[str, str] = {}
        for chunk in batch:
            if chunk.chunk_id in seen:
                raise StoreError(f"Chunk id {chunk.chunk_id!r} of paper {chunk.paper_id!r} occurs twice.")
            seen.add(chunk.chunk_id)
            if chunk.paper_id not in numbers:
                if chunk.paper_id not in papers:
                    raise StoreError(f"Chunk {chunk.chunk_id!r} belongs to paper {chunk.paper_id!r}, which is unknown.")
                numbers[chunk.paper_id] = len(numbers)
                new_papers[chunk.paper_id] = paper_search_text(papers[chunk.paper_id], chunk.text)
            values = (count, chunk.chunk_id, vector_id(chunk.chunk_id), numbers[chunk.paper_id])
            for (name, _), value in zip(_CHUNK_COLUMNS[:4], values, strict=True):
                rows[name].append(value)
            for name, _ in _CHUNK_COLUMNS[4:]:
                rows[name].append(getattr(chunk, name))
            folded.append(fold_for_search(chunk.text))
            count += 1
        rows["section_kind"] = [str(kind) for kind in rows["section_kind"]]
        _insert(con, "stored", rows)
        _insert(con, "chunks", {"chunk_id": rows["chunk_id"], "folded": folded})
        if new_papers:
            _insert(con, "paper_texts", {"paper_id": list(new_papers), "folded": list(new_papers.values())})
    return numbers


def paper_search_text(paper: PaperRecord, first_text: str) -> str:
    """Return what a paper is found by, folded: title, authors, year, DOI, arXiv id, paper id and file name.

    Where title, authors or year are missing, the first lines of the paper stand in for them.
    """
    known = paper.metadata
    name = Path(paper.path).name
    stem = name.rsplit(".", 1)[0]
    fields = [known.title, *known.authors, str(known.year or ""), known.doi, known.arxiv_id, paper.paper_id, name, stem]
    if not (known.title and known.authors and known.year):
        fields.append(_BRACKETED.sub(" ", first_text[:_FRONT_CHARS]))  # brackets hold citations of others
    tokens = " ".join(fold_for_search(field) for field in fields if field).split()
    return " ".join(dict.fromkeys(tokens))


def _batches(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    iterator = iter(chunks)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def _insert(con: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, Sequence[object]]) -> None:
    """Append rows, given by column, as one JSON parameter (blobs in base64).

    DuckDB's Python client looks for pandas anew for each Python value it is handed: 50 µs a value where it is missing.
    """
    num = len(next(iter(columns.values()), ()))
    if not num:
        return
    kinds = dict(con.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table})").fetchall())
    json_kinds = {name: "VARCHAR" if kinds[name] == "BLOB" else kinds[name] for name in columns}
    names = ", ".join(f'"{name}"' for name in columns)
    fields = ", ".join(f'from_base64(row."{name}")' if kinds[name] == "BLOB" else f'row."{name}"' for name in columns)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    con.execute(
        f"INSERT INTO {table} ({names}) SELECT {fields} FROM (SELECT unnest(from_json(?, ?)) AS row)",
        [json.dumps(rows, ensure_ascii=False), json.dumps([json_kinds])],
    )
