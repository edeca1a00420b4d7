"""Answers to small papers that once led astray: lost signs, commas, exponents, reference marks, negations, retellings.

Each paper is made here, ingested by the program with the default steps, asked by it, and its quotes are checked again
from the file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest

from corpus_assets.model import Chunk
from corpus_assets.store.generation import open_published
from dagster_project.cli.main import main
from retrieval.answer import Citation
from retrieval.citations import check_quote, find_quote
from retrieval.claims.check import check_claim
from tests.corpus_assets.pdf_factory import FILLER, Pdf, make_pdf
from tests.integration.cli_corpus import InProcess

pytestmark = pytest.mark.slow

FINDINGS = "Compound V is not linked to kidney stones in adults. The follow-up lasted 27 weeks."
METALS = "Nickel had no significant effect on germination (p = 0.37). Cobalt significantly increased germination."
RETOLD = "Otieno et al. (2009) reported that drug W halves wound infection. We could not reproduce this in 75 patients."


def running_text() -> bytes:
    """Twelve pages under a header with a changing number; one sentence runs over from page 4 to page 5."""
    pdf = Pdf()
    for number in range(12):
        pdf.add_page()
        pdf.write(f"{210 + number} | Proceedings of Invented Metallurgy 9 (2019)", y=38, size=8)
        pdf.write(str(210 + number), x=290, y=818, size=8)
        lines = [f"Run {number} of the furnace was kept at {500 + number} kelvin.", *FILLER[: 1 + number % 4]]
        if number == 3:
            lines = [*lines, "In the closed phase the median time to failure was"]
        if number == 4:
            lines = ["19 weeks in the coated arm and 8 weeks in controls.", *lines]
        pdf.write_lines(lines, y=80)
    return pdf.to_bytes()


def lost_signs() -> bytes:
    """A font without the minus and the micro sign: both arrive as a character that cannot be read."""
    pdf = Pdf().add_page()
    pdf.page.insert_font(fontname="F0", fontbuffer=pdf.pymupdf.Font("cjk").buffer)
    return pdf.write("The gradient was \u22120.62 (SE 0.08) at 7 \u00b5g.", font="F0").to_bytes()


def raised(*lines: list[tuple[str, float, float]]) -> bytes:
    pdf = Pdf().add_page()
    for number, line in enumerate(lines):
        pdf.write_run(line, y=100 + 30 * number)
    return pdf.to_bytes()


PAPERS = {
    "lost-sign": lost_signs,
    "commas": lambda: make_pdf(
        ["Die Dosis betrug 0,04 mg. We enrolled 2,350 patients. The pressure was 23 456,7 Pa."]
    ),
    "exponents": lambda: raised(
        [("The link between dose and rust held (p = 6.1 x 10", 11, 0), ("-39", 6, 4), (") in 640 samples.", 11, 0)],
        [("The lamp emits 10", 11, 0), ("39", 6, 4), (" photons per second.", 11, 0)],
    ),
    "marks": lambda: raised(
        [("Drug V improved mobility", 11, 0), ("14,15", 6, 4), (" in 30 patients.", 11, 0)],
    ),
    "running": running_text,
    "denied": lambda: make_pdf([FINDINGS]),
    "metals": lambda: make_pdf([METALS]),
    "retold": lambda: make_pdf([RETOLD]),
}  # fmt: skip


@dataclass
class Case:
    """A published corpus of one paper."""

    run: InProcess
    home: object

    def ask(self, question: str, *more: str):
        outcome = self.run("ask", question, "--no-cache", "--json", *more)
        assert outcome.code == 0, outcome.err
        return outcome.document

    @property
    def chunks(self) -> list[Chunk]:
        with open_published(self.home) as generation:
            return [chunk for paper_id in generation.papers for chunk in generation.chunks_of(paper_id)]

    @property
    def text(self) -> str:
        with open_published(self.home) as generation:
            return "\n\n".join(generation.text(paper_id) for paper_id in generation.papers)

    def verify(self, answer) -> bool:
        path = self.home / "answer.json"
        path.write_text(json.dumps(answer))
        return self.run("verify", str(path)).code == 0


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a way to get a paper's home; each is ingested once."""
    made = {}

    def build(name: str):
        if name not in made:
            base = tmp_path_factory.mktemp(name)
            (base / "papers").mkdir()
            (base / "papers" / f"{name}.pdf").write_bytes(PAPERS[name]())
            arguments = ["ingest", str(base / "papers"), "--embedder", "hash", "--home", str(base / "home")]
            assert main(arguments) == 0
            made[name] = base / "home"
        return made[name]

    return build


@pytest.fixture
def case(built, capsys):
    def get(name: str) -> Case:
        home = built(name)
        return Case(InProcess(home, capsys), home)

    return get


def shown(answer) -> str:
    """Return an answer's first section without its heading."""
    return answer["answer"].split("\n## ")[0].removeprefix("## Answer").strip()


def test_b05_a_value_whose_sign_was_lost_is_never_stated(case):
    paper = case("lost-sign")
    assert "\x00" not in paper.text
    (listed,) = paper.run("papers", "list", "--json").document
    details = paper.run("papers", "show", listed["paper_id"], "--json").document
    assert any("glyph_loss" in page["flags"] for page in details["pages"])
    for question in ("What was the gradient?", "What was the gradient at 7 µg?"):
        answer = paper.ask(question)
        assert not re.search(r"(?<![−\-])0\.62", answer["answer"]) and "7 g" not in answer["answer"]
        assert answer["abstained"] and "could not be read" in answer["answer"]


