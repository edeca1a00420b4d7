"""Turn marked-up text into justified lines: inline styles, widths, hyphenation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

FACES = {
    "serif": {"r": "tiro", "b": "tibo", "i": "tiit"},
    "sans": {"r": "helv", "b": "hebo", "i": "heit"},
}
MARKS = re.compile(r"(\*\*|\*|\^|~)")
NO_BREAK = "\x1f"  # stands for a space at which no line may end
NUMBER_AND_SIGN = re.compile(r"(?<=\d) (?=[%µ])|(?<= n) (?==)|(?<= p) (?=[=<])|(?<= [=<]) (?=[\d.]+[);,])")
RAISED_SCALE = 0.66
RAISED_RISE = 0.36
LOWERED_DROP = 0.16

# Written out rather than computed: a wrong break is what a reader notices first.
HYPHENATED_WORDS = """
re-sis-tance re-sis-tant mu-ta-tion mu-ta-tions pro-gres-sion pa-tients treat-ment treat-ments os-imer-ti-nib
ge-fi-ti-nib er-lo-ti-nib afa-ti-nib am-pli-fi-ca-tion am-pli-fi-ca-tions trans-for-ma-tion in-hi-bi-tor
in-hi-bi-tors in-hi-bi-tion mech-a-nism mech-a-nisms de-tec-tion mon-i-tor-ing con-cen-tra-tion con-cen-tra-tions
se-quenc-ing ra-di-o-graphic ra-di-o-log-i-cal mo-lec-u-lar clin-i-cal hy-poth-e-sis con-fi-dence in-ter-val
in-ter-vals ran-dom-ized ran-dom-ised ran-dom-iza-tion me-dian sen-si-tiv-ity spec-i-fic-ity ad-e-no-car-ci-noma
met-a-stases met-a-static cir-cu-lat-ing mea-sure-ment mea-sure-ments com-bi-na-tion com-bi-na-tions che-mo-ther-apy
pro-gressed re-sponse re-sponses re-cep-tor ki-nase ty-ro-sine sam-ples sam-pling ad-verse pneu-mo-ni-tis
in-ter-sti-tial in-tra-cra-nial lep-to-me-nin-geal ex-pres-sion ac-ti-va-tion pheno-type his-to-log-i-cal
dif-fer-ence dif-fer-ences sur-vival anal-y-sis anal-y-ses pop-u-la-tion par-tic-i-pants pro-spec-tive
ret-ro-spec-tive as-sess-ment as-sess-ments im-me-di-ate im-me-di-ately ac-quired com-pared de-scribed in-cluded
ob-served fol-low-ing be-tween with-out ther-apy ther-a-peu-tic bi-op-sies bi-opsy tu-mour tu-mours plas-ma
dis-con-tin-u-a-tion dis-con-tin-ued con-cor-dance sig-nal-ling down-stream es-ti-mated in-ves-ti-ga-tors
"""
HYPHENATIONS = {word.replace("-", ""): word.split("-") for word in HYPHENATED_WORDS.split()}


class Piece(NamedTuple):
    """Some letters of one style (r, b, i) and one rise (0 plain, 1 raised, -1 lowered)."""

    text: str
    style: str
    rise: int = 0


Word = tuple[Piece, ...]


@dataclass(frozen=True)
class Line:
    """Words of one line; ``is_last`` lines of a paragraph are not stretched."""

    words: tuple[Word, ...]
    is_last: bool


@cache
def load_font(name: str) -> Any:
    import pymupdf

    return pymupdf.Font(name)


def split_words(text: str, base_style: str = "r") -> list[Word]:
    """Return the words of marked-up text: ``**bold**``, ``*italic*``, ``^raised^``, ``~lowered~``."""
    words: list[Word] = []
    current: list[Piece] = []
    style, rise = base_style, 0
    for token in MARKS.split(NUMBER_AND_SIGN.sub(NO_BREAK, text)):
        if token == "**":
            style = base_style if style == "b" else "b"
        elif token == "*":
            style = base_style if style == "i" else "i"
        elif token == "^":
            rise = 0 if rise else 1
        elif token == "~":
            rise = 0 if rise else -1
        else:
            for index, part in enumerate(token.split(" ")):
                if index and current:
                    words.append(tuple(current))
                    current = []
                if part:
                    current.append(Piece(part.replace(NO_BREAK, " "), style, rise))
    if current:
        words.append(tuple(current))
    return words


@cache
def measure_text(text: str, font_name: str) -> float:
    """Return the width of ``text`` at one point."""
    return float(load_font(font_name).text_length(text, 1.0))


def measure_piece(piece: Piece, face: str, size: float) -> float:
    return measure_text(piece.text, FACES[face][piece.style]) * size * (RAISED_SCALE if piece.rise else 1.0)


def measure_word(word: Word, face: str, size: float) -> float:
    return sum(measure_piece(piece, face, size) for piece in word)


def measure_space(face: str, size: float) -> float:
    return measure_text(" ", FACES[face]["r"]) * size


def break_lines(
    words: Sequence[Word], width: float, face: str, size: float, hyphenate: bool = False, indent: float = 0.0
) -> list[Line]:
    """Fill lines greedily to ``width``, the first less ``indent``; a word longer than a line stands alone."""
    space = measure_space(face, size)
    lines: list[Line] = []
    current: list[Word] = []
    used = indent
    for word in words:
        length = measure_word(word, face, size)
        needed = length + (space if current else 0.0)
        if current and used + needed > width:
            head, tail = _split_word(word, width - used - space, face, size, hyphenate)
            if head is not None:
                current.append(head)
            lines.append(Line(tuple(current), False))
            current, used = [tail], measure_word(tail, face, size)
        else:
            current.append(word)
            used += needed
    if current:
        lines.append(Line(tuple(current), True))
    return lines


def _split_word(word: Word, room: float, face: str, size: float, hyphenate: bool) -> tuple[Word | None, Word]:
    """Return the longest head that fits ``room`` with its hyphen, and the rest; ``(None, word)`` if none does.

    A word is broken after its own hyphens always, between syllables only if ``hyphenate``.
    """
    if len(word) != 1:
        return None, word
    text, style, rise = word[0]
    letters = text.rstrip(".,;:)")
    best: tuple[Word | None, Word] = (None, word)
    for cut, mark in _list_cuts(letters, hyphenate):
        head = (Piece(text[:cut] + mark, style, rise),)
        if measure_word(head, face, size) <= room:
            best = head, (Piece(text[cut:], style, rise),)
    return best


def _list_cuts(letters: str, hyphenate: bool) -> list[tuple[int, str]]:
    """Return the places where a word may be broken, with the hyphen to add there (none after its own)."""
    syllables = HYPHENATIONS.get(letters.lower()) if hyphenate else None
    if syllables is None:
        return [(match.end(), "") for match in re.finditer(r"(?<=\w{3})[-–](?=[a-z]{3})", letters)]
    cuts, at = [], 0
    for syllable in syllables[:-1]:
        at += len(syllable)
        if at >= 2 and len(letters) - at >= 3:
            cuts.append((at, "-"))
    return cuts
