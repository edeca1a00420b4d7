"""What the benches time alike: a p95, and each search mode on the same questions."""

from __future__ import annotations

import time
from collections.abc import Sequence
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
