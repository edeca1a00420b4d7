"""Whether something of a page's content could not be read, although no error was raised.

MuPDF draws what it can of a damaged content stream and only warns about the rest. A page can so lose half its text, or
all of it and look blank. Of 60 papers, 47 scans and 106 damaged files, these warnings came up on damaged pages alone.
"""

from __future__ import annotations

from typing import Any

from corpus_assets.pdf.mupdf import load_pymupdf

CUT_OFF = "treating as end of file"  # a stream that cannot be decoded to its end
BAD_CHECKSUM = "incorrect data check"  # of a packed stream; by itself some writers' habit
ERRORS = "page may not be correct"  # operators that made no sense
DAMAGED_FLAG = "damaged_content"
MAX_RULE_POINTS = 2.0


def forget_warnings() -> None:
    """Start afresh: what :func:`is_cut_off` and :func:`has_errors` see is what comes up from here on."""
    load_pymupdf().TOOLS.reset_mupdf_warnings()


def is_cut_off() -> bool:
    """Return whether a content stream ended before its end, or in nonsense: what is there may be a part."""
    warnings = load_pymupdf().TOOLS.mupdf_warnings()
    return CUT_OFF in warnings or (BAD_CHECKSUM in warnings and ERRORS in warnings)


def has_errors() -> bool:
    """Return whether a page that shows nothing may have had something to show."""
    warnings = load_pymupdf().TOOLS.mupdf_warnings()
    return CUT_OFF in warnings or ERRORS in warnings


def has_only_rules(page: Any) -> bool:
    """Return whether nothing is drawn on a page but hairlines: borders and rules, never letters."""
    return all(
        kind.endswith("-path") and min(abs(box[2] - box[0]), abs(box[3] - box[1])) <= MAX_RULE_POINTS
        for kind, box, *_ in page.get_bboxlog()
    )
