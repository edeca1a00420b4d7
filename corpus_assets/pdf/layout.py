"""Reading order of one page: columns, what spans them, drop caps, sideways text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from corpus_assets.pdf.lexicon import is_word
from corpus_assets.pdf.lines import Line

MIN_GUTTER = 5.0  # points of white between two columns
MIN_COLUMN_LINES = 4
MIN_LINE_CHARS = 14
SAME_ROW = 2.0  # points between the baselines of one row
MAX_SHARED_ROWS = 0.34  # unrelated rows agree by chance on a sixth
MIN_LINES_BESIDE_TABLE = 10
COLUMN_WIDTHS = (0.75, 1.33)  # of a table's column over its neighbour's
_MAX_DEPTH = 4
_DOWNWARDS = attrgetter("baseline", "x0")


def order_lines(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the page's lines in reading order, as runs; each run is one column (or one spanning strip) read downwards.

    Columns are found from the white gutter between lines that stand side by side. A line that crosses the gutter
    with nothing beside it (title, wide figure's caption, full-width table) splits the columns above from those below.
    """
    return [_join_rows(run) for run in _split(list(lines), 0) if run]


def _split(lines: list[Line], depth: int) -> list[list[Line]]:
    if len(lines) < 2 * MIN_COLUMN_LINES or depth >= _MAX_DEPTH:
        return [_by_rows(lines)]
    gutter = _find_gutter(lines)
    if gutter is None:
        return [_by_rows(lines)]
    left_edge, right_edge = gutter
    middle = (left_edge + right_edge) / 2
    spanning = _find_spanning(lines, middle)
    runs: list[list[Line]] = []
    left: list[Line] = []
    right: list[Line] = []
    strip: list[Line] = []

    is_rtl = _is_right_to_left(lines)

    def flush_columns() -> None:
        nonlocal left, right
        for column in (right, left) if is_rtl else (left, right):
            if column:
                runs.extend(_split(column, depth + 1))
        left, right = [], []

    for line in sorted(lines, key=lambda item: (item.y0 + item.y1, item.x0)):
        if id(line) in spanning:
            if not strip:
                flush_columns()
            strip.append(line)
            continue
        if strip:
            runs.append(_by_rows(strip))
            strip = []
        (left if (line.x0 + line.x1) / 2 < middle else right).append(line)
    if strip:
        runs.append(_by_rows(strip))
    flush_columns()
    return runs


def _find_gutter(lines: list[Line]) -> tuple[float, float] | None:
    """Return the x range of the best vertical gutter, or None where the text does not stand in columns."""
    x_min, x_max = min([line.x0 for line in lines]), max([line.x1 for line in lines])
    width = x_max - x_min
    if width < 100:
        return None
    starts = Counter([2 * round(line.x0 / 2) for line in lines])
    low, high = x_min + 0.15 * width, x_min + 0.9 * width
    candidates = [x for x, count in starts.most_common(12) if low < x < high and count >= MIN_COLUMN_LINES]
    best: tuple[float, float] | None = None
    for candidate in candidates:
        right_edge = min([line.x0 for line in lines if -2 <= line.x0 - candidate <= 2])
        score = _score_gutter(lines, right_edge - MIN_GUTTER, right_edge)
        if score > 0 and (best is None or score > best[0]):
            best = (score, right_edge)
    return (best[1] - MIN_GUTTER, best[1]) if best else None


