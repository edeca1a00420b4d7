"""Fifty damaged files: every hole is found, none becomes a good paper with less in it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from corpus_assets.errors import ParseError
from corpus_assets.model import PageState, ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf, make_paper


def read(tmp_path: Path, data: bytes) -> ParsedPaper:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    return read_paper(str(path), ParseSettings(ocr="off"))


@pytest.mark.parametrize("seed", range(20))
def test_a_file_cut_anywhere_is_refused_as_incomplete(tmp_path, seed):
    whole = make_paper(2 + seed % 5)
    end = whole.rindex(b"startxref")
    with pytest.raises(ParseError, match="incomplete"):
        read(tmp_path, whole[: random.Random(seed).randint(100, end)])


@pytest.mark.parametrize("seed", range(10))
def test_pages_lost_from_the_page_tree_are_accounted_for(tmp_path, seed):
    num_pages, num_lost = 4 + seed % 4, 1 + seed % 3
    data = make_paper(num_pages)
    kids = re.search(rb"/Kids\s*\[([^\]]*)\]", data)
    assert kids is not None
    refs = re.findall(rb"\d+ 0 R", kids[1])
    kept = b" ".join(refs[:-num_lost])
    damaged = data[: kids.start(1)] + kept.ljust(len(kids[1])) + data[kids.end(1) :]
    paper = read(tmp_path, damaged)
    assert len(paper.pages) == paper.num_pages_expected == num_pages
    states = [page.state for page in paper.pages]
    assert states == [PageState.TEXT] * (num_pages - num_lost) + [PageState.UNREADABLE] * num_lost
    assert all(page.reason for page in paper.pages if page.state is PageState.UNREADABLE)


@pytest.mark.parametrize("seed", range(10))
def test_a_page_that_lost_its_content_is_blank_not_text(tmp_path, seed):
    pdf = Pdf()
    num_pages, hole = 5, 1 + seed % 3
    for number in range(num_pages):
        pdf.add_page().write_lines(FILLER[seed % 3 :])
        if number == hole:
            pdf.document.update_stream(pdf.page.get_contents()[-1], b" ")
            for xref in pdf.page.get_contents()[:-1]:
                pdf.document.update_stream(xref, b" ")
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state is PageState.BLANK for page in paper.pages] == [n == hole for n in range(num_pages)]
    assert paper.pages[hole].num_chars == 0


@pytest.mark.parametrize("seed", range(10))
def test_a_page_whose_fonts_lie_about_their_letters_is_not_text(tmp_path, seed):
    shift, hole = 2 + 2 * seed, seed % 4
    garbled = [
        "".join(chr((ord(c.lower()) - 97 + shift) % 26 + 97) if c.isalpha() else c for c in line) for line in FILLER
    ]
    pdf = Pdf()
    for number in range(4):
        pdf.add_page().write_lines(garbled if number == hole else FILLER)
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state is PageState.UNREADABLE for page in paper.pages] == [n == hole for n in range(4)]
    assert "garbled" in paper.pages[hole].reason
    assert garbled[0] not in paper.text
