"""The Porter stemmer as DuckDB's full-text extension applies it, so that a question needs no extension loaded.

M. F. Porter, An algorithm for suffix stripping (1980), in the form of snowball's ``porter`` stemmer. Only ASCII vowels
count; other letters are consonants. ``tests/corpus_assets/test_porter.py`` compares it with DuckDB's ``stem`` itself.
"""

from __future__ import annotations

from functools import lru_cache

_VOWELS = frozenset("aeiouy")
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "eli": "e",
    "izer": "ize", "ization": "ize", "ation": "ate", "ator": "ate", "alli": "al", "alism": "al", "aliti": "al",
    "fulness": "ful", "ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion",
)  # fmt: skip


def _longest(word: str, suffixes: frozenset[str], lengths: tuple[int, ...]) -> str:
    for length in lengths:
        if word[-length:] in suffixes and len(word) >= length:
            return word[-length:]
    return ""


def _lengths(suffixes: frozenset[str]) -> tuple[int, ...]:
    return tuple(sorted({len(suffix) for suffix in suffixes}, reverse=True))


_SET_2, _SET_3, _SET_4 = frozenset(_STEP_2), frozenset(_STEP_3), frozenset(_STEP_4)
_LEN_2, _LEN_3, _LEN_4 = _lengths(_SET_2), _lengths(_SET_3), _lengths(_SET_4)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    # A y is a consonant (Y) at the start and after a vowel.
    letters = list(word)
    if letters and letters[0] == "y":
        letters[0] = "Y"
    for i in range(1, len(letters)):
        if letters[i] == "y" and letters[i - 1] in _VOWELS:
            letters[i] = "Y"
    word = "".join(letters)
    r1 = _region(word, 0)
    r2 = _region(word, r1)

    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]

    if word.endswith("eed"):
        if len(word) - 3 >= r1:
            word = word[:-1]
    else:
        for suffix in ("ed", "ing"):
            if word.endswith(suffix):
                if any(char in _VOWELS for char in word[: -len(suffix)]):
                    word = _restore(word[: -len(suffix)], r1)
                break

    if word and word[-1] in "yY" and any(char in _VOWELS for char in word[:-1]):
        word = word[:-1] + "i"

    suffix = _longest(word, _SET_2, _LEN_2)
    if suffix and len(word) - len(suffix) >= r1:
        word = word[: -len(suffix)] + _STEP_2[suffix]
    suffix = _longest(word, _SET_3, _LEN_3)
    if suffix and len(word) - len(suffix) >= r1:
        word = word[: -len(suffix)] + _STEP_3[suffix]
    suffix = _longest(word, _SET_4, _LEN_4)
    if suffix:
        rest = word[: -len(suffix)]
        if len(rest) >= r2 and (suffix != "ion" or rest[-1:] in ("s", "t")):
            word = rest

    if word.endswith("e"):
        rest = word[:-1]
        if len(rest) >= r2 or (len(rest) >= r1 and not _ends_short(rest)):
            word = rest
    if word.endswith("ll") and len(word) - 1 >= r2:
        word = word[:-1]
    return word.replace("Y", "y")


def _region(word: str, start: int) -> int:
    """Return where the part after the first consonant that follows a vowel begins, looking from ``start``."""
    i = start
    while i < len(word) and word[i] not in _VOWELS:
        i += 1
    while i < len(word) and word[i] in _VOWELS:
        i += 1
    return min(i + 1, len(word)) if i < len(word) else len(word)


def _ends_short(word: str) -> bool:
    """Return whether ``word`` ends consonant, vowel, consonant other than w, x or Y."""
    return (
        len(word) >= 3
        and word[-1] not in _VOWELS
        and word[-1] not in "wxY"
        and word[-2] in _VOWELS
        and word[-3] not in _VOWELS
    )


def _restore(word: str, r1: int) -> str:
    """Mend a word that lost ``ed`` or ``ing``."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:] in ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"):
        return word[:-1]
    if len(word) == r1 and _ends_short(word):
        return word + "e"
    return word
