"""Running headers and footers, page numbers, line numbers: found by repetition over pages, kept beside the text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from corpus_assets.pdf.draft import PageDraft
from corpus_assets.pdf.lines import Line

EDGE_ZONE = 0.12  # share of the page's height at its top and bottom where running lines stand
NUMBER_ZONE = 0.10
MAX_EDGE_ROWS = 4
SAME_PLACE = 6.0  # points
MIN_LINE_NUMBERS = 5

_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"^[\s\-–—|·•(\[]*(?:(?:page|p\.|pg\.?|seite|página)\s*)?(?:\d{1,4}|[ivxlc]{1,7}|[SAe]\d{1,4})"
    r"(?:\s*(?:of|/|von|de|sur)\s*\d{1,4})?[\s\-–—|·•)\].]*$",
    re.IGNORECASE,
)
_LOWER_WORD = re.compile(r"\b[a-z]{2,}\b")


def strip_furniture(pages: Sequence[PageDraft]) -> None:
    """Move running lines from each page's ``lines`` to its ``furniture``.

    Of two pages a line goes that both have at the same place, apart from the text; of one page only its number.
    """
    for page in pages:
        _strip_line_numbers(page)
    edges = {page.number: _edge_lines(page) for page in pages}
    running = _find_running(pages, edges)
    for page in pages:
        chosen: dict[int, Line] = {id(line): line for line in running.get(page.number, [])}
        for line in edges[page.number]:
            if _PAGE_NUMBER.match(line.text) and _is_outermost(line, page):
                chosen[id(line)] = line
        if not chosen:
            continue
        page.furniture.extend(line.text for line in page.lines if id(line) in chosen)
        page.lines = [line for line in page.lines if id(line) not in chosen]


def _edge_lines(page: PageDraft) -> list[Line]:
    """Return the lines of the first and last rows inside the edge zones."""
    top = sorted((ln for ln in page.lines if (ln.y0 + ln.y1) / 2 < EDGE_ZONE * page.height), key=lambda ln: ln.y0)
    bottom = sorted(
        (ln for ln in page.lines if (ln.y0 + ln.y1) / 2 > (1 - EDGE_ZONE) * page.height), key=lambda ln: -ln.y1
    )
    return [*_first_rows(top), *_first_rows(bottom)]


def _first_rows(lines: list[Line]) -> list[Line]:
    kept: list[Line] = []
    num_rows = 0
    last: Line | None = None
    for line in lines:
        if last is None or abs(line.baseline - last.baseline) > 3:
            num_rows += 1
        if num_rows > MAX_EDGE_ROWS:
            break
        kept.append(line)
        last = line
    return kept


def _find_running(pages: Sequence[PageDraft], edges: dict[int, list[Line]]) -> dict[int, list[Line]]:
    num_pages = sum(1 for page in pages if page.lines)
    if num_pages < 2:
        return {}
    num_needed = 2 if num_pages < 5 else 3
    places: dict[str, list[tuple[int, Line]]] = defaultdict(list)
    for number, lines in edges.items():
        for line in lines:
            places[_DIGITS.sub("#", line.text.casefold())].append((number, line))
    running: dict[int, list[Line]] = defaultdict(list)
    for key, found in places.items():
        if len({number for number, _ in found}) < num_needed:
            continue
        by_place: dict[int, set[int]] = defaultdict(set)
        for number, line in found:
            by_place[round(line.y0 / SAME_PLACE)].add(number)
        texts: dict[str, set[int]] = defaultdict(set)
        for number, line in found:
            texts[line.text.casefold()].add(number)
        for number, line in found:
            row = round(line.y0 / SAME_PLACE)
            same_place = by_place[row] | by_place.get(row - 1, set()) | by_place.get(row + 1, set())
            if len(same_place) < num_needed:
                continue
            if len(texts[line.text.casefold()]) < num_needed and _is_sentence(line.text):
                continue  # body lines that differ only in their numbers
            if not key.strip("# "):
                continue  # bare numbers are judged one by one
            if num_pages == 2 and not _stands_apart(line, number, pages, edges[number]):
                continue
            running[number].append(line)
    emptied = [page for page in pages if page.lines and len(running.get(page.number, [])) == len(page.lines)]
    if len(emptied) > 0.5 * num_pages:
        return {}
    return running


def _stands_apart(line: Line, number: int, pages: Sequence[PageDraft], edge: Sequence[Line]) -> bool:
    """Return whether a line's row is the page's first or last, with more than a line's height of white next to it."""
    page = next(page for page in pages if page.number == number)
    above = [other.y1 for other in page.lines if other.y1 <= line.y0 + 1]
    below = [other.y0 for other in page.lines if other.y0 >= line.y1 - 1]
    if line not in edge or (above and below):
        return False
    gap = min(below) - line.y1 if below else line.y0 - max(above, default=0.0)
    return gap > line.height


def _is_sentence(text: str) -> bool:
    return text.rstrip().endswith((".", "!", "?")) and len(_LOWER_WORD.findall(text)) >= 3


def _is_outermost(line: Line, page: PageDraft) -> bool:
    """Return whether nothing but its own row stands between a line and the page's edge, inside the number zone."""
    centre = (line.y0 + line.y1) / 2
    if centre < NUMBER_ZONE * page.height:
        above = [other for other in page.lines if other.y1 < line.y0 + 1 and other is not line]
        return all(map(_is_running, above))
    if centre > (1 - NUMBER_ZONE) * page.height:
        below = [other for other in page.lines if other.y0 > line.y1 - 1 and other is not line]
        return all(map(_is_running, below))
    return False


def _is_running(line: Line) -> bool:
    return bool(_PAGE_NUMBER.match(line.text))


def _strip_line_numbers(page: PageDraft) -> None:
    """Take away the numbers that count lines in the margin, as in manuscripts under review."""
    numbers = [line for line in page.lines if line.text.isdigit() and len(line.text) <= 4]
    if len(numbers) < MIN_LINE_NUMBERS:
        return
    others = [line for line in page.lines if not line.text.isdigit()]
    if not others:
        return
    left, right = min(line.x0 for line in others), max(line.x1 for line in others)
    margin = [line for line in numbers if line.x1 <= left + 1 or line.x0 >= right - 1]
    margin.sort(key=lambda line: line.y0)
    values = [int(line.text) for line in margin]
    steps = [b - a for a, b in pairwise(values)]
    if len(margin) < MIN_LINE_NUMBERS or sum(1 for step in steps if step in (1, 5)) < 0.8 * len(steps):
        return
    chosen = {id(line) for line in margin}
    page.furniture.extend(line.text for line in margin)
    page.lines = [line for line in page.lines if id(line) not in chosen]
