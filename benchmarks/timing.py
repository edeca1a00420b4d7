"""What the benches have in common: a p95, each search mode on the same questions, a figure beside its bound."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corpus_assets.settings import RetrievalMode

MODES: tuple[RetrievalMode, ...] = ("fts_only", "embedding_only", "hybrid")
NUM_WARM = 3  # questions asked first and not counted


def p95(values: Sequence[float]) -> float:
    """Return the nearest-rank 95th percentile."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def time_modes(corpus: Any, embedder: Any, asked: Sequence[str]) -> dict[RetrievalMode, list[float]]:
    """Return each mode's milliseconds a question, the modes in turn; no mode finds another's vector of it."""
    from retrieval import dense
    from retrieval.search import search

    spent: dict[RetrievalMode, list[float]] = {mode: [] for mode in MODES}
    for number, question in enumerate((*asked[:NUM_WARM], *asked)):
        for mode, values in spent.items():
            dense.forget_questions()
            started = time.perf_counter()
            search(corpus, question, mode=mode, k=20, embedder=embedder)
            if number >= NUM_WARM:
                values.append((time.perf_counter() - started) * 1000)
    return spent


@dataclass(frozen=True)
class Figure:
    """A ratio beside its bound: at least it when ``is_floor``, else at most; no bound (NaN) is only reported."""

    name: str
    value: float
    bound: float
    is_floor: bool
    detail: str

    @property
    def is_missed(self) -> bool:
        return self.value < self.bound if self.is_floor else self.value > self.bound


def print_figures(figures: Sequence[Figure]) -> None:
    """Print one line a figure, its bound beside it."""
    print(f"{'figure':34}{'value':>9}{'bound':>15}")
    for figure in figures:
        bound = "" if isnan(figure.bound) else f"{'at least' if figure.is_floor else 'at most'} {figure.bound:g}"
        missed = "   MISSED" if figure.is_missed else ""
        print(f"{figure.name:34}{figure.value:9.3f}{bound:>15}  {figure.detail}{missed}")
