"""Reading one generation: a consistent, read-only view that stays valid while others are built."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from corpus_assets.errors import BadInputError, NothingPublishedError, StoreError
from corpus_assets.model import Card, Chunk, ClusterMap, Page, PaperRecord, Section
from corpus_assets.store.manifest import MANIFEST_FILE, Manifest, SegmentEntry, find_damage, read_head, read_manifest
from corpus_assets.store.papers_file import PapersFile
from corpus_assets.store.publish import generations_dir, published_id
from corpus_assets.store.records import card_from

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.fts import FtsIndex
    from corpus_assets.vectors import VectorIndex

PAPERS_FILE = "papers.duckdb"
CLUSTERS_FILE = "clusters.json"
CARDS_FILE = "cards.json"
CARD_VECTORS_FILE = "card_vectors.npy"


class Segment:
    """One segment's files, opened when first used. ``removed`` are papers in it that count no more."""

    def __init__(self, folder: Path, entry: SegmentEntry) -> None:
        self.name = entry.name
        self.removed = frozenset(entry.removed)
        self.fts_path = folder / entry.fts
        self.vectors_path = folder / entry.vectors if entry.vectors else None
        self._bodies_path = folder / entry.bodies

    @cached_property
    def fts(self) -> FtsIndex:
        """Return the segment's chunks and full-text index."""
        from corpus_assets.fts import open_fts

        return open_fts(self.fts_path, self.removed)

    @cached_property
    def bodies(self) -> PapersFile:
        """Return the texts, pages and sections of the segment's papers, removed ones included."""
        return PapersFile(self._bodies_path)

    @cached_property
    def vectors(self) -> VectorIndex | None:
        """Return the segment's vectors, or ``None`` when it was built without."""
        from corpus_assets.vectors import open_vectors

        return open_vectors(self.vectors_path) if self.vectors_path else None

    def close(self) -> None:
        """Close what was opened."""
        if "fts" in self.__dict__:
            self.fts.close()
        if "bodies" in self.__dict__:
            self.bodies.close()


