"""Build the candidate's vector index and full-text index."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

from corpus_assets.embedding.protocol import Embedder
from corpus_assets.fts import build_fts
from corpus_assets.fts_build import FORMAT_VERSION as FTS_VERSION
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.candidate import (
    FTS_FILE,
    VECTORS_FILE,
    chunks_digest,
    open_candidate,
    searchable,
    served_papers,
)
from corpus_assets.steps.report import StepReport
from corpus_assets.store.duck import to_json
from corpus_assets.store.working import WorkingStore
from corpus_assets.vectors import VECTORS_VERSION, build_vectors, vector_id


def build_vector_index(store: WorkingStore, settings: Settings, embedder: Embedder) -> StepReport:
    """Build the FAISS index over the retrievable chunks unless a generation already has the same one."""
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    rows = [row for row in store.chunk_digest_rows() if row.is_retrievable]
    inputs = fingerprint(
        [
            VECTORS_VERSION,
            embedder.fingerprint,
            settings.index.exact_up_to,
            [[row.chunk_id, row.embed_sha256] for row in rows],
        ]
    )

    def build(folder: Path) -> tuple[list[str], dict[str, object]]:
        import numpy as np

        path = folder / VECTORS_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        keys = [row.embed_sha256 for row in rows]
        vectors = store.embeddings(embedder.fingerprint, keys, embedder.dimension)
        ids = np.array([vector_id(row.chunk_id) for row in rows], dtype=np.int64)
        stats = build_vectors(vectors, ids, path, settings.index)
        return _files_beside(folder, path), asdict(stats)

    artifact, origin = candidate.ensure("vectors", inputs, build)
    counts: dict[str, int | float] = {
        "num_vectors": len(rows),
        "num_built": int(origin == "built"),
        "recall_at_10": float(artifact.stats["recall_at_10"]),
        "megabytes": round(sum(entry.size for entry in artifact.files.values()) / 1e6, 3),
        "seconds": round(time.monotonic() - started, 3),
    }
    return StepReport("faiss_index", counts, inputs, {"index": str(artifact.stats["kind"])})


def build_full_text_index(store: WorkingStore, settings: Settings, embedder: Embedder) -> StepReport:
    """Build the chunks file with its full-text index unless a generation already has the same one."""
    started = time.monotonic()
    candidate = open_candidate(store, settings, embedder)
    papers = {paper_id: searchable(record) for paper_id, record in served_papers(store).items()}
    inputs = fingerprint(
        [
            FTS_VERSION,
            settings.index.bm25_k1,
            settings.index.bm25_b,
            chunks_digest(store),
            [to_json(record) for record in papers.values()],
        ]
    )

    def build(folder: Path) -> tuple[list[str], dict[str, object]]:
        path = folder / FTS_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        stats = build_fts((chunk for chunk, _ in store.chunks()), papers, path, settings.index)
        return [FTS_FILE], asdict(stats)

    artifact, origin = candidate.ensure("fts", inputs, build)
    numbers = {key: value for key, value in artifact.stats.items() if isinstance(value, int | float)}
    counts = {
        **numbers,
        "num_built": int(origin == "built"),
        "megabytes": round(sum(entry.size for entry in artifact.files.values()) / 1e6, 3),
        "seconds": round(time.monotonic() - started, 3),
    }
    return StepReport("fts_index", counts, inputs)


def _files_beside(folder: Path, path: Path) -> list[str]:
    """Return the index file and what belongs to it (same stem), relative to ``folder``."""
    return sorted(str(found.relative_to(folder)) for found in path.parent.glob(f"{path.stem}.*"))
