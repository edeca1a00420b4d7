"""The ideas mode: findings, what joins them, and labelled steps beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrieval.passages import Sentence
from retrieval.plan import Plan
from retrieval.terms import QUESTION_WORDS, STOP_WORDS, content_words, stem
from retrieval.writing.draft import Block, DraftSection, Statement
from retrieval.writing.modes import ModeLimits


def idea_sections(
    plan: Plan, chosen: Sequence[Sentence], limits: ModeLimits, attribute: Callable[[Sentence], str]
) -> list[DraftSection]:
    """Return four parts; only the findings and the synthesis are claims about the papers."""
    findings = chosen[: limits.num_evidence]
    sections = [
        DraftSection(
            "finding",
            (
                Block(
                    tuple(
                        Statement((item,), weight=9.0 - rank, lead=attribute(item))
                        for rank, item in enumerate(findings)
                    )
                ),
            ),
        )
    ]
    pairs = idea_pairs(findings)
    synthesis, extrapolation, hypothesis = [], [], []
    for rank, (first, second, shared) in enumerate(pairs[: limits.num_practice]):
        joined = join_terms(shared)
        synthesis.append(Statement((first, second), text=f"Both passages speak of {joined}.", weight=6.0 - rank))
        extrapolation.append(
            Statement(
                (first, second),
                text=f"If both hold in one setting, what they say about {joined} may apply together; neither paper says so.",
                weight=4.0 - rank,
                is_conjecture=True,
            )
        )
        own = [distinct_terms(first, second), distinct_terms(second, first)]
        if all(own):
            hypothesis.append(
                Statement(
                    (first, second),
                    text=f"With {joined} in common, {join_terms(own[0])} and {join_terms(own[1])} may be linked. "
                    "Test: measure both in the same setting.",
                    weight=3.0 - rank,
                    is_conjecture=True,
                )
            )
    if not pairs and findings:
        only = findings[0]
        extrapolation.append(
            Statement(
                (only,),
                text="Whether this holds in another setting is open; the paper does not say.",
                weight=3.0,
                is_conjecture=True,
            )
        )
    for name, statements in (("synthesis", synthesis), ("extrapolation", extrapolation), ("hypothesis", hypothesis)):
        if statements:
            sections.append(DraftSection(name, (Block(tuple(statements)),)))  # type: ignore[arg-type]
    return sections


def idea_pairs(findings: Sequence[Sentence]) -> list[tuple[Sentence, Sentence, list[str]]]:
    """Return pairs of findings that share words, pairs from different papers first, most shared words first."""
    pairs = []
    for i, first in enumerate(findings):
        for second in findings[i + 1 :]:
            shared = shared_terms(first, second)
            if shared:
                pairs.append((first, second, shared))
    return sorted(
        pairs, key=lambda item: (item[0].paper_id == item[1].paper_id, -len(item[2]), item[0].key, item[1].key)
    )


def telling_words(sentence: Sentence) -> list[str]:
    """Return the words of a sentence that could name its subject, in order."""
    return [
        word
        for word in content_words(sentence.text)
        if word not in QUESTION_WORDS and word not in STOP_WORDS and len(word) > 3 and not word[0].isdigit()
    ]


def shared_terms(first: Sentence, second: Sentence) -> list[str]:
    """Return up to three telling words that stand in both sentences, in the order of the first."""
    other = {stem(word) for word in telling_words(second)}
    return list(dict.fromkeys(word for word in telling_words(first) if stem(word) in other))[:3]


def distinct_terms(sentence: Sentence, other: Sentence) -> list[str]:
    """Return up to two telling words of a sentence that the other lacks, longest first."""
    absent = {stem(word) for word in telling_words(other)}
    own = dict.fromkeys(word for word in telling_words(sentence) if stem(word) not in absent)
    return sorted(own, key=lambda word: (-len(word), word))[:2]


def join_terms(terms: Sequence[str]) -> str:
    quoted = [f"“{term}”" for term in terms]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
