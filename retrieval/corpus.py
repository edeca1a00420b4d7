"""What search needs of a corpus. ``store.generation.Generation`` offers it; so does a folder of segment files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from corpus_assets.errors import BadInputError
from corpus_assets.model import Chunk, ClusterMap, PaperRecord

if TYPE_CHECKING:
    from corpus_assets.fts import FtsIndex
    from corpus_assets.vectors import VectorIndex

FTS_FILE = "chunks.duckdb"
VECTORS_FILE = "vectors.faiss"


class CorpusSegment(Protocol):
    """One segment's indexes; ``vectors`` is None where a corpus was built without a model."""

    @property
    def fts(self) -> FtsIndex: ...

    @property
    def vectors(self) -> VectorIndex | None: ...


class Corpus(Protocol):
    """A built corpus, read-only."""

    @property
    def segments(self) -> Sequence[CorpusSegment]: ...

    @property
    def papers(self) -> Mapping[str, PaperRecord]: ...

    @property
    def clusters(self) -> ClusterMap: ...

    def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]: ...


@dataclass(frozen=True)
class OpenSegment:
    """A segment whose files are open."""

    fts: FtsIndex
    vectors: VectorIndex | None


class SegmentCorpus:
    """Segments opened from folders, with the papers' records beside them: a corpus without a home."""

    def __init__(
        self, folders: Sequence[Path], papers: Mapping[str, PaperRecord], clusters: ClusterMap | None = None
    ) -> None:
        from corpus_assets.fts import open_fts
        from corpus_assets.vectors import open_vectors

        self.papers = papers
        self.clusters = clusters or ClusterMap({}, {}, float("nan"), 0.0, 0)
        self.segments = [
            OpenSegment(
                open_fts(folder / FTS_FILE),
                open_vectors(folder / VECTORS_FILE) if (folder / VECTORS_FILE).exists() else None,
            )
            for folder in folders
        ]

    def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return chunks in the order asked; raise BadInputError naming one that is not here."""
        found = {chunk.chunk_id: chunk for segment in self.segments for chunk in segment.fts.chunks(chunk_ids)}
        for chunk_id in chunk_ids:
            if chunk_id not in found:
                raise BadInputError(f"The corpus has no chunk {chunk_id}.")
        return [found[chunk_id] for chunk_id in chunk_ids]

    def close(self) -> None:
        """Close every file."""
        for segment in self.segments:
            segment.fts.close()
            if segment.vectors is not None:
                segment.vectors.close()
