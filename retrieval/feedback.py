"""What people say about answers: stored once, and turned into golden-case drafts when there is something to check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from corpus_assets.errors import BadInputError
from corpus_assets.settings import fingerprint
from retrieval.answer import AnswerRecord
from retrieval.state_store import StateStore

Issue = Literal[
    "missing_citation", "wrong_fact", "missing_paper", "irrelevant", "outdated", "unclear", "wrong_abstention", "other"
]


class Feedback(BaseModel):
    """One person's word on one answer. ``feedback_id`` is the digest of its content: the same twice is stored once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    feedback_id: str
    answer_id: str
    question: str
    created_at: str
    rating: int = Field(ge=1, le=5)
    issues: tuple[Issue, ...] = ()
    correct_answer: str = ""
    missing_papers: tuple[str, ...] = ()
    comment: str = ""

    @property
    def is_checkable(self) -> bool:
        """Tell whether a case can be made of it: it names a paper or gives the right answer."""
        return bool(self.missing_papers or self.correct_answer.strip())


class CaseDraft(BaseModel):
    """A golden case to be reviewed by a person; nothing gates on it before that."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    case_id: str
    query: str
    query_type: Literal["paraphrase"] = "paraphrase"
    difficulty: Literal["user_reported"] = "user_reported"
    expected_paper_ids: tuple[str, ...] = ()
    expected_answer: str = ""
    source_feedback: str = ""
    reviewed: bool = False


def give_feedback(
    store: StateStore,
    answer_id: str,
    *,
    rating: int,
    issues: Sequence[str] = (),
    correct_answer: str = "",
    missing_papers: Sequence[str] = (),
    comment: str = "",
    known_papers: frozenset[str] | None = None,
) -> tuple[Feedback, bool]:
    """Store feedback on a saved answer; return it and whether it was new.

    Raises ``BadInputError`` for an unknown answer, issue, rating, or (with ``known_papers``) paper.
    """
    if not 1 <= rating <= 5:
        raise BadInputError(f"The rating is {rating}.", hint="Use 1 (useless) to 5 (just right).")
    unknown = [issue for issue in issues if issue not in get_args(Issue)]
    if unknown:
        raise BadInputError(f"Unknown issue {unknown[0]!r}.", hint=f"Use one of {', '.join(get_args(Issue))}.")
    absent = [paper for paper in missing_papers if known_papers is not None and paper not in known_papers]
    if absent:
        raise BadInputError(f"No paper {absent[0]!r} is in the corpus.", hint="See `research-copilot papers list`.")
    stored = store.load_answer(answer_id)
    if stored is None:
        raise BadInputError(f"No answer {answer_id} is saved.", hint="Use the answer_id that `ask --json` printed.")
    question = AnswerRecord.model_validate_json(stored).question
    content = {
        "answer_id": answer_id,
        "rating": rating,
        "issues": sorted(set(issues)),
        "correct_answer": correct_answer.strip(),
        "missing_papers": sorted(set(missing_papers)),
        "comment": comment.strip(),
    }
    feedback = Feedback.model_validate(
        {
            **content,
            "feedback_id": fingerprint(content),
            "question": question,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
    )
    known = store.read("SELECT 1 FROM feedback WHERE feedback_id = ?", [feedback.feedback_id])
    if known:
        return feedback, False
    store.write(
        "INSERT INTO feedback VALUES (?, ?, ?, ?, ?)",
        [feedback.feedback_id, answer_id, feedback.created_at, rating, feedback.model_dump_json()],
    )
    return feedback, True


def list_feedback(store: StateStore, answer_id: str | None = None) -> list[Feedback]:
    """Return feedback, oldest first, of one answer or of all."""
    rows = store.read(
        "SELECT payload FROM feedback WHERE ? IS NULL OR answer_id = ? ORDER BY created_at, feedback_id",
        [answer_id, answer_id],
    )
    return [Feedback.model_validate(json.loads(row[0])) for row in rows]


def draft_cases(feedback: Sequence[Feedback]) -> list[CaseDraft]:
    """Return one case draft a question for feedback with something to check; the rest makes none."""
    by_question: dict[str, list[Feedback]] = {}
    for item in feedback:
        if item.is_checkable:
            by_question.setdefault(" ".join(item.question.casefold().split()), []).append(item)
    drafts = []
    for group in by_question.values():
        papers = tuple(dict.fromkeys(paper for item in group for paper in item.missing_papers))
        answers = [item.correct_answer for item in group if item.correct_answer]
        drafts.append(
            CaseDraft(
                case_id=f"user-{group[0].feedback_id}",
                query=group[0].question,
                expected_paper_ids=papers,
                expected_answer=answers[-1] if answers else "",
                source_feedback=group[0].feedback_id,
            )
        )
    return drafts
