"""DOI, arXiv id and year, each only where it is printed as this paper's own."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corpus_assets.identifiers import normalise_arxiv_id, normalise_doi, trim_doi
from corpus_assets.pdf.front import FrontLine, FrontMatter

MIN_YEAR, MAX_YEAR = 1800, 2100
MIN_DOI_SCORE = 25  # a DOI without label, in running text, is somebody else's

_DOI_START = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S*", re.IGNORECASE)
_DOI_LABEL = re.compile(
    r"(?:\bdoi\b|\bdx\.doi\.org/?|\bdoi\.org/?)[\s:.=/(]*(?:https?://)?(?:dx\.)?(?:doi\.org/)?\s*$", re.IGNORECASE
)
_ANOTHERS = re.compile(
    r"\b(?:comment(?:s|ary)? (?:on|to)|reply to|response to|erratum (?:to|for)|correct(?:ion|s) (?:to|of|for)?"
    r"|corrigendum (?:to|for)|retract(?:ion|s) of|see also|replication of|reproduction of"
    r"|original (?:article|paper|publication)|supplement(?:s|ary)? to"
    r"|(?:data|code|dataset|software|materials?|scripts?)\b[^.]{0,60}\b(?:available|deposited|archived)"
    r"|(?:data|code|figshare|zenodo|dryad|archive|repository)\W{0,3}(?:doi|https?)|available (?:at|from)|cited|in:"
    r"|et al\.?,? \(?\d{4})",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<!\bal)(?<!\bvol)(?<!\bno)\.\s+", re.IGNORECASE)
_PUBLICATION = re.compile(
    r"\b(?:published|received|accepted|volume|vol|issn|copyright|citation|cite|article|journal|issue|correspond\w*|editor|proceedings)\b|©",
    re.IGNORECASE,
)
_PART_OF_PAPER = re.compile(
    r"\.(?:g|t|s|e|sd|box)\d{3}$|/-/dc\d*$|/(?:suppl|full|abstract|pdf|meta)(?:_file)?$", re.IGNORECASE
)
_REFERENCES = re.compile(
    r"^\W*(?:\d+\.?\s*)?(?:references|bibliography|literature cited|works cited)\W*$", re.IGNORECASE
)
_XMP_DOI = re.compile(
    r"<(?:prism:doi|pdfx:doi|crossmark:DOI|prism:url|dc:identifier)\b[^>]*>(.*?)</(?:prism:doi|pdfx:doi|crossmark:DOI|prism:url|dc:identifier)>"
    r"|\b(?:prism:doi|pdfx:doi|crossmark:DOI|prism:url|dc:identifier)=\"([^\"]*)\"",
    re.DOTALL | re.IGNORECASE,
)
_XMP_DATE = re.compile(
    r"<prism:(?:coverDate|publicationDate|coverDisplayDate)\b[^>]*>(.*?)</prism|prism:(?:coverDate|publicationDate|coverDisplayDate)=\"([^\"]*)\"",
    re.DOTALL,
)
_ARXIV_STAMP = re.compile(
    r"arxiv\s*:\s*((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?)\s*(\[[a-z-]+(?:\.[a-z-]+)?\])?",
    re.IGNORECASE,
)
_ARXIV_FILE = re.compile(r"^(?:arxiv[-_ .:]?)?(\d{4}\.\d{4,5}(?:v\d+)?)(?:\.pdf|\.txt|\.md)?$", re.IGNORECASE)

_YEAR = r"((?:1[89]|20)\d\d)"
_HAS_YEAR = re.compile(_YEAR)  # which every rule below asks for
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_FULL_DATE = (
    rf"(?:{_DAY}[\s.,]+{_MONTH}[\s,]+{_YEAR}|{_MONTH}\s+{_DAY},?\s+{_YEAR}|{_MONTH},?\s+{_YEAR}"
    rf"|{_YEAR}[-/]\d\d[-/]\d\d|\d{{1,2}}[./]\d{{1,2}}[./]{_YEAR})"
)
_DATE = rf"(?:{_FULL_DATE}|{_YEAR})"
_DATE_LABEL = re.compile(r"^\W*(published|accepted|received|revised|submitted|available online)\b", re.IGNORECASE)
_STARTS_WITH_DATE = re.compile(rf"^\W*{_FULL_DATE}", re.IGNORECASE)
_DOI_LABEL_LINE = re.compile(r"^\W*doi\b", re.IGNORECASE)
# From strongest to weakest. What is printed as the date of publication beats the copyright, that the dates of handling.
_YEAR_RULES: tuple[tuple[int, re.Pattern[str]], ...] = tuple(
    (rank, re.compile(pattern, re.IGNORECASE))
    for rank, pattern in (
        (90, rf"(?<!been )(?<!was )(?<!were )\b(?:published|publication date|epub)\b[^.;]{{0,40}}?{_FULL_DATE}"),
        (88, rf"^\W*(?:first )?published(?: online| in print)?\W{{0,3}}{_YEAR}\b"),
        (80, rf"\({_YEAR}\)[,:\s]*(?:vol\.?\s*)?\d+\s*[:(,]"),
        (80, rf"\b\d+\s*\(\s*{_YEAR}\s*\)\s*[:,]?\s*\w?\d+"),
        (80, rf"\b{_YEAR}\s*[,;]\s*(?:vol(?:ume)?\.?\s*)?\d+\s*[:(]\s*\w?\d+"),
        (78, rf"\bvol(?:ume|\.)?\s*\d+[^.]{{0,40}}?\b{_YEAR}\b"),
        (78, rf"\b{_MONTH}\s+{_YEAR}\s*,?\s*vol|\bvolume\s+{_YEAR}\b"),
        (76, rf"\b(?:proceedings|conference|workshop|symposium|findings)\b.{{0,120}}?\b{_YEAR}\b"),
        (70, rf"(?:©|\bcopyright\b|\(c\)|c⃝)\s*(?:the\s+)?(?:author\(?s?\)?\s*)?,?\s*{_YEAR}"),
        (66, rf"(?:©|\bcopyright\b|c⃝).{{0,60}}?\b{_YEAR}\b"),
        (65, rf"^[A-Z][^.;:()]{{2,60}}[,.]\s+{_YEAR}\W*$"),  # J Imag Bot, 2018
        (64, rf"\bet al\.?\s*\({_YEAR}\)"),
        (60, rf"\[[a-z-]+(?:\.[a-z-]+)?\]\s*{_DATE}"),
        (50, rf"\b(?:accepted|revised|available online)\b[^.;]{{0,30}}?{_DATE}"),
        (40, rf"\b(?:received|submitted)\b[^.;]{{0,30}}?{_DATE}"),
    )
)
MIN_RANK_IN_BODY = 88  # in the middle of the page and the body's type, other years are about other works
NUM_HEAD_LINES = 8  # title, authors and what stands around them
MAX_LABEL_LINES, MAX_LABEL_POINTS = 4, 40.0  # how far below its label a side column sets a date or a DOI


@dataclass(frozen=True)
class _Mention:
    doi: str
    score: int
    order: int


def find_doi(front: FrontMatter) -> tuple[str, str]:
    """Return the paper's DOI, lower case, and its source.

    A DOI in the file's own XMP wins; else the printed one that is best marked as the paper's own (a label, publication
    details beside it, a running header or footer). One that is said to be another work's, or stands among the
    references, is not taken; broken over lines it is put together, its own hyphens kept.
    """
    for match in _XMP_DOI.finditer(front.xmp):
        if doi := normalise_doi(html.unescape(match[1] or match[2] or "")):
            return doi, "xmp"
    totals: dict[str, tuple[int, int]] = {}
    for mention in _mentions(front.lines):
        score, order = totals.get(mention.doi, (0, mention.order))
        # Said twice counts a little more: running footers do, references do not.
        totals[mention.doi] = (max(score, mention.score) + (5 if score else 0), order)
    for doi in list(totals):  # one cut at a line's end is the start of the whole one
        if any(other.startswith(doi) and len(other) > len(doi) for other in totals):
            del totals[doi]
    if totals:
        doi, (score, _) = max(totals.items(), key=lambda item: (item[1][0], -item[1][1]))
        if score >= MIN_DOI_SCORE:
            return doi, "first_page" if any(line.font_size for line in front.lines) else "text"
    return "", ""


def _mentions(lines: Sequence[FrontLine]) -> Iterator[_Mention]:
    bottoms = {page: max(line.y for line in lines if line.page == page) for page in {line.page for line in lines}}
    for index, line in enumerate(lines):
        if _REFERENCES.match(line.text):
            return  # a footer with the paper's own DOI stands on page 1 too
        for match in _DOI_START.finditer(line.text.replace("\u2010", "-").replace("\u2011", "-")):
            doi = _complete(match, lines, index)
            before = _text_before(lines, index, match.start())
            if not doi or _PART_OF_PAPER.search(doi) or _ANOTHERS.search(before):
                continue
            at_edge = line.y <= 0.1 * bottoms[line.page] or line.y >= 0.9 * bottoms[line.page]
            is_line_start = not line.text[: match.start()].strip(" :/.")
            label = _DOI_LABEL.search(before) or (is_line_start and _has_label_above(lines, index))
            beside = " ".join(near.text for near in lines[max(0, index - 1) : index + 2])
            is_line_start |= bool(label and re.match(r"\W*(?:https?://)?(?:dx\.)?doi", line.text, re.IGNORECASE))
            score = (30 if label else 0) + (10 if is_line_start else 0) + (15 if at_edge else 0)
            score += (10 if _PUBLICATION.search(beside) else 0) + (10 if line.page == 1 else -5 * (line.page - 1))
            yield _Mention(doi, score, index)


def _has_label_above(lines: Sequence[FrontLine], index: int) -> bool:
    above = lines[max(0, index - MAX_LABEL_LINES) : index]
    return any(
        _DOI_LABEL_LINE.match(line.text)
        and line.page == lines[index].page
        and 0 <= lines[index].y - line.y <= MAX_LABEL_POINTS
        for line in above
    )


def _complete(match: re.Match[str], lines: Sequence[FrontLine], index: int) -> str:
    """Return the DOI of a match, with what the next lines hold of it."""
    text = match[0]
    is_line_end = match.end() == len(match.string.rstrip())
    while is_line_end and index + 1 < len(lines) and lines[index + 1].page == lines[index].page:
        following = lines[index + 1].text.strip()
        token = following.split(" ", 1)[0] if following else ""
        goes_on = text.endswith(("/", "-", "_", "(")) or (
            text.endswith(".") and bool(re.match(r"[a-z]+[.\d]*\d|\d+\.\d", token))
        )
        if not token or not goes_on:
            break
        text += token
        index += 1
        is_line_end = token == following
    text = re.split(r"[#?\s\"<>{}|^`]|&(?:amp|lt|gt)", text, maxsplit=1)[0]
    return trim_doi(text).lower()


def _text_before(lines: Sequence[FrontLine], index: int, start: int) -> str:
    before = lines[index].text[:start]
    if len(before) < 60 and index and lines[index - 1].page == lines[index].page:
        previous = lines[index - 1].text.strip()
        if not previous.endswith("."):  # a full stop ends what the line before was about
            before = f"{previous[-80:]} {before}"
    before = _DOI_START.split(before)[-1]  # what led up to another DOI is not about this one
    return _SENTENCE_END.split(before[-160:])[-1]


def find_arxiv_id(front: FrontMatter) -> tuple[tuple[str, int | None], str]:
    """Return the arXiv id without version, the version, and the source: the stamp on page 1, or the file's name."""
    for line in front.lines:
        match = _ARXIV_STAMP.search(line.text) if line.page == 1 else None
        if match and (match[2] or (re.match(r"\W*arxiv", line.text, re.IGNORECASE) and len(line.text) < 60)):
            return normalise_arxiv_id(match[1]), "first_page"
    if match := _ARXIV_FILE.match(front.file_name):
        return normalise_arxiv_id(match[1]), "filename"
    return ("", None), ""


