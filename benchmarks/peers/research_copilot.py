"""Ours: the whole ingest with its gates, and the hybrid search that answers are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers.work import NUM_FOUND, THREADS, Search, Work

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corpus_assets.embedding.protocol import Embedder

NAME = "ours"
WHAT = "ingest with layout, metadata, both indexes, cards and gates; hybrid search"
PACKAGES = ("duckdb", "faiss")
IS_DENSE = True


class GivenVectors:
    """Stands for an embedder whose documents are embedded already."""

    degraded = ""

    def __init__(self, embedder: Embedder, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        self._embedder, self._vectors = embedder, vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of the texts."""
        import numpy as np

        return np.stack([self._vectors[text] for text in texts])


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Publish a corpus of the files and return the number of its passages."""
    from corpus_assets.build import ingest as build
    from corpus_assets.settings import ParseSettings, RunSettings, Settings

    folder = scratch / "papers"
    folder.mkdir()
    for file in files:
        (folder / file.name).symlink_to(file)
    settings = Settings(
        home=scratch / "home", papers_dir=folder, parse=ParseSettings(ocr="off"), run=RunSettings(threads=THREADS)
    )
    return build(settings, folder).num_chunks


def index(work: Work) -> Search:
    """Return the hybrid search over SciFact."""
    from corpus_assets.embedding.registry import load_embedder
    from corpus_assets.settings import IndexSettings, RetrievalSettings
    from evaluation.beir import BeirCorpus, build_beir_segment, make_beir_search
    from retrieval import dense

    embedder = load_embedder("default", work.scratch / "models")
    texts = [document.embedding_text for document in work.scifact.documents]
    given = GivenVectors(embedder, dict(zip(texts, work.vectors(), strict=True)))
    folder = build_beir_segment(work.scifact.documents, work.scratch / "ours", given, IndexSettings.model_validate({}))
    search = make_beir_search(
        BeirCorpus(folder),
        "hybrid",
        embedder=embedder,
        settings=RetrievalSettings.model_validate({}),
        k=NUM_FOUND,
    )

    def run(question: str) -> list[str]:
        dense.forget_questions()  # every question's vector is computed anew, as every other peer does
        return search(question)

    return run
