"""Search hits as the command line shows them: the passage, and in it the sentence that fits the question best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corpus_assets.model import Chunk
    from corpus_assets.store.generation import Generation
    from retrieval.search import Hit


def describe_hits(generation: Generation, query: str, hits: list[Hit]) -> list[dict[str, Any]]:
    """Return hits as JSON-able rows; ``paper_text[char_start:char_end] == quote`` in each.

    ``pages`` are the passage's, ``quote_pages`` those the quote stands on.
    """
    return [_describe(generation, query, hit) for hit in hits]


def _describe(generation: Generation, query: str, hit: Hit) -> dict[str, Any]:
    from retrieval.passages import pages_of_span

    chunk, record = hit.chunk, generation.papers[hit.chunk.paper_id]
    start, end = find_quote(query, chunk)
    char_start, char_end = chunk.char_start + start, chunk.char_start + end
    return {
        "rank": hit.rank,
        "score": hit.score,
        "chunk_id": chunk.chunk_id,
        "paper_id": chunk.paper_id,
        "title": record.label,
        "year": record.metadata.year,
        "doi": record.metadata.doi,
        "section": chunk.section_title or chunk.section,
        "pages": chunk.pages,
        "text": chunk.text,
        "quote": chunk.text[start:end],
        "quote_pages": pages_of_span(generation.pages(chunk.paper_id), char_start, char_end),
        "char_start": char_start,
        "char_end": char_end,
        "fts_rank": hit.fts_rank,
        "dense_rank": hit.dense_rank,
        "retraction": record.retraction,
        "doc_sha256": record.doc_sha256,
        "path": record.path,
    }


def find_quote(query: str, chunk: Chunk) -> tuple[int, int]:
    """Return the span, within the chunk's text, of the sentence that has most of the question's words."""
    from corpus_assets.fts import tokenize
    from corpus_assets.sentences import split_sentences

    wanted = set(tokenize(query))
    spans = split_sentences(chunk.text) or [(0, len(chunk.text))]
    return max(spans, key=lambda span: len(wanted & set(tokenize(chunk.text[span[0] : span[1]]))))
