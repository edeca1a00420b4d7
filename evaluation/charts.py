"""Small pictures of verdicts and reports, as PNG bytes well under what a run's history should carry."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corpus_assets.gates import GateResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_BYTES = 60_000  # metadata is stored several times over
PASSED, FAILED, NEUTRAL = "#2c7a4b", "#b3261e", "#5b7083"


def as_data_uri(png: bytes) -> str:
    """Return a picture as a data URI."""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def draw_gate(result: GateResult) -> bytes | None:
    """Return a gate's chart: the modes against the floor, or before against now; None when there is none to draw."""
    by_mode = result.extra.get("by_mode")
    comparisons = result.extra.get("comparisons")
    if isinstance(by_mode, dict) and by_mode:
        served = str(result.extra.get("mode", ""))
        colours = [(PASSED if result.passed else FAILED) if mode == served else NEUTRAL for mode in by_mode]
        metric = str(result.extra.get("metric", result.name))
        return draw_bars(
            list(by_mode), [float(v) for v in by_mode.values()], colours=colours, floor=result.floor, title=metric
        )
    if isinstance(comparisons, dict) and comparisons:
        rows = [(name, float(row["diff"]), row["ci95"]) for name, row in comparisons.items()]
        return draw_differences(rows, title="now minus published, 95 % interval")
    return None


def draw_bars(
    labels: Sequence[str], values: Sequence[float], *, colours: Sequence[str], floor: float | None, title: str
) -> bytes:
    """Return horizontal bars from 0 to 1 with the floor as a line."""
    figure, axes = _new(len(labels))
    axes.barh(range(len(labels)), values, color=list(colours), height=0.6)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, max(1.0, *values) if values else 1.0)
    for row, value in enumerate(values):
        axes.text(min(value + 0.01, 0.92), row, f"{value:.3f}", va="center", fontsize=8)
    if floor is not None:
        axes.axvline(floor, color="black", linewidth=1, linestyle="--")
    axes.set_title(title, fontsize=9)
    return _save(figure)


def draw_differences(rows: Sequence[tuple[str, float, Sequence[float]]], *, title: str) -> bytes:
    """Return differences with their intervals around a line at 0; each row is (label, difference, (low, high))."""
    figure, axes = _new(len(rows))
    for number, (_, difference, (low, high)) in enumerate(rows):
        colour = FAILED if high < 0 else PASSED if low > 0 else NEUTRAL
        axes.plot([low, high], [number, number], color=colour, linewidth=2)
        axes.plot([difference], [number], "o", color=colour, markersize=4)
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=1)
    axes.set_title(title, fontsize=9)
    return _save(figure)


def draw_wins(differences: Sequence[float], *, title: str) -> bytes:
    """Return per-case differences, sorted: what was won to the right, what was lost to the left."""
    figure, axes = _new(5)
    ordered = sorted(differences, reverse=True)
    axes.bar(range(len(ordered)), ordered, color=[PASSED if value >= 0 else FAILED for value in ordered], width=1.0)
    axes.axhline(0, color="black", linewidth=1)
    axes.set_xlabel("cases, best difference first", fontsize=8)
    axes.set_title(title, fontsize=9)
    return _save(figure)


def _new(num_rows: int) -> tuple[Figure, Axes]:
    # Not pyplot: no global state, no display, safe in threads.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 0.7 + 0.32 * num_rows), dpi=80, layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _save(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
