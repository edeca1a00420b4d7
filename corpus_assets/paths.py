"""Printable names for files whose names are bytes, and back."""

from __future__ import annotations

import os
import re

_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_LONG_ESCAPES = {short: char for char, short in _SHORT_ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:[nrt\\]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


def escape_path(name: bytes | str) -> str:
    r"""Return a name that can be printed, stored and put in JSON; different names stay different.

    Backslashes are doubled; characters that do not print (control codes, bidi marks, odd spaces) become ``\n``,
    ``\xNN``, ``\uNNNN`` or ``\UNNNNNNNN``, and bytes that are not UTF-8 become ``\x80`` to ``\xff``. Composed and
    decomposed accents are left alone: on Linux they are different files.
    """
    text = os.fsdecode(name)
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_escape_char(char) for char in text)


def unescape_path(path: str) -> str:
    """Return the name that ``escape_path`` made this of, as ``os.fsdecode`` would give it."""
    return _ESCAPE.sub(_unescape_match, path)


def _escape_char(char: str) -> str:
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as os.fsdecode shows it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _unescape_match(match: re.Match[str]) -> str:
    escape = match[0]
    if escape in _LONG_ESCAPES:
        return _LONG_ESCAPES[escape]
    code = int(escape[2:], 16)
    return chr(0xDC00 + code) if escape[1] == "x" and code >= 0x80 else chr(code)
