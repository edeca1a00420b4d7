"""A language model as ``StanceModel``: verdicts on passages, each tied to a quote that stands in its passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from retrieval.llm.prompts import STANCE, Item, fence, user_turn
from retrieval.llm.protocol import LanguageModel
from retrieval.llm.quotes import is_long_enough
from retrieval.llm.replies import MalformedReplyError
from retrieval.llm.schemas import PassageStance, StanceReply
from retrieval.plan import MAX_QUERY_WORDS
from retrieval.stance import Stance
from retrieval.terms import clip_words
from retrieval.themes import ThemeSplit
from retrieval.writing.escape import strip_controls

STAGE = "themes"
BATCH_SIZE = 24  # passages a call
MAX_REASON_WORDS = 40


class ModelStances:
    """Judges passages against a claim by a language model. A verdict without an exact quote is no verdict."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name_of("small")

    def judge(self, claim: str, passages: Sequence[str]) -> Sequence[Stance]:
        """Return one stance a passage, in order. Raises ``CopilotError``, also when passages are passed over."""
        found: list[Stance] = []
        for start in range(0, len(passages), BATCH_SIZE):
            found.extend(self._judge_batch(claim, passages[start : start + BATCH_SIZE]))
        return found

    def _judge_batch(self, claim: str, passages: Sequence[str]) -> list[Stance]:
        items = [Item(f"P{number}", text) for number, text in enumerate(passages, start=1)]
        reply = self._model.complete_structured(
            stage=STAGE,
            system=STANCE,
            messages=user_turn(
                f"The claim, then the passages.\n\n{fence([Item('claim', clip_words(claim, MAX_QUERY_WORDS)), *items])}"
            ),
            schema=StanceReply,
            tier="small",
        )
        by_id: dict[str, PassageStance] = {}
        for item in reply.stances:
            if item.passage in by_id and by_id[item.passage].stance != item.stance:
                raise MalformedReplyError(f"{STAGE}: the model gave two stances for one passage.")
            by_id[item.passage] = item
        missing = [item.id for item in items if item.id not in by_id]
        if missing:
            raise MalformedReplyError(f"{STAGE}: the model gave no stance for {', '.join(missing)}.")
        return [_checked(by_id[item.id], text) for item, text in zip(items, passages, strict=True)]


def confirm_splits(model: LanguageModel, splits: Sequence[ThemeSplit]) -> tuple[ThemeSplit, ...]:
    """Return the splits found by rules whose sides really contradict each other, now as verdicts of the model."""
    judge = ModelStances(model)
    confirmed = []
    for split in splits:
        first, *others = (side.sentence.text for side in split.sides)
        if all(stance.label == "contradicts" for stance in judge.judge(first, others)):
            basis = f"{split.basis}; confirmed by {judge.name}"
            confirmed.append(replace(split, basis=basis, is_verdict=True, note=""))
    return tuple(confirmed)


def _checked(item: PassageStance, passage: str) -> Stance:
    reason = clip_words(strip_controls(item.reason), MAX_REASON_WORDS)
    if item.stance == "neutral":
        return Stance("neutral", reason)
    quote = item.quote.strip()
    if not is_long_enough(quote) or quote not in passage:
        return Stance("neutral", f"a verdict ({item.stance}) was dropped: its quote does not stand in the passage")
    return Stance(item.stance, reason, is_verdict=True, quote=quote)
