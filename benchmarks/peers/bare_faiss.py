"""Bare FAISS, exact, with the question embedded by sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.work import NUM_FOUND, Search, Work, load_reference, read_pieces

NAME = "FAISS"
WHAT = "PyMuPDF text, SentenceTransformer.encode, IndexFlatIP"
PACKAGES = ("faiss", "sentence_transformers", "pymupdf")
IS_DENSE = True


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Embed and index the pieces and return how many there are."""
    import faiss

    vectors = load_reference().encode(read_pieces(files), normalize_embeddings=True, show_progress_bar=False)
    faiss.IndexFlatIP(vectors.shape[1]).add(vectors)
    return len(vectors)


def index(work: Work) -> Search:
    """Return the search by the given vectors."""
    import faiss

    vectors, names, model = work.vectors(), work.doc_ids, load_reference()
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)

    def run(question: str) -> list[str]:
        vector = model.encode([question], normalize_embeddings=True, show_progress_bar=False)
        return [names[number] for number in flat.search(vector, NUM_FOUND)[1][0]]

    return run
