"""Pages of odd size and place: what is on them is read as on any other, or they are unreadable; never blank."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus_assets.model import PageState, ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf


def read(tmp_path: Path, pdf: Pdf) -> ParsedPaper:
    path = tmp_path / "odd.pdf"
    path.write_bytes(pdf.to_bytes())
    return read_paper(str(path), ParseSettings(ocr="off"))


def write_page(**keys: str) -> Pdf:
    pdf = Pdf().add_page(612, 792).write_lines(FILLER)
    for key, value in keys.items():
        pdf.document.xref_set_key(pdf.page.xref, key, value)
    return pdf


def move_content(pdf: Pdf, x: int, y: int) -> Pdf:
    content = pdf.page.read_contents()
    first, *others = pdf.page.get_contents()
    pdf.document.update_stream(first, b"q 1 0 0 1 %d %d cm\n%s\nQ" % (x, y, content))
    for xref in others:
        pdf.document.update_stream(xref, b" ")
    return pdf


@pytest.mark.parametrize("origin", [-50_000, 500, 30_000, 100_000])
def test_a_page_is_read_wherever_its_box_lies(tmp_path, origin):
    box = f"[{origin} {origin} {origin + 612} {origin + 792}]"
    paper = read(tmp_path, move_content(write_page(MediaBox=box), origin, origin))
    assert (paper.pages[0].state, paper.flags) == (PageState.TEXT, ())
    assert all(line in paper.text for line in FILLER[:2])


@pytest.mark.parametrize("turn", ["0", "90"])
def test_a_sheet_in_larger_units_has_its_text_on_the_page(tmp_path, turn):
    paper = read(tmp_path, write_page(UserUnit="20", Rotate=turn))
    assert (paper.pages[0].state, paper.flags) == (PageState.TEXT, ())
    assert not paper.pages[0].hidden_text
    assert all(line in paper.text for line in FILLER[:2])


def test_what_hides_beside_a_sheet_in_larger_units_is_found(tmp_path):
    pdf = write_page(UserUnit="20")
    pdf.write("Nobody sees this line beside the sheet.", x=900, y=400)
    paper = read(tmp_path, pdf)
    assert "Nobody sees" not in paper.text
    assert "Nobody sees" in paper.pages[0].hidden_text


def test_a_page_too_large_to_be_looked_at_is_not_called_blank(tmp_path):
    vast = write_page(MediaBox="[0 0 1000000000 1000000000]")
    page = read(tmp_path, vast).pages[0]
    assert page.state is PageState.UNREADABLE
    assert "too large" in page.reason
    empty = Pdf().add_page(612, 792)
    empty.document.xref_set_key(empty.page.xref, "MediaBox", "[0 0 1000000000 1000000000]")
    assert read(tmp_path, empty).pages[0].state is PageState.BLANK
