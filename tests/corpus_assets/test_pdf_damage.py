"""Damaged files: every hole is found, none becomes a good paper with less in it."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus_assets.errors import ParseError
from corpus_assets.model import PageState, PaperStatus, ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.pdf.worker import judge_pages
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


def number_lines(page: int, rng: random.Random) -> list[str]:
    """Return 30 lines of prose that no other page has."""
    return [f"Row {page}.{row}: {rng.choice(FILLER)}" for row in range(30)]


def write_pages(num_pages: int, rng: random.Random, *, font: bool = False) -> Pdf:
    """Return a PDF with prose on each page, with ``font`` in an embedded one."""
    pdf = Pdf()
    for number in range(num_pages):
        pdf.add_page()
        if font:
            pdf.page.insert_font(fontname="F0", fontbuffer=pdf.pymupdf.Font("helv").buffer)
        pdf.write_lines(number_lines(number, rng), font="F0" if font else "helv")
    return pdf


def content_xref(pdf: Pdf, page: int) -> int:
    """Join a page's content streams into one and return its number."""
    pdf.document[page].clean_contents()
    return int(pdf.document[page].get_contents()[0])


def drop_last_pages(rng: random.Random) -> tuple[bytes, set[int]]:
    """Take the last pages out of the page tree's list, whose count stays."""
    num_pages, num_lost = rng.randint(4, 7), rng.randint(1, 3)
    data = write_pages(num_pages, rng).to_bytes()
    kids = re.search(rb"/Kids\s*\[([^\]]*)\]", data)
    assert kids is not None
    kept = b" ".join(re.findall(rb"\d+ 0 R", kids[1])[:-num_lost])
    damaged = data[: kids.start(1)] + kept.ljust(len(kids[1])) + data[kids.end(1) :]
    return damaged, set(range(num_pages - num_lost + 1, num_pages + 1))


def blank_a_page(rng: random.Random) -> tuple[bytes, set[int]]:
    """Empty a middle page's content."""
    pdf, hole = write_pages(5, rng), rng.randint(1, 3)
    pdf.document.update_stream(content_xref(pdf, hole), b" ")
    return pdf.to_bytes(), {hole + 1}


def break_a_page(rng: random.Random) -> tuple[bytes, set[int]]:
    """Overwrite part of a middle page's packed content, as a bad sector or a bad copy does."""
    pdf, hole = write_pages(5, rng), rng.randint(1, 3)
    packed = zlib.compress(pdf.document.xref_stream(content_xref(pdf, hole)))
    start = rng.randint(2, len(packed) // 2)
    broken = packed[:start] + rng.randbytes(len(packed) // 3) + packed[start + len(packed) // 3 :]
    xref = content_xref(pdf, hole)
    pdf.document.update_stream(xref, broken, compress=False)
    pdf.document.xref_set_key(xref, "Filter", "/FlateDecode")
    return pdf.to_bytes(), {hole + 1}


def shift_letters(rng: random.Random) -> tuple[bytes, set[int]]:
    """Write one page in letters that stand for others."""
    shift, hole, pdf = rng.randint(2, 23), rng.randint(0, 3), Pdf()
    for number in range(4):
        lines = number_lines(number, rng)
        if number == hole:
            lines = ["".join(chr((ord(c) - 97 + shift) % 26 + 97) if c.islower() else c for c in s) for s in lines]
        pdf.add_page().write_lines(lines)
    return pdf.to_bytes(), {hole + 1}


def misname_glyphs(rng: random.Random) -> tuple[bytes, set[int]]:
    """Shift the table that says which letter each glyph of one page's font is; the page looks as it should."""
    hole, shift = rng.randint(0, 3), rng.randint(2, 9)
    pdf = write_pages(4, rng, font=True)
    document = pdf.document
    font = document.get_page_fonts(hole)[0][0]
    table = int(document.xref_get_key(font, "ToUnicode")[1].split()[0])
    letters = document.xref_stream(table)
    assert b"<0061>" in letters
    copies = []
    for xref in (font, table):
        copies.append(document.get_new_xref())
        document.update_object(copies[-1], document.xref_object(xref))
    document.update_stream(copies[1], letters.replace(b"<0061>", b"<%04x>" % (0x61 + shift)))
    document.xref_set_key(copies[0], "ToUnicode", f"{copies[1]} 0 R")
    document.xref_set_key(document[hole].xref, "Resources", f"<</Font<</F0 {copies[0]} 0 R>>>>")
    return pdf.to_bytes(), {hole + 1}


DAMAGES = (drop_last_pages, blank_a_page, break_a_page, shift_letters, misname_glyphs)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("damage", DAMAGES)
def test_fifty_damaged_files_each_show_which_pages_are_lost(
    tmp_path: Path, damage: Callable[[random.Random], tuple[bytes, set[int]]], seed: int
):
    data, lost = damage(random.Random(seed))
    paper = read(tmp_path, data)
    assert len(paper.pages) == paper.num_pages_expected
    found = {page.number for page in paper.pages if page.state is not PageState.TEXT or "damaged_content" in page.flags}
    assert found == lost
    status, reason = judge_pages(paper)
    if damage is not blank_a_page:  # an empty page is no fault in itself: the ledger has it as blank
        assert status is PaperStatus.PARTIAL
        assert str(min(lost)) in reason
    whole = set(range(1, len(paper.pages) + 1)) - lost
    for page in paper.pages:
        text = paper.text[page.char_start : page.char_end]
        if page.number in whole:
            assert f"Row {page.number - 1}.29" in text, "an undamaged page keeps all its text"
        elif page.state is not PageState.TEXT:
            assert text == ""


@pytest.mark.parametrize("font", [False, True])
def test_the_same_pages_undamaged_are_all_text(tmp_path, font):
    pdf = write_pages(5, random.Random(1), font=font)
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state for page in paper.pages] == [PageState.TEXT] * 5
    assert judge_pages(paper) == (PaperStatus.READY, "")


def test_a_page_of_nothing_but_borders_is_blank(tmp_path):
    pdf = write_pages(1, random.Random(0))
    pdf.add_page()
    pdf.page.draw_line((0, 5), (595, 5), width=0.3)
    pdf.page.draw_line((0, 800), (595, 800), width=0.3)
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.BLANK]


def test_two_pdfs_in_one_file_are_flagged(tmp_path):
    first, second = (make_paper(2, title=f"Paper number {n}") for n in (1, 2))
    assert "several_pdfs" in read(tmp_path, first + second).flags
    assert "several_pdfs" not in read(tmp_path, first).flags


def test_a_piece_of_a_pdf_is_not_called_text(tmp_path):
    data = make_paper(2)
    with pytest.raises(ParseError, match="a piece of a PDF without its beginning"):
        read(tmp_path, data[data.index(b"endobj") :])