@pytest.mark.parametrize(
    ("claim", "is_supported"),
    [("0.04 mg", True), ("2350 patients", True), ("23 456.7 Pa", True), ("4 mg", False), ("2.35 patients", False)],
)
def test_b07_a_decimal_comma_is_no_thousands_mark(case, claim, is_supported):
    assert (check_claim(claim, case("commas").text).verdict == "supported") is is_supported


def test_b08_an_exponent_keeps_its_rise(case):
    paper = case("exponents")
    assert "1039" not in paper.text
    assert check_claim("p = 6.1e-39", paper.text).verdict == "supported"
    assert check_claim("1039 photons", paper.text).verdict != "supported"
    assert check_claim("p = 6.1 × 1039", paper.text).verdict != "supported"
    for question in ("How strong was the link between dose and rust?", "How many photons does the lamp emit?"):
        answer = paper.ask(question)
        assert "1039" not in answer["answer"]
        assert answer["abstained"] or paper.verify(answer)
    assert "10³⁹ photons" in paper.ask("How many photons does the lamp emit?")["answer"]


def test_b10_reference_marks_are_neither_words_nor_data(case):
    paper = case("marks")
    hits = paper.run("search", "improved mobility", "--json").document["hits"]
    assert "improved mobility" in hits[0]["quote"]
    assert check_claim("14 patients improved", paper.text).verdict != "supported"
    assert check_claim("30 patients", paper.text).verdict == "supported"
    answer = paper.ask("Did drug V improve mobility?")
    assert "Drug V improved mobility in 30 patients." in answer["answer"] and paper.verify(answer)


def test_b19_a_quote_over_a_page_break_verifies_and_headers_are_no_text(case):
    paper = case("running")
    answer = paper.ask("What was the median time to failure in the coated arm?")
    assert "19 weeks in the coated arm" in answer["answer"] and paper.verify(answer)
    (cited,) = [c for c in answer["citations"] if "19 weeks" in c["quote"]]
    assert cited["pages"] in ("4-5", "5")
    for citation in answer["citations"]:
        assert "Invented Metallurgy" not in citation["quote"] and not re.search(r"\b21\d\b", citation["quote"])
    hits = paper.run("search", "Proceedings of Invented Metallurgy", "-k", "12", "--json").document["hits"]
    assert sum("Invented Metallurgy" in hit["text"] for hit in hits) <= 1


def test_b20_a_quote_cannot_swallow_a_negation(case):
    paper = case("denied")
    text = paper.text
    whole = paper.ask("Is compound V linked to kidney stones?")["citations"][0]
    cut = "linked to kidney stones in adults"
    start = text.index(cut)
    for quote, at in (
        ("Compound V is ... linked to kidney stones", text.index("Compound V")),
        (cut, start),
        ("27 weeks ... Compound V", text.index("27 weeks")),
    ):
        forged = Citation.model_validate({**whole, "quote": quote, "char_start": at, "char_end": at + len(quote)})
        assert check_quote(text, forged)
    assert find_quote(text, "Compound V is ... linked to kidney stones") is None
    assert find_quote(text, "27 weeks ... Compound V") is None
    widened = text[slice(*find_quote(text, cut))]
    assert " not " in widened and check_claim(cut, widened).verdict != "supported"


@pytest.mark.parametrize(
    ("claim", "is_supported"),
    [
        ("Nickel significantly increased germination", False),
        ("Cobalt significantly increased germination", True),
        ("Cobalt had no significant effect", False),
    ],
)
def test_b22_polarity_belongs_to_its_subject(case, claim, is_supported):
    assert (check_claim(claim, case("metals").text).verdict == "supported") is is_supported


def test_b23_what_others_reported_is_not_the_papers_finding(case):
    paper = case("retold")
    answer = paper.ask("Does drug W halve wound infection?")
    assert "could not reproduce this in 75 patients" in answer["answer"] and paper.verify(answer)
    for citation in answer["citations"]:
        assert citation["reported_by_others"] or "halves" not in citation["quote"]
    before = shown(answer).split("Otieno")[0]
    assert "halve" not in before and not re.match(r"(?i)yes\b", shown(answer))


@pytest.mark.parametrize("question", ["What about its side effects?", "no", "And in children?"])
def test_b43_half_a_question_is_asked_back_and_never_cached(case, question):
    paper = case("metals")
    paper.run("ask", "What increased germination?", "--json")
    for _ in range(2):
        answer = paper.run("ask", question, "--json").document
        assert answer["abstained"] and answer["citations"] == [] and not answer["cached"]
        assert answer["next_steps"]


@pytest.mark.parametrize("mode", ["brief", "standard", "detailed"])
def test_b44_a_false_premise_is_neither_confirmed_nor_accepted(case, mode):
    paper = case("denied")
    quotes = set()
    for question in (
        "Is compound V linked to kidney stones?",
        "Is compound V not linked to kidney stones?",
        "Why does compound V cause kidney stones?",
    ):
        answer = paper.ask(question, "--mode", mode)
        quotes.add(answer["citations"][0]["quote"])
        assert not re.match(r"(?i)(?:yes|no)\b", shown(answer))
        assert not re.search(r"(?i)\bcause[sd]? kidney stones", shown(answer))
    assert quotes == {"Compound V is not linked to kidney stones in adults."}
    assert "Whether what the question assumes is so" in shown(answer)
