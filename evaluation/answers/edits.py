"""Edits that make a true sentence false, and restatements that keep it true, on sentences as papers print them.

Edits are found with patterns of their own, not with those that the tests of claims use: a test cannot be measured on
what it sees itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from retrieval.terms import word_set

KINDS = ("number", "negation", "unit", "comparator", "hedge", "entity")

NUMBER = re.compile(r"(?<![\w.,\-–/^])(\d{1,4}(?:\.\d+)?)(?![\w]|[.,]\d|[-–/]\d)")
NO_DATUM = re.compile(
    r"(?:\[[\d,;–\- ]*|\b(?:[Ff]ig(?:ure|s|\.)*|[Tt]ables?|[Ss]ections?|[Ee]q(?:uation|s|\.)*|[Rr]efs?\.?|[Cc]hapter"
    r"|[Aa]lgorithm|[Aa]ppendix|[Ll]emma|[Tt]heorem|[Ll]istings?|[Pp]age|[Ss]tep|[Vv]ersion) ?[\d.]*)$"
)  # before a number: a reference mark or the number of a figure
UNIT_SWAPS = {
    "mg": "μg", "μg": "mg", "µg": "mg", "g": "kg", "kg": "g", "ng": "mg", "mL": "L", "ml": "L", "μl": "ml",
    "cm": "mm", "mm": "cm", "m": "km", "km": "m", "nm": "μm", "μm": "nm", "mM": "μM", "μM": "mM", "nM": "mM",
    "kDa": "Da", "Hz": "kHz", "kHz": "Hz", "ms": "s", "°C": "°F", "weeks": "months", "months": "years",
    "years": "months", "days": "weeks", "hours": "days", "h": "min", "min": "h", "minutes": "hours",
    "seconds": "minutes", "week": "month", "month": "year", "year": "month", "day": "week", "hour": "minute",
    "MB": "GB", "GB": "MB", "K": "°C", "kW": "W", "V": "mV", "mV": "V", "MHz": "GHz", "GHz": "MHz",
}  # fmt: skip
UNIT = re.compile(
    r"(?<=\d)([ \u00a0-]?)("
    + "|".join(sorted(map(re.escape, UNIT_SWAPS), key=lambda name: -len(name)))
    + r")(?![\w/^·⁻²³-])"
)
COMPARATORS = (
    (r"\bmore than (?=\d|one|two|three|half)", "less than "), (r"\bless than (?=\d|one|two|three|half)", "more than "),
    (r"\bfewer than (?=\d)", "more than "), (r"\bat least (?=\w)", "at most "), (r"\bat most (?=\w)", "at least "),
    (r"\bgreater than (?=\d)", "less than "), (r"\bover (?=\d)", "under "), (r"\bup to (?=\d)", "at least "),
    (r"\bbelow (?=\d)", "above "), (r"\babove (?=\d)", "below "), (r"\bwithin (?=\d)", "more than "),
    (r"(?<=[\w ])> ?(?=\d|\.)", "< "), (r"(?<=[\w ])< ?(?=\d|\.)", "> "), (r"≥ ?(?=\d)", "≤ "), (r"≤ ?(?=\d)", "≥ "),
    (r"\bhigher than\b", "lower than"), (r"\blower than\b", "higher than"), (r"\bmore often than\b", "less often than"),
    (r"\bgreater than\b", "smaller than"), (r"\blarger than\b", "smaller than"),
)  # fmt: skip
HEDGES = (
    (r"\b(?:may|might|could) (?=[a-z]+\b)(?!not\b|also not)", "will "), (r"\bsuggest(?:s|ed)? that\b", "prove that"),
    (r"\bsuggesting that\b", "proving that"), (r"\bappear(?:s|ed)? to be\b", "is"), (r"\bseem(?:s|ed)? to be\b", "is"),
    (r"\b(?:appear|seem)s to ", "is known to "), (r"\b(?:possibly|probably|potentially|presumably|perhaps) ", ""),
    (r"\b(?:is|are) likely to\b", "will"), (r"\b(?:is|are|was|were) (?:possibly|probably|likely) ", "is certainly "),
    (r"\b[Ss]ome (?=[a-z]+s\b)", "all "), (r"\bmost (?=(?:of the )?[a-z]+s\b)", "all "),
    (r"\bmay (?=[a-z]+\b)(?!not\b)", ""), (r"\b(?:is|was|were|are) associated with\b", "caused"),
    (r"\bindicat(?:e|es|ed) that\b", "prove that"), (r"\bin (?:mice|rats)\b", "in patients"),
)  # fmt: skip
NEGATE = re.compile(
    r"\b(is|are|was|were|can|could|will|has been|have been|did|does|do) (?!not\b|no\b|never\b)(?=[a-z]+\b)"
)
UNNEGATE = (
    (r"\b(is|are|was|were|can|could|will|has|have|had|may|did|does|do|should) not\b", r"\1"),
    (r"\bcannot\b", "can"),
    (r"\bno (?=(?:significant|difference|effect|association|evidence|change|correlation))", "a "),
    (r"\bwithout (?=[a-z]+)", "with "), (r"\bnever ", "always "), (r"\bfailed to ", "managed to "),
)  # fmt: skip
NAME = re.compile(
    r"(?<![\w-])(?=[A-Za-z\d-]*[A-Z])(?=[A-Za-z\d-]*(?:[A-Z][A-Za-z\d-]*[A-Z]|\d))[A-Za-z][A-Za-z\d-]{1,11}(?![\w-])"
)
GROUPS = {
    "mice": "rats", "rats": "mice", "women": "men", "men": "women", "children": "adults", "adults": "children",
    "humans": "mice", "infants": "adolescents", "boys": "girls", "girls": "boys", "smokers": "athletes",
    "yeast": "zebrafish", "zebrafish": "yeast", "English": "German", "German": "English", "China": "Brazil",
    "Africa": "Europe", "Europe": "Africa", "breast": "colon", "lung": "kidney", "liver": "spleen", "heart": "liver",
}  # fmt: skip
SUBSTANCE = re.compile(r"\b[a-z]{4,}(?:ine|ase|ide|itis|oma|emia|tin|ol|ium|mycin|mab|nib|one|in)\b")
ORDINARY = word_set(
    """
    increase decrease disease base phase case cause purpose response line decline determine combine examine define
    baseline medicine machine routine online within protein certain obtain contain remain main domain explain maintain
    gain brain pain origin begin again outside inside provide side wide guide decide include beside coincide control
    protocol tool school symbol alone none done one bone phone someone everyone anyone zone stone clone tone hormone
    between captain train strain chain skin margin virgin bargain attain retain sustain plain aside divide override
    nationwide worldwide genome outcome backbone milestone keystone increase alcohol release lease database marine
    feminine genuine imagine engine magazine discipline spine fine nine pipeline guideline vaccine urine
    """
)
DIRECTIONS = {
    "increased": "decreased", "decreased": "increased", "increases": "decreases", "decreases": "increases",
    "reduced": "increased", "reduces": "increases", "higher": "lower", "lower": "higher", "improved": "worsened",
    "improves": "worsens", "promotes": "inhibits", "inhibits": "promotes", "promoted": "inhibited",
    "inhibited": "promoted", "activates": "suppresses", "enhanced": "impaired", "impaired": "enhanced",
    "upregulated": "downregulated", "greater": "smaller", "longer": "shorter", "faster": "slower", "more": "less",
}  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """A sentence made false. ``change`` says what stands where what stood."""

    kind: str
    text: str
    change: str


def make_edits(claim: str, evidence: str, names: Sequence[str]) -> list[Edit]:
    """Return at most one edit a kind that the evidence does not bear out; ``names`` are put in others' places."""
    found: dict[str, Edit] = {}
    for kind, editor in EDITORS.items():
        for text, change in editor(claim, evidence, names):
            if text != claim and " ".join(text.split()).casefold() not in " ".join(evidence.split()).casefold():
                found.setdefault(kind, Edit(kind, text, change))
                break
    return list(found.values())


