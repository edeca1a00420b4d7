"""Headings, from type, place and numbering; and the sections they open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corpus_assets.model import Section, SectionKind
from corpus_assets.pdf.draft import Paragraph, ParagraphKind
from corpus_assets.pdf.lines import Line
from corpus_assets.pdf.paragraphs import CAPTION
from corpus_assets.pdf.titles import NUMBERING, classify_title, is_known_title, strip_numbering

MAX_HEADING_CHARS = 160
MAX_HEADING_LINES = 4

_ENDS_OPEN = re.compile(r"[,;&]$|\b(?:the|of|and|with|for|in|a|an|to|by)$")
_SENTENCE_END = re.compile(r"[a-z)]{2}\.$")
_ABSTRACT_RUN_IN = re.compile(r"^((?:abstract|summary)\s*[.:—–-]+)\s*(?=\S)", re.IGNORECASE)
_KEYWORDS_RUN_IN = re.compile(r"^((?:key ?words|index terms)\s*[.:—–-]+)\s*(?=\S)", re.IGNORECASE)
_APPENDIX_RUN_IN = re.compile(r"^(appendix(?:\s+[A-Z0-9]{1,3})?\s*[.:—–])\s+(?=\S)", re.IGNORECASE)
_RUN_IN_LETTERS = frozenset((*"aski\u0131\u017f", "i\u0307"))  # with which one of these begins, in whatever case
_LETTERS = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class _Style:
    size: float
    is_bold: bool


def mark_headings(paragraphs: list[Paragraph], body_size: float) -> list[Paragraph]:
    """Return the paragraphs with headings marked, run-in ones set apart from the text they lead."""
    body_is_bold = _share_bold(paragraphs, body_size) > 0.5
    result: list[Paragraph] = []
    in_references = False
    for position, paragraph in enumerate(paragraphs):
        following = paragraphs[position + 1] if position + 1 < len(paragraphs) else None
        pieces = _split_run_in(paragraph, in_references, body_is_bold)
        if pieces is None and _is_heading(paragraph, following, body_size, body_is_bold, in_references):
            pieces = (paragraph, None)
        if pieces is None:
            result.append(paragraph)
            continue
        heading, rest = pieces
        heading.kind = ParagraphKind.HEADING
        heading.title = " ".join(line.text.strip("\u00ad") for line in heading.lines)
        kind = classify_title(heading.title)
        if kind is SectionKind.REFERENCES:
            in_references = True
        elif kind is not SectionKind.OTHER or not in_references or heading.size > body_size + 0.6:
            in_references = False
        result.append(heading)
        if rest is not None:
            result.append(rest)
    _demote_front(result)
    _set_levels(result)
    return result


def _share_bold(paragraphs: Sequence[Paragraph], body_size: float) -> float:
    num_bold = num_all = 0
    for paragraph in paragraphs:
        for line in paragraph.lines:
            if abs(line.size - body_size) < 0.5:
                num_all += len(line.text)
                num_bold += int(line.bold * len(line.text))
    return num_bold / num_all if num_all else 0.0


def _is_heading(
    paragraph: Paragraph, following: Paragraph | None, body_size: float, body_is_bold: bool, in_references: bool
) -> bool:
    if len(paragraph.lines) > MAX_HEADING_LINES or paragraph.num_chars > MAX_HEADING_CHARS:
        return False
    text = " ".join(line.text for line in paragraph.lines)
    if is_known_title(text) and (len(paragraph.lines) == 1 or paragraph.is_bold):
        return text[:1].isupper() or text[:1].isdigit() or paragraph.is_bold
    size = paragraph.size
    number, bare = strip_numbering(text)
    if CAPTION.match(text) or not bare or not _reads_like_title(text, bare):
        return False
    if following is None or following.kind is ParagraphKind.CAPTION:
        return False
    is_larger = size > body_size + 0.7
    is_bold = paragraph.is_bold and not body_is_bold and size > body_size - 1.1
    is_capitals = bare.isupper() and len(_LETTERS.findall(bare)) >= 5 and size > body_size - 1.1
    if in_references and not (is_larger or (is_bold and is_capitals) or (is_bold and number)):
        return False
    if is_larger or is_bold:
        return True
    if size < body_size - 0.4:
        return False
    if number and (is_capitals or all(line.is_italic for line in paragraph.lines)):
        return True
    if _is_italic_title(paragraph, following):
        return True
    if number and number[0].isdigit() and len(paragraph.lines) == 1 and not paragraph.reaches_edge:
        return len(bare.split()) <= 10 and not _SENTENCE_END.search(text[-4:]) and ("." in number or number == "1")
    return is_capitals and len(bare.split()) >= 2 and not paragraph.reaches_edge


def _is_italic_title(paragraph: Paragraph, following: Paragraph) -> bool:
    """Return whether one short line all in italics leads a paragraph of plain sentences."""
    line, under = paragraph.lines[0], following.lines[0]
    if (
        len(paragraph.lines) > 1
        or paragraph.reaches_edge
        or not line.is_all_italic
        or _SENTENCE_END.search(line.text[-4:])
    ):
        return False
    same_column = paragraph.run == following.run and abs(under.size - line.size) < 0.5
    return same_column and not under.is_italic and under.text[:1].isupper() and following.num_chars > 2 * len(line.text)


def _reads_like_title(text: str, bare: str) -> bool:
    if not (bare[0].isupper() or (bare[0].isalpha() and NUMBERING.match(text)) or bare[0] in "“‘\"'"):
        return False
    if _ENDS_OPEN.search(bare[-8:]) or "\ufffd" in bare or "@" in bare:
        return False
    num_letters = len(_LETTERS.findall(bare))
    if num_letters < 3 or num_letters < 0.6 * len(bare.replace(" ", "")):
        return False
    return len(bare.split()) <= 20 and not (_SENTENCE_END.search(text[-4:]) and len(bare.split()) > 8)


def _split_run_in(
    paragraph: Paragraph, in_references: bool, body_is_bold: bool
) -> tuple[Paragraph, Paragraph | None] | None:
    """Return a heading that shares its line with the text after it, and that text, or None."""
    first = paragraph.lines[0]
    if not first.bold_prefix and first.text[:1].lower() not in _RUN_IN_LETTERS:
        return None
    for pattern in (_ABSTRACT_RUN_IN, _KEYWORDS_RUN_IN):
        match = pattern.match(first.text)
        if match and (paragraph.num_chars > 60 or first.bold_prefix):
            return _cut(paragraph, match.end(1))
    match = _APPENDIX_RUN_IN.match(first.text)
    if match and (in_references or first.bold_prefix >= len(match[1]) - 1):
        return _cut(paragraph, match.end(1))
    prefix = first.text[: first.bold_prefix].rstrip()
    if body_is_bold or not 4 <= len(prefix) < 90 or len(prefix) >= len(first.text) - 3:
        return None
    number, bare = strip_numbering(prefix)
    if bare and number and "." in number and prefix.endswith((".", ":")) and not in_references:
        return _cut(paragraph, len(prefix))
    return None


def _cut(paragraph: Paragraph, length: int) -> tuple[Paragraph, Paragraph | None]:
    first = paragraph.lines[0]
    head = Line(first.x0, first.y0, first.x1, first.y1, first.block, [])
    head.page, head.text, head.size, head.baseline = (
        first.page,
        first.text[:length].rstrip(),
        first.size,
        first.baseline,
    )
    head.bold = 1.0
    first.text = first.text[length:].lstrip()
    rest = Paragraph([line for line in paragraph.lines if line.text], paragraph.run, paragraph.kind)
    rest.reaches_edge = paragraph.reaches_edge
    return Paragraph([head], paragraph.run), rest if rest.lines else None


def _demote_front(paragraphs: Sequence[Paragraph]) -> None:
    """Take back what stands before the first real heading of the first page: title, authors, journal's name."""
    headings = [p for p in paragraphs if p.kind is ParagraphKind.HEADING]
    if not headings:
        return
    first_page = paragraphs[0].first_page
    opening = next(
        (
            position
            for position, heading in enumerate(headings)
            if is_known_title(heading.title) or strip_numbering(heading.title)[0] in ("1", "I", "0")
        ),
        None,
    )
    if opening is None or headings[opening].first_page > first_page + 2:
        on_first = [h for h in headings if h.first_page == first_page]
        largest = max((h.size for h in on_first), default=0.0)
        demoted = [h for h in on_first if h.size >= largest - 0.1][:1]
        demoted = on_first[: on_first.index(demoted[0]) + 1] if demoted else []
    else:
        demoted = [h for h in headings[:opening] if h.first_page <= first_page + 1]
    for heading in demoted:
        heading.kind = ParagraphKind.BODY if heading.first_page == first_page else heading.kind


