"""Labels follow their quotes through re-chunking, or fail by name."""

import dataclasses
import json

import pytest

from corpus_assets.errors import GateFailedError
from corpus_assets.model import PaperStatus
from evaluation.cases import parse_fixture
from evaluation.labels import bind_fixture, canonical_ranking, normalized_find
from tests.evaluation.fakes import MemoryCorpus, make_case, make_fixture

TEXT = "Gallium is a metal. The melting point of gallium is low. It melts in the hand. Nothing else does so."
QUOTE_START = TEXT.index("The melting")
QUOTE_END = TEXT.index(" It melts")


def bind(cuts, fixture=None, text=TEXT):
    raw = fixture or make_fixture()
    return bind_fixture(parse_fixture(json.dumps(raw), source="set"), MemoryCorpus({"p1": text}, {"p1": cuts}))


def test_a_label_keeps_its_chunk():
    bound = bind([(0, len(TEXT))])
    assert bound.cases[0].grades == {"p1:results:0": 3}
    assert bound.kinds == {"kept": 1, "moved": 0, "split": 0}


def test_a_label_moves_with_its_quote():
    bound = bind([(0, 19), (20, len(TEXT))])
    assert bound.cases[0].grades == {"p1:results:1": 3}
    assert bound.kinds["moved"] == 1


def test_white_space_does_not_matter():
    text = TEXT.replace("melting point", "melting\n   point")
    bound = bind([(0, 19), (20, len(text))], text=text)
    assert bound.cases[0].grades == {"p1:results:1": 3}


def test_an_overlapping_chunk_is_a_twin_and_counts_once():
    bound = bind([(0, QUOTE_END), (QUOTE_START, len(TEXT))])
    case = bound.cases[0]
    assert case.grades == {"p1:results:0": 3}
    assert case.twins == {"p1:results:1": "p1:results:0"}
    assert canonical_ranking(["p1:results:1", "x", "p1:results:0"], case.twins) == ["p1:results:0", "x"]
    assert canonical_ranking(["p1:results:0", "p1:results:1", "x"], case.twins) == [
        "p1:results:0",
        "p1:results:1",
        "x",
    ]


def test_a_quote_cut_in_two_goes_to_the_chunk_with_most_of_it():
    bound = bind([(0, QUOTE_START + 5), (QUOTE_START + 5, len(TEXT))])
    assert bound.cases[0].grades == {"p1:results:1": 3}
    assert bound.kinds["split"] == 1


def test_a_quote_that_is_gone_fails_by_name():
    bound = bind([(0, 25)], text="Gallium is a soft metal.")
    assert not bound.cases
    with pytest.raises(GateFailedError, match=r"case 'c1', p1:results:0: no chunk .* 'The melting point"):
        bound.require_complete()


def test_a_quote_in_a_dropped_chunk_fails_although_the_text_has_it():
    bound = bind([(0, 19)])
    assert [label.chunk_ref for label in bound.unbound] == ["p1:results:0"]


def test_a_paper_that_was_refused_fails_and_an_absent_one_is_left_out():
    fixture = parse_fixture(json.dumps(make_fixture()), source="set")
    corpus = MemoryCorpus({"p1": TEXT}, {"p1": []})
    corpus.papers["p1"] = dataclasses.replace(corpus.papers["p1"], status=PaperStatus.FAILED, reason="timed out")
    assert "failed: timed out" in str(bind_fixture(fixture, corpus).unbound[0])
    absent = bind_fixture(fixture, MemoryCorpus({}, {}))
    assert absent.left_out == ("c1",)
    assert not absent.unbound


def test_a_case_that_loses_one_of_two_papers_fails():
    second = {"paper_id": "p2", "chunk_ref": "p2:results:0", "relevance": 2, "quote": "Mercury melts lower still."}
    case = make_case()
    case["judgments"] = [*case["judgments"], second]
    case["expected_paper_ids"] = ["p1", "p2"]
    case["expected_chunk_refs"] = ["p1:results:0", "p2:results:0"]
    bound = bind([(0, len(TEXT))], make_fixture(case, papers=("p1", "p2")))
    assert "'p2' is not in the corpus" in str(bound.unbound[0])


def test_spans_are_found_across_white_space():
    assert normalized_find("a  b\n\nc d", "b c") == (3, 7)
    assert normalized_find("a b", "x") is None


def bind_renamed(*paper_ids, text=TEXT):
    """Bind a set judged on "melting-11111111" (an id made of title and content) to a corpus with other papers."""
    raw = json.dumps(make_fixture()).replace("p1", "melting-11111111")
    texts, cuts = dict.fromkeys(paper_ids, text), {name: [(0, len(text))] for name in paper_ids}
    return bind_fixture(parse_fixture(raw, source="set"), MemoryCorpus(texts, cuts))


def test_a_label_follows_an_edited_paper_whose_id_changed_with_its_text():
    bound = bind_renamed("melting-22222222")
    assert not bound.left_out
    assert bound.cases[0].grades == {"melting-22222222:results:0": 3}
    assert bound.kinds["moved"] == 1


def test_an_edited_paper_that_lost_the_quote_fails_by_name_and_is_not_left_out():
    bound = bind_renamed("melting-22222222", text="Gallium is a soft metal.")
    assert not bound.left_out
    with pytest.raises(GateFailedError, match="no chunk of the paper holds"):
        bound.require_complete()


def test_a_label_is_not_guessed_between_two_papers_of_one_title_nor_given_to_another():
    assert bind_renamed("melting-22222222", "melting-33333333").left_out == ("c1",)
    assert bind_renamed("boiling-22222222").left_out == ("c1",)
    assert bind_renamed("melting").left_out == ("c1",)
