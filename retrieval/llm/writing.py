"""A draft written by a model: plain words, each statement tied to quotes that stand in the passages it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from corpus_assets.model import PaperRecord
from corpus_assets.settings import AnswerMode
from retrieval.answer import ClaimCheck
from retrieval.llm.prompts import IDEAS, WRITE, Item, fence, user_turn
from retrieval.llm.protocol import LanguageModel
from retrieval.llm.quotes import QuoteBinder
from retrieval.llm.replies import MalformedReplyError
from retrieval.llm.schemas import AnswerReply, IdeasReply, WrittenClaim, WrittenStep
from retrieval.llm.text_guard import adds_facts, find_problem, strip_marks
from retrieval.passages import Candidate, Sentence, SentenceReader
from retrieval.plan import MAX_QUERY_WORDS, Plan
from retrieval.terms import clip_words
from retrieval.themes import Themes
from retrieval.writing.draft import Block, Draft, DraftSection, SectionName, Statement, Step
from retrieval.writing.escape import strip_controls
from retrieval.writing.extractive import attributor, paper_label, write_splits
from retrieval.writing.modes import LIMITS, ModeLimits
from retrieval.writing.steps import next_steps

STAGE = "write"
STATEMENTS_SHARE = 0.6  # of an answer's words; headings, citations, splits, steps and sources take the rest
MAX_REMOVED_CHARS = 300  # of a removed claim that the record keeps
MAX_STEP_WORDS = 40
SPLIT_NOTE = "The papers found do not agree on this: see where the evidence splits. What they state besides:"


def write_with_model(
    model: LanguageModel,
    plan: Plan,
    evidence: Sequence[Candidate],
    sentences: Mapping[str, Sequence[Sentence]],
    themes: Themes,
    papers: Mapping[str, PaperRecord],
    reader: SentenceReader,
    mode: AnswerMode,
) -> Draft:
    """Write a draft in ``mode`` from the evidence alone.

    Citations of unknown passages and statements whose quotes do not stand in their passage are taken out, and kept in
    the draft's counts and ``removed``. Both sides of a split are put in by the program. Raises ``CopilotError``, also
    when no statement of the answer is left.
    """
    limits = LIMITS[mode]
    passages = {f"P{number}": item for number, item in enumerate(evidence, start=1)}
    binder = QuoteBinder(passages, sentences, reader)
    instructions = IDEAS if mode == "ideas" else WRITE
    desk = _Desk(plan, binder, instructions, attributor(papers))
    request = user_turn(_request(plan, passages, themes, papers, limits))
    if mode == "ideas":
        ideas = model.complete_structured(
            stage=STAGE, system=instructions, messages=request, schema=IdeasReply, tier="large"
        )
        sections, wanted_steps = _idea_sections(desk, ideas, limits), ideas.next_steps
    else:
        reply = model.complete_structured(
            stage=STAGE, system=instructions, messages=request, schema=AnswerReply, tier="large"
        )
        sections, wanted_steps = _answer_sections(desk, reply, themes, limits), reply.next_steps
    if not sections or sections[0].name not in {"answer", "finding"}:
        raise MalformedReplyError(f"{STAGE}: no statement of the model could be tied to an exact quote ({desk.why()}).")
    return Draft(
        model.name,
        tuple(sections),
        tuple(_steps(desk, wanted_steps, sections, themes, papers, limits)),
        num_removed_citations=binder.num_unknown_ids + binder.num_inexact + desk.num_unknown_marks,
        removed=tuple(desk.removed),
    )


@dataclass
class _Desk:
    """Checks what the model wrote, piece by piece, and keeps what had to go."""

    plan: Plan
    binder: QuoteBinder
    instructions: str
    attribute: Callable[[Sentence], str]
    removed: list[ClaimCheck] = field(default_factory=list)
    num_unknown_marks: int = 0

    def statements(
        self, claims: Sequence[WrittenClaim], weight: float, step: float, *, is_conjecture: bool = False
    ) -> tuple[Statement, ...]:
        """Return the claims that may stand, the first with the most weight."""
        found: list[Statement] = []
        for claim in claims:
            text = self._tidy(claim.text)
            sentences, problem = self.binder.bind(claim.support)
            bad = find_problem(text, self.instructions)
            if not bad and not sentences:
                bad = problem
            if not bad and is_conjecture:
                bad = adds_facts(text, [item.text for item in sentences])
            if bad:
                self.remove(text, bad)
                continue
            lead = self.attribute(replace(sentences[0], text=text))
            found.append(Statement(sentences, text, weight - step * len(found), is_conjecture=is_conjecture, lead=lead))
        return tuple(found)

    def steps(self, wanted: Sequence[WrittenStep]) -> Iterator[Step]:
        """Yield the steps that may stand: without links, and without figures or names their quotes do not hold."""
        for item in wanted:
            text = self._tidy(item.text)
            sentences, problem = self.binder.bind(item.support) if item.support else ((), "")
            bad = find_problem(text, self.instructions) or (problem if not sentences else "")
            bad = bad or adds_facts(text, [self.plan.question, *(sentence.text for sentence in sentences)])
            if not bad and len(text.split()) > MAX_STEP_WORDS:
                bad = f"a step of more than {MAX_STEP_WORDS} words"
            if bad:
                self.remove(text, bad)
            else:
                yield Step(text, sentences)

    def remove(self, text: str, reason: str) -> None:
        """Keep a piece that had to go, for the reader to see."""
        short = text if len(text) <= MAX_REMOVED_CHARS else f"{text[:MAX_REMOVED_CHARS]}…"
        self.removed.append(ClaimCheck(text=short, citations=(), verdict="unsupported", reason=reason))

    def why(self) -> str:
        """Return the reasons of what was removed, each once."""
        return "; ".join(dict.fromkeys(item.reason for item in self.removed)) or "it wrote none"

    def _tidy(self, text: str) -> str:
        tidy, ids = strip_marks(strip_controls(text))
        self.num_unknown_marks += sum(item not in self.binder.passages for item in ids)
        return tidy


def _answer_sections(desk: _Desk, reply: AnswerReply, themes: Themes, limits: ModeLimits) -> list[DraftSection]:
    has_split = bool(limits.has_splits and themes.splits)
    sections: list[DraftSection] = []
    answer = desk.statements(reply.answer, 10.0, 0.4)
    if answer:
        sections.append(DraftSection("answer", (Block(answer, note=SPLIT_NOTE if has_split else ""),)))
    evidence = desk.statements(reply.evidence, 5.0, 0.2)[: limits.num_evidence]
    practice = desk.statements(reply.practice, 4.0, 0.5)[: limits.num_practice]
    if evidence:
        sections.append(DraftSection("evidence", (Block(evidence),)))
    if has_split:
        sections.append(DraftSection("split", tuple(write_splits(themes, desk.attribute))))
    if practice:
        sections.append(DraftSection("practice", (Block(practice),)))
    return sections


def _idea_sections(desk: _Desk, reply: IdeasReply, limits: ModeLimits) -> list[DraftSection]:
    parts: list[tuple[SectionName, tuple[Statement, ...]]] = [
        ("finding", desk.statements(reply.findings, 9.0, 0.5)[: limits.num_evidence]),
        ("synthesis", desk.statements(reply.synthesis, 6.0, 0.5)[: limits.num_practice]),
        ("extrapolation", desk.statements(reply.extrapolations, 4.0, 0.5, is_conjecture=True)[: limits.num_practice]),
        ("hypothesis", desk.statements(reply.hypotheses, 3.0, 0.5, is_conjecture=True)[: limits.num_practice]),
    ]
    return [DraftSection(name, (Block(statements),)) for name, statements in parts if statements]


def _steps(
    desk: _Desk,
    wanted: Sequence[WrittenStep],
    sections: Sequence[DraftSection],
    themes: Themes,
    papers: Mapping[str, PaperRecord],
    limits: ModeLimits,
) -> list[Step]:
    """Return the model's steps, after the program's own on a split and before its others, up to the mode's limit."""
    statements = (item for section in sections for block in section.blocks for item in block.statements)
    used = list(dict.fromkeys(chain.from_iterable(item.sentences for item in statements)))
    own = next_steps(desk.plan, used, themes, papers, limits)
    num_first = min(len(themes.splits), 1) if limits.has_splits else 0
    steps: dict[str, Step] = {}
    for step in [*own[:num_first], *desk.steps(wanted), *own[num_first:]]:
        steps.setdefault(step.text.casefold(), step)
    return list(steps.values())[: limits.num_steps]


