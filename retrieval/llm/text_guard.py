"""What a model may not put into an answer, whatever a passage told it: links, markup, its instructions, new facts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from retrieval.claims.check import check_entities, check_numbers
from retrieval.terms import fold, words

LINK = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://|\bwww\.|\b(?:mailto|javascript|data|file|tel):(?=\S)|[\w.+-]+@[\w-]+\.\w"
    r"|\b[a-z0-9-]+\.(?:com|org|net|io|info|biz|example|ru|cn|co|app|dev|xyz|link|site|ly)\b",
    re.I,
)
MARKUP = re.compile(r"</?[a-zA-Z!][^>]*>|!?\[[^\]]*\]\(|```|^\s*#{1,6}\s")
TAG_KEY = re.compile(r"\bdata-[0-9a-f]{12}\b", re.I)
CITATION_MARK = re.compile(r"\s*\[\s*P?\d{1,3}(?:\s*[,;–-]\s*P?\d{1,3})*\s*\]", re.I)
MARK_ID = re.compile(r"\d+")
LEAK_WORDS = 7  # words in a row from the instructions that count as repeating them


def strip_marks(text: str) -> tuple[str, list[str]]:
    """Return the text without citation marks of the model's own ("[P3]", "[2]"), and the passage ids they named."""
    ids = [f"P{number}" for mark in CITATION_MARK.findall(text) for number in MARK_ID.findall(mark)]
    return " ".join(CITATION_MARK.sub("", text).split()), ids


def find_problem(text: str, instructions: str) -> str:
    """Return why a text must not be shown, or an empty string."""
    if LINK.search(text):
        return "it adds a link or an address"
    if MARKUP.search(text):
        return "it holds markup"
    if TAG_KEY.search(text) or repeats(text, instructions):
        return "it repeats the instructions given to the model"
    if not any(ch.isalnum() for ch in text):
        return "it holds no words"
    return ""


def repeats(text: str, instructions: str) -> bool:
    """Tell whether a text holds a run of words of the instructions."""
    told = f" {' '.join(words(fold(instructions)))} "
    own = words(fold(text))
    return any(f" {' '.join(own[at : at + LEAK_WORDS])} " in told for at in range(len(own) - LEAK_WORDS + 1))


def adds_facts(text: str, quotes: Sequence[str]) -> str:
    """Return what a step or a guess states beyond ``quotes``: a number or a name they do not hold; empty when none."""
    given = " ".join(quotes)
    for test in (check_numbers, check_entities):
        failure = test(text, given, list(quotes))
        if failure:
            return failure.reason
    return ""
