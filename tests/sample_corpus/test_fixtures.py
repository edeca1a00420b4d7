import json
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from corpus_assets.pdf.reader import read_paper
from corpus_assets.settings import Settings
from evaluation.cases import DIFFICULTIES, QUERY_TYPES, lint_fixture, load_fixture, normalize_spaces
from evaluation.honesty import load_suite
from sample_corpus.generate import PAPERS_DIR

FIXTURES_DIR = Path(__file__).resolve().parents[2] / "evaluation" / "fixtures"
BENCH_PATH = FIXTURES_DIR / "document_evidence" / "bench_v1.json"
SCANNED = "her2_amplification_scan_2014.pdf"


@cache
def read_text(file: str) -> str:
    return normalize_spaces(read_paper(str(PAPERS_DIR / file), Settings().parse).text)


def load_sources() -> tuple[list[dict[str, object]], dict[str, str]]:
    cases = tomllib.loads((FIXTURES_DIR / "bench_v1_cases.toml").read_text(encoding="utf-8"))["cases"]
    papers = tomllib.loads((FIXTURES_DIR / "bench_v1_papers.toml").read_text(encoding="utf-8"))
    return cases, {key: entry["file"] for key, entry in papers.items()}


def test_bench_is_large_and_even_over_query_types() -> None:
    fixture = load_fixture(BENCH_PATH)
    assert len(fixture.cases) >= 66
    types = Counter(case.query_type for case in fixture.cases)
    assert all(types[name] >= 12 for name in QUERY_TYPES)
    difficulties = Counter(case.difficulty for case in fixture.cases)
    assert all(difficulties[name] >= 2 for name in DIFFICULTIES)
    assert {judgment.relevance for case in fixture.cases for judgment in case.judgments} == {0, 1, 2, 3}
    assert [str(finding) for finding in lint_fixture(fixture) if finding.severity == "ERROR"] == []


def test_bench_holds_the_cases_of_its_source() -> None:
    cases, _ = load_sources()
    fixture = load_fixture(BENCH_PATH)
    assert [(case.case_id, case.query) for case in fixture.cases] == [(case["id"], case["query"]) for case in cases]


def test_bench_needs_no_ocr() -> None:
    cases, files = load_sources()
    named = {label[0] for case in cases for label in case["judgments"]}  # type: ignore[attr-defined]
    assert SCANNED not in {files[key] for key in named}


def test_term_mismatch_queries_avoid_the_key_words_of_their_evidence() -> None:
    shared = []
    for case in load_fixture(BENCH_PATH).cases:
        if case.query_type == "term_mismatch":
            query = {word.strip(".,:?").lower() for word in case.query.split() if len(word) > 4}
            best = max(case.judgments, key=lambda judgment: judgment.relevance)
            words = {word.strip(".,:;()").lower() for word in best.quote.split()}
            if len(query & words) * 2 > len(query):
                shared.append(case.case_id)
    assert shared == []


@pytest.mark.slow
def test_every_anchor_quote_is_in_its_paper_as_the_reader_extracts_it() -> None:
    cases, files = load_sources()
    lost = [
        (case["id"], quote)
        for case in cases
        for key, _, quote in case["judgments"]  # type: ignore[attr-defined]
        if normalize_spaces(quote) not in read_text(files[key])
    ]
    assert lost == []


@pytest.mark.slow
def test_both_sides_of_every_split_are_in_their_papers() -> None:
    splits = json.loads((FIXTURES_DIR / "splits_v1.json").read_text(encoding="utf-8"))["cases"]
    assert {case["kind"] for case in splits} == {"split", "consensus", "different_question"}
    assert len(splits) >= 10
    sides = [(case["case_id"], case[side]) for case in splits for side in ("a", "b")]
    assert [name for name, side in sides if side["quote"] not in read_text(side["file"])] == []


def test_unanswerable_questions_load_as_an_honesty_suite() -> None:
    suite = load_suite(FIXTURES_DIR / "unanswerable_v1.json")
    assert len(suite.cases) == 10
