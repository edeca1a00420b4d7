"""Whether a quote bears out a claim: deterministic tests of numbers, names, negation, direction and hedges.

The tests find contradictions of form, not of meaning: what they let through is "supported" in the sense that nothing
a rule can see speaks against it and the words of the claim stand in the quote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from corpus_assets.sentences import split_sentences
from retrieval.answer import VerdictLabel
from retrieval.claims.numbers import Quantity, find_quantities, match_quantity, normalise
from retrieval.claims.polarity import (
    ASSOCIATION,
    CAUSATION,
    LIMITS,
    STRONG_CERTAINTY,
    Negation,
    Token,
    analyse,
    direction_axes,
    is_hedged,
    quantifier_level,
)
from retrieval.passages import FAILED_TO_REPRODUCE, is_reported_by_others
from retrieval.terms import GREEK, STOP_WORDS, WORD, fold, stem, word_set, words

MIN_COVERAGE = 0.6  # share of a claim's content words that must stand in the quote
SAME_FRAME = 0.6  # likeness of word sequences above which a differing word counts as a substitution
ALIGN_ENTITY_WEIGHT = 3.0

NO_EFFECT = re.compile(
    r"\b(?:no|not|without|nor|neither|lack of)\b[^.;]{0,40}\b(?:effects?|differences?|associations?|changes?"
    r"|benefits?|improvements?|relationships?"
    r"|correlations?|impacts?|influence|differ|affect|alter|change)\b|\b(?:unchanged|unaffected|did not differ"
    r"|similar (?:in|between|across))\b",
    re.I,
)
FRAGMENTS = re.compile(r"(?<!\.)(?:\.\s?){3,}|…")
ENTITY = re.compile(
    r"(?<![\w-])(?:[A-Za-z]*[A-Z][A-Za-z]*\d[\w-]*|[A-Za-z]+-?\d+[A-Za-z]?\d*|[A-Z]{2,}[\w-]*"
    r"|[A-Za-z]+-[αβγδκλ]\w*|[a-z]+[A-Z]\w*)(?![\w-])"
)
NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?:-[A-Z]?[a-z]+)*")
SUBSTANCE = re.compile(
    r"\b[a-z]{2,}(?:nib|mab|mide|cillin|mycin|statin|prazole|sartan|olol|pril|platin|taxel|rubicin|vir|azole"
    r"|idine|gliptin|gliflozin"
    r"|formin|parib|ciclib|lukast|tidine|setron|triptan|caine|barbital|zepam|zolam|oxetine|tinib|limus|cept"
    r"|kinase|synthase|receptor)\b",
    re.I,
)
# Words that a claim may use for a quote's without saying something else.
SYNONYM_GROUPS = (
    "increase raise elevate rise enhance boost grow upregulate higher greater more",
    "decrease reduce lower decline fall drop diminish downregulate attenuate less fewer",
    "improve better enhance benefit",
    "worsen worse impair deteriorate",
    "show find found observe observed demonstrate report reveal see indicate",
    "use apply employ utilise utilize",
    "patient patients participant participants subject subjects people individuals cases",
    "study trial work paper analysis",
    "associate associated link linked correlate correlated relate related association",
    "cause lead result produce",
    "prevent protect avert",
    "drug treatment therapy agent medication",
    "occur arise appear happen develop emerge",
    "large big great substantial considerable marked",
    "small little minor slight modest",
    "important key major main central crucial",
    "method approach technique procedure",
    "tumour tumor cancer carcinoma neoplasm",
    "mutation variant alteration",
    "death mortality",
    "begin start initiate",
    "whole entire overall",
    "need require",
    "detect identify find",
    "compare compared versus",
)
SYNONYMS: dict[str, frozenset[int]] = {}
for _index, _group in enumerate(SYNONYM_GROUPS):
    for _word in _group.split():
        SYNONYMS[stem(_word)] = SYNONYMS.get(stem(_word), frozenset()) | {_index}
LIGHT_WORDS = frozenset(
    stem(word)
    for word in word_set(
        """
        study paper author result finding report show found find suggest indicate observe data evidence significant
        significantly respectively overall group value level rate case number total compared versus arm according quote
        passage speak state mention say describe
        """
    )
)


@dataclass(frozen=True)
class ClaimVerdict:
    """``reason`` says in plain words what was found, or what stands against the claim."""

    verdict: VerdictLabel
    reason: str


def check_claim(claim: str, evidence_text: str) -> ClaimVerdict:
    """Test a claim against the text of its quotes."""
    claim = " ".join(claim.split())
    if not any(ch.isalnum() for ch in claim):
        return ClaimVerdict("unclear", "the claim holds no words")
    sentences = [evidence_text[start:end] for start, end in split_sentences(evidence_text)]
    if not sentences:
        return ClaimVerdict("unsupported", "the quote is empty")
    if is_literal(claim, sentences):
        return ClaimVerdict("supported", "stands in the quote word for word")
    if FRAGMENTS.search(claim):
        return ClaimVerdict("unsupported", "the claim joins fragments with an ellipsis, which can hide a negation")
    for test in (check_numbers, check_entities):
        failure = test(claim, evidence_text, sentences)
        if failure:
            return failure
    aligned = align(claim, sentences)
    for check in (check_polarity, check_hedges, check_words):
        failure = check(claim, aligned, evidence_text)
        if failure:
            return failure
    return ClaimVerdict("supported", "numbers, names, negation, direction and hedges agree with the quote")


def literal_form(text: str) -> str:
    """Return text with exponents and marks normalised and spacing, quotes and the final stop removed."""
    plain = normalise(text).replace("’", "'").replace("“", '"').replace("”", '"')
    return re.sub(r"\s+([.,;:)])", r"\1", " ".join(plain.split())).rstrip(" .").casefold()


def is_literal(claim: str, sentences: Sequence[str]) -> bool:
    """Tell whether the claim is one whole sentence of the evidence, or several in a row, to the letter."""
    wanted = literal_form(claim)
    if len(wanted.split()) < 3:
        return False
    forms = [literal_form(sentence) for sentence in sentences]
    if wanted in forms:
        return True
    return any(
        ". ".join(forms[start:end]) == wanted
        for start in range(len(forms))
        for end in range(start + 2, min(start + 4, len(forms)) + 1)
    )


def check_numbers(claim: str, evidence: str, sentences: Sequence[str]) -> ClaimVerdict | None:
    """Fail a claim whose number, unit or comparator the evidence does not state."""
    del sentences
    claimed = find_quantities(claim)
    if not claimed:
        return None
    given = find_quantities(evidence)
    used: set[int] = set()
    for quantity in claimed:
        outcomes = [(match_quantity(quantity, other), index) for index, other in enumerate(given)]
        same = [index for outcome, index in outcomes if outcome == "same"]
        fitting = [index for index in same if is_same_thing(quantity, given[index], evidence)]
        if fitting:
            used.add(next((index for index in fitting if index not in used), fitting[0]))
            continue
        kinds = {outcome for outcome, _ in outcomes}
        shown = quantity.describe()
        if same:
            other = given[same[0]]
            return ClaimVerdict(
                "unsupported", f"the quote says “{other.raw.strip()} {other.noun}”, not “{shown} {quantity.noun}”"
            )
        if "opposite" in kinds:
            return ClaimVerdict("contradicted", f"“{shown}” is compared the other way round in the quote")
        if "comparator" in kinds:
            return ClaimVerdict(
                "unsupported", f"the quote gives “{shown}” with another comparison (more, less, at least, …)"
            )
        if "unit" in kinds:
            other = next(given[index] for outcome, index in outcomes if outcome == "unit")
            return ClaimVerdict("unsupported", f"the unit differs: the quote says “{other.raw.strip()}”, not “{shown}”")
        if "ambiguous" in kinds:
            return ClaimVerdict("unclear", f"“{shown}” can be read as a decimal or as thousands")
        if is_flattened(quantity, given):
            return ClaimVerdict("unsupported", f"“{shown}” looks like an exponent that lost its rise")
        return ClaimVerdict("unsupported", f"the number “{shown}” is not in the quote")
    return None


def is_same_thing(claim: Quantity, other: Quantity, evidence: str) -> bool:
    """Tell whether two equal numbers count the same thing: nouns agree, or one has none."""
    if claim.unit or not claim.noun:
        return True
    if other.unit:
        return False
    if not other.noun or stem(claim.noun) == stem(other.noun) or share_synonym(stem(claim.noun), stem(other.noun)):
        return True
    near = normalise(evidence)[max(0, other.start - 60) : other.end + 60]
    return stem(fold(claim.noun)) in {stem(word) for word in words(near)}


def is_flattened(claim: Quantity, given: Sequence[Quantity]) -> bool:
    """Tell whether a claimed number is "10" and an exponent of the evidence run together, like 1048 for 10⁴⁸."""
    digits = re.sub(r"\D", "", claim.raw)
    return digits.startswith("10") and any(
        "^" in other.raw and digits.endswith("10" + re.sub(r"\D", "", other.raw.split("^")[1])) for other in given
    )


def entity_forms(text: str) -> set[str]:
    """Return folded forms of the identifiers and names of a text, with and without hyphens and Greek spelt out."""
    forms: set[str] = set()
    for match in WORD.finditer(text.replace("µ", "μ")):
        word = fold(match.group(0))
        forms |= {word, word.replace("-", ""), word.rstrip("s")}
        forms.update(word.split("-"))
    spelt = text
    for letter, name in GREEK.items():
        spelt = spelt.replace(letter, name)
    if spelt != text:
        forms |= entity_forms(spelt)
    return forms


def find_entities(text: str) -> list[str]:
    """Return identifiers (T790M, IL-17), acronyms, names and drug-like words of a text, in order."""
    plain = re.sub(r"\b(?:\d[\d.,]*)\s?(?:[a-zμ%°][\w/]*)", " ", text)
    found = [match.group(0) for pattern in (ENTITY, NAME, SUBSTANCE) for match in pattern.finditer(plain)]
    return [word for word in dict.fromkeys(found) if fold(word) not in STOP_WORDS]


def check_entities(claim: str, evidence: str, sentences: Sequence[str]) -> ClaimVerdict | None:
    """Fail a claim that names something the evidence does not."""
    del sentences
    have = entity_forms(evidence)
    initials = {"".join(word[0] for word in group) for group in word_groups(evidence)}
    for entity in find_entities(claim):
        forms = {fold(entity), fold(entity).replace("-", ""), fold(entity).rstrip("s")}
        spelt = entity
        for letter, name in GREEK.items():
            spelt = spelt.replace(letter, name)
        forms |= {fold(spelt), fold(spelt).replace("-", "")}
        if forms & have or fold(entity) in initials:
            continue
        if all(part in have for part in fold(entity).split("-")):
            continue
        return ClaimVerdict("unsupported", f"“{entity}” is not named in the quote")
    return None


def word_groups(text: str) -> list[list[str]]:
    """Return runs of two to six words, whose initials an acronym may stand for."""
    run = words(re.sub(r"-", " ", text))
    return [run[start : start + size] for size in range(2, 7) for start in range(len(run) - size + 1)]


def align(claim: str, sentences: Sequence[str]) -> str:
    """Return the sentence of the evidence the claim is about: most of its words, its subject and names above all."""
    claim_tokens = [token for token in analyse(claim)[0] if token.is_content]
    entities = {stem(fold(entity)) for entity in find_entities(claim)}
    subject = {token.stem for token in claim_tokens[:2]}

    def score(sentence: str) -> float:
        stems = {token.stem for token in analyse(sentence)[0]}
        total = 0.0
        for position, token in enumerate(claim_tokens):
            if token.stem in stems:
                weight = ALIGN_ENTITY_WEIGHT if token.stem in entities else 1.0
                total += weight + (1.0 if token.stem in subject else 0.0) + 0.01 / (1 + position)
        return total

    return max(sentences, key=score)


def share_synonym(a: str, b: str) -> bool:
    """Tell whether two stems may stand for one another."""
    return bool(SYNONYMS.get(a, frozenset()) & SYNONYMS.get(b, frozenset()))


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
        for head in negation.heads:
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
        for head in negation.heads:
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


def check_hedges(claim: str, aligned: str, evidence: str) -> ClaimVerdict | None:
    """Fail a claim that is surer or wider than its quote."""
    if is_hedged(aligned) and not is_hedged(claim):
        return ClaimVerdict("unsupported", "the quote hedges (may, suggests, appears, …), the claim does not")
    certain = {fold(match.group(0)) for match in STRONG_CERTAINTY.finditer(claim)}
    certain -= {fold(match.group(0)) for match in STRONG_CERTAINTY.finditer(aligned)}
    if certain:
        return ClaimVerdict("unsupported", f"“{sorted(certain)[0]}” makes the claim surer than the quote")
    if re.search(r"\bproves?\b|\bproven\b", claim, re.I) and not re.search(r"\bprove", aligned, re.I):
        return ClaimVerdict("unsupported", "the quote does not speak of proof")
    if CAUSATION.search(claim) and ASSOCIATION.search(aligned) and not CAUSATION.search(aligned):
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


def check_words(claim: str, aligned: str, evidence: str) -> ClaimVerdict | None:
    """Fail a claim that puts another word in the place of the quote's, or whose words are mostly not in the quote."""
    claim_tokens = [token for token in analyse(claim)[0] if token.is_content]
    quote_tokens = [token for token in analyse(aligned)[0] if token.is_content]
    have = {stem(part) for word in words(evidence) for part in (word, *word.split("-"))}
    have |= {token.stem for token in quote_tokens}

    def is_known(item: str) -> bool:
        return item in have or any(share_synonym(item, other) for other in have)

    first, second = [token.stem for token in quote_tokens], [token.stem for token in claim_tokens]
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() >= SAME_FRAME:
        for tag, start, end, begin, finish in matcher.get_opcodes():
            if tag not in {"replace", "insert"}:
                continue
            for token in claim_tokens[begin:finish]:
                if is_known(token.stem) or token.stem in LIGHT_WORDS or token.word[0].isdigit():
                    continue
                if tag == "replace":
                    return ClaimVerdict(
                        "unsupported",
                        f"the claim says “{token.word}” where the quote says “{quote_tokens[start].word}”",
                    )
                del end
                return ClaimVerdict("unsupported", f"“{token.word}” is not in the quote")
    telling = [token for token in claim_tokens if token.stem not in LIGHT_WORDS and not token.word[0].isdigit()]
    if telling:
        share = sum(is_known(token.stem) for token in telling) / len(telling)
        if share < MIN_COVERAGE:
            absent = next(token.word for token in telling if not is_known(token.stem))
            return ClaimVerdict("unsupported", f"“{absent}” and more of the claim is not in the quote")
    return None
