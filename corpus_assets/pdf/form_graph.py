"""How often the forms of a page draw one another: ten that each draw the next ten times make ten billion drawings."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from corpus_assets.pdf.late_paint import list_xobjects

MAX_DRAWINGS = 200_000  # of forms on a page; a drawing takes microseconds
MAX_DEPTH = 300  # of forms in forms; the library's own limit ends a page that has many more

_DRAW = re.compile(rb"/([^\s\0/<>\[\]()%]+)[\s\0]+Do(?=[\s\0/\[(<%]|$)")
_KNOWN = "drawings_known_to_form_graph"  # kept on the document, so that it goes with it


def exceeds_drawings(page: Any, contents: bytes) -> bool:
    """Return whether a page's forms, drawn as they say, are drawn more than ``MAX_DRAWINGS`` times.

    Only forms that draw others are counted: nothing else multiplies. May raise what the library raises.
    """
    if b"Do" not in contents:
        return False
    document = page.parent
    known: dict[int, int] = vars(document).setdefault(_KNOWN, {})
    names = list_xobjects(document, page.xref)
    if not any(_may_draw(document, number, known) for number in names.values()):
        return False
    return _count(document, contents, names, known, 0) > MAX_DRAWINGS


def _may_draw(document: Any, number: int, known: dict[int, int]) -> bool:
    """Return whether something drawn by name may draw by name itself."""
    if number not in known:
        is_form = document.xref_get_key(number, "Subtype")[1] == "/Form"
        draws = document.xref_get_key(number, "Resources/XObject")[0] != "null"
        lacks_own = is_form and document.xref_get_key(number, "Resources")[0] == "null"  # and has the page's
        if not is_form or not (draws or lacks_own):
            known[number] = 1
    return known.get(number) != 1


def _count(document: Any, contents: bytes, names: dict[bytes, int], known: dict[int, int], depth: int) -> int:
    num_drawings = 0
    for name, times in Counter(_DRAW.findall(contents)).items():
        number = names.get(name)
        if number is None:
            continue
        if _may_draw(document, number, known) and number not in known:
            known[number] = 1  # for one that draws itself, which the library does not follow
            if depth < MAX_DEPTH:
                own = list_xobjects(document, number) or names
                inner = document.xref_stream(number) or b""
                known[number] = min(1 + _count(document, inner, own, known, depth + 1), MAX_DRAWINGS + 1)
        num_drawings += times * known[number]
    return num_drawings
