"""Text whose letters came out as signs: ``C$!E5a/2.!5E?!4!`` has letters left to look like words, and is none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from corpus_assets.pdf.lines import Line

MIN_CHARS = 200
# Signs between letters, to a character. At most .009 in 60 papers and 150 other files, drawings included.
MIN_SHARE = 0.018
PENALTY = 0.4  # on the quality

_SIGNS = '!?$%#@^~*"'
_SIGNS_WITHIN = re.compile(r"[^\W\d_][!?$%#@^~*\"]+[^\W\d_]")


def weigh_signs(quality: float, lines: Sequence[Line]) -> float:
    """Return a page's quality, lowered where signs stand within its words as only misnamed letters do."""
    text = " ".join([line.text for line in lines])
    num_signs = MIN_SHARE * len(text)
    if len(text) < MIN_CHARS or sum(map(text.count, _SIGNS)) < num_signs:
        return quality
    if len(_SIGNS_WITHIN.findall(text)) < num_signs:
        return quality
    return round(PENALTY * quality, 3)
