"""``read_paper``: what each kind of file becomes, page spans, limits, front to end."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

from corpus_assets.errors import BadInputError, ParseError
from corpus_assets.model import PageState, ParsedPaper, SectionKind
from corpus_assets.pdf.reader import read_paper
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf, make_paper, make_pdf

OFF = ParseSettings(ocr="off")


def read(tmp_path: Path, data: bytes, name: str = "a.pdf", settings: ParseSettings = OFF) -> ParsedPaper:
    path = tmp_path / name
    path.write_bytes(data)
    return read_paper(str(path), settings)


def assert_covers(paper: ParsedPaper) -> None:
    """Pages and sections adjoin and cover the text."""
    assert paper.pages[0].char_start == 0
    assert paper.pages[-1].char_end == len(paper.text)
    for page, following in zip(paper.pages, paper.pages[1:], strict=False):
        assert page.char_end == following.char_start
    if paper.text:
        assert paper.sections[0].char_start == 0
        assert paper.sections[-1].char_end == len(paper.text)
    for section, following in zip(paper.sections, paper.sections[1:], strict=False):
        assert section.char_end == following.char_start


def test_a_paper_is_read_in_pages_and_sections(tmp_path):
    paper = read(tmp_path, make_paper(4))
    assert_covers(paper)
    assert [page.state for page in paper.pages] == [PageState.TEXT] * 4
    assert [s.kind for s in paper.sections] == [
        SectionKind.FRONT,
        SectionKind.INTRODUCTION,
        SectionKind.METHODS,
        SectionKind.RESULTS,
        SectionKind.DISCUSSION,
    ]
    for section in paper.sections[1:]:
        assert paper.text[section.char_start :].startswith(tuple("1234"))
    assert "Journal of Small Tests" not in paper.text
    assert all("Journal of Small Tests" in page.furniture for page in paper.pages)
    for page in paper.pages:
        assert f"On page {page.number} we write" in paper.text[page.char_start : page.char_end]
    assert paper.metadata.title == "On the moss of northern walls"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\x00" * 1024, "NUL"),
        (b"<!DOCTYPE html><html><body>Pay here</body></html>", "HTML"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "PNG"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 50, "JPEG"),
        (b"PK\x03\x04" + b"\x00" * 30 + b"word/document.xml", "docx"),
        (gzip.compress(b"%PDF-1.4 this was a PDF once", mtime=0), "gzip"),
    ],
)
def test_what_is_not_a_pdf_is_refused_by_its_content(tmp_path, data, reason):
    with pytest.raises(ParseError, match=reason) as caught:
        read(tmp_path, data)
    assert not caught.value.retryable
    assert "a.pdf" in caught.value.message


@pytest.mark.parametrize("share", [0.1, 0.6, 0.9, 0.99])
def test_b34_a_file_cut_off_is_incomplete_and_not_tried_again_until_it_changes(tmp_path, share):
    whole = make_paper(3)
    with pytest.raises(ParseError, match="incomplete") as caught:
        read(tmp_path, whole[: int(len(whole) * share)])
    assert not caught.value.retryable
    assert len(read(tmp_path, whole).pages) == 3


def test_garbage_after_the_end_is_repaired_and_flagged(tmp_path):
    paper = read(tmp_path, make_paper(3) + b"\x07garbage" * 20_000)
    assert len(paper.pages) == 3
    assert "On page 3" in paper.text


def test_pages_the_tree_names_but_the_file_lacks_are_unreadable(tmp_path):
    data = make_pdf(["One page."], ["Another page."])
    assert data.count(b"/Count 2") == 1
    paper = read(tmp_path, data.replace(b"/Count 2", b"/Count 4"))
    assert paper.num_pages_expected == 4
    assert [page.state for page in paper.pages] == [PageState.TEXT] * 2 + [PageState.UNREADABLE] * 2
    assert all(page.reason for page in paper.pages[2:])


def test_encrypted_files_open_with_a_known_password_only(tmp_path):
    pdf = Pdf().add_page().write("Seventeen hens were counted in the yard.")
    data = pdf.to_bytes(encryption=pdf.pymupdf.PDF_ENCRYPT_AES_256, user_pw="sesame", owner_pw="other")
    with pytest.raises(ParseError, match="encrypted"):
        read(tmp_path, data)
    passwords = tmp_path / "passwords.txt"
    passwords.write_text("wrong\nsesame\n", encoding="utf-8")
    paper = read(tmp_path, data, settings=ParseSettings(ocr="off", passwords_path=passwords))
    assert paper.text == "Seventeen hens were counted in the yard."
    assert "encrypted" in paper.flags
    with pytest.raises(BadInputError, match="passwords file"):
        read(tmp_path, data, settings=ParseSettings(ocr="off", passwords_path=tmp_path / "missing.txt"))


def test_limits_refuse_and_never_cut(tmp_path):
    data = make_pdf(["one"], ["two"], ["three"])
    with pytest.raises(ParseError, match="3 pages; the limit is 2"):
        read(tmp_path, data, settings=ParseSettings(ocr="off", max_pages=2))
    big = Pdf().add_page().write("x")
    padded = big.to_bytes() + b"%" + b" " * 1_100_000
    with pytest.raises(ParseError, match="MB"):
        read(tmp_path, padded, settings=ParseSettings(ocr="off", max_file_mb=1))


def test_a_blank_page_is_blank_and_a_picture_without_ocr_is_unreadable(tmp_path):
    scan = make_pdf(FILLER, size=12)
    pdf = Pdf()
    pdf.add_page().write_lines(FILLER)
    pdf.add_page()
    pdf.add_page().draw_picture_of(scan, dpi=60)
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.BLANK, PageState.UNREADABLE]
    assert "OCR" in paper.pages[2].reason
    assert_covers(paper)


def test_vision_without_a_reader_says_so(tmp_path):
    with pytest.raises(BadInputError, match="vision"):
        read(tmp_path, make_pdf(["x"]), settings=ParseSettings(ocr="vision"))


def test_b31_six_hundred_pages_are_read_to_the_end(tmp_path):
    pages = [[f"Chapter body on page {n}."] for n in range(1, 601)]
    pages[596].append("The vernal moth lays 213 eggs.")
    paper = read(tmp_path, make_pdf(*pages))
    assert len(paper.pages) == paper.num_pages_expected == 600
    page = paper.pages[596]
    assert "The vernal moth lays 213 eggs." in paper.text[page.char_start : page.char_end]
    assert_covers(paper)


def test_b25_one_line_of_thirty_thousand_letters_is_one_line(tmp_path):
    sequence = "".join("ACGT"[zlib.crc32(b"%d" % n) % 4] for n in range(30_000))
    pdf = Pdf().add_page(width=200_000, height=300).write(sequence, x=10, y=100, size=6)
    pdf.add_page().write("Primer annealing was done at 61 degrees for 30 s.")
    paper = read(tmp_path, pdf.to_bytes())
    assert sequence in paper.text
    assert paper.text.endswith("Primer annealing was done at 61 degrees for 30 s.")
    assert {page.state for page in paper.pages} == {PageState.TEXT}


def test_b28_only_a_title_of_its_own_opens_the_references(tmp_path):
    paper = read(
        tmp_path,
        make_pdf(
            ["References to earlier work are rare.", "We built a new buffer for this task."],
            ["Results. The gel ran for 40 minutes."],
            ["References", "1. Wells A. Gels and buffers. J Imag Sci. 2001;3:1-9."],
            ["Appendix A. The buffer held 7.4 mM tris."],
        ),
    )
    kind_of = {
        part: next(s.kind for s in paper.sections if s.char_start <= paper.text.index(part) < s.char_end)
        for part in ("References to earlier", "gel ran", "Wells", "7.4 mM")
    }
    assert kind_of["References to earlier"] is SectionKind.FRONT
    assert kind_of["gel ran"] is not SectionKind.REFERENCES
    assert kind_of["Wells"] is SectionKind.REFERENCES
    assert kind_of["7.4 mM"] is SectionKind.APPENDIX
    assert_covers(paper)


def test_b19_a_sentence_runs_over_the_page_break_and_headers_with_numbers_do_not(tmp_path):
    pdf = Pdf()
    bodies = [f"Body paragraph {n}. The bed of run {n} stayed at {300 + n} K." for n in range(8)]
    bodies[1] = "Intro text. In the open phase the median time to relapse was"
    bodies[2] = "31 weeks in the treated arm and 12 weeks in controls. End of part."
    for n, body in enumerate(bodies):
        pdf.add_page().write(f"{100 + n} | Annals of Imaginary Catalysis 12 (2021)", y=40, size=8)
        pdf.write(body, y=82).write(str(100 + n), x=290, y=820, size=8)
    paper = read(tmp_path, pdf.to_bytes())
    assert "the median time to relapse was 31 weeks in the treated arm" in paper.text
    assert "Annals" not in paper.text
    assert "104" not in paper.text
    assert "Body paragraph 5. The bed of run 5 stayed at 305 K." in paper.text
    start = paper.text.index("31 weeks")
    assert paper.pages[2].char_start == start
    assert "104" in paper.pages[4].furniture.splitlines()
    assert_covers(paper)


def test_a_repeated_line_of_a_two_page_document_is_not_eaten(tmp_path):
    lines = ["The same first line.", *FILLER[:2]]
    paper = read(tmp_path, make_pdf(lines, lines))
    assert paper.text.count("The same first line.") == 2


def test_b38_control_codes_do_not_reach_the_text(tmp_path):
    code = "A safe harbour \x1b[2J\x1b]8;;http://x.invalid\x1b\\click\x1b]8;;\x1b\\ was found in 12 bays."
    paper = read(tmp_path, make_pdf([code]), name="x\x1b]0;owned\x07.pdf")
    assert not set(paper.text) & {"\x1b", "\x07", "\x9b"}
    assert "A safe harbour" in paper.text
    assert "12 bays" in paper.text
    assert "control_codes" in paper.flags


def test_b38_an_error_names_the_file_without_its_control_codes(tmp_path):
    with pytest.raises(ParseError) as caught:
        read(tmp_path, b"<html>", name="x\x1b]0;owned\x07.pdf")
    assert caught.value.message.isprintable()


def test_b05_a_lost_glyph_stays_visible_and_is_flagged(tmp_path):
    pdf = Pdf().add_page()
    pdf.page.insert_font(fontname="F0", fontbuffer=pdf.pymupdf.Font("cjk").buffer)
    pdf.write("Slope was −0.53 (SE 0.11) and dose 5 µg.", font="F0")
    paper = read(tmp_path, pdf.to_bytes())
    assert "\x00" not in paper.text
    assert "\ufffd0.53" in paper.text
    assert "glyph_loss" in paper.pages[0].flags
    assert "glyph_loss" in paper.flags


def test_a_file_whose_name_is_not_utf8_is_read(tmp_path):
    import os

    paper = read(tmp_path, make_pdf(["Lentils contain nine grams of protein."]), name=os.fsdecode(b"caf\xe9.pdf"))
    assert paper.text == "Lentils contain nine grams of protein."


def test_reading_the_same_bytes_twice_gives_the_same(tmp_path):
    data = make_paper(3)
    assert read(tmp_path, data) == read(tmp_path, data)
