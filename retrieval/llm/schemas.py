"""The forms a model's replies must have. Unknown fields are refused; what a reply says is checked by its stage."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from retrieval.answer import Intent, VerdictLabel


class ReplyForm(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedQuery(ReplyForm):
    text: str = Field(min_length=3, max_length=600, description="A question that can be searched on its own.")
    label: str = Field(max_length=200, description="Its plain heading, at most ten words.")
    rewordings: list[str] = Field(max_length=3, description="The same question in the words papers would use.")


class PlanReply(ReplyForm):
    """How to search for a question."""

    intent: Intent = Field(description="understand: wants to know; act: wants to decide or do something.")
    is_claim: bool = Field(description="It states or asks for confirmation of something evidence could contradict.")
    is_comparison: bool = Field(description="It sets two or more things against each other.")
    sub_queries: list[PlannedQuery] = Field(min_length=1, max_length=5, description="One for a factual lookup.")
    counter_queries: list[str] = Field(max_length=3, description="For a claim: queries that find evidence against it.")


class Pick(ReplyForm):
    card: str = Field(description="The id of a card, as given.")
    fit: int = Field(ge=0, le=100, description="How likely the paper holds passages that answer the question.")


class PickReply(ReplyForm):
    """The papers worth searching in."""

    picks: list[Pick] = Field(max_length=40)


class PassageStance(ReplyForm):
    passage: str = Field(description="The id of a passage, as given.")
    stance: Literal["supports", "contradicts", "neutral"]
    quote: str = Field(description="The words that decide it, copied to the letter; empty when neutral.")
    reason: str = Field(max_length=400)


class StanceReply(ReplyForm):
    """What each passage says about the claim."""

    stances: list[PassageStance]


class Support(ReplyForm):
    passage: str = Field(description="The id of a passage, as given.")
    quote: str = Field(description="The words that bear the statement out, copied to the letter.")


class WrittenClaim(ReplyForm):
    text: str = Field(min_length=1, max_length=1200, description="One sentence in plain words, without citation marks.")
    support: list[Support] = Field(max_length=4)


class WrittenStep(ReplyForm):
    text: str = Field(min_length=1, max_length=500, description="One thing the reader can do now.")
    support: list[Support] = Field(max_length=2, description="Empty for general advice.")


class AnswerReply(ReplyForm):
    """An answer written from the passages, most important statements first."""

    answer: list[WrittenClaim] = Field(max_length=20)
    evidence: list[WrittenClaim] = Field(max_length=20)
    practice: list[WrittenClaim] = Field(max_length=8)
    next_steps: list[WrittenStep] = Field(max_length=6)


class IdeasReply(ReplyForm):
    """Findings, what joins them, and labelled steps beyond them."""

    findings: list[WrittenClaim] = Field(max_length=10)
    synthesis: list[WrittenClaim] = Field(max_length=6)
    extrapolations: list[WrittenClaim] = Field(max_length=6)
    hypotheses: list[WrittenClaim] = Field(max_length=6)
    next_steps: list[WrittenStep] = Field(max_length=6)


class JudgedClaim(ReplyForm):
    claim: str = Field(description="The id of a claim, as given.")
    verdict: VerdictLabel
    reason: str = Field(max_length=400, description="What the quote says that decides it.")


class JudgeReply(ReplyForm):
    """A verdict on each claim."""

    verdicts: list[JudgedClaim]
