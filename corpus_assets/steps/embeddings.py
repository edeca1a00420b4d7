"""From chunks to vectors, each text embedded once for each model."""

from __future__ import annotations

import time

from corpus_assets.chunking import embed_text
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.report import Progress, StepReport, no_progress
from corpus_assets.store.working import WorkingStore

_PAPERS_AT_ONCE = 64  # papers whose chunks are in memory together
_STORED_AT_ONCE = 256  # texts a transaction: what a killed run loses at most


def embed_chunks(
    store: WorkingStore, settings: Settings, embedder: Embedder, *, progress: Progress = no_progress
) -> StepReport:
    """Embed the retrievable chunks whose text has no vector of this model yet."""
    started = time.monotonic()
    contents = store.paper_contents()
    paper_ids, total = store.papers_to_embed(embedder.fingerprint)
    titles = {record.paper_id: record.metadata.title for record in store.papers().values()} if paper_ids else {}
    done = 0
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

    for start in range(0, len(paper_ids), _PAPERS_AT_ONCE):
        some = [
            (chunk, key)
            for chunk, key in store.chunks_of(paper_ids[start : start + _PAPERS_AT_ONCE])
            if chunk.is_retrievable
        ]
        missing = store.missing_embeddings(embedder.fingerprint, [key for _, key in some])
        for chunk, key in some:
            if key in missing:
                missing.discard(key)
                keys.append(key)
                texts.append(embed_text(titles[chunk.paper_id], chunk.text, settings.embedding.include_title))
                if len(keys) >= _STORED_AT_ONCE:
                    flush()
        flush()
    num_vectors = sum(content.num_retrievable for content in contents.values())
    counts = {
        "num_vectors": num_vectors,
        "num_embedded": done,
        "num_cached": num_vectors - done,
        "dimension": embedder.dimension,
        "seconds": round(time.monotonic() - started, 3),
    }
    version = fingerprint([embedder.fingerprint, [[name, content.chunks_digest] for name, content in contents.items()]])
    notes = (embedder.degraded,) if embedder.degraded else ()
    return StepReport(
        "embeddings", counts, version, {"model": f"{embedder.name} ({embedder.fingerprint})"}, notes=notes
    )
