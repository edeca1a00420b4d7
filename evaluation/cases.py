"""Judged cases: the fixture's schema, loading with precise errors, lint, and the golden-set hash."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from corpus_assets.errors import BadInputError
from corpus_assets.settings import fingerprint

QueryType = Literal["exact", "paraphrase", "term_mismatch", "paper_targeted", "cross_field"]
Difficulty = Literal["single_hop", "multi_hop", "comparison", "user_reported"]
QUERY_TYPES: tuple[str, ...] = get_args(QueryType)
DIFFICULTIES: tuple[str, ...] = get_args(Difficulty)

MIN_QUOTE_CHARS = 20  # a shorter anchor is rarely unique within a paper
SMALL_SET = 50  # fewer cases than this detect only large effects; reports say so


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StructuredCard(Strict):
    method: str = Field("", description="What was done, in a sentence.")
    findings: list[str] = Field(default_factory=list, description="What was found, one sentence each.")
    limitations: str = Field("", description="What the authors say it does not show.")


class FixturePaper(Strict):
    """A paper the cases speak of; it must be in the corpus for its labels to count."""

    paper_id: str = Field(min_length=1, pattern=r"^[a-z0-9.\-]+$", description="The corpus' id of the paper.")
    title: str = Field(min_length=1, description="The paper's title, for the person who reads the fixture.")
    abstract: str = Field("", description="The paper's abstract, for the same person.")
    structured_card: StructuredCard = Field(StructuredCard(), description="The paper in short.")


class Judgment(Strict):
    """One person's grade of one chunk for one query, anchored by a quote so that re-chunking cannot lose it."""

    paper_id: str = Field(min_length=1, description="The paper the chunk belongs to.")
    chunk_ref: str = Field(description="paper_id:section:index at the time of judging.")
    relevance: int = Field(ge=0, le=3, description="0 not relevant, 1 touches it, 2 helps, 3 answers it.")
    quote: str = Field(min_length=1, description="Exact words of the chunk; spacing aside. Finds the chunk again.")

    @model_validator(mode="after")
    def _reference_names_its_paper(self) -> Judgment:
        parts = self.chunk_ref.split(":")
        if len(parts) != 3 or not parts[2].isdigit():
            raise ValueError(f"chunk_ref {self.chunk_ref!r} is not of the form paper_id:section:index")
        if parts[0] != self.paper_id:
            raise ValueError(f"chunk_ref {self.chunk_ref!r} names another paper than paper_id {self.paper_id!r}")
        return self


class Case(Strict):
    """A query with its judgments."""

    case_id: str = Field(min_length=1, description="Unique within the fixture.")
    query: str = Field(min_length=1, description="As a person would type it.")
    query_type: QueryType = Field(description="How the query's words relate to the evidence's words.")
    difficulty: Difficulty = Field("single_hop", description="How much has to be put together to answer.")
    top_k: int = Field(10, ge=1, le=100, description="Depth at which this case's own hit rate and recall are taken.")
    judgments: list[Judgment] = Field(min_length=1, description="Graded evidence; at least one above 0.")
    expected_paper_ids: list[str] = Field(min_length=1, description="Papers that hold evidence (relevance above 0).")
    expected_chunk_refs: list[str] = Field(min_length=1, description="Chunks that hold evidence (relevance above 0).")
    note: str = Field("", description="Why the case is there, or who reported it.")

    @field_validator("query")
    @classmethod
    def _query_is_not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("query is blank")
        return value

    @model_validator(mode="after")
    def _expectations_follow_from_judgments(self) -> Case:
        refs = Counter(judgment.chunk_ref for judgment in self.judgments)
        twice = sorted(ref for ref, count in refs.items() if count > 1)
        if twice:
            raise ValueError(f"chunk_ref {twice[0]!r} is judged {refs[twice[0]]} times")
        relevant = [judgment for judgment in self.judgments if judgment.relevance > 0]
        if not relevant:
            raise ValueError("no judgment has a relevance above 0: the case could never score")
        chunk_refs = {judgment.chunk_ref for judgment in relevant}
        paper_ids = {judgment.paper_id for judgment in relevant}
        if set(self.expected_chunk_refs) != chunk_refs:
            differing = sorted(set(self.expected_chunk_refs) ^ chunk_refs)
            raise ValueError(f"expected_chunk_refs and the judgments above 0 differ in {differing}")
        if set(self.expected_paper_ids) != paper_ids:
            differing = sorted(set(self.expected_paper_ids) ^ paper_ids)
            raise ValueError(f"expected_paper_ids and the papers judged above 0 differ in {differing}")
        return self


