"""Plain sentence-transformers: text by PyMuPDF, words cut into pieces, ``encode``, one matrix product a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.work import NUM_FOUND, Search, Work, load_reference, read_pieces

NAME = "sentence-transformers"
WHAT = "PyMuPDF text, SentenceTransformer.encode, numpy dot product"
PACKAGES = ("sentence_transformers", "pymupdf")
IS_DENSE = True


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Embed the pieces and return how many there are."""
    pieces = read_pieces(files)
    load_reference().encode(pieces, normalize_embeddings=True, show_progress_bar=False)
    return len(pieces)


def index(work: Work) -> Search:
    """Return the search by the given vectors."""
    import numpy as np

    model, vectors, names = load_reference(), work.vectors(), work.doc_ids

    def run(question: str) -> list[str]:
        scores = vectors @ model.encode(question, normalize_embeddings=True, show_progress_bar=False)
        return [names[number] for number in np.argsort(-scores)[:NUM_FOUND]]

    return run
