"""A page's printed lines: geometry, type and normalised text. What comes later works on these alone."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from corpus_assets.pdf.normalise import GLYPH_LOSS, clean_text, compose_detached_accents, to_subscript, to_superscript

BOLD_FLAG = 16
ITALIC_FLAG = 2
MAX_DOUBLE_SHIFT = 2.1  # points
SOFT_HYPHEN = "\u00ad"
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BAD_CHARS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")

_BOLD_FONT_PARTS = ("bold", "black", "heavy", "semibold", "demi", "-medi", "cmbx", "cmssbx", "sfbx", "-bd")


class Line:
    """One printed line; coordinates in points with the page's top left as origin, text upright.

    ``bold`` is the share of bold characters, ``bold_prefix`` how many characters at the start are bold.
    ``order`` is the place in which the file draws the line.
    ``num_bad`` counts characters that stand for nothing (control, private use, U+FFFD).
    ``pieces`` are the raw spans ``(text, size, font, flags, baseline, x0, x1)`` until :meth:`finish` reads them.
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

    def __init__(self, x0: float, y0: float, x1: float, y1: float, block: int, pieces: list[tuple[Any, ...]]) -> None:
        self.x0, self.y0, self.x1, self.y1 = x0, y0, x1, y1
        self.block = block
        self.pieces = pieces
        self.page = 0
        self.text = ""
        self.size = 0.0
        self.baseline = y1
        self.bold = 0.0
        self.bold_prefix = 0
        self.italic = False
        self.flags: tuple[str, ...] = ()
        self.num_bad = 0
        self.order = 0
        self.is_rtl = False

    def __repr__(self) -> str:
        return f"Line({self.x0:.0f},{self.y0:.0f},{self.x1:.0f},{self.y1:.0f} {self.size:.1f} {self.text!r})"

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
            text, *rest = self.pieces[-1]
            if not text.endswith(" ") and not other.pieces[0][0].startswith(" "):
                self.pieces[-1] = (text + " ", *rest)
        self.pieces.extend(other.pieces)
        self.x0, self.x1 = min(self.x0, other.x0), max(self.x1, other.x1)
        self.y0, self.y1 = min(self.y0, other.y0), max(self.y1, other.y1)

    def finish(self) -> None:
        """Fill text, size and style from the pieces."""
        pieces = self.pieces
        if len(pieces) == 1:
            raw, self.size, font, flags, self.baseline, _, _ = pieces[0]
            bold = is_bold(font, flags)
            self.italic = bool(flags & ITALIC_FLAG)
            text = clean_text(raw)
            self.bold = 1.0 if bold else 0.0
            self.bold_prefix = len(text.strip()) if bold else 0
        else:
            raw, text = self._join_pieces()
        if not text.isascii() or "`" in text:
            text = unicodedata.normalize("NFC", text)  # a mark may be a piece of its own
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
        if raw.rstrip().endswith(SOFT_HYPHEN) and self.text:
            self.text += SOFT_HYPHEN  # the paragraph joiner takes it away again

    def _join_pieces(self) -> tuple[str, str]:
        weights: Counter[tuple[float, float]] = Counter()
        num_bold = num_italic = num_all = 0
        bold_prefix, in_prefix = 0, True
        for piece in self.pieces:
            length = len(piece[0].strip())
            weights[(piece[1], piece[4])] += length
            num_all += length
            if is_bold(piece[2], piece[3]):
                num_bold += length
                if in_prefix:
                    bold_prefix += len(piece[0])
            elif length:
                in_prefix = False
            if piece[3] & ITALIC_FLAG:
                num_italic += length
        self.size, self.baseline = max(weights, key=lambda key: (weights[key], key[0])) if weights else (0.0, self.y1)
        self.bold = num_bold / num_all if num_all else 0.0
        self.bold_prefix = bold_prefix
        self.italic = num_italic * 2 > num_all
        size, baseline = self.size, self.baseline
        parts = []
        raws = []
        for raw, piece_size, _, _, piece_baseline, _, _ in self.pieces:
            raws.append(raw)
            cleaned = clean_text(raw)
            rise = baseline - piece_baseline
            if abs(rise) > 0.07 * size and piece_size < 0.86 * size and cleaned.strip():
                stripped = cleaned.strip()
                head = cleaned[: len(cleaned) - len(cleaned.lstrip())]
                tail = cleaned[len(cleaned.rstrip()) :]
                cleaned = head + (to_superscript(stripped) if rise > 0.12 * size else to_subscript(stripped)) + tail
            parts.append(cleaned)
        return "".join(raws), "".join(parts)


