"""Files as odd tools and hands leave them: no page is lost without a word, and no garbage is text."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from corpus_assets.model import PageState, PaperStatus, ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.pdf.worker import judge_pages
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf, make_pdf

LINES = [f"Row {number}: {FILLER[number % len(FILLER)]}" for number in range(24)]


def read(tmp_path: Path, data: bytes) -> ParsedPaper:
    path = tmp_path / "odd.pdf"
    path.write_bytes(data)
    return read_paper(str(path), ParseSettings(ocr="off"))


def append(pdf: Pdf, content: bytes) -> bytes:
    xref = pdf.document.get_new_xref()
    pdf.document.update_object(xref, "<<>>")
    pdf.document.update_stream(xref, content)
    streams = " ".join(f"{number} 0 R" for number in [*pdf.page.get_contents(), xref])
    pdf.document.xref_set_key(pdf.page.xref, "Contents", f"[{streams}]")
    return pdf.to_bytes()


def test_a_page_the_tree_names_but_the_file_lacks_is_not_blank(tmp_path):
    data = make_pdf(LINES, LINES)
    gone = re.sub(rb"(/Kids ?\[\d+ 0 R )\d\d( 0 R\])", rb"\g<1>98\2", data)
    assert gone != data and len(gone) == len(data)
    paper = read(tmp_path, gone)
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.UNREADABLE]
    assert judge_pages(paper) == (
        PaperStatus.PARTIAL,
        "unreadable: page 2 (named by the page tree but not in the file)",
    )


def test_attached_files_are_named(tmp_path):
    pdf = Pdf().add_page().write_lines(LINES)
    assert read(tmp_path, pdf.to_bytes()).flags == ()
    pdf.document.embfile_add("paper.pdf", make_pdf(LINES))
    assert read(tmp_path, pdf.to_bytes()).flags == ("attached_files_not_read",)


def test_text_under_an_opaque_note_is_hidden_and_under_a_marker_is_not(tmp_path):
    pdf = Pdf().add_page().write_lines(LINES)
    box = pdf.pymupdf.Rect(60, 70, 540, 97)
    pdf.page.add_highlight_annot(box)
    paper = read(tmp_path, pdf.to_bytes())
    assert LINES[0] in paper.text and not paper.pages[0].hidden_text
    note = pdf.page.add_rect_annot(box)
    note.set_colors(stroke=(0, 0, 0), fill=(0, 0, 0))
    note.update()
    paper = read(tmp_path, pdf.to_bytes())
    assert LINES[0] not in paper.text and LINES[0] in paper.pages[0].hidden_text
    assert LINES[5] in paper.text


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_letters_drawn_one_by_one_are_text_or_said_to_be_none(tmp_path, is_shuffled):
    pdf = Pdf().add_page().write("x", y=20)
    letters = []
    for row, line in enumerate(LINES):
        x = 72.0
        for letter in line:
            letters.append(b"1 0 0 1 %.2f %d Tm <%02x> Tj " % (x, 760 - 14 * row, ord(letter)))
            x += pdf.pymupdf.get_text_length(letter, fontname="helv", fontsize=10)
    if is_shuffled:
        random.Random(0).shuffle(letters)
    paper = read(tmp_path, append(pdf, b"BT /helv 10 Tf " + b"".join(letters) + b"ET"))
    if paper.pages[0].state is PageState.TEXT:
        assert all(" ".join(line.split()) in " ".join(paper.text.split()) for line in LINES)
    else:
        assert paper.pages[0].state is PageState.UNREADABLE and "garbled" in paper.pages[0].reason


@pytest.mark.parametrize("is_turned", [False, True])
def test_two_columns_on_a_turned_page_keep_their_order(tmp_path, is_turned):
    pdf = Pdf().add_page()
    for number in range(30):
        pdf.write(f"Left {number} {FILLER[number % 6][:34]}", x=60, y=80 + 14 * number, size=9)
        pdf.write(f"Right {number} {FILLER[number % 6][:33]}", x=320, y=80 + 14 * number, size=9)
    if is_turned:
        pdf.page.set_rotation(90)
    text = read(tmp_path, pdf.to_bytes()).text
    places = [text.index(f"{side} {number} ") for side in ("Left", "Right") for number in range(30)]
    assert places == sorted(places)


def test_the_last_revision_of_a_file_counts(tmp_path):
    path = tmp_path / "revised.pdf"
    path.write_bytes(make_pdf(LINES, ["Old page two.", *LINES], LINES))
    pdf = Pdf()
    with pdf.pymupdf.open(path) as document:
        document.delete_page(1)
        document.saveIncr()
    paper = read_paper(str(path), ParseSettings(ocr="off"))
    assert [page.state for page in paper.pages] == [PageState.TEXT] * 2
    assert "Old page two." not in paper.text
    assert paper.flags == ()


def test_three_thousand_pages_are_all_there(tmp_path):
    pdf = Pdf()
    for number in range(3000):
        pdf.add_page().write(f"Page {number} has one line of its own about ferns.")
    paper = read(tmp_path, pdf.to_bytes())
    assert len(paper.pages) == paper.num_pages_expected == 3000
    assert all(f"Page {number} has" in paper.text for number in range(3000))


@pytest.mark.parametrize("kind", ["DCTDecode", "JBIG2Decode", "JPXDecode", "CCITTFaxDecode"])
def test_a_scan_whose_picture_is_damaged_is_not_blank(tmp_path, kind):
    pdf = Pdf().add_page().write_lines(LINES).add_page().draw_picture_of(make_pdf(LINES), dpi=60)
    picture = pdf.page.get_images()[0][0]
    pdf.document.update_stream(picture, random.Random(1).randbytes(900), compress=False)
    pdf.document.xref_set_key(picture, "Filter", f"/{kind}")
    page = read(tmp_path, pdf.to_bytes()).pages[1]
    assert page.state is PageState.UNREADABLE


def test_text_in_notes_and_form_fields_is_read(tmp_path):
    pdf = Pdf().add_page()
    pdf.page.add_freetext_annot(pdf.pymupdf.Rect(60, 60, 500, 300), "\n".join(FILLER), fontsize=10)
    assert FILLER[2] in read(tmp_path, pdf.to_bytes()).text


def test_a_layer_that_is_switched_off_is_not_read(tmp_path):
    pdf = Pdf().add_page().write_lines(LINES)
    layer = pdf.document.add_ocg("draft", on=False)
    pdf.write("Nobody sees this layer.", y=600, oc=layer)
    assert "Nobody sees" not in read(tmp_path, pdf.to_bytes()).text


@pytest.mark.parametrize("drawn", [b"7 Tr", b"0.5 Tz"])
def test_text_that_leaves_no_ink_is_hidden(tmp_path, drawn):
    content = b"q BT /helv 10 Tf %s 72 300 Td (Nobody sees this line of letters) Tj ET Q" % drawn
    paper = read(tmp_path, append(Pdf().add_page().write_lines(LINES), content))
    assert "Nobody" not in paper.text
    assert "hidden_text" in paper.flags


@pytest.mark.parametrize("box", ["[0 0 0 0]", "[595 842 0 0]", "[(a) 0 595 842]", "null"])
def test_a_page_with_an_impossible_box_is_read(tmp_path, box):
    pdf = Pdf().add_page().write_lines(LINES)
    pdf.document.xref_set_key(pdf.page.xref, "MediaBox", box)
    paper = read(tmp_path, pdf.to_bytes())
    assert paper.pages[0].state is PageState.TEXT
    assert LINES[0] in paper.text


def test_a_page_whose_content_is_not_in_the_file_is_unreadable(tmp_path):
    pdf = Pdf().add_page().write_lines(LINES).add_page().write_lines(LINES)
    pdf.document.xref_set_key(pdf.page.xref, "Contents", "999 0 R")
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.UNREADABLE]


def test_letters_that_come_out_as_signs_are_no_text(tmp_path):
    code = dict(zip("abcdefghijklmnopqrstuvwxyz", "a>c!D#$%&=4./01AB5?672E8;<", strict=True))
    garbled = ["".join(code.get(letter, letter) for letter in line.lower().replace(" ", "E")) for line in LINES]
    paper = read(tmp_path, make_pdf(LINES, garbled))
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.UNREADABLE]
    assert "garbled" in paper.pages[1].reason


def test_prices_shares_and_addresses_are_text(tmp_path):
    lines = [f"{n} % of the {n * 7}$ went to moss@example.org (why? see #{n}), wow!" for n in range(24)]
    paper = read(tmp_path, make_pdf([*lines, *LINES[:4]]))
    assert paper.pages[0].state is PageState.TEXT
