"""Other names of one thing ("Tagrisso", "osimertinib"), so that a question is read in the papers' own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from corpus_assets.errors import BadInputError
from retrieval.terms import words

MEDICINES = Path(__file__).parent / "data" / "medicine_names.tsv"


def read_names(path: Path) -> dict[str, tuple[str, ...]]:
    """Return case-folded name -> the other names of the same thing, in their order in the table.

    One thing a line, its names separated by tabs; empty lines and those that begin with # are left out. Raises
    ``BadInputError`` with the line for a file that cannot be read, a line of one name, or a name on two lines.
    """
    hint = "Write one thing a line, its names separated by tabs (UTF-8), or unset retrieval.names_path."
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"The table of names {path} cannot be read: {error}.", hint=hint) from error
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        names = [name.strip() for name in line.split("\t") if name.strip()]
        if len(names) < 2:
            raise BadInputError(f"{path} line {number} has one name: “{line.strip()}”.", hint=hint)
        for name in names:
            if name.casefold() in found:
                raise BadInputError(f"{path} line {number}: “{name}” is named before.", hint=hint)
        for name in names:
            found[name.casefold()] = tuple(other for other in names if other != name)
    return found


@cache
def _medicines() -> Mapping[str, tuple[str, ...]]:
    return read_names(MEDICINES)


def known_names(own: Path | None) -> Mapping[str, tuple[str, ...]]:
    """Return the medicines' names, and those of a table of the user's own, which wins. Raises ``BadInputError``."""
    return {**_medicines(), **read_names(own)} if own else _medicines()


def read_as(question: str, names: Mapping[str, tuple[str, ...]], count: Callable[[str], int]) -> dict[str, str]:
    """Return asked name, as the question spells it, -> the name to read it as, for names the corpus does not hold.

    ``count`` gives in how many passages a word occurs; a name of several words counts as its rarest. Of several other
    names the most frequent is taken; ties go to the first in the table.
    """
    found: dict[str, str] = {}

    def frequency(name: str) -> int:
        return min((count(word) for word in words(name)), default=0)

    asked = question.casefold()
    for name in sorted((name for name in names if name in asked), key=len, reverse=True):
        match = whole(name).search(question)
        if match is None or frequency(name):
            continue
        best = max(names[name], key=frequency)
        if frequency(best):
            found[match.group()] = best
            question = whole(name).sub(" ", question)
    return found


def whole(name: str) -> re.Pattern[str]:
    """Return the pattern of a name in whatever case, no part of a longer word."""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.I)


def replace_names(question: str, readings: Mapping[str, str]) -> str:
    """Return the question with each asked name, in whatever case, replaced by the name it is read as."""
    for asked, name in readings.items():
        question = whole(asked).sub(name.replace("\\", r"\\"), question)
    return question


def say_readings(readings: Mapping[str, str]) -> str:
    """Return the sentence that tells the reader, nothing when no name was replaced."""
    parts = [f"“{asked}” is read as “{name}”" for asked, name in readings.items()]
    return f"{', '.join(parts)}, as the papers call it." if parts else ""
