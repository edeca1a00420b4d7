"""What section titles mean: the ones papers share, and what kind of section they open."""

from __future__ import annotations

import re
from functools import lru_cache

from corpus_assets.model import SectionKind

_TITLES: dict[SectionKind, tuple[str, ...]] = {
    SectionKind.ABSTRACT: (
        r"(?:structured )?abstract",
        r"summary",
        r"synopsis",
        r"author summary",
        r"significance(?: statement)?",
        r"executive summary",
        r"zusammenfassung",
        r"résumé",
        r"resumen",
        r"resumo",
    ),
    SectionKind.REFERENCES: (
        r"references(?: and (?:notes|links))?",
        r"bibliography",
        r"literature(?: cited)?",
        r"works cited",
        r"cited literature",
        r"reference list",
        r"literatur(?:verzeichnis)?",
        r"références",
        r"referencias",
        r"bibliographie",
    ),
    SectionKind.INTRODUCTION: (
        r"introduction",
        r"background",
        r"introduction and (?:background|motivation)",
        r"motivation",
        r"background and (?:introduction|motivation|related work)",
        r"related work",
        r"state of the art",
        r"literature review",
        r"statement of need",
        r"einleitung",
        r"introducción",
        r"introdução",
    ),
    SectionKind.METHODS: (
        r"(?:materials?|patients?|subjects?|participants?|data) and methods?",
        r"methods?(?: and (?:materials?|data|patients|design))?",
        r"materials?",
        r"methodology",
        r"experimental(?: (?:section|procedures?|setup|set-up|methods?|design))?",
        r"study design",
        r"statistical (?:analysis|analyses|methods)",
        r"data(?: sets?| collection| sources?)?",
        r"model",
        r"approach",
        r"(?:proposed )?(?:method|approach|algorithm)",
        r"methoden",
        r"méthodes",
    ),
    SectionKind.RESULTS: (
        r"results?(?: and discussions?)?",
        r"findings",
        r"experiments?(?: and results?)?",
        r"experimental results?",
        r"evaluation",
        r"ergebnisse",
        r"résultats",
        r"resultados",
    ),
    SectionKind.DISCUSSION: (
        r"(?:general )?discussions?(?: and (?:conclusions?|future work|limitations))?",
        r"diskussion",
        r"discusión",
    ),
    SectionKind.CONCLUSION: (
        r"(?:concluding|closing|final) remarks",
        r"conclusions?(?: and (?:future (?:work|directions)|outlook|perspectives|recommendations|discussions?))?",
        r"summary and conclusions?",
        r"outlook",
        r"future (?:work|directions)",
        r"fazit",
    ),
    SectionKind.LIMITATIONS: (
        r"(?:study )?limitations?(?: of (?:the|this|our) (?:study|work))?",
        r"strengths and limitations",
        r"limitations and (?:future (?:work|directions)|strengths)",
        r"threats to validity",
    ),
    SectionKind.ACKNOWLEDGEMENTS: (
        r"acknowledge?ments?",
        r"acknowledge?ments? and .{3,40}",
        r"funding(?: (?:statement|information))?",
        r"author(?:s['’]?|['’]s)? contributions?",
        r"contributors",
        r"(?:competing|conflicts? of) interests?(?: statement)?",
        r"declaration of (?:competing )?interests?",
        r"disclosures?",
        r"ethics(?: (?:statement|approval.{0,40}))?",
        r"data(?: and code)? availability(?: statement)?",
        r"availability of data(?: and materials?)?",
        r"consent for publication",
        r"declarations",
        r"author (?:details|information)",
        r"publisher['’]s note",
        r"additional information(?: and declarations)?",
    ),
    SectionKind.APPENDIX: (
        r"appendi(?:x|ces)(?:\b.{0,80})?",
        r"supplement(?:al|ary)?(?: (?:information|materials?|data|files?|methods|figures?|tables?|text))?",
        r"supporting information(?:\b.{0,60})?",
        r"additional files?",
        r"electronic supplementary material",
    ),
}
_COMPILED = tuple((kind, re.compile("|".join(titles), re.IGNORECASE)) for kind, titles in _TITLES.items())
_OTHER_KNOWN = re.compile(
    r"key ?words?|key words|index terms|highlights|abbreviations|nomenclature|notation|footnotes|notes|contents|"
    r"table of contents|list of (?:figures|tables|abbreviations)|preliminaries|theory|implementation|overview|"
    r"case (?:report|presentation|description)|article info|categories and subject descriptors",
    re.IGNORECASE,
)
NUMBERING = re.compile(
    r"^(?:(?:section|chapter|part)\s+)?(?P<number>(?:\d{1,2}(?:\.\d{1,2}){0,4}|[IVX]{1,5}|[A-H](?:\.\d{1,2}){0,3}))"
    r"(?P<mark>[.)]|\s*[|:–—]|\s)\s*(?P<title>\S.*)$"
)
_TRIM = re.compile(r"^[\s■•*§|:–—-]+|[\s:.–—|-]+$")


@lru_cache(maxsize=4096)
def strip_numbering(title: str) -> tuple[str, str]:
    """Return a heading's number (``"2.1"``, ``"IV"``, ``""``) and its bare title."""
    match = NUMBERING.match(title.strip())
    if match:
        bare = _TRIM.sub("", match["title"])
        is_lone_letter = match["number"].isalpha() and len(match["number"]) == 1 and match["mark"].isspace()
        if not is_lone_letter or _kind_of(bare) is not None:  # "A study of …" is not section A
            return match["number"], bare
    return "", _TRIM.sub("", title)


@lru_cache(maxsize=4096)
def classify_title(title: str) -> SectionKind:
    """Return what a section titled like this is for; OTHER when the title is the paper's own."""
    number, bare = strip_numbering(title)
    kind = _kind_of(bare)
    if kind is not None:
        return kind
    return SectionKind.APPENDIX if re.fullmatch(r"[A-H](?:\.\d{1,2})+", number) else SectionKind.OTHER


def _kind_of(bare: str) -> SectionKind | None:
    squeezed = bare.replace(" ", "") if re.fullmatch(r"(?:\w )+\w", bare) else bare  # A B S T R A C T
    for kind, pattern in _COMPILED:
        if pattern.fullmatch(squeezed):
            return kind
    return None


@lru_cache(maxsize=4096)  # a line is asked about again and again, from the paragraphs' and the headings' side
def is_known_title(text: str) -> bool:
    """Return whether the whole text, its numbering aside, is a title that papers share."""
    if len(text) > 120 or (text.endswith(".") and text.count(" ") > 3):
        return False
    _, bare = strip_numbering(text)
    return classify_title(bare) is not SectionKind.OTHER or _OTHER_KNOWN.fullmatch(bare) is not None