def year_of_arxiv_id(arxiv_id: str) -> int | None:
    """Return the year an arXiv id was given in: ids have begun with year and month since April 2007."""
    return 2000 + int(arxiv_id[:2]) if re.match(r"\d{4}\.", arxiv_id) else None


def find_year(front: FrontMatter) -> tuple[int | None, str]:
    """Return the year of publication and its source, from publication details rather than from any year in the text."""
    for match in _XMP_DATE.finditer(front.xmp):
        if year := _plausible(match[1] or match[2] or ""):
            return year, "xmp"
    best: tuple[int, int, int] | None = None  # rank, -order, year
    for order, (text, in_body) in enumerate(_publication_texts(front.lines)):
        if not _HAS_YEAR.search(text):
            continue
        for rank, pattern in _YEAR_RULES:
            if in_body and rank < MIN_RANK_IN_BODY:
                break
            found = pattern.search(text)
            year = next((int(group) for group in found.groups() if group), None) if found else None
            if year and (best is None or (rank, -order) > best[:2]):
                best = (rank, -order, year)
    if best:
        return best[2], "first_page" if any(line.font_size for line in front.lines) else "text"
    year = _plausible(front.pdf_creation.removeprefix("D:")[:4])
    return (year, "pdf_metadata") if year else (None, "")


