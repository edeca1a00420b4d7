"""How the corpus' pages were read, as a small picture for the asset's page."""

from __future__ import annotations

import io
from collections.abc import Mapping

from corpus_assets.model import PageState

COLOURS = {
    PageState.TEXT: "#2c7a4b",
    PageState.OCR: "#5b8db8",
    PageState.VISION: "#8a6bb1",
    PageState.BLANK: "#c8c8c8",
    PageState.UNREADABLE: "#b3261e",
}


def draw_pages_by_state(counts: Mapping[str, int]) -> bytes:
    """Return a PNG with a bar for each state, its count and its share beside it; far below 60 kB."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    states = list(PageState)
    values = [counts.get(state.value, 0) for state in states]
    total = max(1, sum(values))
    figure = Figure(figsize=(5.2, 2.0), dpi=80)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.barh(range(len(states)), values, color=[COLOURS[state] for state in states], height=0.7)
    axes.set_yticks(range(len(states)), [state.value for state in states], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.25 * max(1, *values))
    for row, value in enumerate(values):
        axes.text(value, row, f" {value:,} ({value / total:.1%})", va="center", fontsize=8)
    axes.set_title(f"{sum(values):,} pages of served papers by how they were read", fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="x", labelsize=7)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
