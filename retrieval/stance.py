"""What a passage says about a claim. Rules never give a verdict: they say "possible disagreement, check"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from retrieval.answer import StanceLabel


@dataclass(frozen=True)
class Stance:
    """``is_verdict`` only from a model that can judge (an entailment model, a language model, a person)."""

    label: StanceLabel = "neutral"
    reason: str = ""
    is_verdict: bool = False


class StanceModel(Protocol):
    """Judges passages against a claim, in order."""

    name: str

    def judge(self, claim: str, passages: Sequence[str]) -> Sequence[Stance]: ...
