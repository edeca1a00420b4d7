"""Whether questions the corpus cannot answer get an abstention, and golden ones an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluation.answers.corpora import Asker
from evaluation.answers.gold_sets import read_rows
from evaluation.answers.rows import Bound, Row, share_row
from evaluation.honesty import HONESTY_SUITE, load_suite
from evaluation.quality import choose_golden

SUITE = "abstention"
MIN_RATE = 0.95
NUM_FOREIGN = 200
NEAR_SUITE = HONESTY_SUITE.with_name("unanswerable_v1.json")


def measure_abstention(asker: Asker, data: Path | None, limit: int = NUM_FOREIGN) -> list[Row]:
    """Return abstention on questions of another field and on ones no paper answers, and answers to golden cases.

    Of PubMedQA only the questions marked ``official_test`` are asked: the others fitted the threshold.
    """
    golden = choose_golden(asker.settings, asker.generation)
    rows = [_foreign_row(asker, data, limit)]
    if golden.fixture is None:
        note = golden.problem or golden.reason
        rows.append(Row(SUITE, "golden questions answered", None, 0, "at least", MIN_RATE, note=note))
    else:
        papers = asker.generation.papers.items()
        present = {paper_id for paper_id, paper in papers if not paper.is_retracted}  # those are never found
        cases = [case for case in golden.fixture.cases if present & set(case.expected_paper_ids)]
        asked = [case.query for case in spread(cases, limit)]
        rows.append(_answered_row(asker, asked, golden.fixture.description))
    invented = [case.question for case in load_suite().cases]
    rows.append(
        _abstained_row(
            asker, "invented subjects and half questions", invented, "any corpus", bound="at least", limit=1.0
        )
    )
    if golden.fixture is not None and asker.settings.gates.golden_path is None:
        near = [case.question for case in load_suite(NEAR_SUITE).cases]
        rows.append(_abstained_row(asker, "real subjects, next door to the sample corpus", near, NEAR_SUITE.name))
    if data is not None:
        asked = [row["question"] for row in read_rows(data / "claims" / "qasa_unanswerable" / "questions.jsonl")]
        rows.append(
            _abstained_row(
                asker, "qasa_unanswerable", spread(asked, limit), "about papers that are mostly not in the corpus"
            )
        )
    return rows


def spread(items: Sequence[Any], limit: int) -> list[Any]:
    """Return at most ``limit`` items, spread evenly over all."""
    if len(items) <= limit:
        return list(items)
    return [items[index * len(items) // limit] for index in range(limit)]


def _foreign_row(asker: Asker, data: Path | None, limit: int) -> Row:
    name = "questions of another field (PubMedQA)"
    if data is None:
        return Row(SUITE, name, None, 0, "at least", MIN_RATE, note="needs --data")
    asked = [
        str(row["text"])
        for row in read_rows(data / "beir" / "pubmedqa" / "queries.jsonl")
        if row["metadata"]["official_test"]
    ]
    where = f"official_test questions against {asker.generation.id}"
    return _abstained_row(
        asker, name, spread(asked, limit), where, bound="at least", limit=MIN_RATE, min_cases=min(limit, 100)
    )


def _abstained_row(
    asker: Asker,
    name: str,
    questions: Sequence[str],
    note: str,
    *,
    bound: Bound = "report",
    limit: float | None = None,
    min_cases: int = 1,
) -> Row:
    misses = []
    for question in questions:
        record = asker.ask(question)
        if not record.abstained:
            misses.append({"question": question, "quote": record.citations[0].quote if record.citations else ""})
    return share_row(
        SUITE, name, len(questions) - len(misses), len(questions),
        bound=bound, limit=limit, min_cases=min_cases, note=note, misses=tuple(misses),
    )  # fmt: skip


def _answered_row(asker: Asker, questions: Sequence[str], note: str) -> Row:
    misses = []
    for question in questions:
        record = asker.ask(question)
        if record.abstained:
            misses.append({"question": question, "reason": record.abstain_reason})
    return share_row(
        SUITE, "golden questions answered", len(questions) - len(misses), len(questions),
        bound="at least", limit=MIN_RATE, min_cases=20, note=note[:80], misses=tuple(misses),
    )  # fmt: skip
