"""Several rankings made one.

The tie rule, everywhere in this project: higher score first; then the better of an item's ranks in any single ranking;
then the smaller id. Sums are correctly rounded (``math.fsum``; a sum of two is anyway), so the order of the rankings
does not matter either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

# Sums of scores are compared to this many decimals: beyond it a vector's value hangs on the batch it was embedded in.
_DECIMALS = 6


class Fused(NamedTuple):
    """An item of a fused ranking. ``best_rank`` counts from 1."""

    id: str
    score: float
    best_rank: int


def rrf(rankings: Sequence[Sequence[str]], *, k: int = 60, weights: Sequence[float] | None = None) -> list[Fused]:
    """Fuse by reciprocal rank: the sum of ``weight / (k + rank)`` (Cormack, Clarke and Büttcher 2009)."""
    weights = weights if weights is not None else [1.0] * len(rankings)
    parts: dict[str, list[float]] = {}
    best: dict[str, int] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            parts.setdefault(item, []).append(weight / (k + rank))
            best[item] = min(rank, best.get(item, rank))
    return _ordered({item: math.fsum(values) for item, values in parts.items()}, best)


def combine_scores(
    legs: Sequence[Mapping[str, float]],
    *,
    weights: Sequence[float] | None = None,
    norm: Literal["minmax", "zscore"] = "minmax",
) -> list[Fused]:
    """Fuse by weighted sum of each leg's scores, brought to a common scale within the leg.

    An item a leg did not return gets the leg's lowest normalised value (Bruch, Gai and Ingber 2023).
    """
    weights = weights if weights is not None else [1.0] * len(legs)
    scaled = [_scale(leg, norm) for leg in legs]
    floors = [min(leg.values(), default=0.0) for leg in scaled]
    best: dict[str, int] = {}
    for leg in legs:
        for rank, item in enumerate(sorted(leg, key=lambda name: (-leg[name], name)), start=1):
            best[item] = min(rank, best.get(item, rank))
    totals = {
        item: math.fsum(w * leg.get(item, floor) for leg, floor, w in zip(scaled, floors, weights, strict=True))
        for item in best
    }
    return _ordered(totals, best)


def weigh_scores(
    legs: tuple[Mapping[str, float], Mapping[str, float]],
    rankings: Sequence[Sequence[str]],
    *,
    weights: tuple[float, float],
) -> list[Fused]:
    """Fuse by weighted sum of scores that are already on fixed scales; both legs score every item of the rankings.

    Nothing is normalised by what happened to be found, so an item's score does not hang on the other items.
    """
    best: dict[str, int] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            if rank < best.get(item, rank + 1):
                best[item] = rank
    (first, second), (a, b) = (leg.get for leg in legs), weights
    return _ordered({item: round(a * first(item, 0.0) + b * second(item, 0.0), _DECIMALS) for item in best}, best)


def _scale(leg: Mapping[str, float], norm: Literal["minmax", "zscore"]) -> dict[str, float]:
    if not leg:
        return {}
    values = list(leg.values())
    if norm == "minmax":
        low, spread = min(values), max(values) - min(values)
        return {item: (score - low) / spread if spread else 1.0 for item, score in leg.items()}
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return {item: (score - mean) / deviation if deviation else 0.0 for item, score in leg.items()}


def _ordered(scores: Mapping[str, float], best: Mapping[str, int]) -> list[Fused]:
    order = sorted([(-score, best[item], item) for item, score in scores.items()])
    return [Fused(item, -score, rank) for score, rank, item in order]
