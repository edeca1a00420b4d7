"""Tie what a model quotes to whole sentences of a paper, or refuse it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corpus_assets.model import Chunk
from retrieval.llm.schemas import Support
from retrieval.passages import GLYPH_LOSS, Candidate, Sentence, SentenceReader, is_reported_by_others

MIN_QUOTE_WORDS = 4
MAX_SENTENCES = 3  # a quote may run over


def is_long_enough(quote: str) -> bool:
    """Tell whether a quote is long enough to stand for something (scripts without spaces count characters)."""
    return len(quote.split()) >= MIN_QUOTE_WORDS or (not quote.isascii() and len(quote) >= 12)


@dataclass
class QuoteBinder:
    """Finds quotes in the evidence shown to the model; ``passages`` maps the ids used in the prompt to it."""

    passages: Mapping[str, Candidate]
    sentences: Mapping[str, Sequence[Sentence]]
    reader: SentenceReader
    num_unknown_ids: int = 0
    num_inexact: int = 0

    def bind(self, support: Sequence[Support]) -> tuple[tuple[Sentence, ...], str]:
        """Return the whole sentences that hold the quotes, and why not all could be bound (empty when they could).

        A passage id outside the evidence and a quote that is not an exact part of its passage are counted.
        """
        found: dict[tuple[str, int, int], Sentence] = {}
        problem = "" if support else "no quote was given for it"
        for item in support:
            candidate = self.passages.get(item.passage)
            if candidate is None:
                self.num_unknown_ids += 1
                problem = problem or "it cites a passage that is not in the evidence"
                continue
            chunk = candidate.chunk
            sentences = locate_quote(chunk, item.quote.strip(), self.reader, self.sentences.get(chunk.chunk_id, ()))
            if not sentences:
                self.num_inexact += 1
                problem = problem or "its quote does not stand in the passage"
            for sentence in sentences:
                found.setdefault(sentence.key, sentence)
        return tuple(found.values()), problem


def locate_quote(chunk: Chunk, quote: str, reader: SentenceReader, scored: Sequence[Sentence]) -> list[Sentence]:
    """Return the whole sentences a quote touches, the ``scored`` ones where there are.

    None when it is not an exact part of the passage, too short to stand for something, or in damaged text.
    """
    at = chunk.text.find(quote) if is_long_enough(quote) else -1
    if at < 0:
        return []
    start = chunk.char_start + at
    end = start + len(quote)
    known = {(item.char_start, item.char_end): item for item in scored}
    text = reader.text(chunk.paper_id)
    touched = [span for span in reader.spans_around(chunk.paper_id, start, end) if span[0] < end and span[1] > start]
    if len(touched) > MAX_SENTENCES or any(GLYPH_LOSS in text[slice(*span)] for span in touched):
        return []
    return [known.get(span) or _sentence(chunk, text, span) for span in touched]


def _sentence(chunk: Chunk, text: str, span: tuple[int, int]) -> Sentence:
    quote = text[slice(*span)]
    return Sentence(
        paper_id=chunk.paper_id,
        chunk_id=chunk.chunk_id,
        char_start=span[0],
        char_end=span[1],
        text=quote,
        section_title=chunk.section_title,
        section_kind=chunk.section_kind,
        is_reported=is_reported_by_others(quote),
    )
