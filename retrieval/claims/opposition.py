"""Claims that negate what a quote asserts, assert what it negates, or turn a direction round."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrieval.claims.polarity import Negation, Token, analyse, direction_axes
from retrieval.claims.synonyms import share_synonym
from retrieval.claims.verdict import ClaimVerdict
from retrieval.terms import stem, word_set

DEGREE_WORDS = frozenset(
    stem(word)
    for word in word_set(
        """
        significant significantly statistically clear clearly major marked markedly further direct directly independent
        independently measurable detectable apparent substantial substantially consistent consistently clinically such
        strong strongly additional overall relevant meaningful appreciable evident obvious real notable better
        """
    )
)
NO_EFFECT = re.compile(
    r"\b(?:no|not|without|nor|neither|lack of)\b[^.;]{0,40}\b(?:effects?|differences?|associations?|changes?"
    r"|benefits?|improvements?|relationships?"
    r"|correlations?|impacts?|influence|differ|affect|alter|change)\b|\b(?:unchanged|unaffected|did not differ"
    r"|similar (?:in|between|across))\b",
    re.I,
)


def check_polarity(claim: str, aligned: str, evidence: str) -> ClaimVerdict | None:
    """Fail a claim that negates what the quote asserts, asserts what it negates, or turns a direction round."""
    del evidence
    claim_tokens, claim_negations = analyse(claim)
    quote_tokens, quote_negations = analyse(aligned)
    claim_words = {token.stem: token for token in claim_tokens if token.is_content}
    quote_words = {token.stem: token for token in quote_tokens if token.is_content}
    failure = compare_negations(claim_words, claim_negations, quote_words, quote_negations)
    if failure:
        return failure
    claims_change = any(direction_axes(token.stem, token.word) and not token.is_negated for token in claim_tokens)
    if NO_EFFECT.search(aligned) and claims_change and not NO_EFFECT.search(claim):
        shared = [
            token for token in claim_tokens if direction_axes(token.stem, token.word) and token.stem in quote_words
        ]
        if not shared:
            return ClaimVerdict("contradicted", "the quote reports no effect; the claim states one")
    reports_change = any(direction_axes(token.stem, token.word) and not token.is_negated for token in quote_tokens)
    if NO_EFFECT.search(claim) and not NO_EFFECT.search(aligned) and reports_change:
        return ClaimVerdict("contradicted", "the claim states no effect; the quote reports one")
    return compare_directions(claim_tokens, quote_tokens)


def compare_negations(
    claim_words: dict[str, Token],
    claim_negations: Sequence[Negation],
    quote_words: dict[str, Token],
    quote_negations: Sequence[Negation],
) -> ClaimVerdict | None:
    """Match each negation of one side with the other's, by the word it bears on."""

    def counterpart(head: str, others: dict[str, Token]) -> Token | None:
        if head in others:
            return others[head]
        return next((token for key, token in others.items() if share_synonym(head, key)), None)

    for negation in quote_negations:
        for head in bearing_heads(negation):
            token = counterpart(head, claim_words)
            if token is not None:
                if not token.is_negated and not claim_negations:
                    return ClaimVerdict(
                        "contradicted", f"the quote negates “{token.word}” (“{negation.cue}”), the claim does not"
                    )
                if not token.is_negated and not any(head in other.scope for other in claim_negations):
                    return ClaimVerdict("contradicted", f"the quote negates “{token.word}”, the claim does not")
                break
    for negation in claim_negations:
        found = False
        for head in bearing_heads(negation):
            token = counterpart(head, quote_words)
            if token is not None:
                found = True
                if not token.is_negated and not any(head in other.scope for other in quote_negations):
                    return ClaimVerdict(
                        "contradicted", f"the claim negates “{token.word}” (“{negation.cue}”), the quote does not"
                    )
                break
        if not found and not quote_negations:
            return ClaimVerdict("unsupported", f"the claim says “{negation.cue}”; the quote negates nothing")
    return None


def bearing_heads(negation: Negation) -> tuple[str, ...]:
    """Return the word a negation bears on, and the next when the first only says how much ("no significant effect")."""
    return negation.heads if negation.heads[0] in DEGREE_WORDS else negation.heads[:1]


def compare_directions(claim_tokens: Sequence[Token], quote_tokens: Sequence[Token]) -> ClaimVerdict | None:
    """Fail when the claim's direction word stands against the quote's on the same axis and the same thing."""
    for position, token in enumerate(claim_tokens):
        for axis, sign in direction_axes(token.stem, token.word):
            if any(other.stem == token.stem for other in quote_tokens):
                continue
            opposed = [
                index
                for index, other in enumerate(quote_tokens)
                if (axis, -sign) in direction_axes(other.stem, other.word) and other.is_negated == token.is_negated
            ]
            agreeing = [
                index
                for index, other in enumerate(quote_tokens)
                if (axis, sign) in direction_axes(other.stem, other.word) and other.is_negated == token.is_negated
            ]
            if not opposed:
                continue
            near_claim = neighbours(claim_tokens, position)
            best_against = max(len(near_claim & neighbours(quote_tokens, index)) for index in opposed)
            best_for = max((len(near_claim & neighbours(quote_tokens, index)) for index in agreeing), default=-1)
            if best_against > best_for:
                against = quote_tokens[opposed[0]].word
                return ClaimVerdict("contradicted", f"the claim says “{token.word}”, the quote “{against}”")
    return swapped_directions(claim_tokens, quote_tokens)


def swapped_directions(claim_tokens: Sequence[Token], quote_tokens: Sequence[Token]) -> ClaimVerdict | None:
    """Fail when a direction word of the claim stands in the quote beside other things than in the claim."""
    for position, token in enumerate(claim_tokens):
        axes = direction_axes(token.stem, token.word)
        if not axes:
            continue
        same = [index for index, other in enumerate(quote_tokens) if other.stem == token.stem]
        opposed = [
            index
            for index, other in enumerate(quote_tokens)
            if any((axis, -sign) in direction_axes(other.stem, other.word) for axis, sign in axes)
        ]
        if not same or not opposed:
            continue
        near_claim = neighbours(claim_tokens, position, reach=3)
        for_it = max(len(near_claim & neighbours(quote_tokens, index, reach=3)) for index in same)
        against = max(len(near_claim & neighbours(quote_tokens, index, reach=3)) for index in opposed)
        if for_it == 0 and against >= 1:
            other = quote_tokens[opposed[0]].word
            return ClaimVerdict("contradicted", f"what the claim calls “{token.word}” is “{other}” in the quote")
    return None


def neighbours(tokens: Sequence[Token], position: int, reach: int = 4) -> set[str]:
    """Return the content stems within ``reach`` content words of a position."""
    before = [token.stem for token in tokens[:position] if token.is_content][-reach:]
    after = [token.stem for token in tokens[position + 1 :] if token.is_content][:reach]
    return {*before, *after}
