"""The title, from what page 1 prints largest and what the file calls itself."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from corpus_assets.pdf.front import FrontLine, FrontMatter

MAX_TITLE_CHARS = 400
MAX_TITLE_LINES = 7
MAX_FIRST_LINE_WORDS = 25  # of a first line taken for the title where nothing is printed larger
SAME_SIZE_POINTS = 0.7  # small capitals and rounding aside, one title is set in one size
MIN_SIZE_OVER_BODY = 1.12

# What stands large on a first page and is no title.
_NOT_A_TITLE = re.compile(
    r"^(?:\d+\.?\s+)?(?:"
    r"(?:(?:original|full|short|systematic|invited|mini|brief|case|data|technical|methodology|short)\W+)*"
    r"(?:research|review|article|articles|paper|papers|report|reports|communication|letter|letters|editorial|commentary"
    r"|note|notes|software|study|open access|perspective|tutorial|poster|protocol)"
    r"(?:\W+(?:article|articles|paper|open access|note))*"
    r"|open\W*access|abstract|summary|introduction|contents|table of contents|keywords|references|accepted manuscript"
    r"|author manuscript|preprint|supplementary material|(?:download|view)\b.*|(?:vol|volume|issue|no)\b\.?\s*\d.*"
    r"|(?:https?:|www\.|doi\b).*|(?:received|accepted|published|edited by|reviewed by|submitted)\b.*"
    r"|(?:proceedings of|in proceedings|copyright|©|issn|isbn|arxiv:).*"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)\s+\d{4}.*"
    r"|\d+\s*\|.*|[^\[]{0,60}\b\d+\s*\((?:19|20)\d\d\)[\W\d]*"
    r")\W*$",
    re.IGNORECASE,
)
_JOURNAL = re.compile(
    r"^(?:the\s+)?(?:(?:\w+\s+)?(?:journal|annals|archives|transactions|bulletin|proceedings|advances|acta|frontiers|reviews?)"
    r"\s+(?:of|in|on|for)\b|(?:\w+\s+){0,3}(?:journal|letters|transactions)$|plos\b|bmc\b|ieee\b|peerj\b|nature\b.{0,20}$|arxiv\b)",
    re.IGNORECASE,
)
_BAD_FILE_TITLE = re.compile(
    r"untitled|^document\d*$|^microsoft (?:word|powerpoint)"
    r"|\.(?:dvi|docx?|tex|pdf|rtf|indd|qxd|pages|odt|pptx?|ps|eps|fm|cdr)\b"
    r"|^(?:proceedings|title|no title|none|null|print|slide \d+|layout \d+|article|paper|manuscript"
    r"|template|pii|doi)\b[^a-z]*$"
    r"|^\S*\d\S*$|^10\.\d{4,}|^(?:https?|file):|[<>{}\\]|\$\{|^proceedings of",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"(?:[:\-–—,&/]|\b(?:a|an|the|of|in|on|for|and|or|with|by|to|from|at|as|via|using|between))$", re.IGNORECASE
)
_XMP_TITLE = re.compile(r"<dc:title\b[^>]*>.*?<rdf:li\b[^>]*>(.*?)</rdf:li>", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """Neighbouring lines of page 1 in one size. ``first`` and ``last`` index ``front.lines``, both included."""

    first: int
    last: int
    size: float
    text: str
    is_bold: bool
    y: float


def find_title(front: FrontMatter) -> tuple[str, str, tuple[int, int] | None]:
    """Return the title, its source, and the span of ``front.lines`` ``[first, last]`` it is printed in, if it is."""
    printed = _find_printed_title(front.lines)
    for stated, source in ((_xmp_title(front.xmp), "xmp"), (front.pdf_title, "pdf_metadata")):
        title = clean_title(stated)
        if not is_sane_file_title(title):
            continue
        if printed is None:
            if not front.lines or _is_on_first_page(title, front):
                return title, source, None
        # Where the page prints more words, they are taken: titles in files are cut.
        elif _says_the_same(title, printed.text) and len(fold_title(title)) >= len(fold_title(printed.text)):
            return title, source, (printed.first, printed.last)
    if printed is None:
        return "", "", None
    source = "first_page" if printed.size else "text"
    return clean_title(printed.text), source, (printed.first, printed.last)


def clean_title(text: str) -> str:
    """Return a title on one line, without markup, footnote marks at its end and a closing full stop."""
    text = re.sub(r"<[a-z/][^<>]{0,40}>", "", html.unescape(text), flags=re.IGNORECASE)
    text = "".join(char if char.isprintable() else " " for char in unicodedata.normalize("NFC", text))
    text = " ".join(text.split()).strip(' "“”')
    text = re.sub(r"(?<=\w)[\s]*[*∗†‡§¶⋆✩☆♯#]+[\d,]*$", "", text)
    text = re.sub(r"(?<=[^\W\d]{2})[¹²³⁴⁵⁶⁷⁸⁹]$", "", text)
    if text.endswith(".") and not text.endswith(("...", "etc.", "al.")):
        text = text[:-1]
    return text[:MAX_TITLE_CHARS].strip()


def is_sane_file_title(title: str) -> bool:
    """Return whether what a file calls its title can be one: several words, not a file name, not a template's text."""
    words = re.findall(r"[^\W\d_]{2,}", title)
    return len(words) >= 2 and len(title) >= 8 and not _BAD_FILE_TITLE.search(title) and not _NOT_A_TITLE.match(title)


