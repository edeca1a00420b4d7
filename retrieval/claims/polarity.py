"""Negation with its scope, direction words, hedges and scope limits of a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retrieval.terms import STOP_WORDS, WORD, fold, stem

NEGATION = re.compile(
    r"\b(?:not(?! only)|no(?!\.)|never|without|neither|nor|cannot|lack(?:s|ed|ing)?(?: of)?|absence of|fail(?:s"
    r"|ed|ing|ure)? to|unable to"
    r"|hardly|no longer|free of|devoid of|rule[sd]? out|none(?: of)?|nothing|rather than|instead of|unlikely to"
    r"|insufficient"
    r"|contrary to|negligible|refut\w+|disprov\w+)\b|n['’]t\b",
    re.I,
)
PREFIXED = {
    "insignificant": "significant", "nonsignificant": "significant", "non-significant": "significant",
    "ineffective": "effective",
    "unaffected": "affected", "unchanged": "changed", "unrelated": "related", "unassociated": "associated",
    "independent": "dependent",
    "dissimilar": "similar", "inactive": "active", "insensitive": "sensitive", "undetectable": "detectable",
    "unsafe": "safe",
    "unable": "able", "impossible": "possible", "unnecessary": "necessary", "inconsistent": "consistent",
    "unreliable": "reliable",
    "undetected": "detected", "uncorrelated": "correlated", "unsuccessful": "successful", "incorrect": "correct",
    "invalid": "valid",
    "absent": "present", "inferior": "superior",
}  # fmt: skip
SCOPE_END = re.compile(
    r"[;:.!?]|,(?! (?:and|or|nor)\b)|\b(?:but|whereas|while|although|though|however|yet|because|since|unless"
    r"|except|which|who|and (?:it|they|we"
    r"|this|these|the \w+ (?:was|were|is|are|had|has)|\w+ (?:was|were|is|are|had|has|\w+ed)))\b",
    re.I,
)
MAX_SCOPE_WORDS = 9


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


# Pairs of opposites; a direction word opposes only words of its own axis.
AXES: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (_stems(up), _stems(down))
    for up, down in (
        (
            "increase increased increasing raise raised rise rises rising rose risen elevate elevated elevation"
            " high higher highest greater"
            " gain gained  enhance enhanced enhancement boost boosted augment augmented"
            " upregulate upregulated"
            " upregulation up-regulated up-regulation more amplify amplified expand expanded expansion larger"
            " upward exceed exceeds exceeded"
            " double doubled doubles triple tripled longer prolong prolonged prolongation extend extended"
            " longest most accumulate",
            "decrease decreased decreasing reduce reduced reduction low lower lowered lowest fall falls fell"
            " fallen falling drop dropped"
            " decline declined diminish diminished less fewer downregulate downregulated downregulation"
            " down-regulated down-regulation"
            " attenuate attenuated attenuation lessen lessened shrink shrank shrunk smaller downward halve"
            " halved halves deplete depleted"
            " depletion shorter shorten shortened curb curbed least shortest lowers",
        ),
        (
            "improve improved improves improvement better best superior superiority outperform outperformed"
            " outperforms benefit beneficial"
            " strengthen strengthened ameliorate ameliorated favourable favorable",
            "worsen worsened worsens worsening worse worst inferior inferiority underperform underperformed"
            " impair impaired impairment harm"
            " harmful deteriorate deteriorated deterioration weaken weakened unfavourable unfavorable",
        ),
        (
            "promote promoted promotes promotion stimulate stimulated stimulation activate activated activates"
            " activation induce induced"
            " induces induction facilitate facilitated trigger enable enabled",
            "inhibit inhibited inhibits inhibition suppress suppressed suppresses suppression block blocked"
            " blocks prevent prevented"
            " prevents prevention repress repressed repression abolish abolished inactivate inactivated"
            " inactivation hinder silence silenced",
        ),
        (
            "cause caused causes causing induce trigger",
            "prevent prevented prevents protect protected protects protective avert avoid",
        ),
        (
            "sensitive sensitivity susceptible susceptibility responsive",
            "resist resistant resistance insensitive refractory",
        ),
        ("positive positively", "negative negatively"),
        ("effective effectively efficacious", "ineffective useless"),
        ("safe safer safely", "toxic unsafe dangerous"),
        ("early earlier", "late later delay delayed"),
        ("faster fast accelerate accelerated quicker rapid rapidly", "slow slower slowed decelerate"),
        ("stronger strong strongly", "weaker weak weakly"),
        ("longer long prolong", "shorter short"),
        ("present presence", "absent absence"),
        ("before", "after"),
        ("above over", "below under"),
        ("majority most", "minority few"),
        ("gain gained", "loss lost lose loses"),
        ("young younger", "old older elderly"),
        ("hot hotter warm warmer", "cold colder cool cooler"),
        ("male males men man boys", "female females women woman girls"),
        ("acute", "chronic"),
        ("upper", "lower"),
        ("maximum maximal", "minimum minimal"),
        ("agonist", "antagonist"),
        ("overexpression overexpressed", "knockdown knockout underexpression deletion"),
        ("adult adults", "child children paediatric pediatric infant infants"),
        ("survival survive survived", "death die died mortality"),
        ("start started begin began", "stop stopped end ended discontinue discontinued"),
        ("first", "second last"),
        ("left", "right"),
        ("internal", "external"),
        ("gainer winner", "loser"),
    )
)

NUM_DIRECTION_AXES = 8  # the first ones say which way an effect goes; the others whom, when or what it concerns

HEDGES = re.compile(
    r"\b(?:may|might|could|can|would|suggest\w*|possibl[ey]|possibility|appears?|appeared|seems?|seemed|likely"
    r"|unlikely|potential(?:ly)?"
    r"|preliminary|trend(?:s|ed)?|perhaps|probabl[ey]|presumabl[ey]|putative(?:ly)?|hypothes\w+|speculat\w+"
    r"|indicat(?:e|es|ed|ing) that"
    r"|tend(?:s|ed)? to|in some cases|sometimes|often|usually|generally|typically|plausibl[ey]|tentative(?:ly)?"
    r"|believed|thought to"
    r"|expected to|apparent(?:ly)?|partial(?:ly)?|in part|rarely|occasionally|approximately|estimated|not always"
    r"|largely|mostly|mainly"
    r"|relatively|modest(?:ly)?|assum\w+|propos\w+|expect\w*|purported\w*|alleged\w*|candidate)\b",
    re.I,
)
WEAK_HEDGES = re.compile(
    r"\b(?:can|would|often|usually|generally|typically|approximately|estimated|largely|mostly|mainly|relatively"
    r"|propos\w+)\b",
    re.I,
)
CERTAINTY = re.compile(
    r"\b(?:prov(?:e|es|ed|en|ing)|definite(?:ly)?|definitive(?:ly)?|certain(?:ly)?|undoubted(?:ly)?|clearly"
    r"|always|invariably|all|every|each"
    r"|complete(?:ly)?|entire(?:ly)?|guarantee[sd]?|conclusive(?:ly)?|unequivocal(?:ly)?|establish(?:es|ed)?"
    r"|confirm(?:s|ed)?|must|will"
    r"|universally|without exception|undeniabl[ey]|never|fully|exactly|only|solely|exclusively|is known to"
    r"|demonstrat(?:e|es|ed))\b",
    re.I,
)
STRONG_CERTAINTY = re.compile(
    r"\b(?:prov(?:e|es|ed|en|ing)|definite(?:ly)?|definitive(?:ly)?|certainly|undoubted(?:ly)?|always|invariably"
    r"|all|every"
    r"|guarantee[sd]?|conclusive(?:ly)?|unequivocal(?:ly)?|must|will|universally|without exception|undeniabl[ey]"
    r"|exactly|solely|exclusively"
    r"|completely|entirely|fully)\b",
    re.I,
)
ASSOCIATION = re.compile(
    r"\b(?:associat\w+|correlat\w+|link(?:ed|s)?|relat(?:ed|es|ion\w*)|predict\w*|risk factor|accompanied by"
    r"|coincid\w+)\b",
    re.I,
)
CAUSATION = re.compile(
    r"\b(?:(?<!-)caus(?:e|es|ed|ing|al|ally)|leads? to|led to|results? in|resulted in|produc(?:e|es|ed)|induc(?:e|es"
    r"|ed)|due to|because of|drives?|triggers?)\b",
    re.I,
)
LIMITS = re.compile(
    r"\b(?:in (?:mice|rats?|vitro|vivo|silico|animals?|zebrafish|drosophila|yeast|(?:a|the|this|one|some"
    r"|certain) (?:small )?sub-?groups?(?: of)?"
    r"|cell lines?|cultured cells|simulations?|rodents?|pigs?|monkeys?|primates?|(?:a |the )?(?:mouse|rat|animal"
    r"|murine) models?)"
    r"|mice|murine|sub-?groups?|xenografts?|organoids?|post[- ]hoc|case reports?|pilot|unadjusted)\b",
    re.I,
)
QUANTIFIERS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"\b(?:none|no)\b", re.I), 0),
    (re.compile(r"\b(?:few|rarely|a minority of|a small (?:number|fraction|proportion|share) of)\b", re.I), 1),
    (
        re.compile(
            r"\b(?:some|several|certain|occasional(?:ly)?|sometimes|a subset of|a fraction of|a number of)\b", re.I
        ),
        2,
    ),
    (re.compile(r"\b(?:many|often|frequently|a large (?:number|fraction|proportion|share) of)\b", re.I), 3),
    (re.compile(r"\b(?:most|mostly|usually|typically|generally|the majority of|nearly all|almost all)\b", re.I), 4),
    (re.compile(r"\b(?:all|every|always|invariably|each|universally|entire)\b", re.I), 5),
)


@dataclass(frozen=True)
class Token:
    """A word with its stem, place, and whether a negation reaches it."""

    word: str
    stem: str
    start: int
    is_negated: bool
    is_content: bool


@dataclass(frozen=True)
class Negation:
    """A negation and the first content stems it reaches."""

    cue: str
    heads: tuple[str, ...]
    scope: frozenset[str]


def analyse(sentence: str) -> tuple[list[Token], list[Negation]]:
    """Return the tokens of a sentence with negation marked, and its negations."""
    text = sentence.replace("’", "'")
    cues = [(match.start(), match.end(), match.group(0)) for match in NEGATION.finditer(text)]
    scopes: list[tuple[int, int, str]] = []
    for start, end, cue in cues:
        stop = SCOPE_END.search(text, end)
        limit = stop.start() if stop else len(text)
        scopes.append((end, limit, cue))
        del start
    tokens: list[Token] = []
    negations: list[Negation] = []
    reached: dict[int, list[str]] = {index: [] for index in range(len(scopes))}
    for match in WORD.finditer(text):
        folded = fold(match.group(0))
        root = PREFIXED.get(folded)
        is_cue = any(start <= match.start() < end for start, end, _ in cues)
        is_content = folded not in STOP_WORDS and not is_cue
        inside = [
            index
            for index, (begin, limit, _) in enumerate(scopes)
            if begin <= match.start() < limit and len(reached[index]) < MAX_SCOPE_WORDS
        ]
        if is_content:
            for index in inside:
                reached[index].append(stem(root or folded))
        is_negated = (len(inside) % 2 == 1) != (root is not None)
        tokens.append(Token(folded, stem(root or folded), match.start(), is_negated, is_content))
        if root is not None:
            negations.append(Negation(folded, (stem(root),), frozenset({stem(root)})))
    for index, (_, _, cue) in enumerate(scopes):
        if reached[index]:
            negations.append(Negation(fold(cue), tuple(reached[index][:2]), frozenset(reached[index])))
    return tokens, negations


def direction_axes(token_stem: str, word: str) -> list[tuple[int, int]]:
    """Return (axis, +1 or -1) for a direction word, nothing for others."""
    found = []
    for axis, (up, down) in enumerate(AXES):
        if token_stem in up or word in up:
            found.append((axis, 1))
        elif token_stem in down or word in down:
            found.append((axis, -1))
    return found


def is_directional(token_stem: str, word: str) -> bool:
    """Tell whether a word says which way an effect goes (rather than whom or when it concerns)."""
    return any(axis < NUM_DIRECTION_AXES for axis, _ in direction_axes(token_stem, word))


def quantifier_level(text: str) -> int | None:
    """Return how much of a group a sentence speaks of (0 none … 5 all) by its strongest quantifier, else None."""
    levels = [level for pattern, level in QUANTIFIERS if pattern.search(text)]
    return max(levels) if levels else None


def is_hedged(text: str) -> bool:
    """Tell whether a sentence holds back: may, suggests, appears, trend, …"""
    return any(not WEAK_HEDGES.fullmatch(match.group(0)) for match in HEDGES.finditer(text))