class Fixture(Strict):
    """A golden set: papers and judged cases over them."""

    version: int = Field(ge=1, description="Version of the set; raise it when cases change.")
    description: str = Field(min_length=1, description="What the set covers and who judged it.")
    papers: list[FixturePaper] = Field(min_length=1, description="Every paper the judgments name.")
    cases: list[Case] = Field(min_length=1, description="The judged queries.")

    @model_validator(mode="after")
    def _names_agree(self) -> Fixture:
        paper_ids = Counter(paper.paper_id for paper in self.papers)
        case_ids = Counter(case.case_id for case in self.cases)
        for kind, counts in (("paper_id", paper_ids), ("case_id", case_ids)):
            twice = sorted(name for name, count in counts.items() if count > 1)
            if twice:
                raise ValueError(f"{kind} {twice[0]!r} appears {counts[twice[0]]} times")
        for case in self.cases:
            unknown = sorted({judgment.paper_id for judgment in case.judgments} - set(paper_ids))
            if unknown:
                raise ValueError(f"case {case.case_id!r}: judgments name papers not under papers: {unknown}")
        return self

    @property
    def golden_hash(self) -> str:
        """Return the digest of everything that can change a score; wording of notes and descriptions aside."""
        scored = [case.model_dump(mode="json", exclude={"note"}) for case in self.cases]
        return fingerprint(sorted(scored, key=lambda case: str(case["case_id"])))

    @property
    def judged_paper_ids(self) -> frozenset[str]:
        return frozenset(judgment.paper_id for case in self.cases for judgment in case.judgments)


@dataclass(frozen=True)
class LintFinding:
    """Something a person should look at. ``ERROR`` makes the set unusable, ``WARN`` makes it weaker."""

    severity: Literal["ERROR", "WARN"]
    where: str
    problem: str

    def __str__(self) -> str:
        return f"{self.severity} {self.where}: {self.problem}"


def parse_fixture(text: str, *, source: str) -> Fixture:
    """Return the fixture in ``text``; each error names the case and the field.

    Raises BadInputError listing every problem, one a line.
    """
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise BadInputError(f"Golden set {source} is not JSON: {error}.", hint="Fix the file or redraft it.") from error
    if not isinstance(raw, dict):
        raise BadInputError(f"Golden set {source} holds a {type(raw).__name__}, not an object with papers and cases.")
    try:
        return Fixture.model_validate(raw)
    except ValidationError as error:
        problems = "\n".join(f"  {describe_problem(raw, dict(item))}" for item in error.errors())
        raise BadInputError(
            f"Golden set {source} has {error.error_count()} problem(s):\n{problems}\n",
            hint="docs/golden_set.md explains each field.",
        ) from error


