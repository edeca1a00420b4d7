"""Text that something opaque was painted over afterwards: in the file, but not on the page a reader sees."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from corpus_assets.pdf.hidden_text import FULL_PAGE_IMAGE, MAX_HIDDEN_SPANS, PagePicture, find_image_cover
from corpus_assets.pdf.late_paint import Box, find_late_paint, find_xobjects, may_paint_late, move_box
from corpus_assets.pdf.mupdf import load_pymupdf
from corpus_assets.pdf.normalise import clean_text
from corpus_assets.pdf.paint_log import MIN_COVER_SIDE, Cover, is_large_enough, list_covers

INNER_PART = 0.25  # of a letter's box that may show on each side of what covers it
SEEN_AFTER = 5  # bytes of an operator and what ends it
MAX_LABEL_CHARS = 24  # of a line in a figure
SAME_PLACE = 0.3  # points between two records of one letter
NO_INK = 3  # the kind of text that is never drawn; whether that is an OCR layer is another question


class _Letter(NamedTuple):
    number: int  # of what painted it
    code: int  # of the character
    origin: tuple[float, float]
    box: Box


def take_covered_text(page: Any, textpage: Any, page_dict: dict[str, Any], contents: bytes) -> list[str]:
    """Take out of a page's dict what is painted over, and return its text.

    Text under pictures that cover a page is a scan's OCR layer and stays. Pages where nothing is painted after text, or
    nowhere near it, are told by their content stream; of the others a second reading says whether it is near.
    """
    if not _has_drawn_notes(page):
        if not may_paint_late(contents):
            return []
        if not _may_cover(page, page_dict, contents):
            return []
    if not _is_text_met_by_paint(page):
        return []
    hidden, shown = _find_hidden_letters(page)
    return _take_out(_Places(hidden, shown), textpage, page_dict) if hidden else []


def _has_drawn_notes(page: Any) -> bool:
    """Return whether notes lie on the page, all drawn after its contents; links and form fields are none."""
    return page.first_annot is not None


def _may_cover(page: Any, page_dict: dict[str, Any], contents: bytes) -> bool:
    """Return whether something is painted over the place of a line of text, after text was drawn at its height."""
    find_xobject = find_xobjects(page)
    found = find_late_paint(contents, find_xobject)
    if found is None:
        return True
    if not found:
        return False
    if page.rotation:
        return True
    matrix = page.transformation_matrix
    lines = [line for block in page_dict["blocks"] if block["type"] == 0 for line in block["lines"]]
    boxes = [line["bbox"] for line in lines]
    meeting = [paint for paint in found if _meet([move_box(paint.box, matrix)], boxes)]
    if not meeting:
        return False
    found = find_late_paint(contents, find_xobject, near_text_until=meeting[-1].position + SEEN_AFTER)
    if found is None:
        return True
    over = [move_box(paint.box, matrix) for paint in found if not paint.is_within]
    within = [move_box(paint.box, matrix) for paint in found if paint.is_within]
    return _meet(over, boxes) or (bool(within) and _meet(within, _long_lines(lines)))


def _long_lines(lines: Sequence[dict[str, Any]]) -> list[Box]:
    """Return the boxes of lines that say more than a figure's labels do."""
    return [line["bbox"] for line in lines if sum(len(span["text"]) for span in line["spans"]) > MAX_LABEL_CHARS]


def _meet(boxes: Iterable[Box], lines: Sequence[Box]) -> bool:
    """Return whether a box reaches over the middle of a line or word."""
    for x0, y0, x1, y1 in boxes:
        if x1 - x0 < MIN_COVER_SIDE or y1 - y0 < MIN_COVER_SIDE:
            continue
        for left, top, right, bottom in lines:
            if left < x1 and right > x0 and top < y1 and bottom > y0:
                if right - left >= bottom - top:
                    if y0 <= (top + bottom) / 2 <= y1:
                        return True
                elif x0 <= (left + right) / 2 <= x1:
                    return True
    return False