def _score_gutter(lines: list[Line], left_edge: float, right_edge: float) -> float:
    """Return how many lines stand beside text on the other side; 0 when the sides do not look like columns of text."""
    left = [line for line in lines if line.x1 <= left_edge + 1.5]
    right = [line for line in lines if line.x0 >= right_edge - 1.5]
    if len(left) < MIN_COLUMN_LINES or len(right) < MIN_COLUMN_LINES:
        return 0.0
    left_beside = _count_beside(left, right)
    right_beside = _count_beside(right, left)
    beside = min(left_beside, right_beside)
    if beside < MIN_COLUMN_LINES:
        return 0.0
    is_left_text, is_right_text = _looks_like_text(left), _looks_like_text(right)
    if not (is_left_text or is_right_text):
        return 0.0
    if not (is_left_text and is_right_text):
        # A table or a figure in one of two columns; what stands on the same rows or is not as wide is one table.
        text, other = (left, right) if is_left_text else (right, left)
        is_as_wide = COLUMN_WIDTHS[0] < _width_of(other) / max(1.0, _width_of(text)) < COLUMN_WIDTHS[1]
        if len(text) < MIN_LINES_BESIDE_TABLE or not is_as_wide or _share_of_rows(other, text) >= MAX_SHARED_ROWS:
            return 0.0
    crossing = len(lines) - len(left) - len(right)
    return beside - 0.2 * crossing


def _count_beside(lines: list[Line], others: list[Line]) -> int:
    top, bottom = min([line.y0 for line in others]), max([line.y1 for line in others])
    return len([line for line in lines if line.y1 > top and line.y0 < bottom])


def _width_of(lines: list[Line]) -> float:
    return max([line.x1 for line in lines]) - min([line.x0 for line in lines])


def _share_of_rows(lines: list[Line], others: list[Line]) -> float:
    """Return the share of rows on which lines and others stand together, where they are beside one another."""
    rows, other_rows = _find_rows(lines), _find_rows(others)
    top, bottom = max(rows[0], other_rows[0]) - SAME_ROW, min(rows[-1], other_rows[-1]) + SAME_ROW
    beside = [row for row in rows if top <= row <= bottom]
    shared = [row for row in beside if any(abs(row - other) <= 0.5 * SAME_ROW for other in other_rows)]
    return len(shared) / max(1, len(beside))


def _find_rows(lines: list[Line]) -> list[float]:
    rows: list[float] = []
    for baseline in sorted([line.baseline for line in lines]):
        if not rows or baseline - rows[-1] > SAME_ROW:
            rows.append(baseline)
    return rows


def _looks_like_text(lines: list[Line]) -> bool:
    """Return whether a column holds running text (or entries of a list), not a table's cells."""
    widths = sorted([line.x1 - line.x0 for line in lines])
    full = widths[int(0.9 * (len(widths) - 1))]
    running = [
        len(line.text)
        for line in lines
        if line.x1 - line.x0 > 0.6 * full and line.text.count(" ") >= 2 and len(line.text) >= MIN_LINE_CHARS
    ]
    # By characters: the many short labels of a figure do not outweigh the text below it.
    return len(running) >= MIN_COLUMN_LINES and sum(running) >= 0.5 * sum([len(line.text) for line in lines])


def _find_spanning(lines: list[Line], middle: float) -> set[int]:
    crossing = [line for line in lines if line.x0 < middle - 2 and line.x1 > middle + 2]
    spanning: set[int] = set()
    for line in crossing:
        y0, y1 = line.y0, line.y1
        beside = [
            other
            for other in lines
            if other.y0 < y1
            and other.y1 > y0
            and other is not line
            and min(other.y1, line.y1) - max(other.y0, line.y0) > 0.5 * min(other.height, line.height)
            and (other.x0 > line.x1 - 1 or other.x1 < line.x0 + 1)
        ]
        if beside and min(line.x1 - middle, middle - line.x0) < 0.15 * line.width:
            continue  # an overlong line of one column
        spanning.add(id(line))
    # The short last line of a spanning paragraph, and what stands in a row with a spanning piece, go with it.
    blocks = {line.block for line in crossing if id(line) in spanning}
    tops = {b: min(ln.y0 for ln in lines if ln.block == b and id(ln) in spanning) for b in blocks}
    lefts = {b: min(ln.x0 for ln in lines if ln.block == b and id(ln) in spanning) for b in blocks}
    for line in lines:
        if line.block in blocks and line.y0 >= tops[line.block] - 1 and line.x0 <= lefts[line.block] + 2 * line.size:
            spanning.add(id(line))
    return spanning


