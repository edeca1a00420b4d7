"""Claims that put other words in the place of the quote's."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import product

from retrieval.claims.numbers import (
    SCALED_UNITS,
    UNIT_SPELLINGS,
    WORD_NUMBERS,
    base_value,
    find_quantities,
    normalise,
)
from retrieval.claims.polarity import Token, analyse, direction_axes
from retrieval.claims.synonyms import LIGHT_WORDS, share_synonym
from retrieval.claims.verdict import ClaimVerdict
from retrieval.terms import STOP_WORDS, fold, stem, words

MIN_COVERAGE = 0.6  # share of a claim's content words that must stand in the quote
SAME_FRAME = 0.6  # likeness of content words above which a new word counts as put in
NEAR_VERBATIM = 0.8  # likeness of all words above which one word in another's place is a change of meaning

PIECE = re.compile(r"[<>≤≥=%+]|[^\W_]+(?:[-.'’][^\W_]+)*")
NEGATORS = frozenset({"not", "no", "never", "without", "neither", "nor", "cannot"})
SYMBOLS = frozenset("<>≤≥=%+")
FOLDED_UNITS = frozenset(fold(unit) for unit in (*SCALED_UNITS, *UNIT_SPELLINGS))


def check_frame(claim: str, aligned: str, evidence: str) -> ClaimVerdict | None:
    """Fail a claim that is the quote's sentence but for a word, number or sign in another's place."""
    del evidence
    first, second = PIECE.findall(fold(normalise(aligned))), PIECE.findall(fold(normalise(claim)))
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() < NEAR_VERBATIM:
        return None
    same_amounts = amounts_of(claim) == amounts_of(aligned)
    for tag, start, end, begin, finish in matcher.get_opcodes():
        if tag == "equal":
            continue
        given, claimed = first[start:end], second[begin:finish]
        inside_quote = start > 0 and end < len(first)
        if (NEGATORS & set(claimed)) != (NEGATORS & set(given)) and (inside_quote or tag != "delete"):
            word = sorted((NEGATORS & set(claimed)) ^ (NEGATORS & set(given)))[0]
            return ClaimVerdict("contradicted", f"“{word}” stands on one side only")
        if tag == "replace" and len(given) == len(claimed):
            for old, new in zip(given, claimed, strict=True):
                is_restated = same_amounts and is_amount(old) and is_amount(new)
                failure = None if is_restated else compare_pair(old, new)
                if failure:
                    return failure
        elif tag == "replace":
            turned = next((pair for pair in product(given, claimed) if are_opposed(*pair)), None)
            if turned:
                return ClaimVerdict("contradicted", changed_words(*turned))
    return None


def changed_words(old: str, new: str) -> str:
    """Return the reason for a word put in another's place."""
    return f"the claim says “{new}” where the quote says “{old}”"


def are_opposed(old: str, new: str) -> bool:
    """Tell whether two words point opposite ways on one axis."""
    new_axes = set(direction_axes(stem(new), new))
    return any((axis, -sign) in new_axes for axis, sign in direction_axes(stem(old), old))


def amounts_of(text: str) -> list[tuple[str, str]]:
    """Return the amounts of a text in base units, in order, so that "0.5 g" equals "500 mg"."""
    found = [base_value(quantity.value, quantity.unit) for quantity in find_quantities(text)]
    return [(f"{value:.9g}", dimension) for value, dimension in found]


def is_amount(word: str) -> bool:
    """Tell whether a word is a number or a unit."""
    return word[0].isdigit() or word in FOLDED_UNITS or word in WORD_NUMBERS


def compare_pair(old: str, new: str) -> ClaimVerdict | None:
    """Fail a word of the claim that stands where the quote has one of another meaning."""
    if old == new or stem(old) == stem(new) or share_synonym(stem(old), stem(new)):
        return None
    if UNIT_SPELLINGS.get(old, old) == UNIT_SPELLINGS.get(new, new):
        return None
    changed = changed_words(old, new)
    if are_opposed(old, new):
        return ClaimVerdict("contradicted", changed)
    if old in SYMBOLS or new in SYMBOLS:
        return ClaimVerdict("unsupported", changed) if {old, new} & {"<", ">", "≤", "≥", "%"} else None
    if old[0].isdigit() and new[0].isdigit():
        same = old.replace(",", "") == new.replace(",", "")
        return None if same else ClaimVerdict("unsupported", changed)
    is_content = [word not in STOP_WORDS and not word[0].isdigit() for word in (old, new)]
    if all(is_content) and not {stem(old), stem(new)} & LIGHT_WORDS and not is_part(old, new):
        return ClaimVerdict("unsupported", changed)
    return None


def is_part(old: str, new: str) -> bool:
    """Tell whether one word is a part of the other when hyphenated ("nuclear-factor", "factor")."""
    parts = [set(map(stem, word.split("-"))) for word in (old, new)]
    return parts[0] <= parts[1] or parts[1] <= parts[0]


def check_words(claim: str, aligned: str, evidence: str) -> ClaimVerdict | None:
    """Fail a claim that brings a word of its own into the quote's frame, or whose words are mostly not in the quote."""
    claim_tokens = [token for token in analyse(claim)[0] if token.is_content]
    quote_tokens = [token for token in analyse(aligned)[0] if token.is_content]
    have = {stem(part) for word in words(evidence) for part in (word, *word.split("-"))}
    have |= {token.stem for token in quote_tokens}

    def is_known(token: Token) -> bool:
        if token.word[0].isdigit() or token.word in FOLDED_UNITS or token.stem in LIGHT_WORDS or token.stem in have:
            return True
        if "-" in token.word and all(stem(part) in have or part in STOP_WORDS for part in token.word.split("-")):
            return True
        return any(share_synonym(token.stem, other) for other in have)

    first, second = [token.stem for token in quote_tokens], [token.stem for token in claim_tokens]
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() >= SAME_FRAME:
        for tag, _, _, begin, finish in matcher.get_opcodes():
            if tag in {"replace", "insert"}:
                for token in claim_tokens[begin:finish]:
                    if not is_known(token):
                        return ClaimVerdict("unsupported", f"“{token.word}” is not in the quote")
    telling = [token for token in claim_tokens if token.stem not in LIGHT_WORDS and not token.word[0].isdigit()]
    unknown = [token.word for token in telling if not is_known(token)]
    if telling and len(unknown) > (1 - MIN_COVERAGE) * len(telling):
        return ClaimVerdict("unsupported", f"“{unknown[0]}” is not in the quote, nor is much else of the claim")
    return None
