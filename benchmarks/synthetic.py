"""Papers of made-up text with the statistics of real ones: Zipf-distributed words, topics, identifiers, numbers.

A paper is a text file with the usual sections. Sizes follow a log-normal law; with the default mean, 5,000 papers give
about 200,000 passages. The same seed and number give the same text.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

VOCABULARY = 60_000
WORDS_A_PAPER = 4_700
SECTIONS = (("Abstract", 0.04), ("Introduction", 0.16), ("Methods", 0.25), ("Results", 0.3), ("Discussion", 0.25))
TOPIC_WORDS = 40

_ONSETS = [*"bcdfghjklmnprstvw", "br", "cl", "cr", "dr", "fl", "gr", "pl", "pr", "sc", "sp", "st", "str", "th", "tr"]
_VOWELS = [*"aeiouaeio", "ea", "ie", "ou"]
_CODAS = ["", "", "", *"nrstlmx", "nd", "st"]
_ENDINGS = ["", "", "", "s", "ed", "ing", "tion", "al", "ic", "ity", "ase", "oma"]
_SMALL = [
    "the",
    "of",
    "and",
    "in",
    "to",
    "a",
    "was",
    "were",
    "with",
    "for",
    "that",
    "by",
    "as",
    "at",
    "from",
    "on",
    "is",
]


class Words:
    """A vocabulary drawn from by rank: rank r has weight 1 / (r + 2.7), after Zipf and Mandelbrot.

    ``first`` are words of a real language that take the first ranks. Made-up ones have 3.9 word pieces of a model each,
    those of scientific text 1.6: where a model reads the text, its time would be overstated.
    """

    def __init__(self, size: int = VOCABULARY, seed: int = 13, first: Sequence[str] = ()) -> None:
        import numpy as np

        chance = random.Random(seed)
        known = dict.fromkeys([*_SMALL, *first][:size])
        while len(known) < size:
            num_syllables = chance.choices((1, 2, 3, 4), (1, 5, 5, 2))[0]
            syllables = (
                chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS) for _ in range(num_syllables)
            )
            known["".join(syllables) + chance.choice(_ENDINGS)] = None
        self.words = np.array(list(known), dtype=object)
        self._sums = np.cumsum(1 / (np.arange(size) + 2.7))

    def topic(self, chance: np.random.Generator) -> list[str]:
        """Return the words a paper is about: neither the most frequent nor the rarest."""
        first = len(self.words) // 300
        numbers = chance.choice(len(self.words) // 3 - first, TOPIC_WORDS, replace=False) + first
        return [str(word) for word in self.words[numbers]]

    def draw(self, chance: np.random.Generator, num: int, topic: Sequence[str] = ()) -> list[str]:
        """Return words; with a topic every eighth is of it. Some are identifiers or numbers."""
        import numpy as np

        drawn: list[str] = self.words[np.searchsorted(self._sums, chance.random(num) * self._sums[-1])].tolist()
        dice, numbers = chance.random(num), chance.integers(0, 1000, num)
        for at in np.flatnonzero(dice > 0.97).tolist():
            number = int(numbers[at])
            drawn[at] = f"{number / 10:.1f}" if dice[at] < 0.985 else f"{'ACDEFGHKLT'[number % 10]}{number}K"
        for at in np.flatnonzero(dice < 0.12).tolist() if topic else ():
            drawn[at] = topic[int(numbers[at]) % len(topic)]
        return drawn


def paper_text(words: Words, number: int, seed: int = 13, mean_words: int = WORDS_A_PAPER) -> str:
    """Return the text of paper ``number``."""
    import numpy as np

    chance = np.random.default_rng([seed, number])
    topic = words.topic(chance)
    size = int(mean_words * chance.lognormal(-0.08, 0.4))
    parts = [" ".join(topic[:7]).capitalize(), f"{topic[7].capitalize()} {topic[8].capitalize()}"]
    for heading, share in SECTIONS:
        parts.append(heading)
        drawn = words.draw(chance, max(60, int(size * share)), topic)
        lengths = np.clip(chance.normal(21, 7, len(drawn) // 10 + 2), 6, 60).astype(int).tolist()
        sentences, start = [], 0
        for length in lengths:
            if start < len(drawn):
                sentences.append(f"{' '.join(drawn[start : start + length]).capitalize()}.")
                start += length
        parts += [" ".join(sentences[first : first + 6]) for first in range(0, len(sentences), 6)]
    return "\n\n".join(parts) + "\n"


def write_papers(
    folder: Path, numbers: Iterable[int], mean_words: int = WORDS_A_PAPER, words: Words | None = None
) -> None:
    """Write papers as ``paper-<number>.txt``, in the default vocabulary or the one given."""
    words = words or Words()
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / f"paper-{number:06}.txt").write_text(paper_text(words, number, mean_words=mean_words), "utf-8")


def passages(num: int, num_words: int = 150, seed: int = 13) -> Iterator[str]:
    """Yield bare passages, for benchmarks of the indexes alone; forty in a row share a topic."""
    import numpy as np

    words = Words()
    chance = np.random.default_rng(seed)
    topic: list[str] = []
    for number in range(num):
        if number % 40 == 0:
            topic = words.topic(chance)
        yield " ".join(words.draw(chance, num_words, topic))


def questions(num: int, seed: int = 29) -> list[str]:
    """Return questions of 3 to 10 words, frequent and rare ones as in the passages."""
    import numpy as np

    words = Words()
    chance = np.random.default_rng(seed)
    return [" ".join(words.draw(chance, int(chance.integers(3, 11)), words.topic(chance))) for _ in range(num)]