def fold_title(title: str) -> str:
    """Return the letters and digits of a title, for comparing: case, accents, spaces and punctuation do not count."""
    decomposed = unicodedata.normalize("NFKD", title).casefold()
    return "".join(filter(str.isalnum, decomposed))


def _find_printed_title(lines: Sequence[FrontLine]) -> Block | None:
    page = [(index, line) for index, line in enumerate(lines) if line.page == lines[0].page] if lines else []
    if not page:
        return None
    body_size = _body_size(lines)
    if not body_size:
        return _first_line_title(page)
    bottom = max(line.y for _, line in page) or 1.0
    blocks = [block for block in _blocks(page) if _can_be_title(block)]
    large = [block for block in blocks if block.size >= body_size * MIN_SIZE_OVER_BODY]
    upper = [block for block in large if block.y <= 0.7 * bottom] or large
    others = [block for block in upper if not _JOURNAL.match(block.text)]
    if others and (not upper or max(b.size for b in others) >= 0.55 * max(b.size for b in upper)):
        upper = others
    if not upper:
        bold = [
            block for block in blocks if block.is_bold and block.y <= 0.5 * bottom and block.size >= 0.95 * body_size
        ]
        return bold[0] if bold else _first_line_title(page)
    best = max(upper, key=lambda block: (round(block.size, 1), -block.first))
    return _extend(best, lines)


def _body_size(lines: Sequence[FrontLine]) -> float:
    counts: Counter[float] = Counter()
    for line in lines:
        if line.font_size:
            counts[round(line.font_size * 2) / 2] += len(line.text)
    return counts.most_common(1)[0][0] if counts else 0.0


def _blocks(page: Sequence[tuple[int, FrontLine]]) -> list[Block]:
    blocks: list[Block] = []
    run: list[tuple[int, FrontLine]] = []

    def close() -> None:
        if run:
            text = _join_lines([line.text for _, line in run])
            size = max(line.font_size for _, line in run)
            is_bold = sum(line.is_bold for _, line in run) * 2 > len(run)
            blocks.append(Block(run[0][0], run[-1][0], size, text, is_bold, min(line.y for _, line in run)))
            run.clear()

    for index, line in page:
        if not line.text.strip():
            continue
        if run:
            last = run[-1][1]
            same_size = abs(last.font_size - line.font_size) <= SAME_SIZE_POINTS
            same_weight = last.is_bold == line.is_bold or line.font_size > 13
            gap = line.y - last.y
            if not (
                same_size and same_weight and -0.5 * line.font_size <= gap <= 2.2 * max(line.font_size, last.font_size)
            ):
                close()
        if not run and _NOT_A_TITLE.match(line.text.strip()):  # "Research Article" in the title's own type
            continue
        run.append((index, line))
    close()
    return blocks


