"""What every answer of every mode must keep: its limits, next steps, quotes that verify, the same bytes each time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from corpus_assets.settings import AnswerMode
from evaluation.answers.corpora import Asker
from evaluation.answers.rows import Row, share_row
from evaluation.honesty import find_dishonesty
from retrieval.answer import AnswerRecord
from retrieval.citations import PaperResolver, verify_answer
from retrieval.stance import StanceModel
from retrieval.terms import count_words
from retrieval.writing.compose import HEADINGS, LABELS
from retrieval.writing.modes import LIMITS

SUITE = "shape of answers"
MODES: tuple[AnswerMode, ...] = get_args(AnswerMode)
MIN_ANSWERS = 200
SOFT = re.compile(
    r"\b(?:may|might|could|suggest\w*|appear\w*|seem\w*|possibl[ey]|probabl[ey]|likely|potentially|perhaps|trend)\b",
    re.I,
)


@dataclass(frozen=True)
class Question:
    """A question with where it may look and who judges stances."""

    text: str
    paper_ids: frozenset[str] = frozenset()
    stance_model: StanceModel | None = None


@dataclass(frozen=True)
class Asked:
    """A question's answer in one mode, given twice by askers that share nothing but the corpus."""

    question: Question
    mode: AnswerMode
    first: AnswerRecord
    second: AnswerRecord
    asker: Asker


def ask_all(make_asker: Callable[[], Asker], questions: Sequence[Question]) -> Iterator[Asked]:
    """Yield every question in every mode, asked twice."""
    one, two = make_asker(), make_asker()
    for question in questions:
        for mode in MODES:
            options: dict[str, Any] = {
                "mode": mode,
                "paper_ids": question.paper_ids,
                "stance_model": question.stance_model,
            }
            yield Asked(question, mode, one.ask(question.text, **options), two.ask(question.text, **options), asker=one)


def find_limit_problem(record: AnswerRecord) -> str:
    """Return which limit of its mode an answer breaks, or an empty string."""
    limits = LIMITS[record.mode]
    num_words = count_words(record.answer)
    if num_words > limits.max_words:
        return f"{num_words} words, {limits.max_words} allowed"
    if not record.next_steps:
        return "no next step"
    if len(record.next_steps) > limits.num_steps:
        return f"{len(record.next_steps)} next steps, {limits.num_steps} allowed"
    if any(not step.citations and not step.is_general for step in record.next_steps):
        return "a next step is neither cited nor marked as general"
    if record.abstained:
        return ""
    parts = sections_of(record.answer)
    bullets = parts.get(HEADINGS["evidence"], "").count("\n- ")
    if bullets > limits.num_evidence:
        return f"{bullets} evidence bullets, {limits.num_evidence} allowed"
    if record.mode == "ideas":
        missing = [name for name in LABELS if HEADINGS[name] not in parts]
        if missing:
            return f"the part {missing[0]!r} is missing"
    if HEADINGS["split"] in parts and (record.mode == "ideas" or any(len(s.sides) < 2 for s in record.splits)):
        return "a split where none may be, or with one side"
    return ""


def sections_of(markdown: str) -> Mapping[str, str]:
    """Return heading -> text (from its line break on) of an answer."""
    found = re.split(r"^## (.+)$", markdown, flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


def measure_shape(asked: Sequence[Asked], where: str) -> list[Row]:
    """Return how many answers keep each promise, and by mode their faithfulness and their hedges."""
    limits, verified, same, honest = [], [], [], []
    num_quotes = num_bad_quotes = num_altered = num_altered_passed = 0
    resolvers: dict[int, PaperResolver] = {}
    for item in asked:
        resolver = resolvers.setdefault(id(item.asker), PaperResolver(item.asker.papers_dir, item.asker.settings))
        label = {"question": item.question.text, "mode": item.mode}
        problem = find_limit_problem(item.first)
        if problem:
            limits.append({**label, "problem": problem})
        report = verify_answer(item.first, resolver)
        num_quotes += report.num_quotes
        num_bad_quotes += len(report.failures)
        verified += [{**label, "n": failure.n, "reason": failure.reason} for failure in report.failures]
        altered = verify_answer(alter_quotes(item.first), resolver)
        num_altered += altered.num_quotes
        num_altered_passed += altered.num_ok
        if shipped(item.first) != shipped(item.second):
            same.append(label)
        problems = find_dishonesty(item.first, item.asker.generation)
        if problems:
            honest.append({**label, "problem": problems[0]})
    num = len(asked)

    def row(name: str, misses: Sequence[Mapping[str, Any]]) -> Row:
        return share_row(
            SUITE, name, num - len(misses), num,
            bound="at least", limit=1.0, min_cases=MIN_ANSWERS, note=where, misses=tuple(dict(m) for m in misses),
        )  # fmt: skip

    num_abstained = sum(item.first.abstained for item in asked)
    return [
        row("limits and next steps hold", limits),
        row("same question, same bytes", same),
        row("nothing is presented falsely", honest),
        share_row(
            SUITE, "quotes that verify from the files", num_quotes - num_bad_quotes, num_quotes,
            bound="at least", limit=1.0, min_cases=100, note=where, misses=tuple(verified),
        ),
        share_row(
            SUITE, "quotes altered by one character that are refused", num_altered - num_altered_passed, num_altered,
            bound="at least", limit=1.0, min_cases=100, note=where,
        ),
        share_row(SUITE, "answered", num - num_abstained, num, note=where),
        *_by_mode([item.first for item in asked]),
    ]  # fmt: skip


def shipped(record: AnswerRecord) -> str:
    """Return what a reader gets of an answer, without times."""
    keep = {"answer", "citations", "next_steps", "splits", "faithfulness", "abstained"}
    return record.model_dump_json(include=keep)


def alter_quotes(record: AnswerRecord) -> AnswerRecord:
    """Return the answer with one character in the middle of each quote replaced."""
    citations = []
    for citation in record.citations:
        middle = len(citation.quote) // 2
        other = "x" if citation.quote[middle] != "x" else "y"
        quote = citation.quote[:middle] + other + citation.quote[middle + 1 :]
        citations.append(citation.model_copy(update={"quote": quote}))
    return record.model_copy(update={"citations": tuple(citations)})


def _by_mode(records: Sequence[AnswerRecord]) -> list[Row]:
    rows = []
    for mode in MODES:
        own = [record for record in records if record.mode == mode and not record.abstained]
        scores = [record.faithfulness.score for record in own if record.faithfulness.score is not None]
        before = [record.faithfulness.score_before for record in own if record.faithfulness.score_before is not None]
        verifiers = ", ".join(sorted({record.faithfulness.verifier for record in own}))
        writers = ", ".join(sorted({record.writer for record in own}))
        note = f"written by {writers}, judged by {verifiers}"
        for name, values in (("shipped", scores), ("before removal", before)):
            value = sum(values) / len(values) if values else None
            rows.append(Row("faithfulness", f"{mode}, {name}", value, len(values), note=note))
    claims = [
        (claim.text, " ".join(citation.quote for citation in record.citations if citation.n in claim.citations))
        for record in records
        for claim in record.faithfulness.claims
    ]
    hedged = [(text, quote) for text, quote in claims if SOFT.search(quote)]
    kept = [
        {match.casefold() for match in SOFT.findall(quote)} <= {match.casefold() for match in SOFT.findall(text)}
        or any(text.casefold() in part.casefold() for part in (quote,))
        for text, quote in hedged
    ]
    rows.append(share_row("honesty", "hedges of quotes kept in claims", sum(kept), len(hedged)))
    return rows
