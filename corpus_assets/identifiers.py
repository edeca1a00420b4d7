"""DOIs and arXiv ids: one spelling each, whatever surrounds them."""

from __future__ import annotations

import re
from urllib.parse import unquote

_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/[^\s\"<>{}|^`]+", re.IGNORECASE)
_ARXIV = re.compile(r"(?<![\d.])(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v(\d{1,2}))?(?![\d])", re.IGNORECASE)
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}


def normalise_doi(text: str) -> str:
    """Return the first DOI in the text, lower case, without resolver, prefix and closing punctuation; else ``""``.

    Closing brackets stay when they were opened inside the DOI, as in ``10.1016/s0140-6736(05)67889-3``.
    """
    text = re.sub(r"[\u00ad\u200b\u2060\ufeff]", "", text)
    if "%" in text:
        text = unquote(text)
    match = _DOI.search(text.replace("\u2010", "-").replace("\u2011", "-"))
    return trim_doi(match[0]).lower() if match else ""


def trim_doi(doi: str) -> str:
    """Return the DOI without punctuation that belongs to the sentence around it."""
    while doi:
        last = doi[-1]
        is_unopened = last in _PAIRS and doi.count(last) > doi.count(_PAIRS[last])
        if last in ".,;:'\"’”»*†‡" or is_unopened or last in "([":
            doi = doi[:-1]
        else:
            break
    return doi if "/" in doi and not doi.endswith("/") else ""


def normalise_arxiv_id(text: str) -> tuple[str, int | None]:
    """Return the first arXiv id in the text without its version, and the version; ``("", None)`` when there is none."""
    match = _ARXIV.search(text)
    if not match:
        return "", None
    return match[1].lower(), int(match[2]) if match[2] else None
