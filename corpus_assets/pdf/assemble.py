"""From ordered paragraphs to a paper's text, its pages' spans and its sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corpus_assets.model import Page, Section
from corpus_assets.pdf.draft import PageDraft, Paragraph, ParagraphKind
from corpus_assets.pdf.furniture import strip_furniture
from corpus_assets.pdf.headings import build_sections, mark_headings
from corpus_assets.pdf.hidden_text import is_instruction_like
from corpus_assets.pdf.hyphenation import Joiner
from corpus_assets.pdf.layout import join_drop_caps, order_lines
from corpus_assets.pdf.lines import SOFT_HYPHEN
from corpus_assets.pdf.paragraphs import (
    classify_paragraphs,
    find_body_size,
    link_paragraphs,
    split_by_block,
    split_paragraphs,
)

MAX_LOOK_BACK = 400  # characters of an unbroken word or address


@dataclass(frozen=True)
class Assembled:
    text: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]


def assemble(drafts: Sequence[PageDraft]) -> Assembled:
    """Return the running text of the pages; each page has one span of it, spans adjoin and cover the text."""
    body_size = find_body_size(drafts)
    for draft in drafts:
        if draft.keeps_order:
            for line in draft.lines:
                line.size = body_size
    strip_furniture(drafts)
    paragraphs: list[Paragraph] = []
    run_number = 0
    for draft in drafts:
        lines = join_drop_caps(draft.lines, body_size)
        runs = ([lines] if lines else []) if draft.keeps_order else order_lines(lines)
        draft.runs = runs
        for run in runs:
            for line in run:
                line.page = draft.number
            paragraphs.extend((split_by_block if draft.keeps_order else split_paragraphs)(run, run_number))
            run_number += 1
    classify_paragraphs(paragraphs, body_size)
    paragraphs = link_paragraphs(mark_headings(paragraphs, body_size))
    return _write(paragraphs, drafts)


def _write(paragraphs: Sequence[Paragraph], drafts: Sequence[PageDraft]) -> Assembled:
    joiner = Joiner(line.text for paragraph in paragraphs for line in paragraph.lines)
    parts: list[str] = []
    length = 0
    page_starts: dict[int, int] = {}
    headings: list[tuple[int, str, int]] = []
    flagged: set[int] = set()
    for paragraph in paragraphs:
        if parts:
            parts.append("\n\n")
            length += 2
        text, starts = _join_paragraph(paragraph, joiner)
        if paragraph.kind is ParagraphKind.HEADING:
            headings.append((length, text, paragraph.level))
        elif is_instruction_like(text):
            flagged.update(page for page, _ in starts)
        for page, start in starts:
            page_starts.setdefault(page, length + start)
        parts.append(text)
        length += len(text)
    pages = _make_pages(drafts, page_starts, flagged, length)
    return Assembled("".join(parts), pages, build_sections(headings, length))


def _join_paragraph(paragraph: Paragraph, joiner: Joiner) -> tuple[str, list[tuple[int, int]]]:
    """Return a paragraph's text and where in it each of its pages begins."""
    parts: list[str] = []
    tail = ""  # the end of what is written, which the next joint may still change and look back into
    length = 0  # of the parts, the tail not counted
    starts: list[tuple[int, int]] = []
    for line in paragraph.lines:
        tail, joint = joiner.join(tail, line.text)
        if joint or len(tail) > MAX_LOOK_BACK:
            parts.append(tail + joint)
            length += len(parts[-1])
            tail = ""
        if not starts or starts[-1][0] != line.page:
            starts.append((line.page, length + len(tail)))
        tail += line.text
    parts.append(tail.rstrip(SOFT_HYPHEN))
    return "".join(parts), starts


def _make_pages(
    drafts: Sequence[PageDraft], page_starts: dict[int, int], flagged: set[int], length: int
) -> tuple[Page, ...]:
    starts: list[int] = []
    following = length
    for draft in reversed(drafts):
        following = page_starts.get(draft.number, following)
        starts.append(following)
    starts.reverse()
    if starts:
        starts[0] = 0
    pages = []
    for draft, start, end in zip(drafts, starts, [*starts[1:], length], strict=True):
        hidden = "\n".join(draft.hidden)
        flags = set(draft.flags)
        if hidden:
            flags.add("hidden_text")
        if draft.number in flagged or is_instruction_like(hidden):
            flags.add("instruction_like_text")
        for line in draft.lines:
            flags.update(line.flags)
        pages.append(
            Page(
                number=draft.number,
                state=draft.state,
                char_start=start,
                char_end=end,
                quality=draft.quality,
                confidence=draft.confidence,
                reason=draft.reason,
                flags=tuple(sorted(flags)),
                furniture="\n".join(draft.furniture),
                hidden_text=hidden,
            )
        )
    return tuple(pages)
