"""What titles, names and identifiers say about whether two files can be one paper."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from corpus_assets.front_title import fold_title

MIN_COMMON_TITLE_WORDS = 0.75  # of all words of both titles; an edited title keeps more
MAX_SLUG_CHARS = 80

_PREPRINT_DOI = re.compile(
    r"10\.(?:48550/arxiv|1101/(?:\d{4}\.\d\d\.\d\d|\d{6})|21203/rs|20944/preprints|3123[0-9]|31219|26434|2139/ssrn|36227"
    r"|7287/|22541|31222|35542|51094|21428)",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"^\W*(?:retract(?:ed|ion)|withdrawn|withdrawal|erratum|errata|correct(?:ion|ed)|corrigend\w+|expression of concern"
    r"|comment(?:s|ary)? (?:on|to)|reply (?:to|on)|response to|author'?s? (?:reply|response|correction)|addendum)\b",
    re.IGNORECASE,
)
_SUPPLEMENT_TITLE = re.compile(
    r"\b(?:supplement(?:ary|al)?\s+(?:material|information|data|methods?|appendix|file|text|online|note)s?"
    r"|supporting information|online (?:appendix|supplement)|electronic supplement\w*|web appendix"
    r"|additional file \d+)\b[\s:.\-–—]*(?:for|to|of|from)?\b",
    re.IGNORECASE,
)
_SUPPLEMENT_NAME = re.compile(
    r"(?:^|[\W_])(?:supp(?:l|lement(?:ary|al)?)?(?:info)?|supporting(?:info\w*)?|si|esm|sm|appendix|moesm\d+|additional[\W_]?file)"
    r"(?:[\W_]*(?:information|material|data|online|file|text)s?)?[\W_]*\d*$",
    re.IGNORECASE,
)
_PART = re.compile(r"\b(?:part|volume|vol|chapter|paper|no|number)?\s*(?:\d+|[ivx]+)\b", re.IGNORECASE)


def is_preprint_doi(doi: str) -> bool:
    """Return whether a DOI was given by a preprint server."""
    return bool(_PREPRINT_DOI.match(doi))


def is_notice(title: str) -> bool:
    """Return whether a title says that the text is about another paper: an erratum, a reply, a retraction."""
    return bool(_NOTICE.match(title))


def strip_supplement_words(title: str) -> str | None:
    """Return what is left of a title without the words that make it a supplement's; None when there are none."""
    return _SUPPLEMENT_TITLE.sub(" ", title) if _SUPPLEMENT_TITLE.search(title) else None


def strip_supplement_ending(stem: str) -> str | None:
    """Return the main paper's file stem for ``paper-SI`` or ``paper_supplement2``; None for other names."""
    folder, slash, name = stem.rpartition("/")
    match = _SUPPLEMENT_NAME.search(name)
    return folder + slash + name[: match.start()] if match else None


def titles_agree(one: str, other: str) -> bool:
    """Return whether two titles are the same but for a few words; numbers and parts must be the same."""
    a, b = fold_title(one), fold_title(other)
    if not a or not b:
        return False
    if a == b:
        return True
    words_a, words_b = _title_words(one), _title_words(other)
    different = words_a ^ words_b
    if any(_PART.fullmatch(word) for word in different):
        return False
    return len(words_a & words_b) >= MIN_COMMON_TITLE_WORDS * len(words_a | words_b)


def _title_words(title: str) -> set[str]:
    return set(re.findall(r"\w+", unicodedata.normalize("NFKD", title).casefold()))


def common_authors(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of the shorter list's family names that the other has."""
    a, b = {_family_name(name) for name in one}, {_family_name(name) for name in other}
    return len(a & b) / min(len(a), len(b))


def _family_name(name: str) -> str:
    family = name.partition(",")[0] if "," in name else name.split()[-1]
    return fold_title(family)


def make_slug(text: str) -> str:
    """Return ``[a-z0-9.-]+`` (or ``""``) for a text: accents dropped, the rest as hyphens, 80 characters at most."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"-*[^a-z0-9.]+-*", "-", ascii_text)[:MAX_SLUG_CHARS].strip("-.")
