"""What ``ask`` returns: the answer, what it stands on, and how it was made. The JSON contract of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from corpus_assets.settings import AnswerMode

StanceLabel = Literal["supports", "contradicts", "neutral", "possible_disagreement"]
VerdictLabel = Literal["supported", "unsupported", "contradicted", "unclear"]
Intent = Literal["understand", "act"]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Citation(Model):
    """One exact quote: ``paper_text[char_start:char_end] == quote`` in the file whose bytes hash to ``doc_sha256``."""

    n: int = Field(description="The number used as [n] in the answer, in order of first use.")
    paper_id: str
    title: str
    section: str = Field(description="Title of the section the quote stands in.")
    pages: str = Field(description='Pages of the quote itself, "3" or "3-4".')
    quote: str
    chunk_id: str = Field(description="The passage the quote was found through.")
    char_start: int
    char_end: int
    doc_sha256: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str = ""
    path: str = Field(default="", description="File, relative to the papers folder.")
    retraction: str = ""
    reported_by_others: bool = Field(default=False, description="The sentence reports another paper's finding.")

    @property
    def page_label(self) -> str:
        """Return "p. 3" or "pp. 3-4", nothing when the page is not known."""
        return f"{'pp' if '-' in self.pages else 'p'}. {self.pages}" if self.pages else ""


def group_by_paper(citations: Sequence[Citation]) -> list[list[Citation]]:
    """Return the citations of each paper together, papers in order of first use."""
    groups: dict[str, list[Citation]] = {}
    for citation in citations:
        groups.setdefault(citation.paper_id, []).append(citation)
    return list(groups.values())


class EvidenceItem(Model):
    """A passage the answer was written from. ``score`` is 0..1, higher is better."""

    chunk_id: str
    paper_id: str
    score: float
    stance: StanceLabel = "neutral"
    stance_reason: str = ""


class SplitSide(Model):
    position: str
    citations: tuple[int, ...]
    paper_ids: tuple[str, ...]


class Split(Model):
    """A disagreement between at least two distinct, non-retracted papers, each side with a quote."""

    label: str
    basis: str = Field(description="Why it counts: explicit opposite statements, numbers, or verdicts, and whose.")
    is_verdict: bool = Field(description="False: found by rules; the reader should check.")
    sides: tuple[SplitSide, ...]


class NextStep(Model):
    text: str
    citations: tuple[int, ...] = ()
    is_general: bool = Field(description="True when no citation stands behind the step.")


class ClaimCheck(Model):
    """One claim of the answer and whether its cited quotes bear it out."""

    text: str
    citations: tuple[int, ...]
    verdict: VerdictLabel
    reason: str


class FaithfulnessReport(Model):
    """``score`` is supported / all claims of the shipped answer; 1.0 of no claims is reported as None."""

    score: float | None = None
    claims: tuple[ClaimCheck, ...] = ()
    removed: tuple[ClaimCheck, ...] = Field(
        default=(), description="Claims that failed and were taken out of the answer."
    )
    score_before: float | None = Field(default=None, description="The score before failing claims were removed.")
    verifier: str = Field(default="rules", description="What judged: rules, an entailment model, or a language model.")


class StageRecord(Model):
    """What a stage received and returned; ``degraded`` names what did not run as configured."""

    name: str
    seconds: float
    num_in: int
    num_out: int
    degraded: tuple[str, ...] = ()
    detail: dict[str, object] = Field(default_factory=dict)
    usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0


class Cost(Model):
    usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0


class SubQueryRecord(Model):
    text: str
    label: str
    num_passages: int = 0


class AnswerRecord(Model):
    """An answer as it is saved, printed and verified."""

    answer_id: str
    question: str
    mode: AnswerMode
    intent: Intent
    writer: str = Field(description='"extractive", a model\'s name, or "none" when nothing was written.')
    generation: str
    abstained: bool
    abstain_reason: str = ""
    answer: str = Field(description="Markdown; text from papers is escaped.")
    next_steps: tuple[NextStep, ...] = ()
    splits: tuple[Split, ...] = ()
    citations: tuple[Citation, ...] = ()
    evidence: tuple[EvidenceItem, ...] = ()
    sub_queries: tuple[SubQueryRecord, ...] = ()
    faithfulness: FaithfulnessReport = FaithfulnessReport()
    stages: tuple[StageRecord, ...] = ()
    cost: Cost = Cost()
    cached: bool = False
    cached_question: str = Field(default="", description="The earlier question this answer was first written for.")
    retrieval: str = Field(default="", description="Retrieval mode that served the question.")
    num_removed_citations: int = Field(default=0, description="Citations the writer made that are not in the evidence.")
    notes: tuple[str, ...] = Field(default=(), description="Warnings a reader should see, in plain words.")
    created_at: str = ""
