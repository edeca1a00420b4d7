"""Read a segment's ``chunks.duckdb``: its chunks, what may be returned of them, and postings by term."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.duckdb_files import connect_reader
from corpus_assets.errors import StoreError
from corpus_assets.folding import FOLDING_VERSION, fold_for_search
from corpus_assets.memory import Memory
from corpus_assets.model import Chunk, SectionKind
from corpus_assets.porter import stem
from corpus_assets.store.duck import first_line
from corpus_assets.vectors import vector_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Postings = tuple[NDArray[np.int32], NDArray[np.int32]]  # document numbers in rising order, occurrences

FORMAT_VERSION = f"2.{FOLDING_VERSION}"  # of the file; written by ``fts_build``
MAX_NAMES_IN_MEMORY = 50_000
MAX_CACHED_MASKS = 16
MAX_CACHED_CHUNKS = 8192  # about 20 MB: an answer's searches find the same passages again and again
MAX_CACHED_POSTINGS = 8_000_000  # 64 MB a segment

_CHUNK_FIELDS = (
    "chunk_id, paper_no, section, section_title, section_kind, index, text, char_start, char_end, page_start, "
    "page_end, text_sha256, num_tokens, is_retrievable"
)


@dataclass(frozen=True)
class ChunkFilter:
    """Which chunks may be returned; None means no restriction."""

    paper_ids: frozenset[str] | None = None
    excluded_paper_ids: frozenset[str] = frozenset()
    section_kinds: frozenset[SectionKind] | None = None
    include_unretrievable: bool = False


ANY_RETRIEVABLE = ChunkFilter()


@dataclass(frozen=True)
class TermStats:
    """A term's live document frequency among chunks and among papers' metadata."""

    chunk_df: int = 0
    paper_df: int = 0


@dataclass(frozen=True)
class _Columns:
    """One value a chunk, by chunk number."""

    lengths: NDArray[np.int32]
    paper_numbers: NDArray[np.int32]
    kinds: NDArray[np.int16]
    is_retrievable: NDArray[np.bool_]
    vector_ids: NDArray[np.int64]


class FtsIndex:
    """A segment's chunks and postings, read-only. Safe to use from several threads.

    ``removed_papers`` are papers a later segment replaced or dropped: their chunks are neither returned nor counted.
    """

    def __init__(self, path: Path, removed_papers: Iterable[str] = ()) -> None:
        self.path = path
        self.removed_papers = frozenset(removed_papers)
        self._lock = threading.Lock()
        self._con = connect_reader(path)
        self._cache: OrderedDict[tuple[str, str], Postings] = OrderedDict()
        self._num_cached = 0
        self._masks: Memory[ChunkFilter, NDArray[np.bool_]] = Memory(MAX_CACHED_MASKS)
        self._chunks: Memory[int, Chunk] = Memory(MAX_CACHED_CHUNKS)
        info = dict(self._rows("SELECT key, value FROM info"))
        if info.get("format") != FORMAT_VERSION:
            self._con.close()
            raise StoreError(
                f"The index file {path} has format {info.get('format')}; this program reads {FORMAT_VERSION}.",
                hint="Run `research-copilot ingest`: the index is built anew from what was read already.",
            )
        self.k1, self.b = float(info["bm25_k1"]), float(info["bm25_b"])

    # -- chunks

    def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return those of ``chunk_ids`` that are in this segment, in the order asked."""
        numbers = self._rows_of([vector_id(chunk_id) for chunk_id in dict.fromkeys(chunk_ids)])
        known = self._chunks.get(numbers.tolist())
        missing = [number for number in numbers.tolist() if number not in known]
        if missing:
            rows = self._rows(f"SELECT {_CHUNK_FIELDS}, chunk_no FROM chunks WHERE {_among(missing)}")
            fetched = {row[-1]: self._chunk(row[:-1]) for row in rows}
            self._chunks.put(fetched)
            known |= fetched
        found = {chunk.chunk_id: chunk for chunk in known.values()}
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]

    def all_chunks(self) -> Iterator[Chunk]:
        """Yield every live chunk in the order it was indexed, a few thousand at a time."""
        step = 2048
        for start in range(0, self.num_rows, step):
            rows = self._rows(
                f"SELECT {_CHUNK_FIELDS} FROM chunks WHERE chunk_no >= ? AND chunk_no < ? ORDER BY chunk_no",
                [start, start + step],
            )
            yield from (chunk for chunk in map(self._chunk, rows) if chunk.paper_id not in self.removed_papers)

    def chunks_of(self, paper_id: str) -> list[Chunk]:
        """Return a paper's chunks in reading order; none if it is not served from this segment."""
        if paper_id in self.removed_papers:
            return []
        number = self.paper_numbers.get(paper_id)
        if number is None:
            return []
        import numpy as np

        own = np.flatnonzero(self._columns.paper_numbers == number)
        rows = self._rows(
            f"SELECT {_CHUNK_FIELDS} FROM chunks WHERE chunk_no BETWEEN ? AND ? AND paper_no = ? ORDER BY chunk_no",
            [int(own[0]), int(own[-1]), number],
        )
        return [self._chunk(row) for row in rows]

    def chunks_at(self, numbers: Sequence[int]) -> list[Chunk]:
        """Return chunks by their number, in the order of the numbers."""
        rows = self._rows(f"SELECT {_CHUNK_FIELDS} FROM chunks WHERE {_among(numbers)} ORDER BY chunk_no")
        return [self._chunk(row) for row in rows]

    def page_extents(self) -> dict[str, list[tuple[int, int]]]:
        """Return each live paper's (first page, last page) of its chunks."""
        found: dict[str, list[tuple[int, int]]] = {}
        for number, first, last in self._rows("SELECT DISTINCT paper_no, page_start, page_end FROM chunks"):
            if self.paper_ids[number] not in self.removed_papers:
                found.setdefault(self.paper_ids[number], []).append((first, last))
        return found

    def retrievable_numbers(self) -> list[int]:
        """Return the numbers of the live chunks that are retrievable by default."""
        import numpy as np

        numbers: list[int] = np.flatnonzero(self.mask(ANY_RETRIEVABLE)).tolist()
        return numbers

    def papers_with_retrievable_chunks(self) -> set[str]:
        """Return the live papers that have a chunk retrievable by default."""
        import numpy as np

        numbers = np.unique(self._columns.paper_numbers[self.mask(ANY_RETRIEVABLE)])
        return {self.paper_ids[number] for number in numbers.tolist()}

    def removed_vector_ids(self) -> NDArray[np.int64]:
        """Return the vector ids of the retrievable chunks of removed papers, which the files still hold."""
        ids: NDArray[np.int64] = self._columns.vector_ids[~self.live & self._columns.is_retrievable]
        return ids

    def chunk_ids_by_vector_id(self, vector_ids: Sequence[int]) -> list[str]:
        """Return the chunk ids of ``vector_ids`` in their order; raise StoreError for an unknown one."""
        numbers = self._rows_of(vector_ids)
        if len(numbers) != len(vector_ids):
            raise StoreError(
                f"{self.path} does not know all of the vectors asked for; vectors and chunks do not agree."
            )
        return self.chunk_ids(numbers.tolist())

    def chunk_ids(self, numbers: Sequence[int]) -> list[str]:
        """Return the ids of chunks by their number."""
        if self.num_rows <= MAX_NAMES_IN_MEMORY:
            return [self._names[number] for number in numbers]
        names: dict[int, str] = dict(self._rows(f"SELECT chunk_no, chunk_id FROM chunks WHERE {_among(numbers)}"))
        return [names[number] for number in numbers]

    def chunk_numbers(self, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those of ``chunk_ids`` that are in this segment."""
        by_digest = {vector_id(chunk_id): chunk_id for chunk_id in chunk_ids}
        numbers = self._rows_of(list(by_digest))
        digests = self._columns.vector_ids[numbers].tolist()
        return {by_digest[digest]: number for digest, number in zip(digests, numbers.tolist(), strict=True)}

    @cached_property
    def _names(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT chunk_id FROM chunks ORDER BY chunk_no")]

    def vector_ids(self, allowed: ChunkFilter = ANY_RETRIEVABLE) -> NDArray[np.int64]:
        """Return the vector ids of the chunks that may be returned."""
        return self._columns.vector_ids[self.mask(allowed)]

    # -- what may be returned

    @cached_property
    def num_rows(self) -> int:
        """Chunks in the file, removed ones included."""
        return int(self._rows("SELECT count(*) FROM chunks")[0][0])

    @cached_property
    def paper_ids(self) -> list[str]:
        """Paper ids by paper number."""
        return [paper_id for (paper_id,) in self._rows("SELECT paper_id FROM papers ORDER BY paper_no")]

    @cached_property
    def paper_numbers(self) -> Mapping[str, int]:
        return {paper_id: number for number, paper_id in enumerate(self.paper_ids)}

    @cached_property
    def _columns(self) -> _Columns:
        import numpy as np

        kinds = {str(kind): number for number, kind in enumerate(SectionKind)}
        cases = " ".join(f"WHEN '{kind}' THEN {number}" for kind, number in kinds.items())
        data = self._arrays(
            f"SELECT num_terms, paper_no, (CASE section_kind {cases} ELSE -1 END)::SMALLINT AS kind, is_retrievable, "
            "vector_id FROM chunks ORDER BY chunk_no"
        )
        return _Columns(
            np.asarray(data["num_terms"], np.int32),
            np.asarray(data["paper_no"], np.int32),
            np.asarray(data["kind"], np.int16),
            np.asarray(data["is_retrievable"], np.bool_),
            np.asarray(data["vector_id"], np.int64),
        )

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Whether each chunk still counts."""
        import numpy as np

        if not self.removed_papers:
            return np.ones(len(self._columns.lengths), bool)
        return self._live_papers[self._columns.paper_numbers]

    @cached_property
    def _live_papers(self) -> NDArray[np.bool_]:
        import numpy as np

        return np.array([paper_id not in self.removed_papers for paper_id in self.paper_ids], bool)

    def mask(self, allowed: ChunkFilter) -> NDArray[np.bool_]:
        """Return which chunks ``allowed`` lets through; the array is kept and must not be changed."""
        known = self._masks.get([allowed])
        if not known:
            known = {allowed: self._make_mask(allowed)}
            self._masks.put(known)
        return known[allowed]

    def _make_mask(self, allowed: ChunkFilter) -> NDArray[np.bool_]:
        import numpy as np

        columns = self._columns
        mask = self.live.copy()
        if not allowed.include_unretrievable:
            mask &= columns.is_retrievable
        if allowed.section_kinds is not None:
            order = {kind: number for number, kind in enumerate(SectionKind)}
            mask &= np.isin(columns.kinds, [order[SectionKind(kind)] for kind in allowed.section_kinds])
        if allowed.paper_ids is not None or allowed.excluded_paper_ids:
            papers = np.zeros(len(self.paper_ids), bool)
            names = self.paper_numbers
            chosen = self.paper_ids if allowed.paper_ids is None else allowed.paper_ids
            papers[[names[paper_id] for paper_id in chosen if paper_id in names]] = True
            papers[[names[paper_id] for paper_id in allowed.excluded_paper_ids if paper_id in names]] = False
            mask &= papers[columns.paper_numbers]
        return mask

    # -- terms

    def tokenize(self, query: str) -> list[str]:
        """Return the question's distinct terms, folded and stemmed."""
        return tokenize(query)

    def term_stats(self, terms: Sequence[str]) -> dict[str, TermStats]:
        """Return live document frequencies by term."""
        chunk_postings, paper_postings = self.postings(terms), self.paper_postings(terms)
        return {
            term: TermStats(
                self._live_df(chunk_postings[term][0], self.live) if term in chunk_postings else 0,
                self._live_df(paper_postings[term][0], self._live_papers) if term in paper_postings else 0,
            )
            for term in terms
        }

    def _live_df(self, numbers: NDArray[np.int32], live: NDArray[np.bool_]) -> int:
        return int(live[numbers].sum()) if self.removed_papers else len(numbers)

    def postings(self, terms: Sequence[str]) -> dict[str, Postings]:
        """Return (chunk numbers, occurrences) of each term that occurs here."""
        return self._postings(terms, "terms")

    def paper_postings(self, terms: Sequence[str]) -> dict[str, Postings]:
        """Return the same for the papers' metadata, by paper number."""
        return self._postings(terms, "paper_terms")

    def _postings(self, terms: Sequence[str], table: str) -> dict[str, Postings]:
        import numpy as np

        found: dict[str, Postings] = {}
        missing = []
        with self._lock:
            for term in terms:
                if (table, term) in self._cache:
                    self._cache.move_to_end((table, term))
                    found[term] = self._cache[table, term]
                else:
                    missing.append(term)
        if missing:
            nothing = np.zeros(0, np.int32)
            fetched: dict[str, Postings] = dict.fromkeys(missing, (nothing, nothing))
            # Keys are digests, so the numbers of a question can stand in the statement itself.
            keys = ", ".join(str(vector_id(term)) for term in missing)
            for term, numbers, counts in self._rows(
                f"SELECT term, numbers, counts FROM {table} WHERE term_key IN ({keys})"
            ):
                if term in fetched:
                    fetched[term] = np.frombuffer(numbers, "<i4"), np.frombuffer(counts, "<u2").astype(np.int32)
            found |= fetched
            self._remember(table, fetched)
        return {term: rows for term, rows in found.items() if len(rows[0])}

    def _remember(self, table: str, fetched: Mapping[str, Postings]) -> None:
        with self._lock:
            for term, rows in fetched.items():
                if (table, term) not in self._cache and len(rows[0]) <= MAX_CACHED_POSTINGS:
                    self._cache[table, term] = rows
                    self._num_cached += len(rows[0]) + 1
            while self._num_cached > MAX_CACHED_POSTINGS:
                _, (numbers, _) = self._cache.popitem(last=False)
                self._num_cached -= len(numbers) + 1

    @cached_property
    def num_live(self) -> int:
        """Chunks that count, references included."""
        return int(self.live.sum())

    def num_indexed(self) -> int:
        """Return how many live chunks have at least one term."""
        return int((self._columns.lengths[self.live] > 0).sum())

    @cached_property
    def total_terms(self) -> int:
        """Term occurrences in live chunks."""
        return int(self._columns.lengths[self.live].sum(dtype="int64"))

    @property
    def lengths(self) -> NDArray[np.int32]:
        return self._columns.lengths

    @property
    def paper_of_chunk(self) -> NDArray[np.int32]:
        """Paper number of each chunk number."""
        return self._columns.paper_numbers

    @cached_property
    def num_live_papers(self) -> int:
        return int(self._live_papers.sum())

    @cached_property
    def _by_vector_id(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        import numpy as np

        order = np.argsort(self._columns.vector_ids, kind="stable")
        return self._columns.vector_ids[order], order.astype(np.int64)

    def _rows_of(self, vector_ids: Sequence[int]) -> NDArray[np.int64]:
        """Return the numbers of the chunks with these vector ids; unknown and removed ones are left out."""
        import numpy as np

        ids = np.asarray(vector_ids, dtype=np.int64)
        keys, order = self._by_vector_id
        if not len(keys):
            return np.zeros(0, np.int64)
        at = np.minimum(np.searchsorted(keys, ids), len(keys) - 1)
        numbers: NDArray[np.int64] = order[at[keys[at] == ids]]
        return numbers[self.live[numbers]] if self.removed_papers else numbers

    # -- the connection

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        import duckdb

        try:
            with self._lock:
                return self._con.execute(sql, parameters).fetchall()
        except duckdb.Error as error:
            raise _explain(error, self.path) from error

    def _arrays(self, sql: str, parameters: Sequence[Any] = ()) -> dict[str, Any]:
        import duckdb

        try:
            with self._lock:
                return self._con.execute(sql, parameters).fetchnumpy()
        except duckdb.Error as error:
            raise _explain(error, self.path) from error

    def _chunk(self, row: tuple[Any, ...]) -> Chunk:
        """Read a row of ``_CHUNK_FIELDS``; a join for the paper's id would keep DuckDB from using its index."""
        chunk_id, paper_no, section, title, kind, *rest = row
        return Chunk(chunk_id, self.paper_ids[paper_no], section, title, SectionKind(kind), *rest)

    def close(self) -> None:
        self._con.close()


def open_fts(path: Path, removed_papers: Iterable[str] = ()) -> FtsIndex:
    """Open a segment's index read-only; raise StoreError if it is missing or damaged."""
    return FtsIndex(path, removed_papers)


def tokenize(query: str) -> list[str]:
    """Return the distinct terms of a question in order, folded and stemmed as the index is."""
    return list(dict.fromkeys(stem(token) for token in fold_for_search(query, is_query=True).split()))


def _explain(error: Exception, path: Path) -> StoreError:
    """Return what a reader of a file that lacks tables or columns, or is damaged, is told."""
    return StoreError(
        f"The index file {path} is damaged or of another version of this program: {first_line(error)}",
        hint="Run `research-copilot ingest`: the index is built anew from what was read already.",
    )


def _among(numbers: Sequence[int]) -> str:
    return f"chunk_no IN ({', '.join(str(int(number)) for number in numbers) or 'NULL'})"