def _is_text_met_by_paint(page: Any) -> bool:
    """Return whether a filled path or a picture is drawn over text that was there before it."""
    pymupdf = load_pymupdf()

    flags = pymupdf.TEXT_COLLECT_VECTORS | pymupdf.TEXT_PRESERVE_IMAGES | pymupdf.TEXT_ACCURATE_BBOXES
    textpage = page.get_textpage(flags=flags)
    blocks: list[Box] = []  # of text, so far
    covers: list[tuple[int, Box]] = []  # each with the number of blocks before it, as words count them
    for x0, y0, x1, y1, text, _number, kind in textpage.extractBLOCKS():
        if kind == 0:
            blocks.append((x0, y0, x1, y1))
        elif kind != 3 or ("<vector filled" in text and "alpha: 255" in text):
            box = (x0, y0, x1, y1)
            is_rectangle = kind != 3 or "is-rect: true" in text
            if is_large_enough(box, is_rectangle) and any(_touch(box, block) for block in blocks):
                covers.append((len(blocks), box))
    if not covers:
        return False
    words: dict[int, list[Box]] = defaultdict(list)
    for x0, y0, x1, y1, _word, number, *_ in textpage.extractWORDS():
        words[number].append((x0, y0, x1, y1))
    return any(_meet([box], boxes) for number, box in covers for block, boxes in words.items() if block < number)


def _touch(box: Box, other: Box) -> bool:
    return box[0] < other[2] and box[2] > other[0] and box[1] < other[3] and box[3] > other[1]


def _find_hidden_letters(page: Any) -> tuple[list[_Letter], list[_Letter]]:
    """Return the letters that are painted over, and those of the same places that are not."""
    covers = list_covers(page)
    numbers = [cover.number for cover in covers]
    is_scan = find_image_cover(page) >= FULL_PAGE_IMAGE
    hidden: list[_Letter] = []
    doubtful: list[_Letter] = []
    spans = [span for span in page.get_texttrace() if span["type"] != NO_INK]
    for span in spans:
        over = [cover for cover in covers[bisect(numbers, span["seqno"]) :] if _touch(span["bbox"], cover.box)]
        if not over:
            continue
        for letter in _list_letters(span):
            inner = _shrink(letter.box)
            near = [cover for cover in over if _touch(inner, cover.box)]
            if is_scan:
                if _is_covered(inner, [cover for cover in near if cover.is_picture]):
                    continue
                near = [cover for cover in near if not cover.is_picture]
            if _is_covered(inner, [cover for cover in near if cover.is_exact]):
                hidden.append(letter)
            elif _is_covered(inner, near):
                doubtful.append(letter)
    if doubtful:
        picture = PagePicture(page, [letter.box for letter in doubtful])
        hidden.extend(letter for letter in doubtful if not picture.has_contrast(letter.box))
    if not hidden:
        return [], []
    gone = {(letter.number, letter.origin) for letter in hidden}
    squares = {_square(letter.origin) for letter in hidden}
    columns, rows = ({square[side] + step for square in squares for step in (-1, 0, 1)} for side in (0, 1))
    shown = [
        letter
        for span in spans
        for letter in _list_letters(span)
        if letter.origin[1] // 1 in rows and letter.origin[0] // 1 in columns
    ]
    return hidden, [letter for letter in shown if (letter.number, letter.origin) not in gone]


def _list_letters(span: dict[str, Any]) -> Iterator[_Letter]:
    number = span["seqno"]
    for code, _glyph, origin, box in span["chars"]:
        yield _Letter(number, code, origin, box)


def _shrink(box: Box) -> Box:
    """Return the middle of a letter's box: where most of its ink is."""
    x0, y0, x1, y1 = box
    across, down = INNER_PART * (x1 - x0), INNER_PART * (y1 - y0)
    return x0 + across, y0 + down, x1 - across, y1 - down


def _is_covered(box: Box, covers: Sequence[Cover]) -> bool:
    """Return whether covers hide a box: one of them whole, or strips that reach across it together."""
    if not covers:
        return False
    x0, y0, x1, y1 = box
    rows = [(c.box[1], c.box[3]) for c in covers if c.box[0] <= x0 and c.box[2] >= x1]
    columns = [(c.box[0], c.box[2]) for c in covers if c.box[1] <= y0 and c.box[3] >= y1]
    return _reach_across(rows, y0, y1) or _reach_across(columns, x0, x1)


