"""Compose whole papers: front matter over the columns, then the body, then running heads and the notice."""

from __future__ import annotations

from sample_corpus.flow import (
    BLACK,
    GREY,
    RED,
    STYLES,
    Flow,
    Frame,
    LineOp,
    Op,
    Style,
    TextOp,
    set_line,
)
from sample_corpus.source import SYNTHETIC_NOTICE, Block, PaperSource
from sample_corpus.typesetting import Line, break_lines, measure_word, split_words

MIN_BALANCED_LINES = 14  # less than this stays in the first column


def compose_paper(source: PaperSource) -> list[list[Op]]:
    """Return each page's drawing operations; the columns of the last page are balanced."""
    style = STYLES[source.get("layout")]
    flow = _compose(source, style)
    last = len(flow.pages) - 1
    if style.num_columns > 1 and last > 0:
        # The shortest columns that still hold the text; what fits in some height fits in every greater one.
        few, enough = MIN_BALANCED_LINES, int((style.bottom - style.top) / style.leading)
        while few < enough:
            middle = (few + enough) // 2
            trial = _compose(source, style, last, style.top + middle * style.leading)
            few, enough = (middle + 1, enough) if trial.is_overfull else (few, middle)
        balanced = _compose(source, style, last, style.top + enough * style.leading)
        flow = flow if balanced.is_overfull else balanced
    _add_furniture(flow, style)
    return flow.pages


def _compose(source: PaperSource, style: Style, last_page: int = -1, last_bottom: float = 0.0) -> Flow:
    flow = Flow(source, style, last_page, last_bottom)
    flow.pages.append([])
    top = _compose_front(flow)
    flow.add_frames(0, top)
    flow.next_frame()
    if source.is_on("abstract_in_column"):
        flow.heading(Block("heading", source.abstract_heading, 1))
        for block in source.abstract:
            flow.paragraph(block.text, style="b" if source.is_on("abstract_bold") else "r")
        flow.y += 6
    flow.blocks(source.body)
    return flow


def _compose_front(flow: Flow) -> float:
    """Draw what spans the page above the columns and return where the columns start."""
    source, style = flow.source, flow.style
    left, right = style.margin, style.page[0] - style.margin
    flow.frame = Frame(0, left, style.top, right, style.bottom)
    flow.y = style.top - 22
    centred = style.title_centred
    kicker = source.get("kicker")
    if kicker:
        _set_block(flow, kicker, size=8.0, face="sans", style="i")
        flow.y += 6
    _set_block(flow, source.get("title"), size=style.title_size, face=style.heading_face, style="b", centred=centred)
    flow.y += 5
    _set_block(flow, source.get("authors").replace(";", ","), size=style.size + 0.8, face=style.face, centred=centred)
    flow.y += 2
    for affiliation in source.get("affiliations").split(";"):
        if affiliation.strip():
            _set_block(flow, affiliation.strip(), size=style.size - 1.4, face=style.face, style="i", centred=centred)
    flow.y += 3
    for line in ("citation", "dates"):
        if source.get(line):
            _set_block(flow, source.get(line), size=style.size - 1.6, face="sans", centred=centred)
    flow.y += 8
    if source.abstract and not source.is_on("abstract_in_column"):
        _compose_abstract(flow)
    return flow.y + 8


def _compose_abstract(flow: Flow) -> None:
    source, style = flow.source, flow.style
    left, right = flow.frame.x0, flow.frame.x1
    inset = 24.0 if style.num_columns > 1 or source.get("layout") == "preprint" else 0.0
    ruled = style.num_columns > 1
    if ruled:
        flow.put(LineOp(left, flow.y, right, flow.y, 0.6))
        flow.y += 4
    flow.frame = Frame(0, left + inset, flow.frame.y0, right - inset, flow.frame.y1)
    _set_block(
        flow,
        source.abstract_heading,
        size=style.size + 0.6,
        face=style.heading_face,
        style="b",
        centred=source.get("layout") == "preprint",
    )
    flow.y += 2
    for block in source.abstract:
        flow.paragraph(block.text, size=style.size - 0.2, leading=style.leading - 0.2)
        flow.y += 2
    if source.get("keywords"):
        flow.paragraph("**Keywords:** " + source.get("keywords"), size=style.size - 0.8, leading=style.leading - 0.6)
    if ruled:
        flow.y += 5
        flow.put(LineOp(left, flow.y, right, flow.y, 0.6))
    flow.frame = Frame(0, left, flow.frame.y0, right, flow.frame.y1)


def _set_block(flow: Flow, text: str, *, size: float, face: str, style: str = "r", centred: bool = False) -> None:
    """Set ragged or centred lines across the current frame."""
    left, right = flow.frame.x0, flow.frame.x1
    for line in break_lines(split_words(text, style), right - left, face, size):
        flow.y += size * 1.24
        x = left
        if centred:
            width = sum(measure_word(word, face, size) for word in line.words)
            width += (len(line.words) - 1) * size * 0.26
            x = left + (right - left - width) / 2
        for op in set_line(Line(line.words, True), x, right, flow.y - 0.2 * size, face, size):
            flow.put(op)


def _add_furniture(flow: Flow, style: Style) -> None:
    source, total = flow.source, len(flow.pages)
    first = int(source.get("first_page", "1"))
    for index, ops in enumerate(flow.pages):
        number = str(first + index)
        if source.get("running_head") and index:
            ops.append(_running(source.get("running_head"), style.margin, 40.0))
            ops.append(_running(number, style.page[0] - style.margin - 16, 40.0))
            ops.append(LineOp(style.margin, 45.0, style.page[0] - style.margin, 45.0, 0.4))
        elif source.is_on("page_of_pages"):
            ops.append(_running(f"Page {index + 1} of {total}", style.page[0] / 2 - 22, style.page[1] - 36))
        else:
            ops.append(_running(number, style.page[0] / 2 - 4, style.page[1] - 36))
        ops.append(TextOp(style.margin, style.page[1] - 22, SYNTHETIC_NOTICE, "sans", "i", 7.0, RED))
        if index == 0 and source.get("stamp"):
            ops.append(TextOp(38.0, 560.0, source.get("stamp"), "serif", "r", 17.0, GREY, is_vertical=True))


def _running(text: str, x: float, y: float) -> TextOp:
    return TextOp(x, y, text, "serif", "i", 8.2, BLACK)
