"""Where paragraphs and sentences of scientific text begin and end, as exact character spans.

A stop ends a sentence unless what stands before it is an abbreviation, an initial or an enumerator, or what follows
does not look like a beginning. Every look to either side is bounded, so the time is linear in the text's length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

Span = tuple[int, int]

_LOOK_BACK = 64
_SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_CLOSERS = "\"'”’»›)\\]}」』）】〉》"
_OPENERS = "\"'“‘«‹([{¿¡「『（【〈《„‚*"

_PARAGRAPH_BREAK = re.compile(r"\n\n\s*")

# A stop with what belongs to it: closing quotes and brackets, citations raised ("relapse.¹²"), flattened
# ("relapse.12") or in brackets ("relapse.[12]", "relapse. [12]" before a capital).
_STOP = re.compile(
    r"(?P<hard>[。！？｡]+|[।॥؟۔]+|[.!?…]*[‼⁇⁈⁉]+)[" + _CLOSERS + r"]*"
    r"|(?P<soft>\.(?:\s\.)+|[.!?…]+)"
    r"(?P<tail>[" + _CLOSERS + r"]*"
    r"(?:[" + _SUPERSCRIPT + r"][" + _SUPERSCRIPT + r",–⁻\-]{0,40}"
    r"|(?<=[^\W\d_]{3}\.)\d{1,3}(?:[,–-]\d{1,3}){0,12}(?=\s)"
    r"|\s?\[\d[\d,–\-\s]{0,40}\](?=\s+[^\Wa-z]|\s*$)"
    r")?)(?=\s|$)"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: something must follow them.
_NEVER_FINAL = _words(
    "dr prof mr mrs ms st fig figs figure eq eqs eqn ref refs tab sec sect chap suppl ext vs v viz cf e.g i.e eg ie "
    "w.r.t resp incl excl approx ca aka pp vol nos op ed eds rev hon gen col lt capt"
)
# The end of a sentence only before a word that usually begins one.
_SELDOM_FINAL = _words(
    "al etc inc ltd co corp jr sr sp spp subsp var cv ssp dept univ assoc inst natl acad sci proc biol chem phys med "
    "engl lett soc int am br eur clin exp mol j ann arch bull comm conf trans dis res oncol neurol psychiatr "
    "cardiol pharmacol physiol biochem genet immunol microbiol ph.d m.d b.sc m.sc"
)
# An abbreviation only before a number ("No. 5", "p. 12", "Jan. 2019", "art. 3").
_BEFORE_NUMBER = _words(
    "no nr p art ch app appx fig pt par para jan feb mar apr jun jul aug sep sept oct nov dec ver n"
)
_BEGINNERS = _words(
    "the this these those that there they their it its we our in on at by for from with without to of as an after "
    "although among and any all because before both but compared conversely despite during each finally first "
    "further furthermore given hence here however if i importantly indeed instead interestingly later moreover most "
    "nevertheless no none nonetheless notably once one only other overall patients participants results several she "
    "he similarly since so some subsequently such taken then therefore though through thus together two under "
    "unlike until using what when where whereas whether which while who why yet you your not another additionally "
    "many more previous recent recently second third last data treatment methods conclusion background"
)
_ENUMERATOR = re.compile(
    r"(?:\(?(?:\d{1,3}(?:\.\d{1,3}){0,5}|[A-Za-z]|[IVXivx]{1,5})"
    r"|(?:Fig(?:ure|s)?\.?|Table|Tab\.|Box|Scheme|Chart|Plate|Eqs?\.?|Equation|Section|Sec\.|Chapter|Step|Case|Example"
    r"|Appendix|Theorem|Lemma|Definition|Corollary|Proposition|Algorithm|Panel|Supplementary\s(?:Fig\.?|Figure|Table))"
    r"\s?[A-Z]?\d{0,3}(?:\.\d{1,2}){0,3}[A-Za-z]?)"
)
_WORD_BEFORE = re.compile(r"[^\s(\[{\"'“‘«/—–]*$")
# Names that begin small and may still begin a sentence: mRNA, p53, miR-21, pH, iPSC, c-Met, α-synuclein.
_SMALL_NAME = re.compile(r"(?:[a-z]{1,4}-?[A-Z\d]|[α-ω])")
_WORD = re.compile(r"[^\W\d_]+")


def split_paragraphs(text: str) -> list[Span]:
    """Return the spans of the paragraphs (separated by empty lines), trimmed of white space, empty ones left out."""
    spans = []
    start = 0
    for gap in _PARAGRAPH_BREAK.finditer(text):
        spans.append((start, gap.start()))
        start = gap.end()
    spans.append((start, len(text)))
    return [span for span in (_trim(text, *span) for span in spans) if span[0] < span[1]]


def split_sentences(text: str) -> list[Span]:
    """Return the spans of the sentences, in order.

    Spans are trimmed of white space, do not overlap, never cross an empty line, and together hold every character of
    the text that is not white space.
    """
    return [span for start, end in split_paragraphs(text) for span in _split_paragraph(text, start, end)]


def _split_paragraph(text: str, start: int, end: int) -> Iterator[Span]:
    is_lowercase = text[start:end].islower()
    sentence_start = start
    for stop in _STOP.finditer(text, start, end):
        if stop["hard"] is None and not _is_end(text, sentence_start, stop, end, is_lowercase=is_lowercase):
            continue
        yield _trim(text, sentence_start, stop.end())
        sentence_start = _skip_space(text, stop.end(), end)
    if sentence_start < end:
        yield sentence_start, end


def _is_end(text: str, sentence_start: int, stop: re.Match[str], end: int, *, is_lowercase: bool) -> bool:
    """Tell whether a soft stop (followed by white space or the paragraph's end) ends the sentence."""
    following = _skip_space(text, stop.end(), end)
    if following >= end:
        return True
    mark = stop["soft"]
    begin = _skip_openers(text, following, end)
    next_char = text[begin] if begin < end else ""
    if mark == "…" or (len(mark) > 1 and set(mark) <= set(". …")):
        return next_char.isupper()
    before = text[max(sentence_start, stop.start() - _LOOK_BACK) : stop.start()]
    if mark == "." and before[-1:].isspace():  # " . ": text whose stops were tokenised off, or a lost letter
        return not next_char.isdigit()
    if not _can_begin(text, begin, next_char, is_lowercase=is_lowercase):
        return False
    if mark != ".":
        return True
    return not _is_abbreviation(before, text[begin : begin + _LOOK_BACK], stop.start() - sentence_start)


def _can_begin(text: str, begin: int, next_char: str, *, is_lowercase: bool) -> bool:
    if not next_char.islower():
        return True
    return is_lowercase or _SMALL_NAME.match(text, begin) is not None


def _is_abbreviation(before: str, after: str, num_chars: int) -> bool:
    """Tell whether the full stop after ``before`` belongs to the word it follows."""
    if num_chars <= len(before) and _ENUMERATOR.fullmatch(before.strip()):
        return True  # "3.2." or "Figure 3." stands at the head of its sentence
    found = _WORD_BEFORE.search(before)
    token = found.group().lstrip(_OPENERS) if found else ""
    word = token.casefold()
    next_is_number = after[:1].isdigit()
    if word in _NEVER_FINAL:
        return True
    if word in _BEFORE_NUMBER and next_is_number:
        return True
    if token.isdigit() and len(token) <= 2 and next_is_number:
        return True  # "0. 53": a decimal torn apart
    is_dotted = "." in word and all(len(part) <= 2 for part in word.split(".")) and not any(map(str.isdigit, word))
    is_initial = len(token) == 1 and token.isupper() and token.isascii()
    if word in _SELDOM_FINAL or is_dotted or is_initial:
        first_word = _WORD.match(after)
        return first_word is None or first_word.group().casefold() not in _BEGINNERS
    return False


def _skip_space(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at


def _skip_openers(text: str, at: int, end: int) -> int:
    limit = min(end, at + _LOOK_BACK)
    while at < limit and (text[at] in _OPENERS or _is_bullet(text[at]) or text[at].isspace()):
        at += 1
    return at if at < limit else min(at, end - 1)


@lru_cache(maxsize=4096)
def _is_bullet(char: str) -> bool:
    return unicodedata.category(char) in {"Pd", "So", "Po"} and char in "•‣◦▪■●–—-·†‡§"


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
