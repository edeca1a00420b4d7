"""Cut a paper's text into chunks that an embedder reads whole, each inside one section.

Sizes are word pieces of the embedder, counted on the very string that is embedded (:func:`embed_text`). A chunk breaks
at a paragraph if it can, else at a sentence, else at a word, else between two characters.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Protocol

from corpus_assets.errors import BadInputError
from corpus_assets.model import Chunk, Page, ParsedPaper, Section, SectionKind
from corpus_assets.sentences import split_paragraphs, split_sentences
from corpus_assets.settings import ChunkSettings

CHUNKER_VERSION = "1"  # raised when the same text gives other chunks
TITLE_PIECES = 32
MIN_TEXT_PIECES = 4  # fewer than these left beside the title and the special tokens is no room for a text
_TINY_PIECES = 12  # a chunk this small does not stand alone while more of its section follows
_HEADING_WORDS = 16
_SLUG_CHARS = 40
_TITLE_UNIT = re.compile(r"[A-Za-z]+|\d+|\S")
_NUMBERING = re.compile(r"^\W*(?:(?:\d+(?:\.\d+)*[.)]?|(?:[A-Z]|[IVX]+)(?:[.)]|(?:\.\d+)+[.)]?))\s+)?")


class TokenCounter(Protocol):
    """What the chunker needs of an embedder."""

    max_tokens: int
    num_special_tokens: int

    def token_starts(self, text: str) -> list[int]: ...


def embed_text(title: str, chunk_text: str, include_title: bool) -> str:
    """Return the string that is embedded for a chunk: its text, after the paper's title when that is asked for."""
    return _join(cut_title(title) if include_title else "", chunk_text)


def _join(head: str, chunk_text: str) -> str:
    return f"{head}\n\n{chunk_text}" if head else chunk_text


def cut_title(title: str) -> str:
    """Return as many words of the title as make about ``TITLE_PIECES`` word pieces, estimated without a tokeniser.

    The estimate is one piece for every four letters or two digits and for every other character.
    """
    title = " ".join(title.split())
    num_pieces = 0
    for unit in _TITLE_UNIT.finditer(title):
        size = unit.end() - unit.start()
        num_pieces += -(-size // 4) if unit[0].isalpha() else -(-size // 2)
        if num_pieces > TITLE_PIECES:
            cut = title.rfind(" ", 0, unit.start() + 1)
            return title[: cut if cut > 0 else unit.start()].rstrip()
    return title


def chunk_paper(
    paper_id: str,
    title: str,
    parsed: ParsedPaper,
    embedder: TokenCounter,
    settings: ChunkSettings,
    include_title: bool,
) -> list[Chunk]:
    """Return the chunks of a paper in reading order.

    Every character that is not white space is in at least one chunk, and ``chunk.text`` is the exact slice of the
    text. ``num_tokens`` counts the embedded string, title and special tokens included, and never exceeds the smaller
    of ``settings.max_tokens`` and the embedder's limit. Raises ``BadInputError`` when the limit leaves no room.
    """
    cutter = _Cutter(title, embedder, settings, include_title)
    pages = _PageFinder(parsed.pages)
    numbers: Counter[str] = Counter()
    chunks: list[Chunk] = []
    for section in _effective_sections(parsed):
        slug = section_slug(section)
        for start, end, num_tokens in cutter.cut(parsed.text, section):
            text = parsed.text[start:end]
            page_start, page_end = pages.span(start, end)
            chunks.append(
                Chunk(
                    chunk_id=f"{paper_id}:{slug}:{numbers[slug]}",
                    paper_id=paper_id,
                    section=slug,
                    section_title=section.title,
                    section_kind=section.kind,
                    index=numbers[slug],
                    text=text,
                    char_start=start,
                    char_end=end,
                    page_start=page_start,
                    page_end=page_end,
                    text_sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
                    num_tokens=num_tokens,
                    is_retrievable=section.kind is not SectionKind.REFERENCES,
                )
            )
            numbers[slug] += 1
    return chunks


def section_slug(section: Section) -> str:
    """Return the section's part of a chunk id: its kind, or for ``OTHER`` its title without numbering, in ASCII."""
    if section.kind is not SectionKind.OTHER:
        return section.kind.value
    title = unicodedata.normalize("NFKD", _NUMBERING.sub("", section.title, count=1))
    ascii_title = title.encode("ascii", "ignore").decode("ascii").lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_title).strip("-")[:_SLUG_CHARS].strip("-")
    if not slug:
        return "section"
    return f"{slug}-section" if slug in set(SectionKind) else slug