def _set_levels(paragraphs: Sequence[Paragraph]) -> None:
    headings = [p for p in paragraphs if p.kind is ParagraphKind.HEADING]
    plain = [h for h in headings if not strip_numbering(h.title)[0]]
    styles = sorted({_style(h) for h in plain}, key=lambda style: (-style.size, not style.is_bold))
    for heading in headings:
        number, _ = strip_numbering(heading.title)
        if number:
            heading.level = 1 + number.count(".")
        elif is_known_title(heading.title) and classify_title(heading.title) is SectionKind.REFERENCES:
            heading.level = 1
        else:
            heading.level = min(3, 1 + styles.index(_style(heading)))


def _style(paragraph: Paragraph) -> _Style:
    return _Style(round(paragraph.size * 2) / 2, paragraph.is_bold)


def build_sections(headings: Sequence[tuple[int, str, int]], text_length: int) -> tuple[Section, ...]:
    """Return sections from ``(char_start, title, level)`` in order; they cover the text without overlap."""
    if not text_length:
        return ()
    sections: list[Section] = []
    starts = [start for start, _, _ in headings]
    first = starts[0] if starts else text_length
    if first > 0:
        sections.append(Section("", SectionKind.FRONT, 0, 0, first))
    parents: list[tuple[int, SectionKind]] = []
    for (start, title, level), end in zip(headings, [*starts[1:], text_length][: len(headings)], strict=True):
        kind = classify_title(title)
        while parents and parents[-1][0] >= level:
            parents.pop()
        if kind is SectionKind.OTHER and parents:
            kind = parents[-1][1]
        parents.append((level, kind))
        sections.append(Section(strip_numbering(title)[1] or title, kind, level, start, end))
    return tuple(sections)
