"""Quotes and their anchors: binding them when an answer is written, checking them again from the PDFs alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpus_assets.errors import CopilotError
from corpus_assets.model import ParsedPaper
from corpus_assets.sentences import split_sentences
from corpus_assets.store.atomic import file_sha256
from retrieval.answer import AnswerRecord, Citation
from retrieval.passages import Sentence, SentenceReader, pages_of_span, section_of_span

if TYPE_CHECKING:
    from corpus_assets.settings import Settings
    from corpus_assets.store.generation import Generation

ELLIPSIS = re.compile(r"(?<!\.)(?:\.\s?){3,}|…|\[\.\.\.\]")


@dataclass(frozen=True)
class QuoteFailure:
    """A quote that does not stand where the answer says it does."""

    n: int
    paper_id: str
    reason: str


@dataclass(frozen=True)
class VerificationReport:
    """``num_ok`` of ``num_quotes`` stand in the files exactly as cited."""

    num_quotes: int
    num_ok: int
    failures: tuple[QuoteFailure, ...]

    @property
    def passed(self) -> bool:
        return not self.failures


def bind_citation(sentence: Sentence, generation: Generation, reader: SentenceReader) -> Citation | None:
    """Return the sentence as a citation (numbered 0 until the answer is laid out), or None when it is not a quote."""
    paper = generation.papers.get(sentence.paper_id)
    if paper is None or not paper.is_served:
        return None
    if reader.text(sentence.paper_id)[sentence.char_start : sentence.char_end] != sentence.text:
        return None
    section = section_of_span(generation.sections(sentence.paper_id), sentence.char_start)
    return Citation(
        n=0,
        paper_id=sentence.paper_id,
        title=paper.label,
        section=(section.title if section else "") or sentence.section_title,
        pages=pages_of_span(generation.pages(sentence.paper_id), sentence.char_start, sentence.char_end),
        quote=sentence.text,
        chunk_id=sentence.chunk_id,
        char_start=sentence.char_start,
        char_end=sentence.char_end,
        doc_sha256=paper.doc_sha256,
        authors=tuple(paper.metadata.authors),
        year=paper.metadata.year,
        doi=paper.metadata.doi,
        path=paper.path,
        retraction=paper.retraction,
        reported_by_others=sentence.is_reported,
    )


def check_quote(text: str, citation: Citation) -> str:
    """Return why a citation's quote does not hold in its paper's text, or an empty string.

    A quote must stand at its span to the letter, and must be whole sentences: a cut start or an ellipsis can swallow
    a "not".
    """
    quote = citation.quote
    if not quote.strip():
        return "the quote is empty"
    if text[citation.char_start : citation.char_end] != quote:
        if ELLIPSIS.search(quote):
            return "the quote joins fragments with an ellipsis; only whole passages can be verified"
        if quote in text:
            return "the quote stands in the paper, but not at the cited place"
        return "the quote is not in the paper as cited"
    return (
        ""
        if is_whole_sentences(text, citation.char_start, citation.char_end)
        else ("the quote starts or ends within a sentence, which can hide a negation")
    )


def is_whole_sentences(text: str, start: int, end: int) -> bool:
    """Tell whether a span begins where a sentence begins and ends where one ends."""
    first = text.rfind("\n\n", 0, start)
    first = 0 if first < 0 else first + 2
    last = text.find("\n\n", end)
    last = len(text) if last < 0 else last
    spans = split_sentences(text[first:last])
    return start in {first + span[0] for span in spans} and end in {first + span[1] for span in spans}


def widen_to_sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the smallest span of whole sentences around ``[start, end)``."""
    first = text.rfind("\n\n", 0, start)
    first = 0 if first < 0 else first + 2
    last = text.find("\n\n", end)
    last = len(text) if last < 0 else last
    spans = [(first + s, first + e) for s, e in split_sentences(text[first:last])]
    touched = [span for span in spans if span[0] < end and span[1] > start]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Return the span of the whole sentences a proposed quote stands in; None when it is not in the text as it is.

    Quotes joined with an ellipsis are refused, whatever their parts.
    """
    if ELLIPSIS.search(quote) and quote not in text:
        return None
    start = text.find(quote) if quote.strip() else -1
    return None if start < 0 else widen_to_sentences(text, start, start + len(quote))


Resolver = Callable[[Citation], ParsedPaper]


class PaperResolver:
    """Find a citation's file in a papers folder, by path or else by its bytes' sha256, and parse it anew."""

    def __init__(self, papers_dir: Path, settings: Settings) -> None:
        self._papers_dir = papers_dir
        self._settings = settings
        self._parsed: dict[str, ParsedPaper] = {}
        self._by_sha256: dict[str, Path] | None = None

    def __call__(self, citation: Citation) -> ParsedPaper:
        """Return the parsed file. Raises ``CopilotError`` when no file has the cited bytes or it cannot be read."""
        if citation.doc_sha256 not in self._parsed:
            from corpus_assets.pdf.reader import read_paper

            path = self._find(citation)
            self._parsed[citation.doc_sha256] = read_paper(str(path), self._settings.parse)
        return self._parsed[citation.doc_sha256]

    def _find(self, citation: Citation) -> Path:
        if "\\" not in citation.path and citation.path:
            path = self._papers_dir / citation.path
            if path.is_file() and file_sha256(path) == citation.doc_sha256:
                return path
        if self._by_sha256 is None:
            files = sorted(path for path in self._papers_dir.rglob("*") if path.is_file())
            self._by_sha256 = {file_sha256(path): path for path in files}
        found = self._by_sha256.get(citation.doc_sha256)
        if found is None:
            raise CopilotError(
                f"No file in {self._papers_dir} has the bytes cited as {citation.path} (sha256"
                f" {citation.doc_sha256[:12]}…)",
                hint="The file was changed or removed since the answer was written.",
            )
        return found


def verify_answer(record: AnswerRecord | Mapping[str, object], resolver: Resolver) -> VerificationReport:
    """Check every quote of an answer against files parsed anew: its text to the letter, its place, and its pages."""
    answer = record if isinstance(record, AnswerRecord) else AnswerRecord.model_validate(record)
    failures: list[QuoteFailure] = []
    for citation in answer.citations:
        try:
            parsed = resolver(citation)
        except CopilotError as error:
            failures.append(QuoteFailure(citation.n, citation.paper_id, str(error)))
            continue
        reason = check_quote(parsed.text, citation)
        if not reason:
            pages = pages_of_span(parsed.pages, citation.char_start, citation.char_end)
            if pages != citation.pages:
                reason = f"the quote stands on page {pages or '?'}, not on page {citation.pages or '?'}"
        if reason:
            failures.append(QuoteFailure(citation.n, citation.paper_id, reason))
    num_quotes = len(answer.citations)
    return VerificationReport(num_quotes, num_quotes - len(failures), tuple(failures))
