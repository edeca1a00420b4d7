"""Paragraphs: where they begin in a column, and where one goes on over a column, a float or a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from corpus_assets.pdf.draft import PageDraft, Paragraph, ParagraphKind
from corpus_assets.pdf.lines import SOFT_HYPHEN, Line
from corpus_assets.pdf.titles import is_known_title, strip_numbering

MAX_ITALIC_TITLE = 80  # characters
MAX_FLOATS_BETWEEN = 40  # paragraphs of tables, captions and notes that may stand between a sentence's two halves

_TERMINAL = re.compile(r"[.!?:;。！？؟]['\"”’)\]]*[⁰¹²³⁴-⁹,–]*$")
_BULLET = re.compile(r"^(?:[•▪◦‣∙●■□–*]\s|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]\s|\[[\w+]{1,12}\]\s)")
_ENTRY = re.compile(r"^\[[\w+]{1,12}\]\s|^\d{1,3}\.\s")
CAPTION = re.compile(
    r"^(?:(?:supplementary|extended data|additional)\s+)?"
    r"(?:figure|fig\.?|table|scheme|chart|box|algorithm|listing|plate|tab\.|abbildung|tabelle)\s*[a-z]?\d+(?:\.\d+)*[a-z]?\s*(?:[.:|–—-]|$|[A-Z(])",
    re.IGNORECASE,
)


def find_body_size(pages: Sequence[PageDraft]) -> float:
    """Return the type size most of the document's characters have; 10 when there is none."""
    exact: dict[float, int] = {}
    for page in pages:
        for line in page.lines:
            exact[line.size] = exact.get(line.size, 0) + len(line.text)
    weights: Counter[float] = Counter()
    for size, weight in exact.items():
        weights[round(size, 1)] += weight
    return max(weights, key=lambda size: (weights[size], size)) if weights else 10.0


def split_paragraphs(run: list[Line], run_number: int) -> list[Paragraph]:
    """Return the paragraphs of one column, from gaps, indents, short last lines, type and list marks."""
    if not run:
        return []
    if 2 * len([line for line in run if line.is_rtl]) > len(run):
        for line in run:  # mirrored, a right-to-left column is indented and ends short on the same sides as any other
            line.x0, line.x1 = -line.x1, -line.x0
    leading = _find_leading(run)
    body = max(Counter([round(line.size, 1) for line in run]).items(), key=lambda item: item[1])[0]
    same = [line for line in run if abs(line.size - body) < 0.3] or run
    left = _common_left(same)
    right = sorted(line.x1 for line in same)[min(len(same) - 1, int(0.9 * len(same)))]
    paragraphs: list[Paragraph] = []
    current = [run[0]]
    for position, line in enumerate(run[1:], start=1):
        following = run[position + 1] if position + 1 < len(run) else None
        if _starts_paragraph(current, line, following, leading, left, right):
            paragraphs.append(Paragraph(current, run_number))
            current = [line]
        else:
            current.append(line)
    paragraphs.append(Paragraph(current, run_number))
    for paragraph in paragraphs:
        last = paragraph.lines[-1]
        paragraph.reaches_edge = last.x1 > right - 2.0 * max(last.size, 6.0)
    return paragraphs


def split_by_block(run: list[Line], run_number: int) -> list[Paragraph]:
    """Return paragraphs as the line's block numbers say (OCR has already found them)."""
    paragraphs: list[Paragraph] = []
    for line in run:
        if paragraphs and paragraphs[-1].lines[-1].block == line.block:
            paragraphs[-1].lines.append(line)
        else:
            paragraphs.append(Paragraph([line], run_number))
    for paragraph in paragraphs:
        full = max(line.x1 for line in paragraph.lines)
        paragraph.reaches_edge = len(paragraph.lines) > 1 and paragraph.lines[-1].x1 > full - 25
    return paragraphs


def _find_leading(run: list[Line]) -> float:
    gaps = [
        below.baseline - above.baseline
        for above, below in pairwise(run)
        if abs(below.size - above.size) < 0.3 and 0.7 * below.size < below.baseline - above.baseline < 3 * below.size
    ]
    return median(gaps) if gaps else 1.25 * median(line.size or line.height for line in run)


def _common_left(lines: list[Line]) -> float:
    """Return the column's left edge: the leftmost x at which a fifth as many lines start as at the commonest."""
    starts = Counter(round(line.x0) for line in lines)
    most = max(starts.values())
    return float(min(x for x, count in starts.items() if count >= 0.2 * most))


