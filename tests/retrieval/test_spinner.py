"""Ideas that join papers: which pairs are looked at, what the passages must bear out, what a model may add."""

from __future__ import annotations

import pytest

from corpus_assets.model import Card, ClusterMap
from retrieval.llm.spinning import SpunIdea
from retrieval.spinner.ideas import ideas_markdown, load_ideas, save_ideas, spin_ideas
from tests.retrieval.fakes import FakeGeneration, paper

MOSS = "Extracts of moss raised the activity of enzyme MPK6 in 40 barley seedlings."
FROST = "Enzyme MPK6 stayed active in wheat leaves after four nights of frost."
CALM = "Extracts of moss did not raise the activity of enzyme MPK6 in 40 barley seedlings."
OPEN = "Whether seedlings tolerate prolonged drought after inoculation was beyond this small cohort."
DROUGHT = "Inoculation let maize tolerate prolonged drought through a second dry season."


class CardedGeneration(FakeGeneration):
    """A generation in memory with cards and clusters of the test's own."""

    def __init__(self, papers, cards, clusters) -> None:
        super().__init__(papers)
        self.cards = {card.paper_id: card for card in cards}
        self.clusters = ClusterMap(clusters, {0: "moss", 1: "frost"}, 0.4, 0.5, 2)

    def chunks_of(self, paper_id):
        return [chunk for chunk in self.all_chunks() if chunk.paper_id == paper_id]


def generation(first=MOSS, second=FROST, *, cards=(MOSS, FROST), clusters=(0, 1), **more):
    papers = [paper("a", first, title="Moss and barley", **more), paper("b", second, title="Wheat in frost")]
    made = [
        Card("a", "Moss and barley", "", findings=(cards[0],)),
        Card("b", "Wheat in frost", "", findings=(cards[1],)),
    ]
    return CardedGeneration(papers, made, dict(zip("ab", clusters, strict=True)))


class Scripted:
    """A model that answers every request with one reply and keeps what it was asked."""

    name = "scripted"

    def __init__(self, idea: str, test: str = "Measure both in one greenhouse.") -> None:
        self.reply, self.requests = SpunIdea(idea=idea, test=test), []

    def complete_structured(self, **request):
        self.requests.append(request)
        return self.reply


def test_an_idea_stands_on_a_passage_of_either_paper():
    corpus = generation()
    report = spin_ideas(corpus)
    (idea,) = report.ideas
    assert idea.bond == "entity" and idea.shared == ("MPK6",) and idea.label == "Hypothesis"
    assert [premise.quote for premise in idea.premises] == [MOSS, FROST]
    for premise in idea.premises:
        assert corpus.text(premise.paper_id)[premise.char_start : premise.char_end] == premise.quote
        assert premise.doc_sha256 == corpus.papers[premise.paper_id].doc_sha256
    assert idea.clusters == ("moss", "frost") and report.dropped == ()
    assert "40" not in idea.text + idea.test


def test_papers_of_one_cluster_are_not_joined():
    assert spin_ideas(generation(clusters=(0, 0))).num_pairs == 0


def test_a_card_that_says_more_than_the_paper_makes_no_idea():
    report = spin_ideas(generation(cards=(MOSS, "Enzyme MPK6 cures frost damage in wheat leaves entirely.")))
    assert report.ideas == () and "no passage of b" in report.dropped[0].reason


def test_a_disagreement_is_no_combination():
    report = spin_ideas(generation(MOSS, CALM, cards=(MOSS, CALM)))
    assert report.ideas == () and "disagree" in report.dropped[0].reason


def test_a_retracted_paper_joins_nothing():
    assert spin_ideas(generation(retraction="retraction")).num_pairs == 0


def test_what_others_found_is_not_joined():
    told = "Okoye et al. (2012) reported that enzyme MPK6 was active in wheat leaves after frost."
    assert spin_ideas(generation(MOSS, told, cards=(MOSS, told))).ideas == ()


def test_a_gap_of_one_paper_meets_a_finding_of_another():
    papers = [paper("a", OPEN, title="Inoculated seedlings"), paper("b", DROUGHT, title="Maize in the dry years")]
    cards = [
        Card("a", "Inoculated seedlings", "", limitations=(OPEN,)),
        Card("b", "Maize in the dry years", "", findings=(DROUGHT,)),
    ]
    (idea,) = spin_ideas(CardedGeneration(papers, cards, {"a": 0, "b": 1})).ideas
    assert idea.bond == "gap" and "drought" in idea.text
    assert [premise.quote for premise in idea.premises] == [OPEN, DROUGHT]


def test_a_model_words_the_idea_and_sees_the_passages_only():
    model = Scripted("Moss extracts might keep MPK6 active in wheat leaves during frost.")
    report = spin_ideas(generation(), model=model)
    assert report.ideas[0].text.startswith("Moss extracts might") and report.writer == "scripted"
    prompt = str(model.requests[0]["messages"])
    assert MOSS in prompt and FROST in prompt


@pytest.mark.parametrize(
    ("idea", "reason"),
    [
        ("Moss extracts might raise MPK6 by 35 percent in frost.", "35"),
        ("Moss extracts might act through receptor FLS2 in frost.", "FLS2"),
        ("Moss extracts keep enzyme MPK6 active in wheat leaves after frost.", "guess"),
        ("Moss extracts might help, see https://evil.example/pay for more.", "link"),
    ],
)
def test_a_model_that_goes_beyond_the_passages_is_not_shown(idea, reason):
    report = spin_ideas(generation(), model=Scripted(idea))
    assert report.ideas == () and reason in report.dropped[0].reason


def test_ideas_are_kept_by_generation_and_shown_escaped(tmp_path):
    odd = "Extracts of moss [x](http://e.example) raised the activity of enzyme MPK6 in barley."
    report = spin_ideas(generation(odd, FROST, cards=(odd, FROST)))
    save_ideas(tmp_path, report)
    assert load_ideas(tmp_path, report.generation) == report and load_ideas(tmp_path, "other") is None
    assert "](" not in ideas_markdown(report.ideas).replace("\\](", "")
