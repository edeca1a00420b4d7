"""Characters: what a file's glyphs become in stored text.

NFC, with ligatures and presentation forms folded one by one. Never NFKC as a whole: it turns 10⁴⁸ into 1048.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

GLYPH_LOSS = "�"

_SUPERSCRIPT = dict(
    zip(
        "0123456789+−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδεθφχ",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᵋᶿᵠᵡ",
        strict=True,
    )
)
_SUBSCRIPT = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_PLAIN_IN_SCRIPT = frozenset(" ,;.*∗†‡§¶–-/'′")  # kept as they are beside raised or lowered characters
_LEADING_HYPHEN = re.compile(r"^[-‐–](?=[\d(])")

# Blocks whose compatibility form is only another shape of the same letters: Latin and Armenian ligatures, Hebrew and
# Arabic presentation forms, Kangxi and CJK radicals, vertical forms.
_SHAPES = re.compile("[ﬀ-ﷻﹰ-ﻼ⼀-⿕⺀-⻳︐-︙]")
# The ligature lam-alef taken apart the wrong way round; an alef before a hamza'd alef is no Arabic word's beginning.
_TURNED_LAM_ALEF = re.compile("\u0627([\u0622\u0623\u0625])\u0644")
_REMOVED = "\u00ad\u200b\u200e\u200f\u2060\ufeff" + "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
_SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_TABLE: dict[int, str | None] = {
    **dict.fromkeys([*range(1, 32), *range(127, 160)]),
    **dict.fromkeys([0, 65534, 65535, *range(64976, 65008)], GLYPH_LOSS),
    **{ord(char): None for char in _REMOVED},
    **{ord(char): " " for char in _SPACES},
}
_NEEDS_TABLE = re.compile("[\\x00-\\x1f\\x7f-\\xa0\\xad\u1680\u2000-\u206f\u3000\ufdd0-\ufdef\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Terminal control sequences: what they do to a screen goes with them, what they would print stays.
_TERMINAL_CODES = re.compile(
    "\x1b\\][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)|[\x1b]\\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
)

_SPACING_ACCENTS = {
    "´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "ˇ": "\u030c",
    "˚": "\u030a", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307", "˝": "\u030b", "˛": "\u0328",
}  # fmt: skip
_NO_SPACE_BEFORE = frozenset("`¸˙¯")  # with a space they are quotes, primes and other marks
_NO_SPACE_AFTER = frozenset("`´¸˙¯")
_DETACHED_ACCENT = re.compile("(?<=[^\\W\\d_])?( ?)([´¨ˆ˜¸ˇ˚¯˘˙˝˛]|(?<=[a-zA-Z])`)( ?)([A-Za-zı])")
_HAS_ACCENT = re.compile("[´`¨ˆ˜¸ˇ˚¯˘˙˝˛]")


@lru_cache(maxsize=50_000)
def clean_text(text: str) -> str:
    """Return printable NFC text: shapes folded, spaces plain, NUL shown as U+FFFD, no control codes or surrogates.

    Soft hyphens are removed; ask for a trailing one before cleaning. Leading and trailing spaces are kept.
    """
    if text.isascii() and text.isprintable():
        return text
    if _NEEDS_TABLE.search(text):
        if "\x1b" in text or "\x9b" in text:
            text = _TERMINAL_CODES.sub("", text)
        text = text.translate(_TABLE)
    if text.isascii():
        return text
    if not text.isprintable():
        text = _SURROGATE.sub(GLYPH_LOSS, text)
    text = _SHAPES.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    text = _TURNED_LAM_ALEF.sub("\u0627\u0644\\1", text)
    return unicodedata.normalize("NFC", text)


def compose_detached_accents(text: str) -> tuple[str, bool]:
    """Return the text with accents that stand before their letter put on it, and whether there were any.

    TeX's old fonts draw ``M¨uller``; an accent is moved only where the composed letter exists and a word is there.
    """
    if text.isascii() and "`" not in text:
        return text, False
    if not _HAS_ACCENT.search(text):
        return text, False
    found = False

    def compose(match: re.Match[str]) -> str:
        nonlocal found
        before, accent, after, letter = match.groups()
        inside_word = match.start() > 0 and text[match.start() - 1].isalpha()
        if (before and after) or ((before or after) and not inside_word):
            return match[0]
        if (before and accent in _NO_SPACE_BEFORE) or (after and accent in _NO_SPACE_AFTER):
            return match[0]
        if before and letter.isupper():
            return match[0]
        base = "i" if letter == "ı" else letter
        composed = unicodedata.normalize("NFC", base + _SPACING_ACCENTS[accent])
        if len(composed) != 1:
            return match[0]
        found = True
        keep = before if before and not letter.islower() else ""
        return keep + composed

    return _DETACHED_ACCENT.sub(compose, text), found


def to_superscript(text: str) -> str:
    """Return raised characters as Unicode superscripts; where one of them has none, ``^`` marks a raised number."""
    return _to_script(text, _SUPERSCRIPT, "^")


def to_subscript(text: str) -> str:
    """Return lowered characters as Unicode subscripts, or the text unchanged where one of them has none."""
    return _to_script(text, _SUBSCRIPT, "")


def _to_script(text: str, table: dict[str, str], mark: str) -> str:
    signed = _LEADING_HYPHEN.sub("−", text)
    mapped = []
    for char in signed:
        if char in table:
            mapped.append(table[char])
        elif char in _PLAIN_IN_SCRIPT:
            mapped.append(char)
        else:
            has_number = any(other.isdigit() for other in signed) and not signed[0].isspace()
            return f"{mark}{signed}" if mark and has_number else signed
    return "".join(mapped)
