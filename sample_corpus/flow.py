"""Flow a paper's body into columns and pages: headings, paragraphs, tables, plots.

The result is a list of drawing operations a page; nothing here touches a PDF.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sample_corpus.source import Block, PaperSource
from sample_corpus.typesetting import (
    LOWERED_DROP,
    RAISED_RISE,
    RAISED_SCALE,
    Line,
    break_lines,
    measure_piece,
    measure_space,
    measure_word,
    split_words,
)

A4 = (595.0, 842.0)
JOURNAL = (482.0, 680.0)  # 170 by 240 mm, a usual trim
MAX_STRETCH = 4.2  # a line whose spaces would grow beyond this is left ragged
BLACK, GREY, RED, BLUE = (0.0, 0.0, 0.0), (0.4, 0.4, 0.4), (0.6, 0.1, 0.1), (0.1, 0.2, 0.5)
CELL_PAD = 3.0
PLOT_HEIGHT = 118.0
Colour = tuple[float, float, float]


class TextOp(NamedTuple):
    x: float
    y: float  # baseline
    text: str
    face: str
    style: str
    size: float
    colour: Colour = BLACK
    is_vertical: bool = False


class LineOp(NamedTuple):
    x0: float
    y0: float
    x1: float
    y1: float
    width: float = 0.5
    colour: Colour = BLACK


Op = TextOp | LineOp


class _Table(NamedTuple):
    cells: list[list[list[Line]]]
    columns: list[float]
    heights: list[float]
    size: float
    leading: float

    @property
    def height(self) -> float:
        return sum(self.heights) + 10.0


class Frame(NamedTuple):
    page: int
    x0: float
    y0: float
    x1: float
    y1: float


NO_FRAME = Frame(0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Style:
    """Measures of one page design, in points."""

    page: tuple[float, float] = JOURNAL
    face: str = "serif"
    size: float = 10.6
    leading: float = 14.2
    margin: float = 40.0
    top: float = 62.0
    bottom_margin: float = 62.0
    num_columns: int = 2
    gutter: float = 18.0
    title_size: float = 17.0
    title_centred: bool = False
    heading_face: str = "sans"
    indent: float = 10.0
    paragraph_gap: float = 0.0

    @property
    def bottom(self) -> float:
        return self.page[1] - self.bottom_margin


STYLES = {
    "two_column": Style(),
    "two_column_sans": Style(face="sans", size=10.0, leading=14.2, heading_face="sans", title_size=16.0),
    "two_column_classic": Style(heading_face="serif", title_centred=True, title_size=15.0, margin=44.0),
    "one_column": Style(
        num_columns=1, page=A4, size=11.6, leading=17.4, margin=92.0, heading_face="serif", indent=16.0
    ),
    "preprint": Style(
        num_columns=1,
        page=A4,
        size=11.0,
        leading=17.6,
        margin=104.0,
        title_centred=True,
        heading_face="serif",
        indent=14.0,
    ),
    "one_column_small": Style(num_columns=1, size=10.8, leading=16.0, margin=62.0, heading_face="serif", indent=14.0),
    "supplement": Style(
        face="sans", num_columns=1, size=10.0, leading=15.0, margin=48.0, indent=0.0, paragraph_gap=6.0
    ),
}


@dataclass
class Flow:
    """Places blocks into successive frames. ``last_bottom`` cuts the last page's columns to balance them."""

    source: PaperSource
    style: Style
    last_page: int = -1
    last_bottom: float = 0.0
    pages: list[list[Op]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    frame: Frame = NO_FRAME
    y: float = 0.0
    is_overfull: bool = False

    def open_page(self, top: float) -> None:
        page = len(self.pages)
        self.pages.append([])
        self.add_frames(page, top)

    def add_frames(self, page: int, top: float) -> None:
        style = self.style
        bottom = self.last_bottom if page == self.last_page else style.bottom
        width = (style.page[0] - 2 * style.margin - (style.num_columns - 1) * style.gutter) / style.num_columns
        for column in range(style.num_columns):
            x0 = style.margin + column * (width + style.gutter)
            self.frames.append(Frame(page, x0, top, x0 + width, bottom))

    def next_frame(self) -> None:
        if not self.frames:
            if self.last_page >= 0 and len(self.pages) > self.last_page:
                self.is_overfull = True
            self.open_page(self.style.top)
        self.frame = self.frames.pop(0)
        self.y = self.frame.y0

    @property
    def is_at_top(self) -> bool:
        return self.y <= self.frame.y0 + 0.1

    def put(self, op: Op) -> None:
        self.pages[self.frame.page].append(op)

    def reserve(self, height: float) -> None:
        """Move to the next frame unless ``height`` is left in this one."""
        if self.y + height > self.frame.y1 and not self.is_at_top:
            self.next_frame()

    def place_line(self, line: Line, x0: float, x1: float, size: float, face: str, leading: float) -> None:
        self.y += leading
        for op in set_line(line, x0, x1, self.y - 0.26 * leading, face, size):
            self.put(op)

    def paragraph(
        self,
        text: str,
        *,
        indent: float = 0.0,
        hanging: float = 0.0,
        size: float = 0.0,
        leading: float = 0.0,
        style: str = "r",
        face: str = "",
    ) -> None:
        size, leading = size or self.style.size, leading or self.style.leading
        face = face or self.style.face
        words = split_words(text, style)
        width = self.frame.x1 - self.frame.x0 - hanging
        hyphenate = self.source.is_on("hyphenate")
        lines = break_lines(words, width, face, size, hyphenate, indent)
        index = 0
        while index < len(lines):
            room = int((self.frame.y1 - self.y + 0.05) // leading)
            take = min(room, len(lines) - index)
            if len(lines) - index - take == 1 and take > 2:
                take -= 1  # no widow
            if take < min(2, len(lines) - index):
                self.next_frame()
                continue
            for number, line in enumerate(lines[index : index + take], index):
                x0 = self.frame.x0 + hanging + (indent if number == 0 else 0.0)
                self.place_line(line, x0, self.frame.x1, size, face, leading)
            index += take
            if index < len(lines):
                self.next_frame()

    def heading(self, block: Block) -> None:
        style = self.style
        size = style.size + (1.6 if block.level == 1 else 0.2)
        gap = 0.0 if self.is_at_top else (9.0 if block.level == 1 else 6.0)
        self.reserve(gap + size * 1.3 + 3 * style.leading)
        if not self.is_at_top:
            self.y += gap
        words = split_words(block.text, "b" if block.level == 1 else "i")
        for line in break_lines(words, self.frame.x1 - self.frame.x0, style.heading_face, size):
            self.place_line(Line(line.words, True), self.frame.x0, self.frame.x1, size, style.heading_face, size * 1.3)
        self.y += 2.0

    def measure_table(self, rows: Sequence[Sequence[str]], widths: Sequence[float]) -> _Table:
        """Break the cells into lines and return them with column widths and row heights."""
        size, leading = self.style.size - 1.3, self.style.leading - 1.8
        total = self.frame.x1 - self.frame.x0
        shares = list(widths) if len(widths) == len(rows[0]) else [1.0] * len(rows[0])
        columns = [total * share / sum(shares) for share in shares]
        cells = []
        for number, row in enumerate(rows):
            words = [split_words(cell, "b" if number == 0 else "r") for cell in row]
            pairs = zip(words, columns, strict=True)
            cells.append([break_lines(cell, width - 2 * CELL_PAD, self.style.face, size) for cell, width in pairs])
        heights = [max(len(cell) for cell in row) * leading + 2 * CELL_PAD for row in cells]
        return _Table(cells, columns, heights, size, leading)

    def table(self, rows: Sequence[Sequence[str]], widths: Sequence[float]) -> None:
        """Draw a ruled table: heavier rules round the head, thin ones between rows, and column rules."""
        table = self.measure_table(rows, widths)
        self.reserve(table.height)
        top = self.y + 3
        edges = [self.frame.x0]
        for width in table.columns:
            edges.append(edges[-1] + width)
        for row, height in zip(table.cells, table.heights, strict=True):
            for cell, left, right in zip(row, edges, edges[1:], strict=False):
                for number, line in enumerate(cell):
                    y = top + CELL_PAD + (number + 0.74) * table.leading
                    ragged = Line(line.words, True)
                    for op in set_line(ragged, left + CELL_PAD, right, y, self.style.face, table.size):
                        self.put(op)
            self.put(LineOp(edges[0], top, edges[-1], top, 0.9 if row is table.cells[0] else 0.4))
            top += height
            if row is table.cells[0]:
                self.put(LineOp(edges[0], top, edges[-1], top, 0.9))
        self.put(LineOp(edges[0], top, edges[-1], top, 0.9))
        for edge in edges:
            self.put(LineOp(edge, self.y + 3, edge, top, 0.4))
        self.y = top + 8

    def survival_plot(self, description: str) -> None:
        """Draw two step curves; ``description`` is ``label:median; label:median; months``."""
        first, second, months = (part.strip() for part in description.split(";"))
        width, height = min(self.frame.x1 - self.frame.x0, 300.0), PLOT_HEIGHT
        self.reserve(height + 40)
        left, top = self.frame.x0 + 26, self.y + 8
        right, bottom = left + width - 34, top + height
        self.put(LineOp(left, top, left, bottom, 0.7))
        self.put(LineOp(left, bottom, right, bottom, 0.7))
        horizon = float(months)
        for share in (0, 25, 50, 75, 100):
            y = bottom - height * share / 100
            self.put(LineOp(left - 3, y, left, y))
            self.put(TextOp(left - 18, y + 2, str(share), "sans", "r", 6.0))
        for month in range(0, int(horizon) + 1, 6):
            x = left + (right - left) * month / horizon
            self.put(LineOp(x, bottom, x, bottom + 3))
            self.put(TextOp(x - 3, bottom + 10, str(month), "sans", "r", 6.0))
        self.put(TextOp((left + right) / 2 - 36, bottom + 19, "Months since randomisation", "sans", "r", 6.5))
        for curve, colour, drop in ((first, BLUE, 0), (second, RED, 9)):
            label, _, median = curve.rpartition(":")
            self._step_curve(float(median), horizon, (left, top, right, bottom), colour)
            self.put(TextOp(right - 92, top + 8 + drop, label, "sans", "r", 6.5, colour))
        self.y = bottom + 24

    def _step_curve(
        self, median: float, horizon: float, box: tuple[float, float, float, float], colour: Colour
    ) -> None:
        left, top, right, bottom = box
        x, y, steps = left, top, 36
        for step in range(1, steps + 1):
            month = horizon * step / steps
            next_x = left + (right - left) * step / steps
            next_y = bottom - (bottom - top) * 0.5 ** ((month / median) ** 1.2)
            self.put(LineOp(x, y, next_x, y, 0.8, colour))
            self.put(LineOp(next_x, y, next_x, next_y, 0.8, colour))
            x, y = next_x, next_y

    def blocks(self, blocks: Iterable[Block]) -> None:
        style = self.style
        small, small_leading = style.size - 1.2, style.leading - 1.5
        after_heading = True
        sequence = list(blocks)
        for block, following in zip(sequence, [*sequence[1:], None], strict=True):
            if block.kind == "heading":
                self.heading(block)
            elif block.kind == "paragraph":
                self.paragraph(block.text, indent=0.0 if after_heading else style.indent)
                self.y += style.paragraph_gap
            elif block.kind == "bullet":
                self.paragraph("• " + block.text, hanging=8.0)
            elif block.kind == "reference":
                self.paragraph(block.text, size=small, leading=small_leading)
            elif block.kind == "caption":
                self.y += 6
                if following is not None and following.kind == "table":
                    table = self.measure_table(following.rows, self.source.table_widths)
                    self.reserve(table.height + 4 * small_leading)
                self.paragraph(block.text, size=small, leading=small_leading, face=style.heading_face)
                self.y += 2
            elif block.kind == "table":
                self.table(block.rows, self.source.table_widths)
            elif block.kind == "survival_plot":
                self.survival_plot(block.text)
            else:
                raise ValueError(f"{self.source.key}: unknown block kind {block.kind!r}")
            after_heading = block.kind != "paragraph"


def set_line(line: Line, x0: float, x1: float, y: float, face: str, size: float) -> list[Op]:
    """Return the text operations of one line, stretched to ``x1`` unless it is the paragraph's last."""
    space = measure_space(face, size)
    gap = space
    if not line.is_last and len(line.words) > 1:
        used = sum(measure_word(word, face, size) for word in line.words)
        stretched = (x1 - x0 - used) / (len(line.words) - 1)
        gap = stretched if stretched <= MAX_STRETCH * space else space
    ops: list[Op] = []
    x = x0
    for number, word in enumerate(line.words):
        for position, piece in enumerate(word):
            is_end = position == len(word) - 1 and number < len(line.words) - 1
            scale = RAISED_SCALE if piece.rise else 1.0
            shift = RAISED_RISE if piece.rise > 0 else (-LOWERED_DROP if piece.rise else 0.0)
            text = piece.text + (" " if is_end else "")
            ops.append(TextOp(x, y - shift * size, text, face, piece.style, size * scale))
            x += measure_piece(piece, face, size)
        x += gap
    return ops