_bold_fonts: dict[str, bool] = {}


def is_bold(font: str, flags: int) -> bool:
    """Return whether a span is bold by its flag or its font's name."""
    if flags & BOLD_FLAG:
        return True
    known = _bold_fonts.get(font)
    if known is None:
        lowered = font.lower()
        known = _bold_fonts[font] = any(part in lowered for part in _BOLD_FONT_PARTS)
    return known


def read_lines(page_dict: Mapping[str, Any]) -> tuple[list[Line], list[Line]]:
    """Return a page's upright lines and its sideways ones, each unfinished, in the order the file draws them.

    Upright is the direction most characters have, so a landscape page is read as a reader turns it.
    """
    by_direction: dict[tuple[int, int], list[Line]] = {}
    sizes: Counter[tuple[int, int]] = Counter()
    for number, block in enumerate(page_dict["blocks"]):
        if block.get("type") != 0:
            continue
        for raw in block["lines"]:
            spans = raw["spans"]
            dx, dy = raw["dir"]
            direction = (round(dx), round(dy)) if dx != 1.0 else (1, 0)
            if direction == (1, 0):
                pieces = [
                    (s["text"], s["size"], s["font"], s["flags"], s["origin"][1], s["bbox"][0], s["bbox"][2])
                    for s in spans
                ]
                x0, y0, x1, y1 = raw["bbox"]
            else:
                pieces = [(s["text"], s["size"], s["font"], s["flags"], *_turn_span(s, direction)) for s in spans]
                x0, y0, x1, y1 = _turn_box(raw["bbox"], direction)
            by_direction.setdefault(direction, []).append(Line(x0, y0, x1, y1, number, pieces))
            sizes[direction] += sum(len(s["text"]) for s in spans)
    if not by_direction:
        return [], []
    if not sizes[(1, 0)] or max(sizes.values()) > 2 * sizes[(1, 0)]:
        main = max(sizes, key=lambda key: (sizes[key], key))
    else:
        main = (1, 0)
    upright = by_direction.pop(main)
    if main != (1, 0):
        left, top = min(line.x0 for line in upright), min(line.y0 for line in upright)
        shift_x, shift_y = min(left, 0.0) - 36, min(top, 0.0) - 36
        for line in upright:
            line.x0, line.x1 = line.x0 - shift_x, line.x1 - shift_x
            line.y0, line.y1 = line.y0 - shift_y, line.y1 - shift_y
            line.pieces = [(t, s, f, fl, b - shift_y, a - shift_x, c - shift_x) for t, s, f, fl, b, a, c in line.pieces]
    sideways = [line for lines in by_direction.values() for line in lines]
    return upright, sideways


def _turn_box(box: tuple[float, float, float, float], direction: tuple[int, int]) -> tuple[float, float, float, float]:
    dx, dy = direction
    x0, y0, x1, y1 = box
    corners = [(x * dx + y * dy, y * dx - x * dy) for x in (x0, x1) for y in (y0, y1)]
    xs, ys = [c[0] for c in corners], [c[1] for c in corners]
    return min(xs), min(ys), max(xs), max(ys)


def _turn_span(span: Mapping[str, Any], direction: tuple[int, int]) -> tuple[float, float, float]:
    x, y = span["origin"]
    box = _turn_box(span["bbox"], direction)
    return y * direction[0] - x * direction[1], box[0], box[2]


def merge_pieces(lines: Iterable[Line]) -> list[Line]:
    """Return finished lines: touching pieces of a printed line joined, lines drawn twice kept once, empty ones gone."""
    merged: list[Line] = []
    last: Line | None = None
    for line in lines:
        if last is not None and _touches(last, line):
            last.absorb(line)
            continue
        for piece in line.pieces:
            if not piece[0].isspace() and piece[0]:
                merged.append(line)
                last = line
                break
    for order, line in enumerate(merged):
        line.order = order
        line.finish()
    return _drop_doubles([line for line in merged if line.text])


def _touches(left: Line, right: Line) -> bool:
    if right.y0 >= left.y1 or right.y1 <= left.y0:
        return False
    heights = left.y1 - left.y0, right.y1 - right.y0
    size = min(heights)
    if size <= 0 or max(heights) > 3 * size:
        return False
    if min(left.y1, right.y1) - max(left.y0, right.y0) <= 0.4 * size:
        return False
    if -0.3 * size < right.x0 - left.x1 < 0.55 * size:
        return True
    return -0.3 * size < left.x0 - right.x1 < 0.55 * size and RIGHT_TO_LEFT.search(left.pieces[0][0]) is not None


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
