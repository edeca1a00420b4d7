"""Text from papers made safe for Markdown and terminals. Quotes in JSON stay exact; only what is shown is escaped."""

from __future__ import annotations

import re
import unicodedata

from retrieval.passages import MARKS, TERMINAL_SEQUENCES

BIDI_AND_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u00ad]")


def strip_controls(text: str) -> str:
    """Return ``text`` on one line without terminal sequences, control, format-override and surrogate characters."""
    text = TERMINAL_SEQUENCES.sub("", text)
    visible = "".join(" " if ch in "\t\n\r\u2028\u2029" else ch for ch in text)
    visible = "".join(ch for ch in visible if unicodedata.category(ch) not in {"Cc", "Cs", "Co", "Cn"})
    return " ".join(BIDI_AND_INVISIBLE.sub("", visible).split())


def escape_markdown(text: str) -> str:
    """Return one line of Markdown that renders as ``text`` and as nothing else: no links, images, HTML or emphasis."""
    text = strip_controls(text).replace("\\", "\\\\")
    text = re.sub(r"([\[\]`|])", r"\\\1", text)
    text = re.sub(r"\*", r"\\*", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    text = re.sub(r"~~", r"\\~\\~", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text)
    text = re.sub(r"&(?=#?\w+;)", r"\\&", text)
    text = re.sub(r"(?i)\b(https?|ftp|javascript|data|file):", r"\1\\:", text)
    text = re.sub(r"(?i)\bwww\.", r"www\\.", text)
    text = re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)
    return re.sub(r"^([#>+\-=]+)(?=\s|$)", r"\\\1", text)


LIST_MARK = re.compile(r"^[•▪◦‣●·]\s+")
RAISED_MARKS = re.compile(r"(?:(?<=[a-z]{3})|(?<=[.,;:)]))[⁰¹²³⁴⁵⁶⁷⁸⁹]+(?:[,–-][⁰¹²³⁴⁵⁶⁷⁸⁹]+)*(?=[\s.,;:)]|$)")


def display_sentence(quote: str) -> str:
    """Return a quote as it is shown in running text, its own reference marks ("[12, 13]", "hold.¹") left out."""
    shown = RAISED_MARKS.sub("", MARKS.sub("", strip_controls(quote)))
    shown = LIST_MARK.sub("", shown)
    return re.sub(r"\s+([.,;:])", r"\1", shown)
