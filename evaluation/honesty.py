"""Offline suites over whole answers: does the copilot abstain when it must, quote what is there, and stay faithful?

Answers are written without a language model, a cache or a trace in the home: the same each time, and free.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from corpus_assets.errors import BadInputError
from corpus_assets.gates import GateContext, GateResult
from evaluation.cases import Strict, describe_problem
from evaluation.labels import BoundCase

if TYPE_CHECKING:
    from corpus_assets.store.generation import Generation
    from retrieval.answer import AnswerRecord

HONESTY_SUITE = Path(__file__).parent / "fixtures" / "honesty_v1.json"
CITATION_MARK = re.compile(r"(?<!\\)\[(\d{1,3})\]")


class HonestyCase(Strict):
    case_id: str = Field(min_length=1, description="Unique within the suite.")
    question: str = Field(min_length=1, description="As a person would type it.")
    kind: Literal["unanswerable", "unclear"] = Field(description="Why the honest answer is to abstain.")


class HonestySuite(Strict):
    version: int = Field(ge=1, description="Version of the suite.")
    description: str = Field(min_length=1, description="What the suite is about.")
    cases: list[HonestyCase] = Field(min_length=1, description="The questions.")


@dataclass(frozen=True)
class AskedCase:
    """A question and the answer it got."""

    case_id: str
    question: str
    answer: AnswerRecord


def load_suite(path: Path = HONESTY_SUITE) -> HonestySuite:
    """Read the honesty suite. Raises BadInputError naming the case and the field."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return HonestySuite.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(describe_problem(raw, dict(item)) for item in error.errors())
        raise BadInputError(f"Honesty suite {path}: {problems}.") from error
    except (OSError, ValueError) as error:
        raise BadInputError(f"Honesty suite {path} cannot be read: {error}.") from error


class OfflineAsker:
    """Answers questions on one candidate without language model, cache or trace; models are loaded once."""

    def __init__(self, context: GateContext) -> None:
        from retrieval.copilot import make_context

        llm = context.settings.llm.model_copy(update={"enabled": "off"})
        retrieval = context.settings.retrieval
        if context.candidate.manifest.embedder.name == "hash" and retrieval.reranker == "auto":
            # The deterministic tier uses no model at all, whatever happens to be installed.
            retrieval = retrieval.model_copy(update={"reranker": "lexical"})
        settings = context.settings.model_copy(update={"llm": llm, "retrieval": retrieval, "home": context.home})
        self._context = make_context(settings, context.candidate, use_cache=False)

    def ask(self, question: str) -> AnswerRecord:
        """Return the answer to one question."""
        from retrieval.copilot import finish, start
        from retrieval.pipeline import run_stages

        return finish(run_stages(start(question), self._context), self._context, save=False)


def ask_cases(asker: OfflineAsker, cases: list[BoundCase], num: int) -> list[AskedCase]:
    """Ask ``num`` golden questions in full, spread over the set."""
    step = max(1, len(cases) // num)
    picked = [item.case for item in cases[::step]][:num]
    return [AskedCase(case.case_id, case.query, asker.ask(case.query)) for case in picked]


def find_dishonesty(answer: AnswerRecord, generation: Generation) -> list[str]:
    """Return what is untrue in how an answer presents itself: quotes, citation numbers, claims without support."""
    problems: list[str] = []
    numbers = {citation.n for citation in answer.citations}
    for citation in answer.citations:
        record = generation.papers.get(citation.paper_id)
        if record is None or not record.is_served:
            problems.append(f"[{citation.n}] cites {citation.paper_id}, which is not in the corpus")
            continue
        text = generation.text(citation.paper_id)[citation.char_start : citation.char_end]
        if text != citation.quote:
            problems.append(f"[{citation.n}] is not what {citation.paper_id} says there: {citation.quote[:60]!r}")
        if record.doc_sha256 != citation.doc_sha256:
            problems.append(f"[{citation.n}] names another version of the file of {citation.paper_id}")
    unknown = sorted({int(mark) for mark in CITATION_MARK.findall(answer.answer)} - numbers)
    problems += [f"[{number}] stands in the answer, but there is no such citation" for number in unknown]
    problems += [
        f"a claim its own check calls {claim.verdict} was kept: {claim.text[:60]!r}"
        for claim in answer.faithfulness.claims
        if claim.verdict in ("contradicted", "unsupported")
    ]
    if answer.abstained and answer.citations:
        problems.append("it abstains and cites all the same")
    if not answer.abstained and not answer.citations:
        problems.append("it answers without a single citation")
    return problems


def check_honesty(context: GateContext, asker: OfflineAsker, asked: list[AskedCase]) -> GateResult:
    """Ask what cannot be answered, and look through the answers to golden questions: is anything presented falsely?"""
    floor = context.settings.gates.honesty_floor
    rows: list[dict[str, Any]] = []
    suite = load_suite()
    for case in suite.cases:
        answer = asker.ask(case.question)
        problems = find_dishonesty(answer, context.candidate)
        if not answer.abstained:
            problems.insert(0, f"answered although it is {case.kind}")
        if problems:
            rows.append({"case": case.case_id, "query": case.question, "problem": "; ".join(problems[:3])})
    for item in asked:
        problems = find_dishonesty(item.answer, context.candidate)
        if problems:
            rows.append({"case": item.case_id, "query": item.question, "problem": "; ".join(problems[:3])})
    num = len(suite.cases) + len(asked)
    value = 1 - len(rows) / num
    detail = f"{num - len(rows)} of {num} answers are honest; floor {floor:g}"
    if rows:
        detail += f"; {rows[0]['query'][:60]!r}: {rows[0]['problem']}"
    return GateResult(
        "honesty", value, floor, passed=value >= floor, num_cases=num, detail=detail, extra={"worst_cases": rows[:10]}
    )


def check_faithfulness(context: GateContext, asked: list[AskedCase]) -> GateResult:
    """Take the mean faithfulness of the answers to golden questions; a set of nothing but abstentions fails."""
    name, floor = "faithfulness_floor", context.settings.gates.faithfulness_floor
    scored = [(item, item.answer.faithfulness.score) for item in asked if not item.answer.abstained]
    values = [(item, float(score)) for item, score in scored if score is not None]
    num_abstained = sum(item.answer.abstained for item in asked)
    if not values:
        return GateResult(
            name,
            0.0,
            floor,
            passed=False,
            num_cases=0,
            detail=f"none of {len(asked)} golden questions got an answer with claims ({num_abstained} abstained)",
        )
    value = sum(score for _, score in values) / len(values)
    worst = sorted(values, key=lambda pair: (pair[1], pair[0].case_id))[:5]
    verifiers = sorted({item.answer.faithfulness.verifier for item, _ in values})
    return GateResult(
        name,
        value,
        floor,
        passed=value >= floor,
        num_cases=len(values),
        detail=f"mean faithfulness {value:.3f} over {len(values)} answers ({num_abstained} abstained), "
        f"judged by {', '.join(verifiers)}; floor {floor:g}",
        extra={
            "num_abstained": num_abstained,
            "worst_cases": [
                {"case": item.case_id, "query": item.question, "faithfulness": round(score, 4)} for item, score in worst
            ],
        },
    )