class Generation:
    """A built corpus. ``papers`` holds every file's record, served or not; chunks exist for served papers only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest: Manifest = read_manifest(path)
        damage = find_damage(path, self.manifest, is_deep=False)
        if damage:
            raise StoreError(
                f"Generation {self.manifest.id} is damaged: {damage[0]}.", hint="Run ingest to rebuild it."
            )
        self.id = self.manifest.id
        self.segments: Sequence[Segment] = [Segment(path, entry) for entry in self.manifest.segments]
        self._bodies_of: dict[str, PapersFile | None] = {}

    @property
    def num_chunks(self) -> int:
        """Return how many chunks the generation has, those of references included."""
        return self.manifest.num_chunks

    @cached_property
    def manifest_sha256(self) -> str:
        """Return the digest of the manifest, and so of every file it names."""
        return hashlib.sha256((self.path / MANIFEST_FILE).read_bytes()).hexdigest()

    @cached_property
    def _papers_file(self) -> PapersFile:
        return PapersFile(self.path / PAPERS_FILE)

    @cached_property
    def papers(self) -> Mapping[str, PaperRecord]:
        """Return paper id -> record, in order of paper id."""
        return self._papers_file.records()

    def pages(self, paper_id: str) -> tuple[Page, ...]:
        """Return a served paper's page ledger."""
        bodies = self._bodies(paper_id)
        return bodies.pages(paper_id) if bodies else ()

    def sections(self, paper_id: str) -> tuple[Section, ...]:
        """Return a served paper's sections."""
        bodies = self._bodies(paper_id)
        return bodies.sections(paper_id) if bodies else ()

    def text(self, paper_id: str) -> str:
        """Return a served paper's text, which chunk and quote offsets point into."""
        bodies = self._bodies(paper_id)
        return bodies.text(paper_id) if bodies else ""

    def _bodies(self, paper_id: str) -> PapersFile | None:
        """Return the file that holds a paper's body, ``None`` for a paper that is not served."""
        if paper_id not in self._bodies_of:
            holders = (segment for segment in self.segments if paper_id not in segment.removed)
            self._bodies_of[paper_id] = next((s.bodies for s in holders if s.bodies.has(paper_id)), None)
        return self._bodies_of[paper_id]

    def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return chunks in the order asked; raises ``BadInputError`` naming an id that is not in the generation."""
        found: dict[str, Chunk] = {}
        for segment in self.segments:
            missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
            if missing:
                found.update({chunk.chunk_id: chunk for chunk in segment.fts.chunks(missing)})
        absent = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
        if absent:
            raise BadInputError(
                f"Generation {self.id} has no chunk {absent[0]}.", hint="It may be of another generation."
            )
        return [found[chunk_id] for chunk_id in chunk_ids]

    def chunk(self, chunk_id: str) -> Chunk:
        """Return one chunk."""
        return self.chunks([chunk_id])[0]

    def chunks_of(self, paper_id: str) -> list[Chunk]:
        """Return a paper's chunks in order of the text."""
        chunks = [chunk for segment in self.segments for chunk in segment.fts.chunks_of(paper_id)]
        return sorted(chunks, key=lambda chunk: (chunk.char_start, chunk.char_end))

    @cached_property
    def cards(self) -> Mapping[str, Card]:
        """Return paper id -> card."""
        rows = json.loads((self.path / CARDS_FILE).read_text("utf-8"))
        return {row["paper_id"]: card_from(row) for row in rows}

    def card_vectors(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return paper ids and their cards' unit vectors, ``(n, dimension)``, in the same order."""
        import numpy as np

        return list(self.cards), np.load(self.path / CARD_VECTORS_FILE)

    @cached_property
    def clusters(self) -> ClusterMap:
        """Return the cluster map."""
        return read_clusters(self.path / CLUSTERS_FILE)

    def close(self) -> None:
        """Close every file; the object must not be used afterwards."""
        if "_papers_file" in self.__dict__:
            self._papers_file.close()
        for segment in self.segments:
            segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def read_clusters(path: Path) -> ClusterMap:
    """Read ``clusters.json``."""
    data = json.loads(path.read_text("utf-8"))
    return ClusterMap(
        assignments=data["assignments"],
        labels={int(key): label for key, label in data["labels"].items()},
        silhouette=math.nan if data["silhouette"] is None else data["silhouette"],
        largest_share=data["largest_share"],
        k=data["k"],
        coordinates={key: (value[0], value[1]) for key, value in data["coordinates"].items()},
    )


def open_published(home: Path) -> Generation:
    """Open the generation readers see. Raises ``NothingPublishedError``."""
    generation_id = published_id(home)
    if generation_id is None:
        raise NothingPublishedError(
            f"No corpus is published in {home}: no generation, 0 papers.",
            hint="Run `research-copilot ingest FOLDER` first.",
        )
    return open_generation(home, generation_id)


def open_generation(home: Path, generation_id: str) -> Generation:
    """Open a generation by id. Raises ``StoreError`` when a file of it is missing or damaged."""
    return Generation(generations_dir(home) / generation_id)


@dataclass(frozen=True)
class GenerationSummary:
    """A line of `research-copilot generations`."""

    id: str
    created: str
    num_papers: int
    num_chunks: int
    published: bool


def list_generations(home: Path) -> list[GenerationSummary]:
    """Return the complete generations of a home, newest first."""
    current = published_id(home)
    folder = generations_dir(home)
    found = []
    for path in folder.iterdir() if folder.exists() else ():
        if path.is_dir() and not path.name.startswith(".") and (path / MANIFEST_FILE).exists():
            head = read_head(path) or read_manifest(path).model_dump()  # which raises and names the damage
            found.append(
                GenerationSummary(
                    path.name, head["created"], head["num_papers"], head["num_chunks"], path.name == current
                )
            )
    return sorted(found, key=lambda summary: (summary.created, summary.id), reverse=True)
