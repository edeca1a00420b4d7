"""What section titles mean: the ones papers share, and what kind of section they open."""

from __future__ import annotations

import re

from corpus_assets.model import SectionKind

_KINDS: tuple[tuple[SectionKind, str], ...] = (
    (SectionKind.ABSTRACT, r"(?:structured )?abstract|summary|synopsis|author summary|significance(?: statement)?|"
     r"executive summary|zusammenfassung|résumé|resumen|resumo"),
    (SectionKind.REFERENCES, r"references(?: and (?:notes|links))?|bibliography|literature(?: cited)?|works cited|"
     r"cited literature|reference list|literatur(?:verzeichnis)?|références|referencias|bibliographie"),
    (SectionKind.INTRODUCTION, r"introduction|background|introduction and (?:background|motivation)|motivation|"
     r"background and (?:introduction|motivation|related work)|related work|state of the art|literature review|"
     r"statement of need|einleitung|introducción|introdução"),
    (SectionKind.METHODS, r"(?:materials?|patients?|subjects?|participants?|data) and methods?|methods?(?: and (?:materials?|data|"
     r"patients|design))?|materials?|methodology|experimental(?: (?:section|procedures?|setup|set-up|methods?|design))?|"
     r"study design|statistical (?:analysis|analyses|methods)|data(?: sets?| collection| sources?)?|model|approach|"
     r"(?:proposed )?(?:method|approach|algorithm)|methoden|méthodes"),
    (SectionKind.RESULTS, r"results?(?: and discussions?)?|findings|experiments?(?: and results?)?|experimental results?|"
     r"evaluation|ergebnisse|résultats|resultados"),
    (SectionKind.DISCUSSION, r"(?:general )?discussions?(?: and (?:conclusions?|future work|limitations))?|diskussion|discusión"),
    (SectionKind.CONCLUSION, r"(?:concluding|closing|final) remarks|conclusions?(?: and (?:future (?:work|directions)|outlook|"
     r"perspectives|recommendations|discussions?))?|summary and conclusions?|outlook|future (?:work|directions)|fazit"),
    (SectionKind.LIMITATIONS, r"(?:study )?limitations?(?: of (?:the|this|our) (?:study|work))?|strengths and limitations|"
     r"limitations and (?:future (?:work|directions)|strengths)|threats to validity"),
    (SectionKind.ACKNOWLEDGEMENTS, r"acknowledge?ments?|acknowledge?ments? and .{3,40}|funding(?: (?:statement|information))?|"
     r"author(?:s['’]?|['’]s)? contributions?|contributors|(?:competing|conflicts? of) interests?(?: statement)?|"
     r"declaration of (?:competing )?interests?|disclosures?|ethics(?: (?:statement|approval.{0,40}))?|"
     r"data(?: and code)? availability(?: statement)?|availability of data(?: and materials?)?|consent for publication|"
     r"declarations|author (?:details|information)|publisher['’]s note|additional information(?: and declarations)?"),
    (SectionKind.APPENDIX, r"appendi(?:x|ces)(?:\b.{0,80})?|supplement(?:al|ary)?(?: (?:information|materials?|data|files?|"
     r"methods|figures?|tables?|text))?|supporting information(?:\b.{0,60})?|additional files?|electronic supplementary material"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(rf"(?:{pattern})", re.IGNORECASE)) for kind, pattern in _KINDS)
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


def strip_numbering(title: str) -> tuple[str, str]:
    """Return a heading's number (``"2.1"``, ``"IV"``, ``""``) and its bare title."""
    match = NUMBERING.match(title.strip())
    if match:
        bare = _TRIM.sub("", match["title"])
        is_lone_letter = match["number"].isalpha() and len(match["number"]) == 1 and match["mark"].isspace()
        if not is_lone_letter or _kind_of(bare) is not None:  # "A study of …" is not section A
            return match["number"], bare
    return "", _TRIM.sub("", title)


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


def is_known_title(text: str) -> bool:
    """Return whether the whole text, its numbering aside, is a title that papers share."""
    if len(text) > 120:
        return False
    _, bare = strip_numbering(text)
    return classify_title(bare) is not SectionKind.OTHER or _OTHER_KNOWN.fullmatch(bare) is not None
