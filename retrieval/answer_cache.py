"""Answers given before, found again only for a question that means the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus_assets.settings import fingerprint
from retrieval.answer import AnswerRecord
from retrieval.state_store import StateStore
from retrieval.terms import fold

if TYPE_CHECKING:
    from corpus_assets.settings import AnswerMode, Settings


def cache_scope(
    *, generation: str, mode: AnswerMode, filters: object, settings: Settings, writer: str, retrieval: str, top_k: int
) -> str:
    """Return the digest of everything but the question that shapes an answer."""
    return fingerprint(
        {
            "generation": generation,
            "mode": mode,
            "filters": repr(filters),
            "retrieval": settings.retrieval.model_dump(mode="json"),
            "llm": settings.llm.model_dump(mode="json"),
            "served": retrieval,
            "writer": writer,
            "top_k": top_k,
        }
    )


def normal_form(question: str) -> str:
    """Return the question without case, spacing and closing punctuation."""
    return " ".join(fold(question).strip(" ?.!").split())


@dataclass(frozen=True)
class CacheHit:
    question: str
    record: AnswerRecord
    similarity: float


class AnswerCache:
    """Lookups and stores within one scope."""

    def __init__(self, store: StateStore, scope: str) -> None:
        self._store = store
        self._scope = scope

    def find(self, question: str) -> CacheHit | None:
        """Return the stored answer of the same question, or None."""
        rows = self._store.read(
            "SELECT c.question, a.record FROM answer_cache c JOIN answers a USING (answer_id) WHERE c.scope = ?",
            [self._scope],
        )
        wanted = normal_form(question)
        for stored, record in sorted(rows):
            if normal_form(stored) == wanted:
                return CacheHit(stored, AnswerRecord.model_validate_json(record), 1.0)
        return None

    def put(self, question: str, answer_id: str, created_at: str) -> None:
        """Remember that ``answer_id`` answers ``question``."""
        self._store.write(
            "INSERT OR REPLACE INTO answer_cache VALUES (?, ?, ?, NULL, ?)",
            [self._scope, question, answer_id, created_at],
        )
