"""Words that may stand for one another in a claim and its quote."""

from __future__ import annotations

from retrieval.terms import stem, word_set

# Words that a claim may use for a quote's without saying something else.
SYNONYM_GROUPS = (
    "increase raise elevate rise enhance boost grow upregulate higher greater more",
    "decrease reduce lower decline fall drop diminish downregulate attenuate less fewer",
    "improve better enhance benefit",
    "worsen worse impair deteriorate",
    "show find found observe observed demonstrate report reveal see indicate",
    "use used using apply employ utilise utilize",
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
        passage speak state mention say describe though although whereas via
        """
    )
)


def share_synonym(a: str, b: str) -> bool:
    """Tell whether two stems may stand for one another."""
    return bool(SYNONYMS.get(a, frozenset()) & SYNONYMS.get(b, frozenset()))
