"""Which papers to search in, picked from their cards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from corpus_assets.settings import RetrievalSettings
    from corpus_assets.store.generation import Generation

MIN_PICKS = 9  # papers a model picks at least; fewer are topped up by cosine


@dataclass(frozen=True)
class Shortlist:
    """Paper ids, best first. Empty and ``is_skipped``: search everywhere; ``reason`` says why or what was done."""

    paper_ids: tuple[str, ...] = ()
    is_skipped: bool = True
    reason: str = ""
    degraded: tuple[str, ...] = ()
    num_widened: int = 0


def shortlist_papers(
    questions: Sequence[str],
    generation: Generation,
    embedder: Embedder | None,
    settings: RetrievalSettings,
    picks: Sequence[str] = (),
    picker: str = "",
) -> Shortlist:
    """Pick papers by the best cosine of any question with their cards; widen over clusters when all fall in one.

    ``picks`` of a model (named ``picker``) are taken instead, topped up by cosine when they are few.
    """
    num_served = sum(paper.is_served for paper in generation.papers.values())
    if num_served < settings.shortlist_min_papers:
        return Shortlist(reason=f"skipped: {num_served} papers, fewer than {settings.shortlist_min_papers}")
    if embedder is None and not picks:
        return Shortlist(reason="skipped: no embedder", degraded=("shortlist: no embedder, every paper is searched",))
    order = rank_cards(questions, generation, embedder, settings)
    if not order:
        return Shortlist(reason="skipped: no cards", degraded=("shortlist: the generation has no cards",))
    size = settings.shortlist_size
    picked = [paper_id for paper_id in dict.fromkeys(picks) if paper_id in set(order)][:size]
    reason = f"{len(picked)} of {num_served} papers by {picker}'s reading of their cards"
    if not picked:
        picked = order[:size]
        reason = f"{len(picked)} of {num_served} papers by card cosine"
    elif embedder is not None and len(picked) < min(MIN_PICKS, size):
        more = [paper_id for paper_id in order if paper_id not in picked][: min(MIN_PICKS, size) - len(picked)]
        reason += f", {len(more)} more by card cosine"
        picked += more
    clusters = generation.clusters
    own = {clusters.assignments.get(paper_id, -1) for paper_id in picked}
    if len(own) > 1 or len(order) <= len(picked):
        return Shortlist(tuple(picked), is_skipped=False, reason=reason)
    if math.isnan(clusters.silhouette) or clusters.silhouette < settings.min_silhouette:
        value = "undefined" if math.isnan(clusters.silhouette) else f"{clusters.silhouette:.2f}"
        return Shortlist(
            tuple(picked),
            is_skipped=False,
            reason=f"{reason}; all in one cluster, not widened: silhouette {value} is under {settings.min_silhouette}",
        )
    others = [paper_id for paper_id in order if clusters.assignments.get(paper_id, -1) not in own]
    num_widened = min(max(2, settings.shortlist_size // 6), len(others))
    widened = picked[: len(picked) - num_widened] + others[:num_widened]
    return Shortlist(
        tuple(widened),
        is_skipped=False,
        reason=f"{reason}; all in one cluster, widened by {num_widened} from others",
        num_widened=num_widened,
    )


def rank_cards(
    questions: Sequence[str], generation: Generation, embedder: Embedder | None, settings: RetrievalSettings
) -> list[str]:
    """Return the papers that may be evidence by the best cosine of any question with their cards, or by id."""
    import numpy as np

    paper_ids, vectors = generation.card_vectors()
    if len(paper_ids) == 0:
        return []
    similarities = np.zeros(len(paper_ids))
    if embedder is not None:
        similarities = (np.asarray(vectors) @ embedder.embed_queries(list(questions)).T).max(axis=1)
    allowed = [
        index
        for index, paper_id in enumerate(paper_ids)
        if settings.include_retracted or generation.papers[paper_id].retraction not in {"retraction"}
    ]
    return [
        paper_ids[index]
        for index in sorted(allowed, key=lambda index: (-round(float(similarities[index]), 6), paper_ids[index]))
    ]