def _starts_paragraph(
    current: list[Line], line: Line, following: Line | None, leading: float, left: float, right: float
) -> bool:
    last = current[-1]
    size = max(line.size, last.size, 1.0)
    if len(current) == 1 and _is_lone_title(last, right):
        return True
    if abs(line.size - last.size) > max(0.6, 0.07 * size):
        return True
    if (last.bold >= 0.85 and line.bold < 0.4) or (last.bold < 0.4 and line.bold >= 0.85):
        return True
    step = line.baseline - last.baseline
    if step > 1.4 * max(leading, 0.9 * size) or step < -0.5 * size:
        return True
    ends = ends_sentence(last.text)
    width = max(right - left, 1.0)
    short = right - 0.15 * width
    if ends and (_is_lone_title(line, right) or _is_italic_title(line, short)):
        return True
    if len(current) == 1 and not line.is_italic and line.text[:1].isupper() and _is_italic_title(last, short):
        return True
    if last.text.isupper() and not line.text.isupper() and last.x1 < short and len(last.text) > 4:
        return True
    if _ENTRY.match(line.text) and _ENTRY.match(current[0].text) and abs(line.x0 - current[0].x0) < size:
        return True
    if _BULLET.match(line.text) and (ends or last.x1 < short or _BULLET.match(current[0].text)):
        return line.x0 <= current[0].x0 + 2 * size
    first = current[0]
    indent = 0.6 * size
    if len(current) >= 2 and current[1].x0 > first.x0 + indent and last.x0 > first.x0 + indent:
        # hanging: the first line sticks out, as in lists of references
        return line.x0 < last.x0 - indent and line.x0 <= first.x0 + indent
    if line.x0 > last.x0 + indent and line.x0 < left + 8 * size and last.x0 <= left + 0.6 * indent:
        if len(current) == 1 and not ends and last.x1 > right - 2 * size:
            return False  # the second line of a hanging entry
        hangs = following is not None and abs(following.x0 - line.x0) < 1.0 and len(current) == 1
        return not (hangs and not ends)
    if line.x0 < last.x0 - indent and len(current) >= 2 and last.x0 > left + indent and line.x0 <= left + indent:
        return ends  # out of an indented block
    return ends and last.x1 < right - 0.12 * width and line.text[:1].isupper()


def ends_sentence(text: str) -> bool:
    """Return whether a line ends as sentences do, whatever quotes and raised numbers follow the stop."""
    return not text[-1:].isalpha() and _TERMINAL.search(text) is not None


def _is_lone_title(line: Line, right: float) -> bool:
    """Return whether a line is nothing but a title that papers share, in plain type or not."""
    text = line.text
    return len(text) <= 60 and text[:1].isupper() and text[-1:] != "." and line.x1 < right and is_known_title(text)


def _is_italic_title(line: Line, edge: float) -> bool:
    """Return whether a line is a short title set in italics and nothing else, well short of the column's edge."""
    if not line.is_italic or line.x1 >= edge or len(line.text) > MAX_ITALIC_TITLE or ends_sentence(line.text):
        return False
    number, bare = strip_numbering(line.text)
    return bare[:1].isupper() and (number[0].isdigit() if number else line.is_all_italic)


def classify_paragraphs(paragraphs: Sequence[Paragraph], body_size: float) -> None:
    """Mark captions and what is set in smaller type; headings are marked later and win."""
    for paragraph in paragraphs:
        if CAPTION.match(paragraph.lines[0].text) and paragraph.size <= body_size + 0.6:
            paragraph.kind = ParagraphKind.CAPTION
        elif paragraph.size and paragraph.size < body_size - 0.65:
            paragraph.kind = ParagraphKind.ASIDE


def link_paragraphs(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """Return the paragraphs with broken ones made whole; a float that stood inside one is put before or after it.

    A float never leaves its page: the text of each page stays one span.
    """
    result: list[Paragraph] = []
    position = 0
    queue = list(paragraphs)
    while position < len(queue):
        paragraph = queue[position]
        position += 1
        if not _may_go_on(paragraph):
            result.append(paragraph)
            continue
        end = position
        while (
            end < len(queue)
            and end - position < MAX_FLOATS_BETWEEN
            and queue[end].kind in (ParagraphKind.CAPTION, ParagraphKind.ASIDE)
            and queue[end].first_page <= paragraph.last_page + 1
        ):
            end += 1
        floats = queue[position:end]
        following = queue[end] if end < len(queue) else None
        if following is None or not _continues(paragraph, following):
            result.append(paragraph)
            continue
        before = [f for f in floats if f.last_page == paragraph.last_page and f.last_page != following.first_page]
        after = [f for f in floats if f not in before]
        can_stand_before = not before or paragraph.first_page == paragraph.last_page
        can_stand_after = not after or (
            following.first_page == following.last_page and all(f.first_page == following.first_page for f in after)
        )
        if not (can_stand_before and can_stand_after):
            result.append(paragraph)
            continue
        paragraph.lines = [*paragraph.lines, *following.lines]
        paragraph.run = following.run
        paragraph.reaches_edge = following.reaches_edge
        result.extend(before)
        queue[end] = paragraph  # it may go on again
        queue[position:end] = []
        queue[position + 1 : position + 1] = after
    return result


def _may_go_on(paragraph: Paragraph) -> bool:
    if paragraph.kind is not ParagraphKind.BODY:
        return False
    last = paragraph.lines[-1].text
    return not ends_sentence(last) and (paragraph.num_chars >= 30 or last.endswith(("-", SOFT_HYPHEN)))


def _continues(paragraph: Paragraph, following: Paragraph) -> bool:
    if following.kind is not ParagraphKind.BODY or following.run == paragraph.run:
        return False
    if following.first_page > paragraph.last_page + 1 or abs(following.size - paragraph.size) > 0.5:
        return False
    first, last = following.lines[0].text, paragraph.lines[-1].text
    if _BULLET.match(first) or CAPTION.match(first):
        return False
    if first[0].islower() or last.endswith(("-", SOFT_HYPHEN, ",")):
        return True
    if first[0].isdigit() or not first[0].isalpha():
        return True
    if not first[0].isupper():
        return True  # scripts without case
    return paragraph.reaches_edge and len(paragraph.lines) > 1 and len(following.lines) > 1