def load_fixture(path: Path) -> Fixture:
    """Read and validate a golden set. Raises BadInputError naming the file, the case and the field."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"Golden set {path} cannot be read: {error}.", hint="Check the path.") from error
    return parse_fixture(text, source=str(path))


def describe_problem(raw: dict[str, object], item: dict[str, object]) -> str:
    """Say where a validation error sits in words: the case's or paper's id, then the field."""
    location = item.get("loc")
    steps = list(location) if isinstance(location, tuple) else []
    message = str(item.get("msg", "")).removeprefix("Value error, ")
    if len(steps) >= 2 and steps[0] in ("cases", "papers") and isinstance(steps[1], int):
        kind, key = ("case", "case_id") if steps[0] == "cases" else ("paper", "paper_id")
        rows = raw.get(str(steps[0]))
        row = rows[steps[1]] if isinstance(rows, list) and steps[1] < len(rows) else None
        name = row.get(key) if isinstance(row, dict) else None
        where = f"{kind} {name!r}" if isinstance(name, str) and name else f"{kind} number {steps[1] + 1} (no {key})"
        steps = steps[2:]
    else:
        where = "fixture"
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    return f"{where}, {field}: {message}" if field else f"{where}: {message}"


def lint_fixture(fixture: Fixture, *, minimum_cases: int = SMALL_SET) -> list[LintFinding]:
    """Return what weakens a valid golden set: size, missing query types, short or repeated anchors, odd queries."""
    findings: list[LintFinding] = []
    if len(fixture.cases) < minimum_cases:
        findings.append(
            LintFinding(
                "WARN", "fixture", f"{len(fixture.cases)} cases; fewer than {minimum_cases} detect only large effects"
            )
        )
    types = Counter(case.query_type for case in fixture.cases)
    findings.extend(
        LintFinding("WARN", "fixture", f"no case of query type {name}") for name in QUERY_TYPES if name not in types
    )
    difficulties = Counter(case.difficulty for case in fixture.cases)
    findings.extend(
        LintFinding("WARN", "fixture", f"no case of difficulty {name}")
        for name in DIFFICULTIES
        if name not in difficulties
    )
    queries = Counter(" ".join(case.query.lower().split()) for case in fixture.cases)
    for case in fixture.cases:
        findings.extend(_lint_case(case))
        if queries[" ".join(case.query.lower().split())] > 1:
            findings.append(LintFinding("ERROR", f"case {case.case_id!r}", "the same query stands in another case"))
    unused = sorted({paper.paper_id for paper in fixture.papers} - fixture.judged_paper_ids)
    findings.extend(LintFinding("WARN", f"paper {name!r}", "no case judges it") for name in unused)
    return findings


def _lint_case(case: Case) -> list[LintFinding]:
    where = f"case {case.case_id!r}"
    findings = [
        LintFinding("WARN", where, f"quote of {judgment.chunk_ref} is under {MIN_QUOTE_CHARS} characters")
        for judgment in case.judgments
        if len(normalize_spaces(judgment.quote)) < MIN_QUOTE_CHARS
    ]
    quotes = Counter(normalize_spaces(judgment.quote) for judgment in case.judgments)
    if any(count > 1 for count in quotes.values()):
        findings.append(LintFinding("ERROR", where, "two judgments carry the same quote: they anchor one place"))
    num_relevant = sum(judgment.relevance > 0 for judgment in case.judgments)
    if case.top_k < num_relevant:
        findings.append(LintFinding("WARN", where, f"top_k {case.top_k} is below its {num_relevant} relevant chunks"))
    if case.difficulty == "comparison" and num_relevant < 2:
        findings.append(LintFinding("WARN", where, "a comparison with a single relevant chunk compares nothing"))
    if case.query_type == "exact" and not _shares_a_word(case.query, case.judgments):
        findings.append(LintFinding("WARN", where, "query type exact, but no word of the query is in a relevant quote"))
    return findings


def _shares_a_word(query: str, judgments: Sequence[Judgment]) -> bool:
    words = {word.strip(".,;:?!()\"'").lower() for word in query.split()}
    quoted = " ".join(judgment.quote.lower() for judgment in judgments if judgment.relevance > 0)
    return any(len(word) > 2 and word in quoted for word in words)


def normalize_spaces(text: str) -> str:
    """Return the text with each run of white space as one space."""
    return " ".join(text.split())
