"""How rare a question's words are in the corpus, from the full-text index's own statistics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from corpus_assets.memory import Memory
from retrieval.terms import QUESTION_WORDS, content_stems, content_words, fold, stem

if TYPE_CHECKING:
    from corpus_assets.store.generation import Generation


MAX_QUESTIONS = 64  # whose words' weights are kept
ASKING_WORD_WEIGHT = 0.25  # of words like "effect" or "association", which many questions share


class CorpusTerms:
    """Weigh words by rarity: 0 for a word in every chunk, 1 for one in a single chunk or none."""

    def __init__(self, generation: Generation) -> None:
        self._generation = generation
        self._num_chunks = max(generation.num_chunks, 1)
        self._known: dict[str, int] = {}
        self._weights: Memory[str, Mapping[str, float]] = Memory(MAX_QUESTIONS)

    def document_frequency(self, word: str) -> int:
        """Return in how many chunks ``word`` occurs, by the index's own folding and stemming."""
        if word not in self._known:
            self._known[word] = count_chunks_with(self._generation, word)
        return self._known[word]

    def weight(self, word: str) -> float:
        """Return the word's rarity in 0..1 (a scaled inverse document frequency)."""
        frequency = self.document_frequency(word)
        scale = math.log(1 + self._num_chunks)
        return min(1.0, math.log((1 + self._num_chunks) / (1 + max(frequency - 1, 0))) / scale) if scale else 1.0

    def question_weights(self, question: str) -> Mapping[str, float]:
        """Return each content word of a question with its weight: rarity, and little for words that name no subject."""
        known = self._weights.get([question])
        if not known:  # every sentence is held against the same few questions
            known = {
                question: {
                    word: (0.1 + self.weight(word)) * (ASKING_WORD_WEIGHT if word in QUESTION_WORDS else 1.0)
                    for word in dict.fromkeys(content_words(question))
                }
            }
            self._weights.put(known)
        return known[question]

    def coverage(self, question: str, text_stems: Iterable[str]) -> float:
        """Return the share of the question's content words found in a text, by weight; 1 when it has none."""
        weights = self.question_weights(question)
        have = text_stems if isinstance(text_stems, (set, frozenset)) else set(text_stems)
        total = sum(weights.values())
        return sum(weight for word, weight in weights.items() if is_in(word, have)) / total if total else 1.0


def count_chunks_with(generation: Generation, word: str) -> int:
    """Return the number of chunks with ``word``; of a word the index splits, that of its rarest part."""
    counts: dict[str, int] = {}
    for segment in generation.segments:
        tokens = segment.fts.tokenize(word)
        stats = segment.fts.term_stats(tokens)
        for token in tokens:
            found = stats.get(token)
            counts[token] = counts.get(token, 0) + (found.chunk_df if found else 0)
    return min(counts.values(), default=0)


def is_in(word: str, stems: set[str] | frozenset[str]) -> bool:
    """Tell whether a folded word, or all parts of a hyphenated one, stand among stems."""
    if stem(word) in stems:
        return True
    parts = [part for part in word.split("-") if part]
    return len(parts) > 1 and all(stem(part) in stems or stem(fold(part)) in stems for part in parts)


def stems_of(texts: Sequence[str]) -> frozenset[str]:
    """Return the stems of the content words of several texts."""
    return frozenset(found for text in texts for found in content_stems(text))
