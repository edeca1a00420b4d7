"""The ideas mode: findings, what joins them, and labelled steps beyond them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrieval.claims.check import find_entities
from retrieval.claims.polarity import direction_axes
from retrieval.passages import Sentence
from retrieval.plan import Plan
from retrieval.terms import QUESTION_WORDS, STOP_WORDS, WORD, fold, stem, word_set, words
from retrieval.writing.draft import Block, DraftSection, Statement
from retrieval.writing.modes import ModeLimits

GENERIC = frozenset(
    stem(word)
    for word in word_set(
        """
        patient patients participants people subjects respond responds responded relapses median months weeks
        hazard ratio
        interval confidence treatment treated therapy primary endpoint before during another further number percent
        figures
        various general usually nearly almost several against
        """
    )
)


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
                text=f"If both hold in one setting, what they say about {joined} may apply together; "
                "neither paper says so.",
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
    """Return pairs of findings of different papers that share telling words, most shared first."""
    pairs = []
    for i, first in enumerate(findings):
        for second in findings[i + 1 :]:
            shared = shared_terms(first, second)
            if shared and first.paper_id != second.paper_id:
                pairs.append((first, second, shared))
    return sorted(pairs, key=lambda item: (-len(item[2]), item[0].key, item[1].key))


def telling_words(sentence: Sentence) -> list[str]:
    """Return the words of a sentence that could name its subject, as they are spelt, names first."""
    names = find_entities(sentence.text)
    others = [
        word
        for word in WORD.findall(sentence.text)
        if len(word) > 5
        and not word[0].isdigit()
        and fold(word) not in STOP_WORDS
        and fold(word) not in QUESTION_WORDS
        and stem(fold(word)) not in GENERIC
        and not direction_axes(stem(fold(word)), fold(word))
    ]
    return list(dict.fromkeys([*names, *others]))


def shared_terms(first: Sentence, second: Sentence) -> list[str]:
    """Return up to three telling words that stand in both sentences, in the order of the first."""
    other = {stem(fold(word)) for word in telling_words(second)}
    found = {stem(fold(word)): word for word in reversed(telling_words(first)) if stem(fold(word)) in other}
    return list(reversed(found.values()))[:3]


def distinct_terms(sentence: Sentence, other: Sentence) -> list[str]:
    """Return up to two telling words of a sentence that the other lacks, names first."""
    absent = {stem(word) for word in words(other.text)}
    return [word for word in telling_words(sentence) if stem(fold(word)) not in absent][:2]


def join_terms(terms: Sequence[str]) -> str:
    """Return “a”, “b” and “c”."""
    quoted = [f"“{term}”" for term in terms]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
