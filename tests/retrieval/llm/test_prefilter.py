"""Papers picked from their cards by a model, driven through the real client."""

from __future__ import annotations

import pytest

from corpus_assets.model import Card
from retrieval.llm import prefilter
from retrieval.llm.prefilter import pick_papers
from retrieval.llm.replies import MalformedReplyError
from tests.retrieval.llm.scripted_model import fenced, make_model
from tests.retrieval.llm.scripted_server import scripted_server, tool_use

CARDS = [Card(f"paper-{n:02d}", f"Title {n:02d}", f"Begins {n:02d}. " + "x" * 400) for n in range(40)]


def picks(*pairs):
    return tool_use({"picks": [{"card": card, "fit": fit} for card, fit in pairs]})


def test_the_best_known_cards_are_taken_and_unknown_ids_counted():
    wanted = [(f"C{n}", n) for n in range(1, 31)]
    with scripted_server(picks(*wanted, ("C99", 100), ("paper-03", 100))) as script:
        found = pick_papers(make_model(script), ["Why?"], CARDS)
    assert len(found.paper_ids) == 17
    assert found.paper_ids[0] == "paper-29"  # C30, the best fit
    assert found.num_unknown == 2


def test_the_model_reads_titles_and_280_characters_of_each_summary():
    with scripted_server(picks(("C1", 50))) as script:
        pick_papers(make_model(script), ["Why?"], CARDS)
    shown = fenced(script.requests[0])
    title, summary = shown["C1"].split("\n")
    assert title == "Title 00"
    assert len(summary) == 280


def test_cards_are_batched_and_stay_the_same_from_question_to_question(monkeypatch):
    monkeypatch.setattr(prefilter, "BATCH_SIZE", 25)
    with scripted_server(picks(("C2", 50), ("C15", 80))) as script:
        model = make_model(script)
        found = pick_papers(model, ["Why?", "How?"], CARDS)
        pick_papers(model, ["Another question?"], list(reversed(CARDS)))
    assert found.num_calls == 2
    assert found.paper_ids == ("paper-14", "paper-39", "paper-01", "paper-26")
    systems = [request["system"][0]["text"] for request in script.requests]
    assert systems[:2] == systems[2:]  # the cached prefix
    assert "Another question?" not in systems[2]
    assert all(request["system"][0]["cache_control"] for request in script.requests)


def test_no_known_card_is_a_malformed_reply():
    with (
        scripted_server(picks(("X1", 90))) as script,
        pytest.raises(MalformedReplyError, match="named no paper of the 40"),
    ):
        pick_papers(make_model(script), ["Why?"], CARDS)
