"""False hits of the answer cache on questions of another meaning, and its hits on paraphrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from evaluation.answers.claim_edits import Part, part_of
from evaluation.answers.edits import NAME, SUBSTANCE
from evaluation.answers.question_pairs import Pair, adversarial_pairs, edited_questions, paraphrase_pairs
from evaluation.answers.rows import Row, share_row
from retrieval.answer_cache import similarity_of, would_hit

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder

SUITE = "answer cache"
MIN_PAIRS = 200
MIN_PARAPHRASE_HITS = 0.5
MIN_EDITED = 100
MAX_EDITED = 400


def measure_cache(
    get_embedder: Callable[[], Embedder | None], questions: Sequence[str] = (), part: Part = "test"
) -> list[Row]:
    """Return false hits on adversarial pairs (both ways round) and hits on paraphrases.

    With ``questions`` of a data set, edits of those are a second adversarial set.
    """
    rows = [
        _false_hits(
            "false hits", adversarial_pairs(), get_embedder, "forms and subjects no rule was made on", MIN_PAIRS
        )
    ]
    questions = [question for question in questions if part_of(question) == part]
    if questions:
        names = list(
            dict.fromkeys(
                match.group(0)
                for question in questions
                for pattern in (NAME, SUBSTANCE)
                for match in pattern.finditer(question)
            )
        )
        edited = list(islice(edited_questions(questions, names), MAX_EDITED))
        rows.append(
            _false_hits(
                "false hits, edited real questions",
                edited,
                get_embedder,
                f"PubMedQA questions, {part} half",
                MIN_EDITED,
            )
        )
    pairs = paraphrase_pairs()
    missed = [pair for pair in pairs if not would_hit(pair[1], pair[2], get_embedder)]
    rows.append(
        share_row(
            SUITE, "hits on paraphrases", len(pairs) - len(missed), len(pairs),
            bound="at least", limit=MIN_PARAPHRASE_HITS, min_cases=50, misses=_described(missed, get_embedder),
        )
    )  # fmt: skip
    return rows


def _false_hits(
    name: str, pairs: Sequence[Pair], get_embedder: Callable[[], Embedder | None], note: str, least: int
) -> Row:
    wrong = [
        pair for pair in pairs if would_hit(pair[1], pair[2], get_embedder) or would_hit(pair[2], pair[1], get_embedder)
    ]
    return Row(
        SUITE, name, float(len(wrong)), len(pairs), bound="at most", limit=0, min_cases=least, note=note,
        misses=_described(wrong, get_embedder),
    )  # fmt: skip


def _described(pairs: Sequence[Pair], get_embedder: Callable[[], Embedder | None]) -> tuple[dict[str, object], ...]:
    return tuple(
        {"kind": kind, "question": first, "other": second, "cosine": similarity_of(first, second, get_embedder)}
        for kind, first, second in pairs[:20]
    )
