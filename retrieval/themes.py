"""Agreement and real splits among the passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corpus_assets.model import PaperRecord
from retrieval.passages import Candidate, Sentence
from retrieval.plan import Plan


@dataclass(frozen=True)
class Side:
    """One side of a split: what it holds, and the sentence that says so."""

    position: str
    sentence: Sentence


@dataclass(frozen=True)
class ThemeSplit:
    """A disagreement of distinct, non-retracted papers about one outcome."""

    label: str
    sides: tuple[Side, ...]
    basis: str
    is_verdict: bool = False
    note: str = ""


@dataclass(frozen=True)
class Themes:
    splits: tuple[ThemeSplit, ...] = ()


def find_themes(
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    papers: Mapping[str, PaperRecord],
) -> Themes:
    """Return the splits among the evidence."""
    return Themes()
