"""Rewordings of a claim that look for evidence against it."""

from __future__ import annotations

import re

from retrieval.plan import AUXILIARIES

ANTONYMS = {
    "increase": "decrease", "increases": "decreases", "increased": "decreased", "decrease": "increase",
    "decreases": "increases", "decreased": "increased", "reduce": "increase", "reduces": "increases",
    "reduced": "increased", "improve": "worsen", "improves": "worsens", "improved": "worsened", "worsen": "improve",
    "worsens": "improves", "raise": "lower", "raises": "lowers", "raised": "lowered", "lower": "higher",
    "lowers": "raises", "lowered": "raised", "higher": "lower", "longer": "shorter", "shorter": "longer",
    "more": "less", "less": "more", "better": "worse", "worse": "better", "superior": "inferior",
    "inferior": "superior", "prevent": "cause", "prevents": "causes", "promote": "inhibit", "promotes": "inhibits",
    "promoted": "inhibited", "inhibit": "promote", "inhibits": "promotes", "inhibited": "promoted",
    "activate": "suppress", "activates": "suppresses", "suppress": "activate", "suppresses": "activates",
    "upregulate": "downregulate", "upregulates": "downregulates", "upregulated": "downregulated",
    "downregulated": "upregulated", "protects": "harms", "protect": "harm", "beneficial": "harmful",
    "harmful": "beneficial", "effective": "ineffective", "ineffective": "effective", "safe": "toxic",
    "toxic": "safe", "sensitive": "resistant", "resistant": "sensitive", "prolong": "shorten",
    "prolongs": "shortens", "prolonged": "shortened", "faster": "slower", "slower": "faster", "gain": "loss",
    "loss": "gain", "positive": "negative", "negative": "positive", "halves": "does not reduce", "halve": "not reduce",
    "outperforms": "underperforms", "outperform": "underperform", "strengthens": "weakens", "presence": "absence",
}  # fmt: skip
NEGATION = re.compile(r"\b(?:not|no|never|without|lacks?|cannot|n['’]t|fail(?:s|ed)? to)\b", re.I)


def counter_queries(claim: str) -> tuple[str, ...]:
    """Return one to three rewordings that a passage against ``claim`` would resemble."""
    statement = as_statement(claim)
    found: list[str] = []
    swapped, num_swapped = swap_antonyms(statement)
    if num_swapped:
        found.append(swapped)
    if NEGATION.search(statement):
        found.append(" ".join(NEGATION.sub("", statement).split()))
    else:
        found.append(f"no effect, no association, no significant difference: {statement}")
        found.append(f"{statement} could not be confirmed, contrary results, failed to replicate")
    return tuple(dict.fromkeys(query for query in found if query and query != statement))[:3]


def as_statement(question: str) -> str:
    """Return a yes/no question without its auxiliary: "Does drug Q halve relapse?" -> "drug Q halve relapse"."""
    return re.sub(
        rf"^\W*(?:(?:{AUXILIARIES})\b\s*)(?:it true that\s+|there\s+)?", "", question.strip(), flags=re.I
    ).rstrip(" ?.")


def swap_antonyms(statement: str) -> tuple[str, int]:
    """Return the statement with direction words turned round, and how many were."""
    num_swapped = 0

    def turn(match: re.Match[str]) -> str:
        nonlocal num_swapped
        opposite = ANTONYMS.get(match.group(0).casefold())
        if opposite is None:
            return match.group(0)
        num_swapped += 1
        return opposite

    return re.sub(r"[A-Za-z]+", turn, statement), num_swapped
