"""Golden sets are validated with errors that name the case and the field."""

import json

import pytest

from corpus_assets.errors import BadInputError
from evaluation.cases import Fixture, lint_fixture, load_fixture, parse_fixture
from tests.evaluation.fakes import make_case, make_fixture


def parse(raw: object) -> Fixture:
    return parse_fixture(json.dumps(raw), source="set.json")


def test_a_valid_set_loads_and_has_a_stable_hash():
    fixture = parse(make_fixture(make_case("a"), make_case("b")))
    reordered = parse(make_fixture(make_case("b"), make_case("a", note="asked by a reader")))
    assert len(fixture.cases) == 2
    assert fixture.golden_hash == reordered.golden_hash
    assert fixture.golden_hash != parse(make_fixture(make_case("a"))).golden_hash


def change_judgment(**changes: object) -> dict[str, object]:
    case = make_case()
    case["judgments"] = [{**case["judgments"][0], **changes}]
    return case


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (make_case(query_type="exactly"), ["case 'c1', query_type", "exact"]),
        (change_judgment(relevance=4), ["case 'c1', judgments[0].relevance", "less than or equal to 3"]),
        (change_judgment(chunk_ref="p1:results"), ["case 'c1', judgments[0]", "paper_id:section:index"]),
        (change_judgment(chunk_ref="p2:results:0"), ["case 'c1', judgments[0]", "another paper"]),
        (change_judgment(relevance=0), ["case 'c1'", "could never score"]),
        (change_judgment(quote=""), ["case 'c1', judgments[0].quote"]),
        (make_case(expected_chunk_refs=["p1:results:7"]), ["case 'c1'", "expected_chunk_refs", "p1:results:7"]),
        (make_case(expected_paper_ids=["p9"]), ["case 'c1'", "expected_paper_ids", "p9"]),
        (make_case(colour="red"), ["case 'c1', colour", "Extra inputs"]),
        (make_case(query="  "), ["case 'c1', query", "blank"]),
        ({"query": "x"}, ["case number 1 (no case_id)"]),
    ],
)
def test_errors_name_case_and_field(case, words):
    with pytest.raises(BadInputError) as error:
        parse(make_fixture(case))
    for word in ["set.json", *words]:
        assert word in str(error.value)


def test_every_problem_is_listed_at_once():
    with pytest.raises(BadInputError) as error:
        parse(make_fixture(make_case("a", query_type="?"), make_case("b", top_k=0)))
    assert "case 'a', query_type" in str(error.value)
    assert "case 'b', top_k" in str(error.value)


def test_repeated_ids_and_unknown_papers_are_refused():
    with pytest.raises(BadInputError, match="case_id 'c1' appears 2 times"):
        parse(make_fixture(make_case(), make_case()))
    with pytest.raises(BadInputError, match="not under papers"):
        parse(make_fixture(papers=("p2",)))


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_an_unreadable_file_is_refused_by_name(tmp_path, text):
    path = tmp_path / "golden.json"
    path.write_text(text)
    with pytest.raises(BadInputError, match=r"golden\.json"):
        load_fixture(path)
    with pytest.raises(BadInputError, match=r"absent\.json"):
        load_fixture(tmp_path / "absent.json")


def test_lint_names_what_weakens_a_set():
    short = change_judgment(quote="gallium")
    same_query = make_case("c2", query=short["query"])
    findings = [str(item) for item in lint_fixture(parse(make_fixture(short, same_query, papers=("p1", "p2"))))]
    assert any("2 cases" in item for item in findings)
    assert any("no case of query type paraphrase" in item for item in findings)
    assert any("case 'c1'" in item and "under 20 characters" in item for item in findings)
    assert any(item.startswith("ERROR case 'c2'") and "same query" in item for item in findings)
    assert any("paper 'p2'" in item for item in findings)