def _effective_sections(parsed: ParsedPaper) -> list[Section]:
    """Return the sections made to cover the text, each that is a bare heading joined to the section it introduces.

    So is a section of at most one letter: a drop cap taken for a heading.
    """
    text = parsed.text
    sections = _covering_sections(parsed)
    joined: list[Section] = []
    carried: int | None = None
    for section, following in zip_longest(sections, sections[1:]):
        start = section.char_start if carried is None else carried
        body = text[section.char_start : section.char_end].strip()
        is_letter = len(body) < _TINY_PIECES and sum(map(str.isalnum, body)) <= 1
        is_bare = is_letter or _is_heading(body, section)
        if following is not None and is_bare and SectionKind.REFERENCES not in (section.kind, following.kind):
            carried = start
            continue
        joined.append(replace(section, char_start=start))
        carried = None
    return joined


def _covering_sections(parsed: ParsedPaper) -> list[Section]:
    length = len(parsed.text)
    sections: list[Section] = []
    covered = 0
    for section in sorted(parsed.sections, key=lambda s: (s.char_start, s.char_end)):
        start, end = max(covered, section.char_start), min(length, section.char_end)
        if start >= end:
            continue
        if start > covered:
            if sections:
                sections[-1] = replace(sections[-1], char_end=start)
            else:
                sections.append(Section("", SectionKind.FRONT, 1, 0, start))
        sections.append(replace(section, char_start=start, char_end=end))
        covered = end
    if not sections:
        return [Section("", SectionKind.OTHER, 1, 0, length)] if length else []
    sections[-1] = replace(sections[-1], char_end=length)
    return sections


def _is_heading(paragraph: str, section: Section) -> bool:
    if "\n\n" in paragraph or not section.title.strip():
        return False
    return _squeeze(paragraph) == _squeeze(section.title) and len(paragraph.split()) <= _HEADING_WORDS


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalpha, text.casefold()))


@dataclass(frozen=True)
class _Unit:
    """A sentence, or a piece of one that is too long. ``paragraph_end`` is where its paragraph ends."""

    start: int
    end: int
    paragraph_end: int
    starts_paragraph: bool
    is_heading: bool = False
    is_torn: bool = False


