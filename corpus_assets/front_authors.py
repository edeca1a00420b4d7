"""The authors, from the lines below the title and what the file says of itself."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence

from corpus_assets.pdf.front import FrontLine, FrontMatter

MAX_AUTHOR_LINES = 14
MAX_AUTHORS = 200

_END = re.compile(
    r"^\W*(?:abstract|summary|introduction|keywords?|key words|background|edited by|received|accepted|submitted"
    r"|published|correspond|doi\b|https?:|open access|copyright|©|license|software|citation|article info|contents"
    r"|1\W+introduction|editor|reviewed by|academic editor|objectives?\b|purpose\b)",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"\b(?:universit\w*|université|universidad\w*|universität|department|dept|institut\w*|school|college|laborator\w*|labs?|cent(?:er|re|ro)"
    r"|faculty|division|hospital|academy|foundation|inc|ltd|gmbh|corporation|company|research|science|sciences|street|road|avenue|box|way|drive|building|suite|floor"
    r"|usa|uk|france|germany|china|japan|spain|italy|canada|australia|sweden|ireland|mexico|brazil|india|kingdom|states|program(?:me)?"
    r"|group|team|unit|ministry|national|international|engineering|technolog\w*|computer|computing|physics|chemistry|biology|mathematics"
    r"|medicine|medical|statistics|email|e-mail|author|authors|equal|contribut\w+|address|volume|journal|article|review|editor|guest|member"
    r"|senior|professor|student|phd|msc|the|for|of|in|on|with|from|by|this|we|is|are|via|using)\b",
    re.IGNORECASE,
)
_PARTICLES = frozenset(
    {
        "de",
        "da",
        "do",
        "dos",
        "das",
        "del",
        "della",
        "di",
        "du",
        "van",
        "von",
        "der",
        "den",
        "ter",
        "ten",
        "la",
        "le",
        "el",
        "al",
        "bin",
        "ibn",
        "y",
        "e",
        "af",
        "av",
        "zu",
        "zur",
        "st",
    }
)
_MARKS = re.compile(r"[¹²³⁴⁵⁶⁷⁸⁹⁰⁺⁻*∗†‡§¶‖⋆☆☯#♯✉⊥◦○•∥⃝]+|(?<=[^\W\d_])[\d](?:\s*,\s*\d+)*|\b\d+\b|\(\d+\)|\[\d+\]")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_XMP_CREATORS = re.compile(r"<dc:creator\b[^>]*>(.*?)</dc:creator>", re.DOTALL)
_XMP_ITEM = re.compile(r"<rdf:li\b[^>]*>(.*?)</rdf:li>", re.DOTALL)


def find_authors(front: FrontMatter, title_lines: tuple[int, int] | None) -> tuple[tuple[str, ...], str]:
    """Return the authors in order and their source.

    The file's own list counts when every surname in it is printed on the first page and it names as many as the page.
    """
    printed = _printed_authors(front.lines, title_lines[1] + 1) if title_lines else ()
    page = _fold(" ".join(line.text for line in front.lines if line.page == 1))
    creators = _XMP_CREATORS.search(front.xmp)
    stated_xmp = tuple(html.unescape(item) for item in _XMP_ITEM.findall(creators[1])) if creators else ()
    for names, source in ((_stated_authors(stated_xmp), "xmp"), (_stated_authors((front.pdf_author,)), "pdf_metadata")):
        is_printed = all(_fold(name.split()[-1]) in page for name in names)
        if names and (is_printed or not front.lines) and len(names) >= len(printed):
            return names, source
    return (printed, "first_page") if printed else ((), "")


def _printed_authors(lines: Sequence[FrontLine], start: int) -> tuple[str, ...]:
    names: list[str] = []
    unfinished = ""  # the last piece of a line that ends within a name
    first: FrontLine | None = None
    for line in lines[start : start + MAX_AUTHOR_LINES]:
        text = line.text.strip()
        if line.page != lines[start - 1].page or _END.match(text):
            break
        if not any(char.isalpha() for char in text):  # a footnote mark that came as a line of its own
            continue
        if names and first and line.font_size and line.font_size < 0.88 * first.font_size:
            break  # affiliations are set smaller
        if _YEAR.search(text) or ("@" in text and not (names and not line.font_size)):  # a journal, a date, an address
            unfinished = ""
            continue
        if "@" in text:
            break
        parts = _split_names(text)
        if unfinished and parts and not _NO_NAME.search(text):
            merged = f"{unfinished} {parts[0]}"
            goes_on = len(parts[0].split()) == 1 if is_name(unfinished) else True
            if goes_on and is_name(merged):
                parts[0] = merged
                if names and names[-1] == _recase(unfinished):
                    names.pop()
        unfinished = ""
        found = [part for part in parts if is_name(part)]
        if not names and is_family_first(parts):
            found = [_turn(f"{family}, {given}") for family, given in zip(parts[::2], parts[1::2], strict=True)]
            parts = found
        if len(found) * 2 < len(parts) or not found:
            if names and _NO_NAME.search(text) and first and not line.font_size:
                break
            continue
        first = first or line
        names.extend(_recase(name) for name in found)
        is_open = not re.search(r"[,;·|¹²³⁴⁵⁶⁷⁸⁹⁰*∗†‡§¶\d]\W*$", text) and len(parts[-1].split()) <= 3
        if is_open:
            unfinished = parts[-1]
    return tuple(dict.fromkeys(names[:MAX_AUTHORS]))


def _split_names(text: str) -> list[str]:
    """Return the pieces of a line between separators and footnote marks."""
    text = re.sub(r"\bID\b|ᴵᴰ|\borcid\S*", " ", text)
    text = re.sub(r"^by\s+", "", text, flags=re.IGNORECASE)
    text = _MARKS.sub(",", text)
    parts = [part.strip(" ,;") for part in re.split(r"\s*[,;·|]\s*|\s+and\s+|\s+&\s+|^and\s+|\s+und\s+", text)]
    parts = [re.sub(r"^(?:and|&)(?:\s+|$)", "", part) for part in parts]
    return [part for part in parts if len(part) > 1]


def is_family_first(parts: Sequence[str]) -> bool:
    """Return whether pieces alternate between family and given names: ``Di Cosmo, Roberto and Danelutto, Marco``."""
    return (
        len(parts) >= 2
        and len(parts) % 2 == 0
        and all(
            1 <= len(part.split()) <= 2 and not _NO_NAME.search(part) and is_name(f"{part} {part}") for part in parts
        )
        and sum(len(part.split()) == 1 for part in parts) > len(parts) / 2
    )


def is_name(text: str) -> bool:
    """Return whether the text reads like one person's name: two to five capitalised words or initials."""
    words = text.split()
    if not 2 <= len(words) <= 6 or len(text) > 50 or _NO_NAME.search(text) or any(char.isdigit() for char in text):
        return False
    for word in words:
        bare = word.strip(".'’-")
        if not bare or (not bare[0].isupper() and bare.casefold() not in _PARTICLES and bare[:2] not in ("d'", "d’")):
            return False
        if not all(char.isalpha() or char in ".'’-‐´`¨\u0301\u0308" for char in word):
            return False
    return any(len(word.strip(".")) > 1 for word in words)


