"""What a test of a claim finds."""

from __future__ import annotations

from dataclasses import dataclass

from retrieval.answer import VerdictLabel


@dataclass(frozen=True)
class ClaimVerdict:
    """``reason`` says in plain words what was found, or what stands against the claim."""

    verdict: VerdictLabel
    reason: str
