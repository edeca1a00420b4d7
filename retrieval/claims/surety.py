"""Claims that are surer or wider than their quote."""

from __future__ import annotations

import re

from retrieval.claims.polarity import (
    ASSOCIATION,
    CAUSATION,
    HEDGES,
    LIMITS,
    STRONG_CERTAINTY,
    WEAK_HEDGES,
    quantifier_level,
)
from retrieval.claims.verdict import ClaimVerdict
from retrieval.passages import FAILED_TO_REPRODUCE, is_reported_by_others
from retrieval.terms import content_stems, fold

HEDGE_REACH = 3  # content words after a hedge (before it, at a sentence's end) that it softens


def check_surety(claim: str, aligned: str, evidence: str) -> ClaimVerdict | None:
    """Fail a claim that drops a hedge or a limit of its quote, or adds certainty, cause or scope to it."""
    lost = lost_hedge(claim, aligned)
    if lost:
        return ClaimVerdict("unsupported", f"the quote hedges (“{lost}”), the claim does not")
    certain = {fold(match.group(0)) for match in STRONG_CERTAINTY.finditer(claim)}
    certain -= {fold(match.group(0)) for match in STRONG_CERTAINTY.finditer(aligned)}
    if certain:
        return ClaimVerdict("unsupported", f"“{sorted(certain)[0]}” makes the claim surer than the quote")
    causes = {fold(match.group(0)) for match in CAUSATION.finditer(claim)}
    given_causes = {fold(match.group(0)) for match in CAUSATION.finditer(aligned)}
    if ASSOCIATION.search(aligned) and causes - given_causes:
        return ClaimVerdict("unsupported", "the quote speaks of an association, the claim of a cause")
    claimed, given = quantifier_level(claim), quantifier_level(aligned)
    if claimed is not None and given is not None and claimed > given and not (claimed == 3 and given == 2):
        return ClaimVerdict("unsupported", "the claim speaks of more of the group than the quote does")
    if claimed == 5 and given is None:
        return ClaimVerdict("unsupported", "the claim speaks of all, the quote does not")
    limit = LIMITS.search(aligned)
    if limit and not LIMITS.search(claim):
        return ClaimVerdict("unsupported", f"the quote’s limit “{limit.group(0)}” is left out of the claim")
    if is_reported_by_others(aligned) and not is_reported_by_others(claim) and FAILED_TO_REPRODUCE.search(evidence):
        return ClaimVerdict("unsupported", "the quote only reports another paper’s finding, and takes it back")
    return None


def hedges_of(text: str) -> list[tuple[str, frozenset[str]]]:
    """Return each hedge of a text with the stems it softens."""
    found = []
    for match in HEDGES.finditer(text):
        if WEAK_HEDGES.fullmatch(match.group(0)):
            continue
        after = content_stems(re.split(r"[;:]", text[match.end() :])[0])
        reached = after[:HEDGE_REACH] or content_stems(text[: match.start()])[-HEDGE_REACH:]
        found.append((match.group(0), frozenset(reached)))
    return found


def lost_hedge(claim: str, aligned: str) -> str:
    """Return a hedge of the quote that bears on something the claim states without one, or an empty string."""
    stated = set(content_stems(claim))
    kept = hedges_of(claim)
    for hedge, reached in hedges_of(aligned):
        if not reached or len(reached & stated) < 0.6 * len(reached):
            continue  # the claim leaves out what was hedged
        if not any(reached & other_reached or fold(hedge) == fold(other) for other, other_reached in kept):
            return hedge
    return ""