def _swap(claim: str, start: int, end: int, new: str) -> tuple[str, str]:
    return claim[:start] + new + claim[end:], f"{claim[start:end].strip()} -> {new.strip()}"


def _edit_numbers(claim: str, evidence: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    del names
    for match in NUMBER.finditer(claim):
        old = match.group(1)
        if NO_DATUM.search(claim[: match.start()]):
            continue
        for change in (7, 13, 31, 3):
            new = f"{float(old) + change:.{len(old.partition('.')[2])}f}"
            if not re.search(rf"(?<![\d.]){re.escape(new)}(?![\d])", evidence):
                yield _swap(claim, *match.span(1), new)
                break


def _edit_units(claim: str, evidence: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    del names, evidence
    for match in UNIT.finditer(claim):
        yield _swap(claim, *match.span(2), UNIT_SWAPS[match.group(2)])


def _by_patterns(patterns: Sequence[tuple[str, str]]) -> Editor:
    compiled = [(re.compile(pattern), new) for pattern, new in patterns]

    def edit(claim: str, evidence: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        del names, evidence
        for pattern, new in compiled:
            match = pattern.search(claim)
            if match:
                yield _swap(claim, *match.span(), match.expand(new))

    return edit


def _edit_negation(claim: str, evidence: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from _by_patterns(UNNEGATE)(claim, evidence, names)
    match = NEGATE.search(claim)
    if match:
        yield _swap(claim, *match.span(), f"{match.group(1)} not ")


def _edit_entities(claim: str, evidence: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for old, new in GROUPS.items():
        if re.search(rf"\b{old}\b", claim) and not re.search(rf"\b{new}\b", evidence, re.I):
            yield re.sub(rf"\b{old}\b", new, claim), f"{old} -> {new}"
    for pattern in (NAME, SUBSTANCE):
        for match in pattern.finditer(claim):
            old = match.group(0)
            if old.casefold() in ORDINARY or (pattern is SUBSTANCE and len(old) < 7):
                continue
            fitting = [name for name in names if bool(pattern.fullmatch(name)) and name.casefold() not in ORDINARY]
            new = next((name for name in fitting if name.casefold() not in evidence.casefold()), "")
            if new:
                yield re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, claim), f"{old} -> {new}"


def _edit_directions(claim: str, evidence: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    del names, evidence
    for match in re.finditer(r"[a-z]+", claim):
        if match.group(0) in DIRECTIONS:
            yield _swap(claim, *match.span(), DIRECTIONS[match.group(0)])


Editor = Callable[[str, str, Sequence[str]], Iterator[tuple[str, str]]]
EDITORS: dict[str, Editor] = {
    "number": _edit_numbers,
    "unit": _edit_units,
    "comparator": _by_patterns(COMPARATORS),
    "negation": _edit_negation,
    "hedge": _by_patterns(HEDGES),
    "entity": _edit_entities,
    "direction": _edit_directions,
}

LEADS = re.compile(
    r"^(?:However|Moreover|Furthermore|In addition|Additionally|Thus|Therefore|Hence|Interestingly|Notably|Importantly"
    r"|In conclusion|In summary|Finally|Here|Consequently|Overall|Accordingly|Indeed|Similarly|Remarkably"
    r"|Surprisingly|Strikingly|Together),? (?=[A-Za-z])"
)
SAID = re.compile(
    r"^(?:Here,? |In this study,? |Furthermore, |Moreover, |In addition, )?(?:[Ww]e (?:also |further )?"
    r"(?:found|show|showed|report|demonstrate|demonstrated|observed)|(?:Our|These|The) (?:results|data|findings)"
    r" (?:show|showed|demonstrate)) that (?=\w)"
)
ASIDE = re.compile(r" \((?![^)]*\b(?:not|no|may|might|only|mice|rats|except)\b)[^()]{3,80}\)(?=[ ,.])")
WORDINGS = (
    (r"\bshowed\b", "demonstrated"), (r"\bused\b", "employed"), (r"\bbecause\b", "since"), (r"\balthough\b", "though"),
    (r"\bapproximately (?=\d)", "about "), (r"\bsubjects\b", "participants"), (r"\butilized\b", "used"),
    (r"\btumor\b", "tumour"), (r"\btumors\b", "tumours"), (r"\bobserved\b", "found"), (r"\brequires\b", "needs"),
    (r"\bidentified\b", "found"), (r"\bneoplasms\b", "tumours"), (r"\bwhereas\b", "while"), (r"\bvia\b", "through"),
    (r"(?<=\d)%", " percent"), (r"(?<=\d) percent\b", "%"), (r"(?<=\d) hours\b", " h"), (r"(?<=\d) minutes\b", " min"),
    (r"(?<=\d) weeks\b", " wk"), (r"\btwo\b", "2"), (r"\bthree\b", "3"), (r"\bfour\b", "4"), (r"\bsix\b", "6"),
    (r"\bincreased\b", "raised"), (r"\breduced\b", "lowered"), (r"\breduces\b", "lowers"),
)  # fmt: skip


def restate(sentence: str) -> str:
    """Return a sentence in other words that still says the same: less framing, asides left out, like words."""
    text = SAID.sub("", sentence, count=1)
    if text == sentence:
        text = LEADS.sub("", sentence, count=1)
    text = ASIDE.sub("", text, count=1)
    num_changed = 0
    for pattern, new in WORDINGS:
        changed = re.sub(pattern, new, text, count=1)
        num_changed += changed != text
        text = changed
        if num_changed == 2:
            break
    return text[:1].upper() + text[1:]
