"""Whether a quote bears out a claim: deterministic tests of numbers, names, negation, direction and hedges.

The tests find contradictions of form, not of meaning: what they let through is "supported" in the sense that nothing
a rule can see speaks against it and the words of the claim stand in the quote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from corpus_assets.sentences import split_sentences
from retrieval.claims.numbers import Quantity, find_quantities, match_quantity, normalise
from retrieval.claims.opposition import check_polarity
from retrieval.claims.polarity import analyse
from retrieval.claims.surety import check_surety
from retrieval.claims.synonyms import share_synonym
from retrieval.claims.verdict import ClaimVerdict
from retrieval.claims.wording import check_frame, check_words
from retrieval.terms import GREEK, STOP_WORDS, WORD, fold, stem, words

ALIGN_ENTITY_WEIGHT = 3.0

FRAGMENTS = re.compile(r"(?<!\.)(?:\.\s?){3,}|…")
ENTITY = re.compile(
    r"(?<![\w-])(?:[A-Za-z]*[A-Z][A-Za-z]*\d[\w-]*|[A-Za-z]+-?\d+[A-Za-z]?\d*|[A-Z]{2,}[\w-]*"
    r"|[A-Za-z]+-[αβγδκλ]\w*|[a-z]+[A-Z]\w*)(?![\w-])"
)
NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?:-[A-Z]?[a-z]+)*(?!\w)")
SUBSTANCE = re.compile(
    r"\b[a-z]{2,}(?:nib|mab|mide|cillin|mycin|statin|prazole|sartan|olol|pril|platin|taxel|rubicin|vir|azole"
    r"|idine|gliptin|gliflozin"
    r"|formin|parib|ciclib|lukast|tidine|setron|triptan|caine|barbital|zepam|zolam|oxetine|tinib|limus|cept"
    r"|kinase|synthase|receptor)\b",
    re.I,
)


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
    for check in (check_frame, check_polarity, check_surety, check_words):
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
    plain = re.sub(r"(?<![\w-])(?:\d[\d.,]*)\s?(?:[a-zμ%°][\w/]*)", " ", text)
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
        if forms & have or fold(entity) in initials or stands_in(entity, evidence):
            continue
        if all(part in have for part in fold(entity).split("-")):
            continue
        return ClaimVerdict("unsupported", f"“{entity}” is not named in the quote")
    return None


def stands_in(name: str, text: str) -> bool:
    """Tell whether a name stands in a text as it is written, as the "E10" of "E10.25" does."""
    return bool(re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text))


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
