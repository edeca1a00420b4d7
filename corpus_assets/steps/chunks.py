"""From papers to chunks, for the papers whose text, title or chunk settings changed."""

from __future__ import annotations

import hashlib
import random
import time

from corpus_assets.chunking import CHUNKER_VERSION, chunk_paper, embed_text
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.model import PaperRecord
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.card_plan import begin_attempt
from corpus_assets.steps.report import Progress, StepReport, no_progress
from corpus_assets.store.working import Doc, WorkingStore


def chunk_papers(
    store: WorkingStore, settings: Settings, embedder: Embedder, *, progress: Progress = no_progress
) -> StepReport:
    """Replace the chunks of papers that changed; the others keep theirs, ids and all."""
    started = time.monotonic()
    begin_attempt(store, settings)
    served = [record for record in store.papers().values() if record.is_served]
    have = store.chunk_keys()
    docs = store.docs()
    keys = {record.paper_id: _chunk_key(record, docs[record.doc_sha256], settings, embedder) for record in served}
    stale = [record for record in served if have.get(record.paper_id) != keys[record.paper_id]]
    num_new = 0
    for done, record in enumerate(stale, start=1):
        parsed = store.parsed(record.doc_sha256)
        assert parsed is not None, f"{record.paper_id} is served without a text"
        title, with_title = record.metadata.title, settings.embedding.include_title
        chunks = chunk_paper(record.paper_id, title, parsed, embedder, settings.chunks, with_title)
        texts = [embed_text(title, chunk.text, with_title) for chunk in chunks]
        store.replace_chunks(record.paper_id, keys[record.paper_id], chunks, [text_key(text) for text in texts])
        num_new += len(chunks)
        progress("chunks", done, len(stale), record.paper_id)
    contents = store.paper_contents()
    counts = {
        "num_papers": len(served),
        "num_papers_chunked": len(stale),
        "num_chunks": sum(content.num_chunks for content in contents.values()),
        "num_new_chunks": num_new,
        "num_retrievable": sum(content.num_retrievable for content in contents.values()),
        "seconds": round(time.monotonic() - started, 3),
    }
    version = fingerprint([[paper_id, content.chunks_digest] for paper_id, content in contents.items()])
    return StepReport("chunks", counts, version, _sample(store, version))


def text_key(text: str) -> str:
    """Return the sha256 of an embedded text: with the model's fingerprint, the key of its vector."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _chunk_key(record: PaperRecord, doc: Doc, settings: Settings, embedder: Embedder) -> str:
    return fingerprint(
        [
            CHUNKER_VERSION,
            doc.parse_key,
            doc.sha256,
            doc.text_sha256,
            record.metadata.title,
            settings.chunks.model_dump(mode="json"),
            settings.embedding.include_title,
            embedder.fingerprint,
            embedder.max_tokens,
        ]
    )


def _sample(store: WorkingStore, seed: str) -> dict[str, str]:
    paper_ids = [paper_id for paper_id, content in store.paper_contents().items() if content.num_chunks]
    if not paper_ids:
        return {}
    chance = random.Random(seed)
    chunk, _ = chance.choice(list(store.chunks_of([chance.choice(paper_ids)])))
    head = f"`{chunk.chunk_id}`, section {chunk.section_title or chunk.section}, page {chunk.pages}, "
    return {"sample_chunk": f"{head}{chunk.num_tokens} tokens\n\n{chunk.text}"}
