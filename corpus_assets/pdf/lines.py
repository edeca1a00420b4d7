"""A page's printed lines: geometry, type and normalised text. What comes later works on these alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from corpus_assets.pdf.normalise import GLYPH_LOSS, clean_text, compose_detached_accents, to_subscript, to_superscript

BOLD, ITALIC = 1, 2  # a piece's style
UPRIGHT = (1, 0)
MAX_DOUBLE_SHIFT = 2.1  # points
SOFT_HYPHEN = "\u00ad"
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BAD_CHARS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")

_BOLD_FLAG, _ITALIC_FLAG = 16, 2  # mupdf's, of a span
_BOLD_FONT_PARTS = ("bold", "black", "heavy", "semibold", "demi", "-medi", "cmbx", "cmssbx", "sfbx", "-bd")

Piece = tuple[list[str], float, float, int]


class Line:
    """One printed line; coordinates in points with the page's top left as origin, text upright.

    ``bold`` and ``italic`` are shares of the characters, ``bold_prefix`` how many characters at the start are bold.
    ``order`` is the place in which the file draws the line.
    ``num_bad`` counts characters that stand for nothing (control, private use, U+FFFD).
    ``pieces`` are ``(texts, size, baseline, style)``, style being BOLD and ITALIC added up, until :meth:`finish`
    reads them; the texts are those of the file's spans, which end at every wide space.
    """

    __slots__ = (
        "baseline",
        "block",
        "bold",
        "bold_prefix",
        "flags",
        "is_rtl",
        "italic",
        "num_bad",
        "order",
        "page",
        "pieces",
        "size",
        "text",
        "x0",
        "x1",
        "y0",
        "y1",
    )

    def __init__(self, x0: float, y0: float, x1: float, y1: float, block: int, pieces: list[Piece]) -> None:
        self.x0, self.y0, self.x1, self.y1 = x0, y0, x1, y1
        self.block = block
        self.pieces = pieces
        self.page = 0
        self.text = ""
        self.size = 0.0
        self.baseline = y1
        self.bold = 0.0
        self.bold_prefix = 0
        self.italic = 0.0
        self.flags: tuple[str, ...] = ()
        self.num_bad = 0
        self.order = 0
        self.is_rtl = False

    def __repr__(self) -> str:
        return f"Line({self.x0:.0f},{self.y0:.0f},{self.x1:.0f},{self.y1:.0f} {self.size:.1f} {self.text!r})"

    @property
    def is_italic(self) -> bool:
        return self.italic > 0.5

    @property
    def is_all_italic(self) -> bool:
        return self.italic > 0.95

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    def absorb(self, other: Line) -> None:
        """Take in a piece of the same printed line that stands to the right."""
        gap = max(other.x0 - self.x1, self.x0 - other.x1)
        if self.pieces and gap > 0.12 * min(self.pieces[-1][1], other.pieces[0][1]):
            texts = self.pieces[-1][0]
            if not texts[-1].endswith(" ") and not other.pieces[0][0][0].startswith(" "):
                texts[-1] += " "
        self.pieces.extend(other.pieces)
        self.x0, self.x1 = min(self.x0, other.x0), max(self.x1, other.x1)
        self.y0, self.y1 = min(self.y0, other.y0), max(self.y1, other.y1)

    def finish(self) -> None:
        """Fill text, size and style from the pieces."""
        pieces = self.pieces
        texts, size, baseline, style = pieces[0]
        is_uniform = True
        for piece in pieces[1:]:
            if piece[1] != size or piece[2] != baseline or piece[3] != style:
                is_uniform = False
                break
        if is_uniform:
            raw = texts[0] if len(texts) == 1 else "".join(texts)
            if len(pieces) > 1:
                raw += "".join(["".join(piece[0]) for piece in pieces[1:]])
            self.size, self.baseline = size, baseline
            is_plain = raw.isascii() and raw.isprintable()
            text = raw if is_plain else clean_text(raw)
            if style:
                self.italic = 1.0 if style & ITALIC else 0.0
                if style & BOLD:
                    self.bold, self.bold_prefix = 1.0, len(text.strip())
        else:
            raw, text = self._join_pieces()
            is_plain = raw.isascii() and raw.isprintable() and text.isascii()
        if is_plain and "`" not in text:  # as most lines are; nothing of what follows applies
            text = text.strip()
            self.text = " ".join(text.split()) if "  " in text else text
            return
        if not text.isascii() or "`" in text:
            text = normalize("NFC", text)  # a mark may be a piece of its own
            self.is_rtl = RIGHT_TO_LEFT.search(text) is not None
            text, has_detached = compose_detached_accents(text)
            if has_detached:
                self.flags = ("detached_accents",)
        if not raw.isprintable() or GLYPH_LOSS in raw:
            self.num_bad = len(_BAD_CHARS.findall(raw))
            if "\x00" in raw or GLYPH_LOSS in raw:
                self.flags = (*self.flags, "glyph_loss")
            if "\x1b" in raw or "\x9b" in raw:
                self.flags = (*self.flags, "control_codes")
        self.text = " ".join(text.split())
        if SOFT_HYPHEN in raw and raw.rstrip().endswith(SOFT_HYPHEN) and self.text:
            self.text += SOFT_HYPHEN  # the paragraph joiner takes it away again

    def _join_pieces(self) -> tuple[str, str]:
        weights: dict[tuple[float, float], int] = {}
        num_bold = num_italic = num_all = 0
        bold_prefix, in_prefix = 0, True
        smallest = self.pieces[0][1]
        for texts, size, baseline, style in self.pieces:
            length = len(texts[0].strip()) if len(texts) == 1 else sum([len(text.strip()) for text in texts])
            key = (size, baseline)
            weights[key] = weights.get(key, 0) + length
            if size < smallest:
                smallest = size
            num_all += length
            if style & BOLD:
                num_bold += length
                if in_prefix:
                    bold_prefix += sum(map(len, texts))
            elif length:
                in_prefix = False
            if style & ITALIC:
                num_italic += length
        size, baseline = max(weights, key=lambda key: (weights[key], key[0])) if len(weights) > 1 else key
        self.size, self.baseline = size, baseline
        self.bold = num_bold / num_all if num_all else 0.0
        self.bold_prefix = bold_prefix
        self.italic = num_italic / num_all if num_all else 0.0
        raws = "".join([text for texts, _, _, _ in self.pieces for text in texts])
        if smallest >= 0.86 * size:  # nothing is small enough to be raised or lowered
            return raws, clean_text(raws)
        parts: list[str] = []
        for texts, piece_size, piece_baseline, _ in self.pieces:
            rise = baseline - piece_baseline
            if piece_size < 0.86 * size and abs(rise) > 0.07 * size:
                parts.extend([_shift(clean_text(text), rise > 0.12 * size) for text in texts])
            else:
                parts.extend(map(clean_text, texts))
        return raws, "".join(parts)


def _shift(text: str, is_raised: bool) -> str:
    """Return raised or lowered characters as such, the spaces around them as they are."""
    stripped = text.strip()
    if not stripped:
        return text
    head = text[: len(text) - len(text.lstrip())]
    tail = text[len(text.rstrip()) :]
    return head + (to_superscript(stripped) if is_raised else to_subscript(stripped)) + tail


@lru_cache(maxsize=10_000)
def find_style(font: str, flags: int) -> int:
    """Return BOLD and ITALIC added up, as a span's flags and its font's name say."""
    lowered = font.lower()
    is_bold = flags & _BOLD_FLAG or any(part in lowered for part in _BOLD_FONT_PARTS)
    return (BOLD if is_bold else 0) + (ITALIC if flags & _ITALIC_FLAG else 0)


def read_lines(page_dict: Mapping[str, Any]) -> tuple[list[Line], list[Line]]:
    """Return a page's upright lines and its sideways ones, each unfinished, in the order the file draws them.

    Upright is the direction most characters have, so a landscape page is read as a reader turns it.
    """
    by_direction: dict[tuple[int, int], list[Line]] = {}
    sizes: dict[tuple[int, int], int] = {}
    for number, block in enumerate(page_dict["blocks"]):
        if block["type"] != 0:
            continue
        for raw in block["lines"]:
            dx, dy = raw["dir"]
            direction = (round(dx), round(dy)) if dx != 1.0 else UPRIGHT
            pieces, num_chars = _read_pieces(raw["spans"], direction)
            x0, y0, x1, y1 = raw["bbox"] if direction == UPRIGHT else _turn_box(raw["bbox"], direction)
            line = Line(x0, y0, x1, y1, number, pieces)
            if direction in by_direction:
                by_direction[direction].append(line)
                sizes[direction] += num_chars
            else:
                by_direction[direction], sizes[direction] = [line], num_chars
    if not by_direction:
        return [], []
    if not sizes.get(UPRIGHT) or max(sizes.values()) > 2 * sizes[UPRIGHT]:
        main = max(sizes, key=lambda key: (sizes[key], key))
    else:
        main = UPRIGHT
    upright = by_direction.pop(main)
    if main != UPRIGHT:
        left, top = min(line.x0 for line in upright), min(line.y0 for line in upright)
        shift_x, shift_y = min(left, 0.0) - 36, min(top, 0.0) - 36
        for line in upright:
            line.x0, line.x1 = line.x0 - shift_x, line.x1 - shift_x
            line.y0, line.y1 = line.y0 - shift_y, line.y1 - shift_y
            line.pieces = [(texts, size, baseline - shift_y, style) for texts, size, baseline, style in line.pieces]
    sideways = [line for lines in by_direction.values() for line in lines]
    return upright, sideways


def _read_pieces(spans: Sequence[Mapping[str, Any]], direction: tuple[int, int]) -> tuple[list[Piece], int]:
    """Return a line's pieces and the number of their characters."""
    if direction != UPRIGHT:
        dx, dy = direction
        pieces: list[Piece] = [
            ([s["text"]], s["size"], s["origin"][1] * dx - s["origin"][0] * dy, find_style(s["font"], s["flags"]))
            for s in spans
        ]
        return pieces, sum([len(s["text"]) for s in spans])
    first = spans[0]
    size, baseline, flags, font = first["size"], first["origin"][1], first["flags"], first["font"]
    texts: list[str] = []
    pieces = [(texts, size, baseline, find_style(font, flags))]
    num_chars = 0
    for s in spans:
        text = s["text"]
        if s["origin"][1] != baseline or s["size"] != size or s["flags"] != flags or s["font"] != font:
            size, baseline, flags, font = s["size"], s["origin"][1], s["flags"], s["font"]
            texts = []
            pieces.append((texts, size, baseline, find_style(font, flags)))
        texts.append(text)
        num_chars += len(text)
    return pieces, num_chars