def _reach_across(strips: list[tuple[float, float]], start: float, end: float) -> bool:
    reached = start
    for low, high in sorted(strips):
        if low > reached + 0.1:
            break
        reached = max(reached, high)
    return bool(strips) and reached >= end


class _Places:
    """Where letters are hidden; a letter that is shown at the same place, too, is not."""

    def __init__(self, hidden: Iterable[_Letter], shown: Iterable[_Letter]) -> None:
        self.hidden: dict[tuple[int, int], list[_Letter]] = defaultdict(list)
        self.shown: dict[tuple[int, int], list[_Letter]] = defaultdict(list)
        for letter in hidden:
            self.hidden[_square(letter.origin)].append(letter)
        for letter in shown:
            self.shown[_square(letter.origin)].append(letter)

    def is_hidden(self, origin: tuple[float, float], code: int) -> bool:
        hidden = _find_near(self.hidden, origin)
        if not hidden:
            return False
        shown = _find_near(self.shown, origin)
        if any(letter.code == code for letter in shown):
            return False
        return not shown or any(letter.code == code for letter in hidden)


def _find_near(squares: dict[tuple[int, int], list[_Letter]], origin: tuple[float, float]) -> list[_Letter]:
    x, y = origin
    column, row = _square(origin)
    return [
        letter
        for square in ((c, r) for c in (column - 1, column, column + 1) for r in (row - 1, row, row + 1))
        for letter in squares.get(square, ())
        if abs(letter.origin[0] - x) <= SAME_PLACE and abs(letter.origin[1] - y) <= SAME_PLACE
    ]


def _square(point: tuple[float, float]) -> tuple[int, int]:
    return int(point[0] // 1), int(point[1] // 1)


def _take_out(places: _Places, textpage: Any, page_dict: dict[str, Any]) -> list[str]:
    """Split spans where hiding begins and ends; keep the shown parts in the dict and return the others' text."""
    hidden: list[str] = []
    around = _join([{"bbox": letter.box} for letters in places.hidden.values() for letter in letters])
    for block, raw_block in zip(page_dict["blocks"], textpage.extractRAWDICT()["blocks"], strict=True):
        if block["type"] != 0:
            continue
        for line, raw_line in zip(block["lines"], raw_block["lines"], strict=True):
            if not _touch(line["bbox"], around):
                continue
            spans = []
            for span, raw_span in zip(line["spans"], raw_line["spans"], strict=True):
                parts = list(_split(raw_span["chars"], places))
                if all(not is_hidden for is_hidden, _ in parts):
                    spans.append(span)
                    continue
                for is_hidden, chars in parts:
                    text = "".join(char["c"] for char in chars)
                    if is_hidden:
                        hidden.append(text)
                    else:
                        spans.append({**span, "text": text, "bbox": _join(chars), "origin": chars[0]["origin"]})
            line["spans"] = spans
            if spans:
                line["bbox"] = _join(spans)
        block["lines"] = [line for line in block["lines"] if line["spans"]]
    return [text for raw in hidden[:MAX_HIDDEN_SPANS] if (text := clean_text(raw).strip())]


def _split(chars: Sequence[dict[str, Any]], places: _Places) -> Iterator[tuple[bool, list[dict[str, Any]]]]:
    """Yield runs of hidden and of shown letters; a space goes with the letter before it."""
    run: list[dict[str, Any]] = []
    was_hidden = False
    for char in chars:
        is_hidden = places.is_hidden(char["origin"], ord(char["c"])) if char["c"].strip() else was_hidden
        if run and is_hidden != was_hidden:
            yield was_hidden, run
            run = []
        was_hidden = is_hidden
        run.append(char)
    if run:
        yield was_hidden, run


def _join(parts: Sequence[dict[str, Any]]) -> Box:
    boxes = [part["bbox"] for part in parts]
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)