def _publication_texts(lines: Sequence[FrontLine]) -> Iterator[tuple[str, bool]]:
    """Yield page 1's lines and whether each is body text; a label alone comes with the date below it."""
    page = [line for line in lines if line.page == 1]
    bottom = max((line.y for line in page), default=0.0)
    sizes: Counter[float] = Counter()
    for line in page:
        if line.text:
            sizes[line.font_size] += len(line.text)
    body_size = sizes.most_common(1)[0][0] if sizes else 0.0
    for index, line in enumerate(page):
        if _REFERENCES.match(line.text):
            return
        in_body = (
            index >= NUM_HEAD_LINES
            and bool(line.font_size)
            and abs(line.font_size - body_size) < 0.3
            and 0.2 < line.y / (bottom or 1) < 0.9
        )
        yield line.text, in_body
        if label := _DATE_LABEL.match(line.text):
            for below in _just_below(page, index):
                if date := _STARTS_WITH_DATE.match(below.text):
                    yield f"{label[1]} {date[0]}", False
                    break
        elif len(line.text) < 40 and index + 1 < len(page):
            yield f"{line.text} {page[index + 1].text}", in_body


def _just_below(lines: Sequence[FrontLine], index: int) -> Iterator[FrontLine]:
    for line in lines[index + 1 : index + 1 + MAX_LABEL_LINES]:
        if line.page == lines[index].page and line.y - lines[index].y <= MAX_LABEL_POINTS:
            yield line


def _plausible(text: str) -> int | None:
    match = re.search(r"(?<!\d)((?:1[89]|20)\d\d)(?!\d)", text) or re.match(r"((?:1[89]|20)\d\d)", text)
    return int(match[1]) if match and MIN_YEAR <= int(match[1]) <= MAX_YEAR else None
