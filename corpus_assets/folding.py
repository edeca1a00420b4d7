"""What is indexed and what is asked, brought to the same spelling.

The stored text keeps what the paper shows (superscripts, ligatures undone, accents). For searching, both sides go
through ``fold_for_search``: compatibility forms are unified (NFKC), case and accents fall away, Greek letters get
their names, identifiers written apart also count written together, and text without spaces becomes bigrams. The result
is a string of tokens separated by single spaces; a token never contains white space.

Choices worth knowing:

- Superscripts. After ``10`` they are an exponent (``10⁻⁴⁸`` gives ``10`` and ``10^-48``), after a unit or a symbol of
  up to two letters a power (``cm²`` gives ``cm`` and ``cm2``), before a symbol an isotope (``¹⁴C`` gives ``14c``).
  After a word they are a reference mark and are dropped: ``survival¹²,¹³`` is ``survival``, and 12 is no number.
- Subscripts belong to their word: ``CO₂`` is ``co2``.
- Decimals are one token (``0.53``; ``.05`` is ``0.05``), thousands marks go (``1,250`` is ``1250``), and
  ``5.8e-48`` reads as ``5.8 × 10⁻⁴⁸``.
- A DOI is one token beside its parts, without resolver and closing punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

FOLDING_VERSION = 1  # raise it when the tokens of any text change: indexes are then built anew
MAX_TOKEN_CHARS = 64
MAX_DOI_CHARS = 200

_GREEK_LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
_GREEK_NAMES = dict(zip(_GREEK_LETTERS, (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
    "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
), strict=True))  # fmt: skip
_UNITS = frozenset((
    "ag", "fg", "pg", "ng", "ug", "mg", "kg", "dl", "ml", "ul", "nl", "pl", "cl", "fm", "pm", "nm", "um", "mm",
    "cm", "dm", "km", "ms", "us", "ns", "ps", "min", "sec", "hr", "day", "days", "wk", "mo", "mol", "mmol", "umol",
    "nmol", "pmol", "hz", "khz", "mhz", "ghz", "kda", "bp", "kb", "mb", "gb", "kbp", "ev", "kev", "mev", "kpa",
    "mpa", "gpa", "pa", "kj", "kcal", "cal", "iu", "mu", "ci", "mci", "gy", "mgy", "sv", "msv", "kv", "mv", "ma",
    "ua", "na", "kw", "mw", "kwh", "ppm", "ppb", "rpm", "inch", "ft", "rad", "sr", "ha", "bar", "mbar", "torr",
    "atm", "dyn", "erg", "lux", "lm", "cd", "wt", "vol",
))  # fmt: skip
_MICRO_UNITS = frozenset((
    "g", "l", "m", "s", "a", "v", "f", "w", "j", "n", "mol", "ci", "sv", "gy", "c",
))  # fmt: skip

# Spacing accents that LaTeX sets apart from their letter. The first four also occur with a space before the letter.
_DETACHED_ACCENT = re.compile(r"(?<=[^\W\d_])(?: ?[¨¸ˇ˚] ?|[´`ˆ˜˘˙˝¯])(?=[^\W\d_])")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\u0640]"
)
_STRIPPED_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ"
_SUPERSCRIPT_RUN = re.compile(f"[{_SUPERSCRIPTS}]+")
_PLAIN_SUPERSCRIPT = str.maketrans(_SUPERSCRIPTS, "0123456789+-=()ni")
_RAISED_LETTERS = re.compile("(?<=[^\\W\\d_])[\u02b0-\u02b8\u02e0-\u02e4\u1d2c-\u1d6a\u1d78\u1d9b-\u1dbf\u00aa\u00ba]+")
_CARET_POWER = re.compile(r"\^\{?([+\-−]?\d{1,6})\}?")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŋ": "n"}
    | dict.fromkeys("‐‑‒–—−﹣－", "-")
    | dict.fromkeys("’‘ʼ＇", "'")
)

# \x02...\x03 wraps a superscript; letters, digits and the marks that are vowels (Indic, Thai, kana voicing) make words.
_MARKS = (
    "\u0900-\u0963\u0970-\u0dff\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    "\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u3099\u309a"
)
_WORD_CHARS = rf"[\w{_MARKS}]"  # underscores have become hyphens by then
_SUP = "\x02[^\x03]*\x03"
_ASCII_RUN = re.compile(r"[a-z0-9]+(?:[-/'.,][a-z0-9]+)*")
_RUN = re.compile(rf"(?:{_WORD_CHARS}+|{_SUP})+(?:[-/'.,](?:{_WORD_CHARS}+|{_SUP})+)*")
_ELEMENT = re.compile(
    rf"(?P<sup>{_SUP})|(?P<word>{_WORD_CHARS}+(?:(?<=\d)[.,](?=\d){_WORD_CHARS}+)*)|(?P<joint>[-/'.,])"
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3041-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_SPLIT = re.compile(f"([{_UNSPACED}]+)")
_GREEK_SPLIT = re.compile("([\u03b1-\u03c9]+)")
_SPELT_GREEK = re.compile(f"(?:{'|'.join(_GREEK_NAMES.values())})[a-z0-9]{{0,2}}")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL_COMMA = re.compile(r"0,\d+")
_SCIENTIFIC = re.compile(r"(\d+(?:\.\d+)?)e([+-]?)(\d{1,4})")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([a-z]{2,5})")
_ARXIV_VERSION = re.compile(r"(\d{4}\.\d{4,5})v\d{1,2}")
_BARE_DECIMAL = re.compile(r"\.(?<![^\s(=<>≤≥~±+-]\.)(?=\d)")  # the dot first: it is what the engine can skip to
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
_DOI_RESOLVER = re.compile(r"(?:https?://)?(?:dx\.|www\.)?doi\.org/(?=10\.)|\bdoi:\s*(?=10\.)")
_CLOSING = ".,;:'\"!?…*"


def fold_for_search(text: str, *, is_query: bool = False) -> str:
    """Return the search tokens of ``text`` joined by single spaces, in reading order; DOIs come last.

    Text without spaces (Chinese, Japanese, Korean, Thai, …) gives overlapping bigrams. Indexed text gives its single
    characters too, so that a question of one character finds its page; a question gives single characters only where
    a run is one character long.
    """
    text = _normalise(text)
    dois: list[str] = []
    if "10." in text:
        text = _DOI_RESOLVER.sub(" ", text)
        dois = [doi for match in _DOI.finditer(text) if (doi := _trim_doi(match.group()))]
    tokens: list[str] = []
    is_plain = text.isascii() and "\x02" not in text
    for run in (_ASCII_RUN if is_plain else _RUN).findall(text):
        if run.isalpha() and run.isascii():
            tokens.append(run if len(run) <= MAX_TOKEN_CHARS else run[:MAX_TOKEN_CHARS])
        elif len(run) <= MAX_TOKEN_CHARS:
            tokens.extend(_run_tokens(run, is_query))
        else:
            tokens.extend(_split_run(run, is_query))
    tokens.extend(dois)
    return " ".join(tokens)


def normalise_doi(text: str) -> str:
    """Return the DOI in ``text`` in lower case, without resolver and closing punctuation, or ``""``."""
    match = _DOI.search(text.casefold())
    return _trim_doi(match.group()) if match else ""


def strip_accents(text: str) -> str:
    """Return ``text`` without the accents that do not make another letter in its script."""
    return unicodedata.normalize("NFC", _STRIPPED_MARKS.sub("", unicodedata.normalize("NFD", text)))


def _normalise(text: str) -> str:
    if not text.isascii():
        text = _INVISIBLE.sub("", text.replace("\x02", " ").replace("\x03", " "))
        text = _DETACHED_ACCENT.sub("", text)
        text = _RAISED_LETTERS.sub("", text)
        text = _SUPERSCRIPT_RUN.sub(lambda run: f"\x02{run.group().translate(_PLAIN_SUPERSCRIPT)}\x03", text)
        text = unicodedata.normalize("NFKC", text).casefold()
        text = strip_accents(unicodedata.normalize("NFKC", text)).translate(_LETTERS)
    else:
        text = text.lower().replace("\x02", " ").replace("\x03", " ")
    if "^" in text:
        text = _CARET_POWER.sub(lambda power: f"\x02{power.group(1).replace('−', '-')}\x03", text)
    return _BARE_DECIMAL.sub("0.", text.replace("_", "-"))


def _trim_doi(doi: str) -> str:
    doi = re.sub("[\x02\x03]", "", doi)
    while doi and (
        doi[-1] in _CLOSING
        or any(doi[-1] == close and doi.count(close) > doi.count(o) for o, close in ("()", "[]", "{}"))
    ):
        doi = doi[:-1]
    return doi[:MAX_DOI_CHARS] if "/" in doi[:-1] else ""


@lru_cache(maxsize=65_536)
def _run_tokens(run: str, is_query: bool) -> tuple[str, ...]:
    return tuple(_split_run(run, is_query))


def _split_run(run: str, is_query: bool) -> list[str]:
    """Return the tokens of one run: words, numbers and superscripts held together by single joints."""
    number = _SCIENTIFIC.fullmatch(run)
    if number:
        mantissa, sign, exponent = number.groups()
        whole = [] if sign else [run]
        return [*whole, mantissa, "10", f"10^{'-' if sign == '-' else ''}{int(exponent)}"]
    tokens: list[str] = []
    chain: list[str] = []  # the parts of a compound so far, each in its joined form
    before = ""  # the element before, if it is a word
    isotope = ""
    is_possessive = False
    for match in _ELEMENT.finditer(run):
        kind, element = match.lastgroup, match.group()
        if kind == "sup":
            raised = element[1:-1]
            tokens.extend(_superscript_tokens(before, raised))
            isotope = raised if not before and raised.isdigit() else ""
            continue
        if kind == "joint":
            if element not in "-/":
                _close_chain(chain, tokens)
            before = ""
            is_possessive = element == "'"
            continue
        if is_possessive and element == "s":
            continue
        if before:  # a word right after a superscript: another word
            _close_chain(chain, tokens)
        word_tokens, joined = _word_tokens(element, is_query)
        tokens.extend(word_tokens)
        if isotope and len(element) <= 2 and element.isalpha():
            tokens.append(isotope + element)
        isotope = ""
        before = element
        if joined:
            chain.append(joined)
        else:
            _close_chain(chain, tokens)
    _close_chain(chain, tokens)
    return [token[:MAX_TOKEN_CHARS] for token in tokens if token]


def _superscript_tokens(word: str, raised: str) -> list[str]:
    digits = raised.strip("+-=()")
    if not word or not digits.isdigit():
        return []
    if word[-1].isdigit() and word.isascii() and word.replace(".", "").isdigit():
        return [f"{word}^{raised.lstrip('+')}"]
    symbol = _GREEK_NAMES.get(word, word)
    if raised.startswith("-"):
        return [f"{symbol}^-{digits}"]
    if len(word) <= 2 or word in _UNITS:
        return [symbol + digits]
    return []


def _word_tokens(word: str, is_query: bool) -> tuple[list[str], str]:
    """Return a word's tokens and the form it takes in a compound (``""`` if it takes none)."""
    if word.isascii():
        if word.isalpha() or word.isdigit():
            return [word], word
        if "," in word or "." in word:
            return _number_tokens(word), ""
        quantity = _QUANTITY.fullmatch(word)
        if quantity and quantity.group(2) in _UNITS:
            return [word, quantity.group(1), quantity.group(2)], ""
        return [word], word
    pieces = _UNSPACED_SPLIT.split(word)
    if len(pieces) > 1:
        tokens: list[str] = []
        for number, piece in enumerate(pieces):
            if number % 2:
                tokens.extend(_bigrams(piece, is_query))
            elif piece:
                tokens.extend(_word_tokens(piece, is_query)[0])
        return tokens, ""
    return _greek_tokens(word)