def _can_be_title(block: Block) -> bool:
    text = block.text
    words = text.split()
    letters = sum(map(str.isalpha, text))
    if letters < 5 or letters < 0.5 * len(text.replace(" ", "")) or len(text) > MAX_TITLE_CHARS:
        return False
    if block.last - block.first >= MAX_TITLE_LINES + 3:
        return False
    if sum(len(word) == 1 for word in words) > 0.5 * len(words):  # letter-spaced: R E S C I E N C E
        return False
    return "@" not in text and not _NOT_A_TITLE.match(text)


def _extend(block: Block, lines: Sequence[FrontLine]) -> Block:
    """Add the next line when the title clearly goes on in a smaller size: after a colon or a dangling word."""
    following = block.last + 1
    if _DANGLING.search(block.text) and following < len(lines):
        line = lines[following]
        is_near = line.page == lines[block.last].page and 0 <= line.y - lines[block.last].y <= 2.5 * block.size
        if is_near and line.font_size >= 0.7 * block.size and not _NOT_A_TITLE.match(line.text.strip()):
            text = _join_lines([block.text, line.text])
            return Block(block.first, following, block.size, text, block.is_bold, block.y)
    return block


def _first_line_title(page: Sequence[tuple[int, FrontLine]]) -> Block | None:
    """Return the first line that reads like a title, for pages in one size and text without sizes."""
    for position, (index, line) in enumerate(page[:5]):
        text = line.text.strip()
        heading = re.match(r"#{1,2}\s+(.+?)\s*#*$", text)
        named = re.match(r"title:\s*[\"']?(.+?)[\"']?$", text, re.IGNORECASE)
        if heading or named:
            return Block(index, index, 0.0, (heading or named)[1], False, line.y)  # type: ignore[index]
        if (
            not text
            or _NOT_A_TITLE.match(text)
            or _JOURNAL.match(text)
            or sum(c.isalpha() for c in text) < 5
            or text == "---"
        ):
            continue
        words = text.split()
        follows = page[position + 1][1].text.strip() if position + 1 < len(page) else ""
        is_sentence = text.endswith((".", ";", ",", "-")) or text[0].islower() or follows[:1].islower()
        if len(words) < 2 or len(words) > MAX_FIRST_LINE_WORDS or is_sentence or "@" in text:
            return None
        return Block(index, index, line.font_size, text, line.is_bold, line.y)
    return None


def _join_lines(texts: Sequence[str]) -> str:
    joined = ""
    for text in texts:
        text = " ".join(text.split())
        if joined.endswith("-") and text[:1].islower() and not joined.endswith(" -"):
            joined += text  # a hyphen in a title nearly always belongs to the word
        else:
            joined = f"{joined} {text}" if joined else text
    return joined


def _says_the_same(stated: str, printed: str) -> bool:
    a, b = fold_title(stated), fold_title(printed)
    if not a or not b:
        return False
    if a in b or b in a:
        return min(len(a), len(b)) >= 0.4 * max(len(a), len(b))
    words_a, words_b = set(_words(stated)), set(_words(printed))
    return len(words_a & words_b) >= 0.75 * min(len(words_a), len(words_b)) and bool(words_a & words_b)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKD", text).casefold())


def _is_on_first_page(title: str, front: FrontMatter) -> bool:
    return fold_title(title) in fold_title(" ".join(line.text for line in front.lines if line.page == 1))


def _xmp_title(xmp: str) -> str:
    match = _XMP_TITLE.search(xmp)
    return html.unescape(match[1]) if match else ""
