"""Which generation the working store amounts to, and its manifest."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from corpus_assets.cards import CARDS_VERSION
from corpus_assets.chunking import CHUNKER_VERSION
from corpus_assets.clustering import CLUSTERING_VERSION
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.fts_build import FORMAT_VERSION as FTS_VERSION
from corpus_assets.model import PaperRecord
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.card_plan import plan_cards
from corpus_assets.store.candidate import Candidate
from corpus_assets.store.duck import to_json
from corpus_assets.store.generation import PAPERS_FILE
from corpus_assets.store.manifest import EmbedderEntry, Manifest, SegmentEntry
from corpus_assets.store.papers_file import write_papers
from corpus_assets.store.working import WorkingStore
from corpus_assets.vectors import VECTORS_VERSION

SEGMENT = "segment-0"
FTS_FILE = f"{SEGMENT}/chunks.duckdb"
VECTORS_FILE = f"{SEGMENT}/vectors.faiss"

_LIBRARIES = ("dagster", "pymupdf", "duckdb", "faiss-cpu", "numpy", "scikit-learn", "onnxruntime", "tokenizers")


def open_candidate(store: WorkingStore, settings: Settings, embedder: Embedder) -> Candidate:
    """Return the candidate of the store's present content: same content, settings and model, same id."""
    return Candidate(store.home, candidate_id(store, settings, embedder))


def candidate_id(store: WorkingStore, settings: Settings, embedder: Embedder) -> str:
    """Return the generation id: a digest of records, chunks, shaping settings, model and component versions."""
    return fingerprint(
        {
            "papers": papers_digest(store),
            "chunks": chunks_digest(store),
            "settings": settings.corpus_fingerprint(),
            "embedder": embedder.fingerprint,
            "versions": component_versions(),
            **({"cards": cards} if (cards := plan_cards(store, settings)) else {}),
        }
    )


def component_versions() -> dict[str, str]:
    """Return the versions of the project's own parts whose change makes another generation."""
    from corpus_assets.pdf.reader import PARSER_VERSION

    return {
        "parser": PARSER_VERSION,
        "chunker": CHUNKER_VERSION,
        "fts": FTS_VERSION,
        "vectors": VECTORS_VERSION,
        "clustering": CLUSTERING_VERSION,
        "cards": CARDS_VERSION,
    }


def papers_digest(store: WorkingStore) -> str:
    """Return the digest of every record, served or not."""
    return fingerprint([to_json(record) for record in store.papers().values()])


def chunks_digest(store: WorkingStore) -> str:
    """Return the digest of every chunk's id and content."""
    digest = hashlib.sha256()
    for row in store.chunk_digest_rows():
        digest.update(f"{row.chunk_id}\0{row.digest}\n".encode())
    return digest.hexdigest()[:16]


def served_papers(store: WorkingStore) -> dict[str, PaperRecord]:
    """Return the records that have chunks."""
    return {paper_id: record for paper_id, record in store.papers().items() if record.is_served}


def ensure_papers(store: WorkingStore, candidate: Candidate) -> None:
    """Write ``papers.duckdb`` of the candidate unless it is there."""

    def build(folder: Path) -> tuple[list[str], dict[str, int]]:
        records = store.papers().values()
        pairs = ((record, store.parsed(record.doc_sha256) if record.is_served else None) for record in records)
        return [PAPERS_FILE], {"num_records": write_papers(folder / PAPERS_FILE, pairs)}

    candidate.ensure("papers", papers_digest(store), build)


def seal_candidate(store: WorkingStore, settings: Settings, embedder: Embedder, candidate: Candidate) -> None:
    """Write the candidate's manifest; every artifact must be there."""
    served = served_papers(store)
    rows = store.chunk_digest_rows()
    shaping = {
        name: getattr(settings, name).model_dump(mode="json")
        for name in ("parse", "chunks", "embedding", "index", "clusters", "cards")
    }
    manifest = Manifest(
        id=candidate.id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        papers_dir=store.get_meta("papers_dir") or "",
        num_papers=len(served),
        num_pages=sum(record.num_pages for record in served.values()),
        num_chunks=len(rows),
        num_vectors=sum(row.is_retrievable for row in rows),
        embedder=EmbedderEntry(name=embedder.name, fingerprint=embedder.fingerprint, dimension=embedder.dimension),
        settings=shaping,
        settings_fingerprint=settings.corpus_fingerprint(),
        versions={**component_versions(), **_library_versions()},
        segments=(SegmentEntry(name=SEGMENT, fts=FTS_FILE, vectors=VECTORS_FILE),),
        artifacts=candidate.artifacts(),
    )
    candidate.seal(manifest)


def _library_versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        versions[name] = importlib.metadata.version(name)
    return versions


def searchable(record: PaperRecord) -> PaperRecord:
    """Return the record without what full-text search does not use, so that a moved file shares its index."""
    return replace(record, reason="", flags=(), num_pages=0, num_pages_expected=0)
