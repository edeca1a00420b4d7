"""bm25s with its own tokeniser and English stop words, as its readme shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.work import NUM_FOUND, Search, Work, read_pieces

NAME = "bm25s"
WHAT = "PyMuPDF text, BM25 with English stop words, no stemming"
PACKAGES = ("bm25s", "pymupdf")


def ingest(files: Sequence[Path], scratch: Path) -> int:
    """Index the pieces and return how many there are."""
    import bm25s

    pieces = read_pieces(files)
    bm25s.BM25().index(bm25s.tokenize(pieces, stopwords="en", show_progress=False), show_progress=False)
    return len(pieces)


def index(work: Work) -> Search:
    """Return the search over SciFact."""
    import bm25s

    names = work.doc_ids
    texts = [document.full_text for document in work.scifact.documents]
    lexical = bm25s.BM25()
    lexical.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def run(question: str) -> list[str]:
        tokens = bm25s.tokenize([question], stopwords="en", show_progress=False)
        numbers, _ = lexical.retrieve(tokens, k=NUM_FOUND, show_progress=False)
        return [names[number] for number in numbers[0]]

    return run