def _stated_authors(values: Sequence[str]) -> tuple[str, ...]:
    names: list[str] = []
    for value in values:
        text = " ".join(unicodedata.normalize("NFC", value).split())
        if not text or re.search(r"\bet al\b", text) or any(not char.isprintable() for char in text):
            return ()
        parts = re.split(r"\s*;\s*|\s+and\s+|\s+&\s+", text)
        if len(parts) == 1 and len(values) == 1 and text.count(",") >= 1:
            pieces = [piece.strip() for piece in text.split(",")]
            parts = pieces if all(is_name(piece) for piece in pieces) else parts
        else:
            parts = [
                piece.strip()
                for part in parts
                for piece in (part.split(",") if all(is_name(p.strip()) for p in part.split(",")) else [part])
            ]
        names.extend(_turn(part) for part in parts if part)
    return tuple(names) if names and all(is_name(name) for name in names) else ()


def _turn(name: str) -> str:
    """Return ``Roberto Di Cosmo`` for ``Di Cosmo, Roberto``."""
    family, comma, given = name.partition(",")
    return f"{given.strip()} {family.strip()}" if comma and given.strip() and "," not in given else name


def _recase(name: str) -> str:
    """Return ``Ross Douglas`` for ``Ross DOUGLAS``; names all in small letters or initials stay."""
    return " ".join(
        "-".join(part.capitalize() for part in word.split("-")) if len(word.strip(".")) > 2 and word.isupper() else word
        for word in name.split()
    )


def _fold(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))
