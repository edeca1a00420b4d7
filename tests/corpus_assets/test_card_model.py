"""Cards written by a model behind the Messages wire format, played by a loopback server."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus_assets.build import IngestReport, ingest
from corpus_assets.model import Card
from corpus_assets.settings import CardSettings, EmbeddingSettings, LlmSettings, Settings
from corpus_assets.store.generation import open_published
from tests.retrieval.llm.scripted_server import Play, Script, error, scripted_server, text, tool_use

PAPER = """# Basalt as a home for lichen

## Abstract

Lichen cover on basalt increased by 12 mm in 40 plots over ten years. Growth was fastest on north-facing slopes.

## Results

The median growth rate was 1.2 mm per year in the wet plots, and no plot lost its cover.
"""
CARD = {
    "summary": "Forty plots of basalt were watched for a decade. Lichen cover grew by 12 mm. It may reach 99 mm soon.",
    "method": "Cover was measured in 40 plots.",
    "findings": ["The median growth rate was 1.2 mm per year.", "Growth was 7.5 times faster on slopes."],
    "limitations": [],
}


class Workshop:
    """A home and a folder of one paper, ingested against a script."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.base, self.monkeypatch = base, monkeypatch
        (base / "papers").mkdir()
        (base / "papers" / "lichen.md").write_text(PAPER)

    def ingest(self, *plays: Play, key: bool = True, **llm: float) -> tuple[IngestReport, Card, Script]:
        with scripted_server(*plays) as script:
            if key:
                self.monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            else:
                self.monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
            self.monkeypatch.setenv("ANTHROPIC_BASE_URL", script.url)
            settings = Settings(
                home=self.base / "home",
                embedding=EmbeddingSettings(model="hash"),
                llm=LlmSettings(timeout_seconds=5.0, max_retries=0).model_copy(update=llm),
            )
            report = ingest(settings, self.base / "papers")
        with open_published(self.base / "home") as generation:
            (card,) = generation.cards.values()
        return report, card, script


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    return Workshop(tmp_path, monkeypatch)


def test_the_model_writes_the_card_and_what_the_paper_does_not_hold_is_left_out(workshop: Workshop) -> None:
    report, card, script = workshop.ingest(tool_use(CARD))
    assert card.writer == LlmSettings().small_model and report.notes == ()
    assert card.summary == "Forty plots of basalt were watched for a decade. Lichen cover grew by 12 mm."
    assert card.findings == ("The median growth rate was 1.2 mm per year.",)
    (request,) = script.requests
    assert "Lichen cover on basalt increased" in str(request["messages"]) and request["model"] == card.writer
    assert request["system"][0]["cache_control"] == {"type": "ephemeral"}


def test_a_card_is_written_once_and_outlasts_an_ingest_without_a_key(workshop: Workshop) -> None:
    workshop.ingest(tool_use(CARD))
    _, card, script = workshop.ingest(tool_use(CARD))
    assert script.requests == [] and card.writer != "extractive"
    _, card, script = workshop.ingest(tool_use(CARD), key=False)
    assert script.requests == [] and card.writer != "extractive"


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (error(529, "overloaded_error"), "did not answer"),
        (text("I would rather not."), "not of the form"),
        (tool_use({"summary": "short"}), "not of the form"),
        (tool_use({**CARD, "summary": "Lichen cover grew by 88 mm on all of the slopes we saw."}), "numbers"),
    ],
)
def test_a_failed_card_is_extractive_named_and_tried_again(workshop: Workshop, play: Play, reason: str) -> None:
    report, card, _ = workshop.ingest(play)
    assert card.writer == "extractive" and "Lichen cover" in card.summary
    (note,) = report.notes
    assert reason in note and "1 summary card" in note
    report, card, script = workshop.ingest(tool_use(CARD))
    assert len(script.requests) == 1 and card.writer != "extractive" and report.notes == ()


def test_a_call_that_could_pass_the_budget_is_not_made(workshop: Workshop) -> None:
    report, card, script = workshop.ingest(tool_use(CARD), budget_usd_per_ingest=0.0001)
    assert script.requests == [] and card.writer == "extractive" and "budget_usd_per_ingest" in report.notes[0]


def test_cards_stay_extractive_when_the_settings_say_so(workshop: Workshop) -> None:
    workshop.monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    settings = Settings(
        home=workshop.base / "home",
        embedding=EmbeddingSettings(model="hash"),
        cards=CardSettings(writer="extractive"),
        llm=LlmSettings(max_retries=0),
    )
    assert ingest(settings, workshop.base / "papers").notes == ()
