"""Small corpora for search tests: papers from lists of passages."""

import hashlib
import random
from pathlib import Path

from corpus_assets.model import Chunk, PaperMetadata, PaperRecord, PaperStatus, SectionKind
from corpus_assets.settings import IndexSettings

INDEX = IndexSettings.model_validate({})


def make_paper(paper_id, *texts, kinds=None, status=PaperStatus.READY, retraction="", version_of="", **metadata):
    record = PaperRecord(
        paper_id,
        status,
        f"{paper_id}.pdf",
        "",
        PaperMetadata(**metadata),
        retraction=retraction,
        version_of=version_of,
    )
    kinds = kinds or [SectionKind.OTHER] * len(texts)
    chunks = [
        Chunk(
            chunk_id=f"{paper_id}:{kind}:{number}",
            paper_id=paper_id,
            section=str(kind),
            section_title=kind.title(),
            section_kind=kind,
            index=number,
            text=text,
            char_start=0,
            char_end=len(text),
            page_start=number + 1,
            page_end=number + 1,
            text_sha256=hashlib.sha256(text.encode()).hexdigest(),
            num_tokens=len(text.split()),
            is_retrievable=kind != SectionKind.REFERENCES,
        )
        for number, (text, kind) in enumerate(zip(texts, kinds, strict=True))
    ]
    return record, chunks


def random_papers(num, seed=3, vocabulary=400):
    """Return papers of random words, frequent and rare ones as in real text."""
    chance = random.Random(seed)
    words = [f"w{number}" for number in range(vocabulary)]
    weights = [1 / (rank + 1) for rank in range(vocabulary)]
    return [
        make_paper(
            f"paper-{number:04}", *(" ".join(chance.choices(words, weights, k=chance.randint(3, 60))) for _ in range(2))
        )
        for number in range(num)
    ]


def build_segment(folder: Path, papers, embedder=None):
    """Write a segment's files; vectors only with an embedder, of retrievable chunks, as an ingest does."""
    import numpy as np

    from corpus_assets.fts import build_fts
    from corpus_assets.vectors import build_vectors, vector_id
    from retrieval.corpus import FTS_FILE, VECTORS_FILE

    chunks = [chunk for _, own in papers for chunk in own]
    build_fts(chunks, {record.paper_id: record for record, _ in papers}, folder / FTS_FILE, INDEX)
    if embedder is not None:
        kept = [chunk for chunk in chunks if chunk.is_retrievable]
        vectors = embedder.embed_documents([chunk.text for chunk in kept])
        ids = np.array([vector_id(chunk.chunk_id) for chunk in kept], dtype=np.int64)
        build_vectors(vectors.reshape(len(kept), embedder.dimension), ids, folder / VECTORS_FILE, INDEX)
    return folder


def open_corpus(tmp_path: Path, *groups, embedder=None):
    """Build one segment a group of papers and open them as one corpus."""
    from retrieval.corpus import SegmentCorpus

    folders = [build_segment(tmp_path / f"segment-{number}", group, embedder) for number, group in enumerate(groups)]
    return SegmentCorpus(folders, {record.paper_id: record for group in groups for record, _ in group})
