"""Where a page may be painted over after text was drawn, told from its content stream alone.

Only a sieve: it looks at operators and their numbers, not at what they paint, and where it cannot tell it says so, so
that the page is looked at as it is drawn.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from corpus_assets.pdf.mupdf import load_pymupdf
from corpus_assets.pdf.paint_log import MIN_SHAPE_WIDTH

MAX_SIFTED_BYTES = 60_000  # longer contents take longer to sift than to look at
MAX_BOXES = 80
MAX_FORM_BYTES = 15_000  # packed; larger ones are drawings, and not asked whether they paint over their own labels
MAX_FORM_DEPTH = 20

Box = tuple[float, float, float, float]
Matrix = tuple[float, float, float, float, float, float]

_PAINT = re.compile(rb"[\s\0\])>](?:[FfBb]\*?|sh|Do|EI)(?=[\s\0/\[(<%])")
_STEP = re.compile(rb"[\s\0\])>]([qQFfBb]\*?|cm|BT|sh|Do|EI)(?=[\s\0/\[(<%])")
_TEXT_STEP = re.compile(rb"[\s\0\])>]([qQFfBb]\*?|cm|BT|sh|Do|EI|T[dDmLf]|T\*|'|\")(?=[\s\0/\[(<%])")
_PATH_START = re.compile(rb"[-+.\d]+\s+[-+.\d]+\s+(?:[-+.\d]+\s+[-+.\d]+\s+re|m)\s")
_PATH_OPERATORS = frozenset((b"m", b"l", b"c", b"v", b"y", b"h", b"re", b"W", b"W*", b"n", b"S", b"s"))
_CURVES = frozenset((b"c", b"v", b"y"))
_FAR = 1e9
_NAMED_OBJECT = re.compile(r"/([^\s/<>\[\]()]+)\s*(\d+) 0 R")
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class XObject(NamedTuple):
    """What a content stream draws by name: a picture (a unit square) or a form (a box of its own)."""

    box: Box
    has_text: bool
    paints: bool
    paints_after_text: bool


class _Path(NamedTuple):
    box: Box
    is_curved: bool


PICTURE = XObject((0.0, 0.0, 1.0, 1.0), has_text=False, paints=True, paints_after_text=False)
_PICTURE_PATH = _Path(PICTURE.box, is_curved=False)
FindXObject = Callable[[bytes], XObject | None]

_KNOWN = "xobjects_known_to_late_paint"  # kept on the document, so that it goes with it


def may_paint_late(contents: bytes) -> bool:
    """Return whether anything is painted after the first text, or by name where there is none."""
    return _PAINT.search(contents, max(0, contents.find(b"BT"))) is not None


class LatePaint(NamedTuple):
    """A box that holds something painted after text, and where it is done; ``is_within`` a form that has the text."""

    box: Box
    position: int
    is_within: bool = False


def find_late_paint(
    contents: bytes, find_xobject: FindXObject, *, near_text_until: int | None = None
) -> list[LatePaint] | None:
    """Return what is painted after text, in the stream's own space; None when that cannot be told.

    With ``near_text_until`` only that part of the stream is looked at, for what reaches over the height of a text line
    that was begun before, left of it, and for forms that paint over text of their own.
    """
    if len(contents) > MAX_SIFTED_BYTES:
        return None
    try:
        return _sift(b"\n" + contents + b"\n", find_xobject, near_text_until)
    except (ValueError, IndexError):  # no numbers where numbers belong
        return None


class _TextStarts:
    """Where lines of text begin, followed through the operators that move them."""

    def __init__(self) -> None:
        self.line, self.leading, self.size = _IDENTITY, 0.0, 0.0
        self.starts: list[tuple[float, float, float, float]] = []  # x, y, how far right and how high letters may reach

    def add_form(self, box: Box) -> None:
        self.starts.append((box[0], box[1], box[2], box[3] - box[1]))

    def is_before(self, box: Box) -> bool:
        """Return whether a line begun so far may reach into a box."""
        x0, y0, x1, y1 = box
        return any(x <= x1 and end >= x0 and y < y1 and y + height > y0 for x, y, end, height in self.starts)

    def move(self, operator: bytes, before: bytes, matrix: Matrix) -> None:
        """Note where a line of text begins; letters reach half their size above it or more."""
        if operator == b"Tf":
            self.size = float(before.split()[-1])
            return
        if operator == b"TL":
            self.leading = float(before.split()[-1])
            return
        if operator == b"Tm":
            self.line = _read_matrix(before)
        else:
            x, y = 0.0, -self.leading
            if operator in (b"Td", b"TD"):
                x, y = map(float, before.split()[-2:])
                self.leading = -y if operator == b"TD" else self.leading
            a, b, c, d, e, f = self.line
            self.line = (a, b, c, d, a * x + c * y + e, b * x + d * y + f)
        a, b, c, d, x, y = _multiply(self.line, matrix)
        if abs(b) > 0.1 * abs(a) or abs(c) > 0.1 * abs(d) or a < 0:  # runs another way than to the right
            self.starts.append((-_FAR, -_FAR, _FAR, 2 * _FAR))
        else:
            self.starts.append((x, y, _FAR, max(0.5 * abs(self.size * d), 2.0)))


def _sift(contents: bytes, find_xobject: FindXObject, near_text_until: int | None) -> list[LatePaint] | None:
    """Follow the operators that move, paint or begin text."""
    found: list[LatePaint] = []
    stack: list[Matrix] = []
    matrix = _IDENTITY
    has_text = False
    texts = None if near_text_until is None else _TextStarts()
    steps = _STEP.finditer(contents) if texts is None else _TEXT_STEP.finditer(contents, 0, near_text_until or 0)
    last = 0
    for step in steps:
        operator = step[1]
        if operator == b"q":
            stack.append(matrix)
            continue
        if operator == b"Q":
            if stack:
                matrix = stack.pop()
            continue
        start = step.start()
        if operator == b"cm":
            matrix = _multiply(_read_matrix(contents[max(0, start - 150) : start]), matrix)
        elif operator == b"BT":
            has_text = True
            if texts is not None:
                texts.line = _IDENTITY
        elif texts is not None and operator[:1] in b"T'\"":
            texts.move(operator, contents[max(0, start - 150) : start], matrix)
        elif operator == b"Do":
            xobject = find_xobject(contents[max(0, start - 150) : start].rpartition(b"/")[2].strip())
            if xobject is None:
                return None
            box = _transform(xobject.box, matrix)
            if xobject.paints_after_text:
                found.append(LatePaint(box, start, is_within=True))
            if xobject.paints and has_text and (texts is None or texts.is_before(box)):
                found.append(LatePaint(box, start))
            if xobject.has_text:
                has_text = True
                if texts is not None:
                    texts.add_form(box)
        elif has_text:
            if operator == b"sh" or len(found) >= MAX_BOXES:
                return None
            path = _PICTURE_PATH if operator == b"EI" else _find_path(contents[last : start + 1])
            if path is not None:  # a word of a text otherwise
                box = _transform(path.box, matrix)
                if (not path.is_curved or box[2] - box[0] >= MIN_SHAPE_WIDTH) and (
                    texts is None or texts.is_before(box)
                ):
                    found.append(LatePaint(box, start))
        last = step.end()
    return found


def find_xobjects(page: Any) -> FindXObject:
    """Return a look-up of what a page draws by name; it answers None for what it cannot tell."""
    document = page.parent
    known: dict[int, XObject | None] = vars(document).setdefault(_KNOWN, {})
    numbers: dict[bytes, int] = {}

    def find(name: bytes) -> XObject | None:
        if not numbers:
            numbers.update(list_xobjects(document, page.xref))
        number = numbers.get(name)
        return None if number is None else _describe(document, number, known)

    return find


def move_box(box: Box, matrix: Any) -> Box:
    """Return a box in the space a page's text is given in; the matrix is the page's, which must not be turned."""
    a, b, c, d, e, f = matrix
    return _transform(box, (a, b, c, d, e, f))


def list_xobjects(document: Any, xref: int) -> dict[bytes, int]:
    """Return the object numbers of what a page or form can draw by name."""
    kind, value = document.xref_get_key(xref, "Resources/XObject")
    if kind == "xref":
        value = document.xref_object(int(value.split()[0]))
    return {name.encode(): int(number) for name, number in _NAMED_OBJECT.findall(value)}


def _read_box(document: Any, number: int) -> XObject | None:
    pymupdf = load_pymupdf()

    try:
        kind = document.xref_get_key(number, "Subtype")[1]
        if kind != "/Form":
            return PICTURE if kind == "/Image" else None
        x0, y0, x1, y1 = map(float, document.xref_get_key(number, "BBox")[1].strip("[]").split())
        box = (x0, y0, x1, y1)
        kind, value = document.xref_get_key(number, "Matrix")
        if kind == "array":
            box = _transform(box, _read_matrix(value.strip("[]").encode()))
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
        return None
    return XObject(box, has_text=True, paints=True, paints_after_text=True)


def _describe(document: Any, number: int, known: dict[int, XObject | None], depth: int = 0) -> XObject | None:
    """Return what a picture or form is; a form that is large, damaged or nested deep is taken for the worst."""
    pymupdf = load_pymupdf()

    if number not in known:
        form = known[number] = _read_box(document, number)  # what a form that draws itself finds
        if form is not None and form is not PICTURE and depth < MAX_FORM_DEPTH:
            with contextlib.suppress(RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
                known[number] = _read_form(document, number, form, known, depth)
    return known[number]


def _read_form(document: Any, number: int, form: XObject, known: dict[int, XObject | None], depth: int) -> XObject:
    kind, value = document.xref_get_key(number, "Length")
    length = int(document.xref_object(int(value.split()[0])) if kind == "xref" else value)
    if length > MAX_FORM_BYTES:
        return form._replace(paints_after_text=False)
    contents = b"\n" + (document.xref_stream(number) or b"") + b"\n"
    drawn = []
    if b"Do" in contents:
        drawn = [_describe(document, xref, known, depth + 1) for xref in list_xobjects(document, number).values()]
        if not drawn or None in drawn:
            return form
    has_inner_text = any(inner is not None and inner.has_text for inner in drawn)
    text = contents.find(b"BT")
    num_paints = len(list(islice(_PAINT.finditer(contents), 2)))
    return XObject(
        form.box,
        has_text=text >= 0 or has_inner_text,
        paints=num_paints > 0,
        paints_after_text=any(inner is not None and inner.paints_after_text for inner in drawn)
        or (has_inner_text and num_paints > 1)
        or (text >= 0 and _PAINT.search(contents, text) is not None),
    )


def _find_path(segment: bytes) -> _Path | None:
    """Return the box of a path's points: the numbers before its operators are pairs of x and y or, of ``re``, sizes."""
    segment = segment.rpartition(b"ET")[2]
    first = _PATH_START.search(segment)
    if first is None:
        return None
    tokens = segment[first.start() :].split()
    xs: list[float] = []
    ys: list[float] = []
    numbers: list[float] = []
    for token in tokens:
        if token not in _PATH_OPERATORS:
            numbers.append(float(token))
            continue
        if token == b"re":
            x, y, width, height = numbers[-4:]
            numbers = [x, y, x + width, y + height]
        xs.extend(numbers[0::2])
        ys.extend(numbers[1::2])
        numbers = []
    return _Path((min(xs), min(ys), max(xs), max(ys)), is_curved=not _CURVES.isdisjoint(tokens))


def _read_matrix(text: bytes) -> Matrix:
    a, b, c, d, e, f = map(float, text.split()[-6:])
    return a, b, c, d, e, f


def _multiply(first: Matrix, then: Matrix) -> Matrix:
    a, b, c, d, e, f = first
    a2, b2, c2, d2, e2, f2 = then
    return (
        a * a2 + b * c2,
        a * b2 + b * d2,
        c * a2 + d * c2,
        c * b2 + d * d2,
        e * a2 + f * c2 + e2,
        e * b2 + f * d2 + f2,
    )


def _transform(box: Box, matrix: Matrix) -> Box:
    a, b, c, d, e, f = matrix
    xs = [a * x + c * y + e for x in (box[0], box[2]) for y in (box[1], box[3])]
    ys = [b * x + d * y + f for x in (box[0], box[2]) for y in (box[1], box[3])]
    return min(xs), min(ys), max(xs), max(ys)