class _Cutter:
    """Cuts sections under one set of limits."""

    def __init__(self, title: str, embedder: TokenCounter, settings: ChunkSettings, include_title: bool) -> None:
        self.embedder = embedder
        self.settings = settings
        self.head = cut_title(title) if include_title else ""
        self._counted = ("", 0)
        self.limit = min(settings.max_tokens, embedder.max_tokens)
        self.head_pieces = self._count("x") - len(embedder.token_starts("x"))
        self.budget = self.limit - self.head_pieces
        if self.budget < MIN_TEXT_PIECES:
            raise BadInputError(
                f"A chunk of at most {self.limit} tokens leaves {max(0, self.budget)} for the text of {title!r}.",
                hint="Raise chunks.max_tokens, take a model that reads more, or set embedding.include_title to false.",
            )
        self.target = max(1, min(settings.target_tokens - self.head_pieces, self.budget))

    def cut(self, paper_text: str, section: Section) -> Iterator[tuple[int, int, int]]:
        """Yield ``(start, end, num_tokens)`` of the section's chunks, in offsets of the paper's text."""
        offset = section.char_start
        text = paper_text[offset : section.char_end]
        stretch = _Stretch(text, self.embedder.token_starts(text))
        for span in self._spans(stretch, self._units(stretch, section)):
            for start, end, num_tokens in self._settle(stretch, *span):
                yield offset + start, offset + end, num_tokens

    def _units(self, stretch: _Stretch, section: Section) -> list[_Unit]:
        units: list[_Unit] = []
        for start, end in split_paragraphs(stretch.text):
            paragraph = stretch.text[start:end]
            is_heading = all(unit.is_heading for unit in units) and _is_heading(paragraph, section)
            sentences = [(0, len(paragraph))] if is_heading else split_sentences(paragraph)
            for first, last in sentences:
                units.append(_Unit(start + first, start + last, end, first == 0, is_heading))
        return units

    def _spans(self, stretch: _Stretch, units: list[_Unit]) -> list[tuple[int, int]]:
        """Pack the units; each round takes at least one character, so it ends."""
        spans: list[tuple[int, int]] = []
        waiting = units[::-1]
        carried: list[_Unit] = []  # the overlap
        while waiting:
            taken = self._pack(stretch, carried, waiting)
            span = (taken[0].start, taken[-1].end)
            if not waiting and spans and self._can_merge(stretch, spans[-1], taken[len(carried) :]):
                spans[-1] = (spans[-1][0], span[1])
            else:
                spans.append(span)
            carried = self._overlap(stretch, taken, waiting)
        return spans

    def _pack(self, stretch: _Stretch, carried: list[_Unit], waiting: list[_Unit]) -> list[_Unit]:
        """Take units from the end of ``waiting`` until the chunk is full; what does not fit is put back."""
        taken = list(carried)
        while waiting:
            unit = waiting[-1]
            if len(taken) > len(carried) and self._is_full(stretch, taken, unit):
                break
            waiting.pop()
            start = taken[0].start if taken else unit.start
            if self._fits(stretch, start, unit.end):
                taken.append(unit)
                continue
            is_alone = len(taken) == len(carried)
            if is_alone and carried:  # the overlap is not worth a torn sentence
                taken.clear()
                carried.clear()
                waiting.append(unit)
                continue
            if not is_alone and not self._needs_company(stretch, taken):
                waiting.append(unit)
                break
            room_end = self._last_fit(stretch, start, unit.start, unit.end)
            if room_end <= unit.start:  # not even one character beside what was taken
                waiting.append(unit)
                break
            taken.append(replace(unit, end=_strip_end(stretch.text, unit.start, room_end), is_torn=True))
            rest = _skip_space(stretch.text, room_end, unit.end)
            if rest < unit.end:
                waiting.append(replace(unit, start=rest, starts_paragraph=False, is_torn=True))
            break
        return taken

    def _is_full(self, stretch: _Stretch, taken: list[_Unit], unit: _Unit) -> bool:
        if self._needs_company(stretch, taken):
            return False
        size = stretch.count(taken[0].start, taken[-1].end)
        if size >= self.target:
            return True
        return (
            unit.starts_paragraph
            and size >= self.target // 2
            and stretch.count(taken[0].start, unit.paragraph_end) > self.budget
        )

    def _needs_company(self, stretch: _Stretch, taken: list[_Unit]) -> bool:
        tiny = min(_TINY_PIECES, self.budget // 4)
        return taken[-1].is_heading or stretch.count(taken[0].start, taken[-1].end) <= tiny

    def _can_merge(self, stretch: _Stretch, before: tuple[int, int], added: list[_Unit]) -> bool:
        is_small = stretch.count(added[0].start, added[-1].end) < self.target // 4
        return is_small and self._fits(stretch, before[0], added[-1].end)

    def _overlap(self, stretch: _Stretch, taken: list[_Unit], waiting: list[_Unit]) -> list[_Unit]:
        """Return the units to repeat in the next chunk: whole sentences, fewer than were taken, leaving room."""
        num_units = min(self.settings.overlap_sentences, len(taken) - 1)
        if not waiting or num_units == 0 or waiting[-1].is_torn:
            return []
        repeated = [unit for unit in taken[-num_units:] if not unit.is_heading and not unit.is_torn]
        while repeated:
            has_room = stretch.count(repeated[0].start, repeated[-1].end) <= self.budget * 2 // 3
            if has_room and self._fits(stretch, repeated[0].start, waiting[-1].end):
                return repeated
            repeated = repeated[1:]
        return []

    def _fits(self, stretch: _Stretch, start: int, end: int) -> bool:
        """Tell whether the span fits by the section's own word pieces; :meth:`_settle` has the last word."""
        return end - start <= self.settings.max_chars and stretch.count(start, end) <= self.budget

    def _settle(self, stretch: _Stretch, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the span with its true count, or in parts where the count of the embedded string passes the limit.

        The two counts differ when a word of a hundred letters (one unknown piece) was torn, or by a piece at an edge.
        """
        while start < end:
            cut = self._last_fit(stretch, start, start, end)
            last = _strip_end(stretch.text, start, cut)
            yield start, last, self._count(stretch.text[start:last])
            start = _skip_space(stretch.text, cut, end)

    def _last_fit(self, stretch: _Stretch, start: int, first: int, end: int) -> int:
        """Return the furthest cut in ``(first, end]`` such that ``[start, cut)`` truly fits, ``first`` if none does.

        It is after a word if possible, else between characters.
        """
        cut = min(end, start + self.settings.max_chars, stretch.position_after(start, self.budget + 1))
        while cut > first:
            cut = _step_back(stretch.text, first, cut, end)
            excess = self._count(stretch.text[start:cut]) - self.limit
            if excess <= 0:
                return cut
            shrunk = stretch.position_after(start, max(1, stretch.count(start, cut) - excess))
            cut = shrunk if first < shrunk < cut else first + (cut - first) * 3 // 4
        return first

    def _count(self, text: str) -> int:
        """Return the word pieces of the embedded string; the last answer is kept, since it is asked for twice."""
        if self._counted[0] != text:
            num_pieces = len(self.embedder.token_starts(_join(self.head, text)))
            self._counted = (text, self.embedder.num_special_tokens + num_pieces)
        return self._counted[1]


class _Stretch:
    """A section's text and where its word pieces start."""

    def __init__(self, text: str, token_starts: Sequence[int]) -> None:
        self.text = text
        self.token_starts = token_starts

    def count(self, start: int, end: int) -> int:
        """Return how many word pieces start in ``[start, end)``, a piece cut by ``start`` counted as one."""
        first = bisect_left(self.token_starts, start)
        num_pieces = bisect_left(self.token_starts, end) - first
        starts_inside = first == len(self.token_starts) or self.token_starts[first] != start
        return num_pieces + (1 if starts_inside else 0)

    def position_after(self, start: int, num_pieces: int) -> int:
        """Return the offset at which ``num_pieces`` pieces from ``start`` on have been read."""
        index = bisect_left(self.token_starts, start) + num_pieces
        return self.token_starts[index] if index < len(self.token_starts) else len(self.text)


class _PageFinder:
    """Finds the pages a span of the text lies on."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.pages = sorted((p for p in pages if p.char_end > p.char_start), key=lambda p: p.char_start)
        self.starts = [page.char_start for page in self.pages]
        self.ends = [page.char_end for page in self.pages]

    def span(self, start: int, end: int) -> tuple[int, int]:
        if not self.pages:
            return 1, 1
        first = min(bisect_right(self.ends, start), len(self.pages) - 1)
        last = max(bisect_left(self.starts, end) - 1, first)
        return self.pages[first].number, self.pages[last].number


def _step_back(text: str, start: int, cut: int, end: int) -> int:
    """Return the last white space in ``(start, cut]``, or ``cut`` itself moved off a combining mark."""
    if cut >= end or text[cut].isspace():
        return cut
    at = cut
    while at > start + 1 and not text[at - 1].isspace():
        at -= 1
    if at > start + 1:
        return at - 1 if text[at - 1].isspace() else at
    at = cut
    while at > start + 1 and cut - at < 8 and unicodedata.combining(text[at]):
        at -= 1
    return at


def _strip_end(text: str, start: int, end: int) -> int:
    while end > start + 1 and text[end - 1].isspace():
        end -= 1
    return end


def _skip_space(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at
