"""A language model as judge of claims against their quotes, after the deterministic tests let them through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from retrieval.answer import Citation, ClaimCheck
from retrieval.claims.verdict import ClaimVerdict
from retrieval.llm.prompts import JUDGE, Item, fence, user_turn
from retrieval.llm.protocol import LanguageModel
from retrieval.llm.replies import MalformedReplyError
from retrieval.llm.schemas import JudgedClaim, JudgeReply
from retrieval.terms import clip_words
from retrieval.writing.compose import SentenceKey, keep_statements
from retrieval.writing.draft import Draft
from retrieval.writing.escape import strip_controls

STAGE = "verify_claims"
BATCH_SIZE = 15  # claims a call
MAX_REASON_WORDS = 40


@dataclass(frozen=True)
class ClaimToJudge:
    """A claim with the exact quotes it cites."""

    text: str
    quotes: tuple[str, ...]


def judge_claims(model: LanguageModel, claims: Sequence[ClaimToJudge]) -> list[ClaimVerdict]:
    """Return a verdict a claim, in order. Raises ``CopilotError``, also when a claim gets none or two that differ."""
    verdicts: list[ClaimVerdict] = []
    for start in range(0, len(claims), BATCH_SIZE):
        verdicts.extend(_judge_batch(model, claims[start : start + BATCH_SIZE]))
    return verdicts


def _judge_batch(model: LanguageModel, claims: Sequence[ClaimToJudge]) -> list[ClaimVerdict]:
    items: list[Item] = []
    for number, claim in enumerate(claims, start=1):
        items.append(Item(f"claim C{number}", claim.text))
        items.extend(Item(f"quote {place} of C{number}", quote) for place, quote in enumerate(claim.quotes, start=1))
    reply = model.complete_structured(
        stage=STAGE,
        system=JUDGE,
        messages=user_turn(f"Judge claims C1 to C{len(claims)}, each by its quotes.\n\n{fence(items)}"),
        schema=JudgeReply,
        tier="large",
    )
    by_id: dict[str, JudgedClaim] = {}
    for item in reply.verdicts:
        key = item.claim.removeprefix("claim ").strip()
        if key in by_id and by_id[key].verdict != item.verdict:
            raise MalformedReplyError(f"{STAGE}: the judge gave two verdicts on one claim.")
        by_id[key] = item
    missing = [f"C{number}" for number in range(1, len(claims) + 1) if f"C{number}" not in by_id]
    if missing:
        raise MalformedReplyError(f"{STAGE}: the judge gave no verdict on {', '.join(missing)}.")
    return [
        ClaimVerdict(item.verdict, f"{model.name}: {clip_words(strip_controls(item.reason), MAX_REASON_WORDS)}")
        for item in (by_id[f"C{number}"] for number in range(1, len(claims) + 1))
    ]


def judge_draft(
    model: LanguageModel, draft: Draft, bound: Mapping[SentenceKey, Citation]
) -> tuple[Draft, list[ClaimCheck]]:
    """Return the draft without the statements the judge rejects, and those claims with its reasons.

    Only written statements are judged: a quote shown as it stands needs no judge, a labelled guess claims nothing.
    """
    written = [item for item in draft.statements() if item.text and not item.is_conjecture]
    claims = [
        ClaimToJudge(
            item.text, tuple(bound[sentence.key].quote for sentence in item.sentences if sentence.key in bound)
        )
        for item in written
    ]
    verdicts = judge_claims(model, claims)
    failed: list[ClaimCheck] = []
    failing: set[int] = set()
    for item, verdict in zip(written, verdicts, strict=True):
        if verdict.verdict != "supported":
            failing.add(id(item))
            failed.append(ClaimCheck(text=item.text, citations=(), verdict=verdict.verdict, reason=verdict.reason))
    return keep_statements(draft, lambda item: id(item) not in failing), failed
