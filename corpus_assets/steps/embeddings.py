"""From chunks to vectors, each text embedded once for each model."""

from __future__ import annotations

import time

from corpus_assets.chunking import embed_text
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.report import Progress, StepReport, no_progress
from corpus_assets.store.working import WorkingStore

_STORED_AT_ONCE = 256  # texts a transaction: what a killed run loses at most


def embed_chunks(
    store: WorkingStore, settings: Settings, embedder: Embedder, *, progress: Progress = no_progress
) -> StepReport:
    """Embed the retrievable chunks whose text has no vector of this model yet."""
    started = time.monotonic()
    rows = [row for row in store.chunk_digest_rows() if row.is_retrievable]
    missing = store.missing_embeddings(embedder.fingerprint, [row.embed_sha256 for row in rows])
    titles = {record.paper_id: record.metadata.title for record in store.papers().values()}
    total, done = len(missing), 0
    progress("embeddings", 0, total, embedder.name)
    keys: list[str] = []
    texts: list[str] = []

    def flush() -> None:
        nonlocal done
        if keys:
            store.put_embeddings(embedder.fingerprint, keys, embedder.embed_documents(texts))
            done += len(keys)
            progress("embeddings", done, total, embedder.name)
            keys.clear()
            texts.clear()

    if missing:
        for chunk, key in list(store.chunks()):
            if key in missing and chunk.is_retrievable:
                missing.discard(key)
                keys.append(key)
                texts.append(embed_text(titles[chunk.paper_id], chunk.text, settings.embedding.include_title))
                if len(keys) >= _STORED_AT_ONCE:
                    flush()
        flush()
    counts = {
        "num_vectors": len(rows),
        "num_embedded": done,
        "num_cached": len(rows) - done,
        "dimension": embedder.dimension,
        "seconds": round(time.monotonic() - started, 3),
    }
    version = fingerprint([embedder.fingerprint, [[row.chunk_id, row.embed_sha256] for row in rows]])
    notes = (embedder.degraded,) if embedder.degraded else ()
    return StepReport(
        "embeddings", counts, version, {"model": f"{embedder.name} ({embedder.fingerprint})"}, notes=notes
    )
