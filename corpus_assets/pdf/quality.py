"""Does a page's text read like text? A number from 0 to 1, so that "has text" can mean "has readable text"."""

from __future__ import annotations

import re
from collections.abc import Sequence, Sized
from functools import lru_cache
from typing import NamedTuple

from corpus_assets.pdf.lexicon import load_lexicon, load_trigrams
from corpus_assets.pdf.lines import Line

LIKENESS_OF_GARBAGE = 0.30  # shifted letters, random glyphs
LIKENESS_OF_TEXT = 0.70  # papers in English .85 to .95, in other Latin-script languages .7 and more
MAX_WORD_LETTERS = 40  # longer ones are sequences, not words
MIN_WORDS = 12  # fewer are too few to judge by the lexicon

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[^\W\d_]+")
# UTF-8 bytes: what is no letter, digit or underscore of ASCII becomes a space; what is not ASCII is looked at later.
_SPACED = bytes(byte if byte >= 128 or chr(byte).isalnum() or byte == ord("_") else 32 for byte in range(256))
_TWO_LETTER_WORDS = "an as at be by de do du el en et if in is it la le no of on or so to un us we"
_TWO_LETTERS = frozenset(_TWO_LETTER_WORDS.split())
_CID = re.compile(r"\(cid:\d+\)")
_SPLIT_RUN = re.compile(r"(?:\b[a-z]{1,2} ){5,}")
_FOUR_SHORT = re.compile(rb"[\x01\x02]{4,}")  # of words' lengths
_FOUR_LETTERS = re.compile("(?:[a-z]{1,2} ){3}[a-z]{1,2}")
_LATIN = re.compile("[a-zA-Zà-öø-ÿĀ-ſ]+")


def measure_quality(lines: Sequence[Line]) -> float:
    """Return the share of the text that reads like text: no lost glyphs, words made of the letters words are made of.

    Text in other scripts than Latin is judged by its lost glyphs alone.
    """
    return measure_text(" ".join([line.text for line in lines]), sum([line.num_bad for line in lines]))


def measure_text(text: str, num_bad: int = 0) -> float:
    """Return the quality of a text, ``num_bad`` being the characters cleaning has already taken out of it."""
    num_chars = len(text) + num_bad
    if not num_chars:
        return 1.0
    if "(cid:" in text:
        num_bad += sum(len(match) for match in _CID.findall(text))
    intact = max(0.0, 1.0 - 3.0 * num_bad / num_chars)
    words = _split(text)
    likeness = _find_likeness(words, text.isascii())
    whole = _intact_words(words, text)
    if likeness is None:
        return round(intact * whole, 3)
    readable = min(1.0, max(0.0, (likeness - LIKENESS_OF_GARBAGE) / (LIKENESS_OF_TEXT - LIKENESS_OF_GARBAGE)))
    return round(intact * readable * whole, 3)


def measure_likeness(text: str) -> float | None:
    """Return how much its words are like words, 0..1 and not stretched as quality is: to compare readings.

    English papers have .85 and more. None for too few words in Latin letters.
    """
    return _find_likeness(_split(text), text.isascii())


class _Words(NamedTuple):
    """A text's runs of letters: those of the lexicon counted, the others in order."""

    num_known: int
    unknown: list[str]
    may_be_split: bool


def _split(text: str) -> _Words:
    """Find the runs of letters; as bytes, which is five times as fast, wherever a word is plain and known."""
    raw = text.lower().encode("utf-8", "surrogatepass").translate(_SPACED).split()
    plain = _plain_words()
    rest = [word for word in raw if word not in plain]
    others = [word for word in rest if not word.isdigit()]
    num_known = len(raw) - len(rest)
    words = _WORD.findall(b" ".join(others).decode("utf-8", "surrogatepass"))
    tokens: list[str] = []
    for word in words:
        if word.isalpha():
            tokens.append(word)
        else:
            tokens.extend(_TOKEN.findall(word))
    known = _known_words()
    unknown = [token for token in tokens if token not in known]
    may_be_split = _FOUR_SHORT.search(_lengths(raw)) is not None
    return _Words(num_known + len(tokens) - len(unknown), unknown, may_be_split)


def _find_likeness(found: _Words, is_ascii: bool) -> float | None:
    words = [token for token in found.unknown if 1 < len(token) <= MAX_WORD_LETTERS]
    latin = words if is_ascii else [word for word in words if word.isascii() or _LATIN.fullmatch(word)]
    # known words are none of them one letter long or longer than a word
    num_latin, num_words = found.num_known + len(latin), found.num_known + len(words)
    if num_latin < MIN_WORDS or num_latin < 0.5 * num_words:
        return None
    return (found.num_known + sum(map(_plausibility, latin))) / num_latin


@lru_cache(maxsize=1)
def _plain_words() -> frozenset[bytes]:
    return frozenset(word.encode("ascii") for word in _known_words() if word.isascii())


@lru_cache(maxsize=1)
def _known_words() -> frozenset[str]:
    return frozenset(word for word in load_lexicon() if len(word) > 2) | _TWO_LETTERS


@lru_cache(maxsize=100_000)
def _plausibility(word: str) -> float:
    """Return how much of a word is made of letter triples that occur in words."""
    if len(word) < 3:
        return 0.5
    if not word.isascii():
        return 0.8
    trigrams = load_trigrams()
    marked = f"^{word[:20]}$"
    num = len(marked) - 2
    return (sum(1 for start in range(num) if marked[start : start + 3] in trigrams) / num) ** 2


def _intact_words(words: _Words, text: str) -> float:
    """Return 1 where words are whole, down to 0 where they are drawn letter by letter with spaces between."""
    if words.num_known + len(words.unknown) < 40 or not (words.may_be_split and _has_short_run(text)):
        return 1.0
    num_split = sum(len(match) for match in _SPLIT_RUN.findall(text))
    return max(0.0, 1.0 - 2.0 * max(0.0, num_split / len(text) - 0.05))


def _has_short_run(text: str) -> bool:
    """Return whether four words in a row have but a letter or two: a sieve, without which no run is split."""
    words = text.split(" ")
    runs = [" ".join(words[run.start() : run.end()]) for run in _FOUR_SHORT.finditer(_lengths(words))]
    return any(map(_FOUR_LETTERS.search, runs))


def _lengths(words: Sequence[Sized]) -> bytes:
    """Return each word's length as a byte, 255 standing for all that are longer."""
    lengths = list(map(len, words))
    return bytes(lengths) if max(lengths, default=0) < 256 else bytes([min(255, length) for length in lengths])
