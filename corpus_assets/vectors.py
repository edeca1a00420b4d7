"""Vectors of a segment: a FAISS file that is exact while it is small, approximate and measured once it is large.

Scores are inner products of unit vectors, i.e. cosines. Ids are the int64 digests of chunk ids. An exact file is read
without FAISS at all: one matrix product with numpy costs the same, and a question asked from a cold start saves the
import (and the clash of FAISS's OpenMP with torch's).
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol

from corpus_assets.errors import StoreError
from corpus_assets.settings import IndexSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_RECALL = 0.99
_RECALL_K = 10
_RECALL_QUERIES = 200
_NUM_CLUSTERS_PER_ROOT = 4  # FAISS's guideline: 4 * sqrt(n) inverted lists
_TRAINING_PER_CLUSTER = 64
VECTORS_VERSION = "1"  # raised when the same vectors give another file
_EXACT_SHARE = 0.05  # a filter that leaves this share or less of an approximate index is searched exactly
_SEED = 13
_BLOCK = 16_384  # vectors checked at a time
_REMEMBERED_IDS = 65_536  # of chunks met in searches

# FAISS's file layout (faiss/impl/index_write.cpp): fourcc, then d, ntotal, two unused numbers, is_trained, metric.
_HEADER = struct.Struct("<4siqqq?i")


@dataclass(frozen=True)
class VectorStats:
    """What was built. ``recall_at_10`` is against exact search; 1.0 for an exact index."""

    kind: Literal["flat", "ivf"]
    num_vectors: int
    dimension: int
    recall_at_10: float
    num_lists: int = 0
    num_probes: int = 0


class VectorIndex(Protocol):
    """A read-only set of unit vectors with int64 ids."""

    num_vectors: int
    dimension: int

    def search(
        self, query: NDArray[np.float32], k: int, allowed_ids: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return at most ``k`` (scores, ids), best first, equal scores by id; never a padding id."""
        ...

    def reconstruct(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the ``(len(ids), dimension)`` vectors of ``ids``; raises StoreError for an unknown id."""
        ...

    def ids(self) -> NDArray[np.int64]:
        """Return every id, in the order they were added."""
        ...

    def known(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of ``ids`` that are here, in their order."""
        ...

    def close(self) -> None:
        """Let go of the file; the index must not be used afterwards."""
        ...


@lru_cache(maxsize=_REMEMBERED_IDS)
def vector_id(chunk_id: str) -> int:
    """Return the chunk's id in FAISS: 63 bits of the sha256 of its name, never negative."""
    digest = hashlib.sha256(chunk_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def build_vectors(
    vectors: NDArray[np.float32], ids: NDArray[np.int64], path: Path, settings: IndexSettings
) -> VectorStats:
    """Write the FAISS index of ``vectors`` (n, d) under ``ids`` (n,) to ``path``, atomically.

    Above ``settings.exact_up_to`` vectors the index is an inverted file; the number of lists probed is doubled until
    its recall at 10 against exact search reaches ``MIN_RECALL`` on vectors disturbed by noise, and is kept in the file.
    """
    import faiss
    import numpy as np

    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    ids = np.ascontiguousarray(ids, dtype=np.int64)
    if vectors.ndim != 2 or len(vectors) != len(ids):
        raise StoreError(f"{path}: {vectors.shape} vectors do not fit {len(ids)} ids.")
    if len(np.unique(ids)) != len(ids) or (len(ids) and ids.min() < 0):
        raise StoreError(f"{path}: vector ids repeat or are negative.")
    for start in range(0, len(vectors), _BLOCK):
        is_finite = np.isfinite(vectors[start : start + _BLOCK]).all(axis=1)
        if not is_finite.all():
            raise StoreError(f"{path}: vector of id {ids[start + int(is_finite.argmin())]} is not finite.")
    num, dimension = vectors.shape
    if num <= settings.exact_up_to:
        index = faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
        index.add_with_ids(vectors, ids)
        stats = VectorStats("flat", num, dimension, 1.0)
    else:
        index, stats = _build_inverted_file(vectors, ids)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        faiss.write_index(index, str(scratch))
        with scratch.open("rb") as file:
            os.fsync(file.fileno())
        scratch.replace(path)
    except (RuntimeError, OSError) as error:
        raise StoreError(f"The vector index {path} could not be written: {error}", retryable=True) from error
    finally:
        scratch.unlink(missing_ok=True)
    return stats


def build_vectors_streamed(
    ids: Iterable[int],
    batches: Iterable[tuple[Sequence[int], NDArray[np.float32]]],
    dimension: int,
    path: Path,
    settings: IndexSettings,
) -> VectorStats:
    """Write the index of vectors that arrive in batches of (ids, vectors), in any order, as ``build_vectors``.

    ``ids`` are all there will be. Rows are put in order of id, so that the same vectors give the same file. Until the
    index is written they stand in a file beside it, which the system keeps in memory only as far as there is room.
    """
    import numpy as np

    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.rows.tmp")
    ordered = np.sort(np.fromiter(ids, dtype=np.int64))
    num, num_found = len(ordered), 0
    try:
        if not num:
            return build_vectors(np.zeros((0, dimension), np.float32), ordered, path, settings)
        rows = np.memmap(scratch, dtype=np.float32, mode="w+", shape=(num, dimension))
        for batch_ids, vectors in batches:
            at = np.searchsorted(ordered, batch_ids)
            rows[at] = vectors
            num_found += len(at)
        if num_found != num:
            raise StoreError(f"{path}: {num_found} vectors came, {num} were announced.")
        return build_vectors(rows, ordered, path, settings)
    except OSError as error:
        raise StoreError(f"The vector index {path} could not be written: {error}", retryable=True) from error
    finally:
        scratch.unlink(missing_ok=True)


def open_vectors(path: Path) -> VectorIndex:
    """Open an index file read-only; raise StoreError if it is missing or damaged."""
    try:
        with path.open("rb") as file:
            flat = _read_flat(file)
    except OSError as error:
        raise StoreError(f"The vector index {path} cannot be read: {error}") from error
    except (ValueError, struct.error) as error:
        raise StoreError(
            f"The vector index {path} is damaged: {error}", hint="Run `research-copilot ingest`."
        ) from error
    return flat if flat is not None else _InvertedFile(path)


def _build_inverted_file(vectors: NDArray[np.float32], ids: NDArray[np.int64]) -> tuple[Any, VectorStats]:
    import faiss
    import numpy as np

    num, dimension = vectors.shape
    num_lists = max(1, min(int(_NUM_CLUSTERS_PER_ROOT * num**0.5), num // 39 or 1))
    inner = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, num_lists, faiss.METRIC_INNER_PRODUCT)
    inner.cp.seed = _SEED
    inner.cp.max_points_per_centroid = _TRAINING_PER_CLUSTER
    random = np.random.default_rng(_SEED)
    sample = random.permutation(num)[: num_lists * _TRAINING_PER_CLUSTER]
    inner.train(vectors[np.sort(sample)])
    index = faiss.IndexIDMap2(inner)
    index.add_with_ids(vectors, ids)
    inner.make_direct_map(True)

    picked = vectors[random.permutation(num)[:_RECALL_QUERIES]]
    noise = random.standard_normal(picked.shape).astype(np.float32)
    queries = picked + 0.5 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    k = min(_RECALL_K, num)
    truth = _exact_top(vectors, queries, k)
    inner.nprobe = min(4, num_lists)
    while True:
        _, found = inner.search(queries, k)
        recall = sum(len(np.intersect1d(a, b)) for a, b in zip(truth, found, strict=True)) / truth.size
        if recall >= MIN_RECALL or inner.nprobe >= num_lists:
            break
        inner.nprobe = min(inner.nprobe * 2, num_lists)
    return index, VectorStats("ivf", num, dimension, float(recall), num_lists, int(inner.nprobe))


def _exact_top(vectors: NDArray[np.float32], queries: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    import faiss
    import numpy as np

    scores, rows = faiss.knn(queries, vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
    del scores
    return np.asarray(rows, dtype=np.int64)


def _best(scores: NDArray[np.float32], ids: NDArray[np.int64], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    import numpy as np

    if len(scores) > k:
        worst = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= worst)
        scores, ids = scores[kept], ids[kept]
    order = np.lexsort((ids, -scores))[:k]
    return scores[order], ids[order]


class _Ids:
    """Ids by row, and rows by id."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self.ids = ids

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        import numpy as np

        return np.argsort(self.ids, kind="stable")

    @cached_property
    def _sorted(self) -> NDArray[np.int64]:
        return self.ids[self._order]

    def rows(self, ids: NDArray[np.int64], *, strict: bool) -> NDArray[np.int64]:
        """Return the rows of ``ids``; unknown ids raise StoreError when strict, else they are left out."""
        import numpy as np

        ids = np.asarray(ids, dtype=np.int64)
        if not len(self.ids):
            at, known = np.zeros(len(ids), np.int64), np.zeros(len(ids), bool)
        else:
            at = np.minimum(np.searchsorted(self._sorted, ids), len(self.ids) - 1)
            known = self._sorted[at] == ids
        if strict and not known.all():
            raise StoreError(f"No vector with id {ids[~known][0]} in this index.")
        return self._order[at[known]] if len(self.ids) else at[known]


class _Flat:
    """An exact index in memory."""

    def __init__(self, matrix: NDArray[np.float32], ids: NDArray[np.int64]) -> None:
        self._matrix = matrix
        self._ids = _Ids(ids)
        self.num_vectors, self.dimension = matrix.shape

    def search(
        self, query: NDArray[np.float32], k: int, allowed_ids: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        query = _checked(query, self.dimension)
        if allowed_ids is None:
            return _best(self._matrix @ query, self._ids.ids, max(k, 0))
        rows = self._ids.rows(allowed_ids, strict=False)
        if len(rows) > self.num_vectors // 4:  # cheaper to score all than to gather
            return _best((self._matrix @ query)[rows], self._ids.ids[rows], max(k, 0))
        return _best(self._matrix[rows] @ query, self._ids.ids[rows], max(k, 0))

    def ids(self) -> NDArray[np.int64]:
        return self._ids.ids

    def known(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._ids.ids[self._ids.rows(ids, strict=False)]

    def reconstruct(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._matrix[self._ids.rows(ids, strict=True)]

    def close(self) -> None:
        import numpy as np

        self._matrix = np.zeros((0, self.dimension), np.float32)
        self._ids = _Ids(np.zeros(0, np.int64))


class _InvertedFile:
    """An approximate index, mapped from its file; small filters are answered exactly."""

    def __init__(self, path: Path) -> None:
        import faiss
        import numpy as np

        try:
            index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
            self._index = index
            self._inner = faiss.extract_index_ivf(index)
        except RuntimeError as error:
            raise StoreError(
                f"The vector index {path} is damaged: {error}", hint="Run `research-copilot ingest`."
            ) from error
        self._ids = _Ids(np.asarray(faiss.vector_to_array(index.id_map), dtype=np.int64))
        self.num_vectors, self.dimension = int(index.ntotal), int(index.d)

    def search(
        self, query: NDArray[np.float32], k: int, allowed_ids: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        import faiss
        import numpy as np

        query = _checked(query, self.dimension)
        k = min(max(k, 0), self.num_vectors)
        if not k:
            return np.zeros(0, np.float32), np.zeros(0, np.int64)
        if allowed_ids is None:
            scores, rows = self._inner.search(query[None], k)
        else:
            allowed = self._ids.rows(allowed_ids, strict=False)
            if len(allowed) <= max(k, int(self.num_vectors * _EXACT_SHARE)):
                return _best(self._rows(allowed) @ query, self._ids.ids[allowed], k)
            bits = np.zeros(self.num_vectors, bool)
            bits[allowed] = True
            bitmap = np.packbits(bits, bitorder="little")
            chosen = faiss.IDSelectorBitmap(bitmap)  # type: ignore[call-arg, arg-type]  # the wrapper takes the array alone
            params: Any = faiss.SearchParametersIVF(sel=chosen, nprobe=self._inner.nprobe)  # type: ignore[call-arg]
            scores, rows = self._inner.search(query[None], min(k, len(allowed)), params=params)
        found = rows[0] >= 0
        return _best(scores[0][found], self._ids.ids[rows[0][found]], k)

    def ids(self) -> NDArray[np.int64]:
        return self._ids.ids

    def known(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._ids.ids[self._ids.rows(ids, strict=False)]

    def reconstruct(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._rows(self._ids.rows(ids, strict=True))

    def _rows(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        import numpy as np

        if not len(rows):
            return np.zeros((0, self.dimension), np.float32)
        return np.asarray(self._inner.reconstruct_batch(rows), dtype=np.float32)

    def close(self) -> None:
        del self._inner, self._index


def _checked(query: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    import numpy as np

    query = np.ascontiguousarray(query, dtype=np.float32).reshape(-1)
    if len(query) != dimension:
        raise StoreError(
            f"The question's vector has {len(query)} dimensions, the index {dimension}.",
            hint="Ask with the embedding model the corpus was built with, or ingest again with the new one.",
        )
    return query


def _read_flat(file: BinaryIO) -> _Flat | None:
    """Read an ``IndexIDMap2(IndexFlatIP)`` file, or return None if it holds another kind of index."""
    import numpy as np

    kind, dimension, num, *_ = _read_header(file)
    if kind != b"IxM2":
        raise ValueError(f"it starts with {kind!r}, not with an id map")
    inner_kind, *_ = _read_header(file)
    if inner_kind != b"IxFI":
        return None
    matrix = _read_array(file, np.dtype("<f4"))
    ids = _read_array(file, np.dtype("<i8"))
    if len(matrix) != num * dimension or len(ids) != num:
        raise ValueError(f"{num} vectors of {dimension} dimensions announced, {len(matrix)} numbers and {len(ids)} ids")
    return _Flat(matrix.reshape(num, dimension), ids)


def _read_header(file: BinaryIO) -> tuple[bytes, int, int]:
    kind, dimension, num, _, _, _, metric = _HEADER.unpack(file.read(_HEADER.size))
    if metric > 1:
        raise ValueError(f"metric {metric} is unknown")
    return kind, dimension, num


def _read_array(file: BinaryIO, dtype: np.dtype[Any]) -> NDArray[Any]:
    import numpy as np

    (count,) = struct.unpack("<Q", file.read(8))
    left = os.fstat(file.fileno()).st_size - file.tell()
    if count * dtype.itemsize > left:
        raise ValueError(f"{count * dtype.itemsize} bytes announced, {left} left")
    array = np.empty(count, dtype)
    file.readinto(array.view(np.uint8).data)  # type: ignore[attr-defined]
    return array