def _request(
    plan: Plan,
    passages: Mapping[str, Candidate],
    themes: Themes,
    papers: Mapping[str, PaperRecord],
    limits: ModeLimits,
) -> str:
    """Return the user's turn: length, then question, parts, splits and passages, each fenced off."""
    items = [Item("question", clip_words(plan.question, MAX_QUERY_WORDS))]
    if len(plan.sub_queries) > 1:
        items += [Item(f"part {number}", part.text) for number, part in enumerate(plan.sub_queries, start=1)]
    if limits.has_splits:
        items += [
            Item(f"disagreement {number}", " / ".join(side.sentence.text for side in split.sides))
            for number, split in enumerate(themes.splits, start=1)
        ]
    for key, item in passages.items():
        paper = papers.get(item.paper_id)
        about = (
            ("paper", paper_label(paper) if paper else item.paper_id),
            ("section", item.chunk.section_title),
            ("status", "RETRACTED: say so" if paper and paper.is_retracted else ""),
        )
        items.append(Item(key, item.chunk.text, about))
    focus = "wants to act on the answer" if plan.intent == "act" else "wants to understand"
    aim = int(limits.aim_words * STATEMENTS_SHARE)
    return (
        f"The reader {focus}. Write about {aim} words in all parts together, fewer when the passages hold less; "
        f"at most {limits.num_evidence} pieces of evidence, {limits.num_practice} for practice and "
        f"{limits.num_steps} next steps. Passages have ids P1 to P{len(passages)}.\n\n{fence(items)}"
    )
