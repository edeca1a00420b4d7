"""What each answer mode may hold. Limits count every word of the Markdown, sources included."""

from __future__ import annotations

from dataclasses import dataclass

from corpus_assets.settings import AnswerMode


@dataclass(frozen=True)
class ModeLimits:
    """``aim_words`` is what the writer fills up to, ``max_words`` what the program enforces."""

    aim_words: int
    max_words: int
    num_answer: int  # sentences of the answer paragraph a sub-question
    num_evidence: int  # bullets of key evidence in all
    num_practice: int
    num_steps: int
    has_splits: bool
    min_words: int = 0  # below this the answer says that the evidence is thin
    max_sentence_words: int = 75
    title_words: int = 14  # of a title in the sources


LIMITS: dict[AnswerMode, ModeLimits] = {
    "brief": ModeLimits(
        150, 175, 1, 3, 1, 2, has_splits=True, min_words=0, max_sentence_words=38, title_words=6
    ),
    "standard": ModeLimits(420, 500, 3, 7, 2, 3, has_splits=True, min_words=300, max_sentence_words=60, title_words=14),
    "detailed": ModeLimits(850, 1200, 3, 16, 4, 5, has_splits=True, min_words=500, title_words=30),
    "ideas": ModeLimits(500, 700, 2, 6, 2, 3, has_splits=False, min_words=0, max_sentence_words=60, title_words=14),
}  # fmt: skip
