"""Papers of made-up text with the statistics of real ones: Zipf-distributed words, new words without end, identifiers.

A paper is a text file with the usual sections. Sizes follow a log-normal law; with the default mean, 5,000 papers give
about 200,000 passages. The same seed and number give the same bytes.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

VOCABULARY = 60_000
WORDS_A_PAPER = 5_600
SECTIONS = (("Abstract", 0.04), ("Introduction", 0.16), ("Methods", 0.25), ("Results", 0.3), ("Discussion", 0.25))

_ONSETS = [
    "b",
    "c",
    "d",
    "f",
    "g",
    "h",
    "j",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "br",
    "cl",
    "cr",
    "dr",
    "fl",
    "gr",
    "pl",
    "pr",
    "sc",
    "sp",
    "st",
    "str",
    "th",
    "tr",
]
_VOWELS = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "ea", "ie", "ou"]
_CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "nd", "st", "x"]
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
    "this",
    "these",
    "not",
    "be",
    "are",
    "an",
]


class Words:
    """A vocabulary drawn from by rank: rank r has weight 1 / (r + 2.7), after Zipf and Mandelbrot."""

    def __init__(self, size: int = VOCABULARY, seed: int = 13) -> None:
        chance = random.Random(seed)
        known = dict.fromkeys(_SMALL)
        while len(known) < size:
            syllables = chance.choices((1, 2, 3, 4), (1, 5, 5, 2))[0]
            stem = "".join(
                chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS) for _ in range(syllables)
            )
            known[stem + chance.choice(_ENDINGS)] = None
        self.words = list(known)
        self._sums = list(accumulate(1 / (rank + 2.7) for rank in range(len(self.words))))

    def draw(self, chance: random.Random, num: int, topic: Sequence[str] = ()) -> list[str]:
        """Return words; every eighth is of the paper's topic, some are identifiers or numbers."""
        drawn = []
        for _ in range(num):
            dice = chance.random()
            if topic and dice < 0.12:
                drawn.append(chance.choice(topic))
            elif dice > 0.985:
                drawn.append(f"{chance.choice('ACDEFGHKLT')}{chance.randint(1, 999)}{chance.choice('ACDEFGHKLT')}")
            elif dice > 0.97:
                drawn.append(f"{chance.randint(0, 99)}.{chance.randint(0, 9)}")
            else:
                drawn.append(self.words[bisect(self._sums, chance.random() * self._sums[-1])])
        return drawn


def paper_text(words: Words, number: int, seed: int = 13, mean_words: int = WORDS_A_PAPER) -> str:
    """Return the text of paper ``number``."""
    chance = random.Random(f"{seed}/{number}")
    topic = chance.sample(words.words[200:20_000], 40)
    size = int(mean_words * chance.lognormvariate(-0.08, 0.4))
    title = " ".join(chance.sample(topic, 7)).capitalize()
    parts = [title, f"{chance.choice(topic).capitalize()} {words.words[number % 9000].capitalize()}"]
    for heading, share in SECTIONS:
        parts.append(heading)
        left = max(40, int(size * share))
        while left > 0:
            sentences = [_sentence(words, chance, topic) for _ in range(chance.randint(4, 8))]
            parts.append(" ".join(sentences))
            left -= sum(len(sentence.split()) for sentence in sentences)
    return "\n\n".join(parts) + "\n"


def _sentence(words: Words, chance: random.Random, topic: Sequence[str]) -> str:
    drawn = words.draw(chance, max(5, int(chance.gauss(21, 7))), topic)
    return f"{' '.join(drawn).capitalize()}."


def write_papers(folder: Path, numbers: Sequence[int], mean_words: int = WORDS_A_PAPER) -> None:
    """Write papers as ``paper-<number>.txt``."""
    words = Words()
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / f"paper-{number:06}.txt").write_text(paper_text(words, number, mean_words=mean_words), "utf-8")


def passages(num: int, num_words: int = 150, seed: int = 13) -> Iterator[str]:
    """Yield bare passages, for benchmarks of the indexes alone; ten in a row share a topic."""
    words = Words()
    chance = random.Random(seed)
    topic: list[str] = []
    for number in range(num):
        if number % 10 == 0:
            topic = chance.sample(words.words[200:20_000], 40)
        yield " ".join(words.draw(chance, num_words, topic))


def questions(num: int, seed: int = 29) -> list[str]:
    """Return questions of 3 to 10 words, frequent and rare ones as in the passages."""
    words = Words()
    chance = random.Random(seed)
    return [" ".join(words.draw(chance, chance.randint(3, 10), words.words[200:20_000])) for _ in range(num)]