def _by_rows(lines: list[Line]) -> list[Line]:
    """Sort downwards; pieces whose baselines agree are one row, read from the left.

    A row with right-to-left script keeps the order it is drawn in: numbers and points in it run the other way.
    """
    if len(lines) < 2:
        return lines
    ordered = sorted(lines, key=_DOWNWARDS)
    row = [ordered[0]]
    rows = [row]
    top, reach = ordered[0].baseline, 0.35 * (ordered[0].size or 10.0)
    for line in ordered[1:]:
        rise = line.baseline - top
        if rise < reach and rise < 0.35 * (line.size or line.height):
            row.append(line)
        else:
            row = [line]
            rows.append(row)
            top, reach = line.baseline, 0.35 * (line.size or 10.0)
    result: list[Line] = []
    for row in rows:
        if len(row) > 1:
            is_rtl = any(line.is_rtl for line in row)
            row.sort(key=lambda item: item.order if is_rtl else item.x0)
        result.extend(row)
    return result


def _is_right_to_left(lines: Sequence[Line]) -> bool:
    return 2 * len([line for line in lines if line.is_rtl]) > len(lines)


def _join_rows(lines: list[Line]) -> list[Line]:
    """Join pieces of one row into one line (cells of a table, a number and its heading)."""
    joined = lines[:1]
    for line in lines[1:]:
        last = joined[-1]
        step = abs(line.baseline - last.baseline)
        if (
            step < 0.35 * (last.size or last.height)
            and step < 0.35 * (line.size or line.height)
            and (line.x0 >= last.x1 - 1.5 or ((line.is_rtl or last.is_rtl) and line.x1 <= last.x0 + 1.5))
        ):
            _append(last, line)
        else:
            joined.append(line)
    return joined


def _append(left: Line, right: Line) -> None:
    num_left, num_right = len(left.text), len(right.text)
    if left.bold_prefix >= num_left:
        left.bold_prefix = num_left + 1 + right.bold_prefix
    left.bold = (left.bold * num_left + right.bold * num_right) / max(1, num_left + num_right)
    left.text = f"{left.text} {right.text}"
    left.flags = (*left.flags, *right.flags)
    if num_right > num_left:
        left.size = right.size
    left.is_rtl = left.is_rtl or right.is_rtl
    left.x0, left.x1 = min(left.x0, right.x0), max(left.x1, right.x1)
    left.y0, left.y1 = min(left.y0, right.y0), max(left.y1, right.y1)


def join_drop_caps(lines: list[Line], body_size: float) -> list[Line]:
    """Put a large first letter back onto the word it begins."""
    caps = [line for line in lines if len(line.text) == 1 and line.text.isalpha() and line.size > 1.7 * body_size]
    for cap in caps:
        first = min(
            (
                line
                for line in lines
                if line is not cap
                and line.size < 0.75 * cap.size
                and cap.x1 - 0.6 * cap.size <= line.x0 <= cap.x1 + 2 * body_size
                and line.y1 > cap.y0
                and line.baseline <= cap.baseline + 0.3 * cap.size
            ),
            key=lambda line: line.y0,
            default=None,
        )
        if first is None:
            continue
        word = first.text.split(" ", 1)[0].strip(".,;:")
        stands_alone = cap.text in "AI" and is_word(word) and not is_word(cap.text + word)
        first.text = cap.text + (" " if stands_alone else "") + first.text
        # The lines beside the letter are indented by it, not by a new paragraph.
        for line in lines:
            is_beside = cap.x0 < line.x0 < cap.x1 + 2 * body_size and line.y0 < cap.baseline
            if is_beside and line.baseline >= first.baseline - 1 and line.size < 0.75 * cap.size:
                line.x0 = cap.x0
        lines = [line for line in lines if line is not cap]
    return lines
