"""Extractive cards: the paper's own sentences, its abstract first."""

from __future__ import annotations

from corpus_assets.cards import card_text, write_card
from corpus_assets.model import Page, PageState, PaperMetadata, ParsedPaper, Section, SectionKind
from corpus_assets.settings import CardSettings

ABSTRACT = (
    "Osimertinib resistance limits survival in lung cancer. We enrolled 90 patients with EGFR mutations at two sites. "
    "Median progression-free survival was 18.9 months in the osimertinib arm. MET amplification drove resistance in 17 "
    "percent of lung cancer patients. The weather was mild during the whole of the study period."
)
LIMITS = "Our cohort was small and came from two sites only. Tissue was not available for every patient."
REFERENCES = "1. Anon A. We found that this reference must never be on a card at all. J Imag. 2001."


def paper(*parts):
    text, sections = "", []
    for kind, body in parts:
        start = len(text)
        text += body
        sections.append(Section(kind.value.title(), kind, 1, start, len(text)))
        text += "\n\n"
    pages = (Page(1, PageState.TEXT, 0, len(text)),)
    return ParsedPaper(text, pages, tuple(sections), PaperMetadata(title="Resistance"), 1)


def test_a_card_quotes_the_paper_and_skips_its_references():
    parsed = paper(
        (SectionKind.ABSTRACT, ABSTRACT), (SectionKind.LIMITATIONS, LIMITS), (SectionKind.REFERENCES, REFERENCES)
    )
    card = write_card("p", parsed.metadata, parsed, CardSettings())
    for sentence in (*card.summary.split(". "), card.method, *card.findings, *card.limitations):
        assert sentence.rstrip(".") in parsed.text
    assert card.method == "We enrolled 90 patients with EGFR mutations at two sites."
    assert "Median progression-free survival was 18.9 months in the osimertinib arm." in card.findings
    assert card.limitations[0].startswith("Our cohort was small")
    assert "weather" not in card.summary
    assert "reference" not in card_text(card)
    assert card.writer == "extractive"


def test_a_poster_without_headings_still_gets_a_card():
    parsed = paper((SectionKind.FRONT, "Polar bees fly at four degrees and sleep through the polar night."))
    card = write_card("p", PaperMetadata(), parsed, CardSettings())
    assert card.summary.startswith("Polar bees")


def test_an_empty_paper_gives_an_empty_card():
    card = write_card("p", PaperMetadata(), paper((SectionKind.FRONT, "")), CardSettings())
    assert (card.summary, card.findings) == ("", ())