def _turn_box(box: tuple[float, float, float, float], direction: tuple[int, int]) -> tuple[float, float, float, float]:
    dx, dy = direction
    x0, y0, x1, y1 = box
    corners = [(x * dx + y * dy, y * dx - x * dy) for x in (x0, x1) for y in (y0, y1)]
    xs, ys = [c[0] for c in corners], [c[1] for c in corners]
    return min(xs), min(ys), max(xs), max(ys)


def merge_pieces(lines: Iterable[Line]) -> list[Line]:
    """Return finished lines: touching pieces of a printed line joined, lines drawn twice kept once, empty ones gone."""
    merged: list[Line] = []
    last: Line | None = None
    for line in lines:
        if last is not None and line.y0 < last.y1 and line.y1 > last.y0 and _touches(last, line):
            last.absorb(line)
            continue
        if _has_print(line):
            merged.append(line)
            last = line
    for order, line in enumerate(merged):
        line.order = order
        line.finish()
    return _drop_doubles([line for line in merged if line.text])


def _has_print(line: Line) -> bool:
    for texts, _, _, _ in line.pieces:
        for text in texts:
            if text and not text.isspace():
                return True
    return False


def _touches(left: Line, right: Line) -> bool:
    heights = left.y1 - left.y0, right.y1 - right.y0
    size = min(heights)
    if size <= 0 or max(heights) > 3 * size:
        return False
    if min(left.y1, right.y1) - max(left.y0, right.y0) <= 0.4 * size:
        return False
    if -0.3 * size < right.x0 - left.x1 < 0.55 * size:
        return True
    return -0.3 * size < left.x0 - right.x1 < 0.55 * size and RIGHT_TO_LEFT.search(left.pieces[0][0][0]) is not None


def _drop_doubles(lines: list[Line]) -> list[Line]:
    """Drop a line drawn again next to itself (fake bold, shadows)."""
    kept: list[Line] = []
    seen: dict[str, list[Line]] = {}
    for line in lines:
        twins = seen.get(line.text)
        if twins is None:
            seen[line.text] = [line]
            kept.append(line)
            continue
        near = min(MAX_DOUBLE_SHIFT, 0.3 * line.height)
        twin = next((t for t in twins if abs(t.x0 - line.x0) < near and abs(t.y0 - line.y0) < near), None)
        if twin is None:
            twins.append(line)
            kept.append(line)
        else:
            twin.bold, twin.bold_prefix = 1.0, len(twin.text)
    return kept