def _number_tokens(word: str) -> list[str]:
    version = _ARXIV_VERSION.fullmatch(word)
    if version:
        return [word, version.group(1)]
    if "," not in word:
        quantity = _QUANTITY.fullmatch(word)
        return [word, *quantity.groups()] if quantity and quantity.group(2) in _UNITS else [word]
    if _THOUSANDS.fullmatch(word):
        return [word.replace(",", "")]
    if _DECIMAL_COMMA.fullmatch(word):
        return [word.replace(",", ".")]
    return [token for part in word.split(",") for token in (_number_tokens(part) if "." in part else [part])]


def _greek_tokens(word: str) -> tuple[list[str], str]:
    pieces = [piece for piece in _GREEK_SPLIT.split(word) if piece]
    if len(pieces) == 1 and (len(word) > 2 or word[0] not in _GREEK_NAMES):
        return [word], ""  # a word of a language, Greek included
    if pieces[0] == "μ" and len(pieces) == 2 and pieces[1] in _MICRO_UNITS:
        return ["u" + pieces[1], "mu"], ""
    if any(piece[0] in _GREEK_NAMES and len(piece) > 2 for piece in pieces):
        return [word], ""
    parts: list[str] = []
    for piece in pieces:
        parts.extend([_GREEK_NAMES.get(letter, letter) for letter in piece] if piece[0] in _GREEK_NAMES else [piece])
    joined = "".join(parts)
    extra = [joined] if len(parts) > 1 else []
    if len(pieces) == 1 and len(word) == 2:
        extra.append(word)
    return [*parts, *extra], joined


def _bigrams(run: str, is_query: bool) -> list[str]:
    if len(run) == 1:
        return [run]
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return pairs if is_query else [*pairs, *run]


def _close_chain(chain: list[str], tokens: list[str]) -> None:
    """Add the joined forms of a compound's neighbouring parts, and of the whole where every joint qualifies."""
    if len(chain) > 1:
        joins = [_is_identifier_joint(a, b) for a, b in pairwise(chain)]
        tokens.extend(a + b for (a, b), join in zip(pairwise(chain), joins, strict=True) if join)
        if 2 < len(chain) <= 4 and all(joins):
            tokens.append("".join(chain))
    chain.clear()


def _is_identifier_joint(a: str, b: str) -> bool:
    if a.isdigit() or b.isdigit():
        number, other = (a, b) if a.isdigit() else (b, a)
        return len(number) <= 4 and not other.isdigit()
    if len(a) == 1 or len(b) == 1:
        return True
    if any(_SPELT_GREEK.fullmatch(part) for part in (a, b)):
        return True
    return any(char.isdigit() for char in a + b) and len(a + b) <= 12
