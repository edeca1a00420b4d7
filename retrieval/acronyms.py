"""Acronyms and their long forms, learnt from the corpus itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

MIN_LETTERS = 3
MIN_SEEN = 3


def rewordings_with(sub_query: str, expansions: dict[str, str]) -> tuple[str, ...]:
    """Return rewordings of ``sub_query`` with acronyms written out, or long forms shortened."""
    text = sub_query
    for acronym, long_form in sorted(expansions.items()):
        if re.search(rf"\b{re.escape(acronym)}\b", text):
            text = re.sub(rf"\b{re.escape(acronym)}\b", lambda _, form=long_form: form, text, count=1)  # type: ignore[misc]
        elif long_form.casefold() in text.casefold():
            text = re.sub(re.escape(long_form), lambda _, short=acronym: short, text, count=1, flags=re.I)  # type: ignore[misc]
    return () if text == sub_query else (text,)


def find_acronyms(question: str) -> tuple[str, ...]:
    """Return the words of a question that look like acronyms ("PFS", "NSCLC"), in order."""
    found = re.findall(r"(?<![\w-])(?:[A-Z]{2,7}|[A-Z][a-z]?[A-Z]{1,5})(?![\w-])", question)
    return tuple(dict.fromkeys(word for word in found if not question.isupper()))


def find_acronym_definitions(texts: Sequence[str], wanted: Sequence[str] = ()) -> dict[str, str]:
    """Return acronym -> long form for definitions like "progression-free survival (PFS)" found in ``texts``.

    The rule of Schwartz and Hearst (2003): each letter of the acronym occurs in order in the words before it, and its
    first letter begins the first of them. The most frequent long form wins; ties go to the shorter, then by alphabet.
    """
    counts: dict[str, dict[str, int]] = {}
    for text in texts:
        for match in re.finditer(r"\(([A-Z][A-Za-z0-9-]{1,9})s?\)", text):
            acronym = match.group(1)
            if wanted and acronym not in wanted:
                continue
            before = re.findall(r"[\w-]+", text[max(0, match.start() - 120) : match.start()])
            long_form = match_long_form(acronym, before[-min(len(acronym) + 5, 2 * len(acronym)) :])
            if long_form:
                forms = counts.setdefault(acronym, {})
                forms[long_form] = forms.get(long_form, 0) + 1
    return {
        acronym: min(forms, key=lambda form: (-forms[form], len(form), form))
        for acronym, forms in sorted(counts.items())
    }


def match_long_form(acronym: str, before: Sequence[str]) -> str:
    """Return the words of ``before`` that spell ``acronym``, or an empty string."""
    letters = [ch for ch in acronym.casefold() if ch.isalnum()]
    joined = " ".join(before)
    position = len(joined)
    for index, letter in enumerate(reversed(letters)):
        is_first = index == len(letters) - 1
        position -= 1
        while position >= 0 and (
            joined[position].casefold() != letter or (is_first and position > 0 and joined[position - 1].isalnum())
        ):
            position -= 1
        if position < 0:
            return ""
    long_form = joined[position:].strip()
    is_trivial = long_form.casefold() == acronym.casefold() or (len(long_form.split()) < 2 and "-" not in long_form)
    return "" if is_trivial else long_form.casefold()


def infer_long_forms(texts: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Return acronym -> the words of ``texts`` that its letters are the initials of, for acronyms nobody defines.

    "PFS" gives "progression-free survival" where the papers write nothing else. Of at least three letters, seen at
    least ``MIN_SEEN`` times; the most frequent wins, ties go by alphabet.
    """
    found: dict[str, str] = {}
    runs = [re.findall(r"[A-Za-z]+(?:-[A-Za-z]+)*", text) for text in texts]
    for acronym in wanted:
        letters = acronym.casefold()
        if len(letters) < MIN_LETTERS or not letters.isalpha():
            continue
        counts: dict[str, int] = {}
        for run in runs:
            for start in range(len(run)):
                form = initials_from(run, start, letters)
                if form:
                    counts[form.casefold()] = counts.get(form.casefold(), 0) + 1
        likely = [form for form, count in counts.items() if count >= MIN_SEEN]
        if likely:
            found[acronym] = min(likely, key=lambda form: (-counts[form], form))
    return found


def initials_from(run: Sequence[str], start: int, letters: str) -> str:
    """Return the words from ``start`` on whose parts' initials spell ``letters`` exactly, or nothing."""
    spelt = ""
    for end in range(start, len(run)):
        spelt += "".join(part[0] for part in run[end].split("-")).casefold()
        if not letters.startswith(spelt):
            return ""
        if spelt == letters:
            return " ".join(run[start : end + 1])
    return ""
