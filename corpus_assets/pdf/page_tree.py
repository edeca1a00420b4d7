"""The pages a file has, by its page tree: walked where its counts cannot be right, and set right for the library."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from corpus_assets.pdf.mupdf import load_pymupdf

MAX_DEPTH = 100
_REFERENCE = re.compile(r"(\d+)\s+\d+\s+R")


class PageTree(NamedTuple):
    """``num_pages`` is what the library finds, ``num_named`` what the tree names; None when no tree can be read."""

    num_pages: int | None
    num_named: int | None
    is_mended: bool


class _Walk(NamedTuple):
    leaves: list[int]
    root_count: int | None  # the root's own
    is_sound: bool  # every node's count is that of its leaves, and none is its own ancestor


def read_page_tree(document: Any, max_pages: int) -> PageTree:
    """Return how many pages there are; put the leaves right under the root where counts keep them from being found.

    A count that is larger than its leaves is believed, as pages may be lost, unless it is larger than the file has
    objects. More than ``max_pages`` leaves are not walked to the end.
    """
    pymupdf = load_pymupdf()
    errors = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)

    try:
        kind, value = document.xref_get_key(document.pdf_catalog(), "Pages")
        root = int(value.split()[0]) if kind == "xref" else 0
        walk = _walk(document, root, max_pages) if root else None
    except errors:
        walk = None
    num_pages = _count(document)
    if walk is None:
        return PageTree(num_pages, None, False)
    num_leaves = len(walk.leaves)
    is_believed = walk.root_count is not None and num_leaves < walk.root_count < document.xref_length()
    num_named = walk.root_count if is_believed and walk.root_count else num_leaves
    is_as_said = walk.is_sound and num_pages == num_leaves
    if (
        not num_leaves or is_as_said or (is_believed and num_pages == num_named)
    ):  # what is missing is found page by page
        return PageTree(num_pages, num_named, False)
    try:
        document.xref_set_key(root, "Kids", "[" + " ".join(f"{leaf} 0 R" for leaf in walk.leaves) + "]")
        document.xref_set_key(root, "Count", str(num_leaves))
    except errors:
        return PageTree(num_pages, num_named, False)
    return PageTree(_count(document), num_named, True)


def _count(document: Any) -> int | None:
    pymupdf = load_pymupdf()

    try:
        return int(document.page_count)
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
        return None


def _walk(document: Any, root: int, max_leaves: int) -> _Walk:
    """Return the leaves below a node in order. The same leaf may come twice: then it is shown twice."""
    leaves: list[int] = []
    is_sound = True

    def visit(node: int, kids: list[int], above: tuple[int, ...]) -> None:
        nonlocal is_sound
        before = len(leaves)
        for kid in kids:
            if len(leaves) > max_leaves:
                return
            below = _list_kids(document, kid)
            if below is None:
                leaves.append(kid)
            elif kid in above or len(above) > MAX_DEPTH:
                is_sound = False
            else:
                visit(kid, below, (*above, kid))
        is_sound = is_sound and _read_count(document, node) == len(leaves) - before

    visit(root, _list_kids(document, root) or [], (root,))
    return _Walk(leaves, _read_count(document, root), is_sound)


def _list_kids(document: Any, number: int) -> list[int] | None:
    """Return the object numbers of a node's kids; None for a leaf."""
    kind, value = document.xref_get_key(number, "Kids")
    if kind == "xref":
        value = document.xref_object(int(value.split()[0]))
    elif kind != "array":
        return None
    return [int(found) for found in _REFERENCE.findall(value)]


def _read_count(document: Any, number: int) -> int | None:
    kind, value = document.xref_get_key(number, "Count")
    return int(value) if kind == "int" else None
