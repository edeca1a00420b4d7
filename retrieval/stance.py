"""What a passage says about a claim, and whether two sentences say opposite things.

Rules never give a verdict: they say "possible disagreement, check". Verdicts come from a ``StanceModel``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from retrieval.answer import StanceLabel
from retrieval.claims.check import find_entities
from retrieval.claims.numbers import Quantity, base_value, find_quantities, normalise
from retrieval.claims.opposition import NO_EFFECT
from retrieval.claims.polarity import NUM_DIRECTION_AXES, Negation, Token, analyse, direction_axes, is_directional
from retrieval.claims.synonyms import LIGHT_WORDS, share_synonym
from retrieval.terms import fold, stem, word_set, words

MIN_SHARED = 3  # telling words two sentences must share to be about one outcome
MIN_SHARED_PART = 0.55  # of the shorter one's telling words, for words to oppose
MIN_SHARED_PART_NUMBERS = 0.7  # the same, for numbers to oppose: differing numbers are mostly differing conditions
MIN_RATIO = 1.5  # of two numbers on one outcome
MIN_ABOUT = 0.4  # of a claim's telling words a passage must hold to be about it
CONDITION = re.compile(
    r"\b(?:in|among|for|with|under|after|before|during|without|when|if) (?:the |a |an )?([a-z][\w-]+(?: [a-z][\w-]+)?)",
    re.I,
)
CLAUSE_END = re.compile(
    r";|,? \b(?:whereas|while|although|though|but)\b|, (?:and|with|not only|nor|yet)\b|, (?=(?:because|since|so) )",
    re.I,
)
# Of these a condition is more often the object than a finding ("without drug Q", "patients with no fever").
CONDITION_CUES = frozenset(
    {"no", "without", "lack of", "lacks", "absence of", "free of", "devoid of", "none", "none of"}
)
OUTCOME_NOUNS = frozenset(
    stem(word)
    for word in word_set(
        "effect effects difference differences association associations change changes benefit benefits correlation"
        " correlations relationship relation impact influence improvement advantage evidence link response"
    )
)
MEASURE_WORDS = frozenset(
    stem(word)
    for word in word_set("ratio interval confidence median mean months weeks years percent patients ci hr p value n")
)


@dataclass(frozen=True)
class Stance:
    """``is_verdict`` only from a model that can judge (an entailment model, a language model, a person)."""

    label: StanceLabel = "neutral"
    reason: str = ""
    is_verdict: bool = False
    quote: str = ""  # the words of the passage that decide it, where the judge names them


class StanceModel(Protocol):
    """Judges passages against a claim, in order."""

    name: str

    def judge(self, claim: str, passages: Sequence[str]) -> Sequence[Stance]:
        """Return one verdict a passage."""
        ...


@dataclass(frozen=True)
class Opposition:
    """How two sentences stand against each other. ``kind`` "negation", "direction" or "numbers"."""

    kind: Literal["negation", "direction", "numbers"]
    reason: str
    shared: tuple[str, ...]  # words both sentences hold, in the first one's order
    first_position: str
    second_position: str


def rule_stance(claim: str, sentence: str) -> Stance:
    """Return "possible_disagreement" when rules see a sentence about the claim speak against it, else "neutral"."""
    claim_words, given = telling(claim), telling(sentence)
    if not claim_words or len(shared_stems(claim_words, given)) < MIN_ABOUT * len(claim_words):
        return Stance()
    if set(map(fold, find_entities(claim))) - set(words(sentence)):
        return Stance()
    found = oppose_by_words(claim, sentence)
    if found is None:
        return Stance()
    return Stance("possible_disagreement", f"{found.reason}; found by rules, check")


def find_opposition(first: str, second: str) -> Opposition | None:
    """Return how two sentences oppose each other on one outcome, or None. Made to miss rather than to invent."""
    if not share_topic(first, second) or have_different_subjects(first, second):
        return None
    for one in clauses_of(first):
        for two in clauses_of(second):
            found = oppose_by_words(one, two) if share_topic(one, two) else None
            if found is not None:
                return found
    return oppose_by_numbers(first, second) if share_topic(first, second, MIN_SHARED_PART_NUMBERS) else None


def share_topic(first: str, second: str, min_part: float = MIN_SHARED_PART) -> bool:
    """Tell whether two texts share enough telling words to be about one outcome."""
    one, two = telling(first), telling(second)
    shared = shared_stems(one, two)
    part = len(shared) / max(1, min(len(one), len(two)))
    return (len(shared) >= MIN_SHARED and part >= min_part) or (len(shared) == 2 and part >= 0.8)


@lru_cache(maxsize=2048)
def clauses_of(text: str) -> tuple[str, ...]:
    """Return the clauses of a sentence that could stand alone: a denial in one says nothing of the others."""
    return tuple(part.strip() for part in CLAUSE_END.split(text) if part.strip())


@lru_cache(maxsize=2048)
def telling(text: str) -> Mapping[str, str]:
    """Return stem -> word of the content words that say what a sentence is about; directions and measures left out."""
    tokens = analyse(normalise(text))[0]
    return {
        token.stem: token.word
        for token in tokens
        if token.is_content
        and not token.word[0].isdigit()
        and len(token.word) > 1
        and token.stem not in LIGHT_WORDS
        and token.stem not in MEASURE_WORDS
        and not is_directional(token.stem, token.word)
    }


def shared_stems(one: Mapping[str, str], two: Mapping[str, str]) -> list[str]:
    """Return the stems of ``one`` that ``two`` holds, or a synonym of."""
    return [item for item in one if item in two or any(share_synonym(item, other) for other in two)]


def have_different_subjects(first: str, second: str) -> bool:
    """Tell whether each sentence names something the other does not, or each sets a condition of its own."""
    one, two = subjects_of(first), subjects_of(second)
    if one.names - two.words and two.names - one.words:
        return True
    return bool(one.conditions - two.stems and two.conditions - one.stems)


@dataclass(frozen=True)
class Subjects:
    """What a sentence names and under which conditions it speaks."""

    words: frozenset[str]
    stems: frozenset[str]
    names: frozenset[str]
    conditions: frozenset[str]


@lru_cache(maxsize=2048)
def subjects_of(text: str) -> Subjects:
    """Return the names of a sentence and the telling words of its "in …", "after …", "without …"."""
    own = frozenset(words(text))
    conditions = {
        stem(word)
        for match in CONDITION.finditer(fold(text))
        for word in match.group(1).split()
        if stem(word) not in MEASURE_WORDS and stem(word) not in LIGHT_WORDS
    }
    names = frozenset(fold(name) for name in find_entities(text))
    return Subjects(own, frozenset(stem(word) for word in own), names, frozenset(conditions))


def oppose_by_words(first: str, second: str) -> Opposition | None:
    """Return an explicit opposition: one negates the predicate the other asserts, or turns its direction round."""
    one_tokens, one_negations = analyse(normalise(first))
    two_tokens, two_negations = analyse(normalise(second))
    shared = tuple(telling(first)[item] for item in shared_stems(telling(first), telling(second)))
    effects = [bool(NO_EFFECT.search(text)) for text in (first, second)]
    if effects[0] != effects[1]:
        other = two_tokens if effects[0] else one_tokens
        changed = next(
            (t.word for t in other if t.is_content and is_directional(t.stem, t.word) and not t.is_negated), ""
        )
        is_plain = not (two_negations if effects[0] else one_negations)
        if changed and is_plain:
            return Opposition(
                "negation", f"one states “{changed}”, the other no effect", shared, *positions(first, second)
            )
    negated = negates_shared(one_tokens, one_negations, two_tokens) or negates_shared(
        two_tokens, two_negations, one_tokens
    )
    if negated:
        return Opposition("negation", f"one states “{negated}”, the other denies it", shared, *positions(first, second))
    turned = turned_direction(one_tokens, two_tokens)
    if turned:
        return Opposition("direction", f"“{turned[0]}” against “{turned[1]}”", shared, *positions(first, second))
    return None


def negates_shared(tokens: Sequence[Token], negations: Sequence[Negation], others: Sequence[Token]) -> str:
    """Return the predicate that ``tokens`` negates and ``others`` asserts (a verb or direction word), or ""."""
    plain = {token.stem: token for token in others if token.is_content and not token.is_negated}
    negated = {token.stem for token in others if token.is_negated}
    if negated:
        return ""  # both sides negate something: too much for rules
    for negation in negations:
        is_condition = negation.cue in CONDITION_CUES
        for head in negation.heads:
            if is_condition and head not in OUTCOME_NOUNS and not is_directional(head, head):
                continue
            if head in plain:
                return plain[head].word
            synonym = next((token.word for key, token in plain.items() if share_synonym(head, key)), "")
            if synonym and is_directional(head, head):
                return synonym
    del tokens
    return ""


def turned_direction(one: Sequence[Token], two: Sequence[Token]) -> tuple[str, str] | None:
    """Return two direction words that oppose each other about the same neighbours, when neither side has both."""
    for position, token in enumerate(one):
        if not token.is_content or token.is_negated:
            continue
        for axis, sign in direction_axes(token.stem, token.word):
            if axis >= NUM_DIRECTION_AXES:
                continue
            against = [
                i for i, t in enumerate(two) if (axis, -sign) in direction_axes(t.stem, t.word) and not t.is_negated
            ]
            same = [t for t in two if (axis, sign) in direction_axes(t.stem, t.word)]
            own = [t for t in one if (axis, -sign) in direction_axes(t.stem, t.word)]
            if len(against) != 1 or same or own:
                continue
            near = object_of(one, position), object_of(two, against[0])
            if near[0] and near[0] & near[1]:
                return token.word, two[against[0]].word
    return None


def object_of(tokens: Sequence[Token], position: int) -> set[str]:
    """Return the stems of the two content words after a direction word and the one before it."""
    after = [t.stem for t in tokens[position + 1 :] if t.is_content][:2]
    before = [t.stem for t in tokens[:position] if t.is_content][-1:]
    return {item for item in (*after, *before) if item not in LIGHT_WORDS}


def oppose_by_numbers(first: str, second: str) -> Opposition | None:
    """Return an opposition of two single numbers of one unit on one outcome that lie well apart."""
    one, two = find_quantities(first), find_quantities(second)
    for unit in sorted({base_value(q.value, q.unit)[1] for q in one if q.unit}):
        mine, theirs = of_dimension(one, unit), of_dimension(two, unit)
        if len(mine) != 1 or len(theirs) != 1:
            continue
        low, high = sorted((abs(mine[0]), abs(theirs[0])))
        if low > 0 and high / low >= MIN_RATIO:
            shared = tuple(telling(first)[item] for item in shared_stems(telling(first), telling(second)))
            numbers = [
                next(q.raw.strip() for q in found if base_value(q.value, q.unit)[1] == unit) for found in (one, two)
            ]
            return Opposition(
                "numbers", f"{numbers[0]} against {numbers[1]}", shared, f"States {numbers[0]}", f"States {numbers[1]}"
            )
    return None


def of_dimension(found: Sequence[Quantity], dimension: str) -> list[float]:
    """Return the base values of the quantities of one dimension."""
    values = [base_value(q.value, q.unit) for q in found if q.unit]
    return [value for value, own in values if own == dimension]


def positions(first: str, second: str) -> tuple[str, str]:
    """Return plain labels of the two sides: which states an effect and which denies it."""
    if bool(analyse(first)[1]) == bool(analyse(second)[1]):
        return "One paper", "Another paper"
    return ("Against", "For") if analyse(first)[1] else ("For", "Against")
