from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from corpus_assets.model import PageState, ParsedPaper
from corpus_assets.pdf import ocr, reader
from corpus_assets.pdf.ocr import INSTALL_HINT, PageReading, ReadLine, parse_tsv
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf, make_pdf

needs_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="the tesseract program is not installed")
TSV_HEADER = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"


class FakeReader:
    """Returns the same lines for every page and keeps what it was asked."""

    state = PageState.VISION

    def __init__(self, *lines: str, confidence: float = 0.9) -> None:
        self.lines = lines
        self.confidence = confidence
        self.asked: list[float] = []

    def read(self, png: bytes, dpi: float) -> PageReading:
        assert png.startswith(b"\x89PNG")
        self.asked.append(dpi)
        lines = [ReadLine(line, 72, 80 + 14 * n, 400, 92 + 14 * n, 0, 0.9) for n, line in enumerate(self.lines)]
        return PageReading(tuple(lines), self.confidence)


def read(tmp_path: Path, data: bytes, page_reader: FakeReader | None = None, **settings: object) -> ParsedPaper:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    return reader.read_paper(str(path), ParseSettings(**settings), page_reader=page_reader)


def make_scan(lines: tuple[str, ...] = FILLER) -> Pdf:
    return Pdf().add_page().draw_picture_of(make_pdf(lines, size=12))


def test_any_page_reader_can_be_plugged_in(tmp_path):
    fake = FakeReader(
        "The wall was damp and the moss on it green, as we found", "in the valley when the rain had gone."
    )
    paper = read(tmp_path, make_scan().to_bytes(), fake, ocr="vision")
    assert paper.pages[0].state is PageState.VISION
    assert paper.pages[0].confidence == 0.9
    assert paper.text == (
        "The wall was damp and the moss on it green, as we found in the valley when the rain had gone."
    )
    assert fake.asked == [200.0]


def test_a_small_page_is_read_at_more_dots_an_inch(tmp_path):
    fake = FakeReader("The wall was damp and the moss on it green, as we found in the valley that year.")
    small = Pdf().add_page(width=180, height=300).draw_picture_of(make_pdf(FILLER, size=12))
    read(tmp_path, small.to_bytes(), fake)
    assert fake.asked == [396.0]


def test_pages_with_readable_text_are_never_rendered_for_ocr(tmp_path):
    fake = FakeReader("unused")
    read(tmp_path, make_pdf(FILLER, FILLER), fake)
    assert fake.asked == []


def test_a_reading_nobody_could_make_sense_of_is_unreadable(tmp_path):
    paper = read(tmp_path, make_scan().to_bytes(), FakeReader("iI| l1 ~~", confidence=0.1))
    assert paper.pages[0].state is PageState.UNREADABLE
    assert paper.text == ""


def test_a_poor_ocr_layer_is_replaced_and_a_good_one_kept(tmp_path):
    def make_layered(lines: list[str]) -> bytes:
        pdf = make_scan()
        for number, line in enumerate(lines):
            pdf.write(line, y=80 + 15 * number, render_mode=3)
        return pdf.to_bytes()

    bad = [line.replace("e", "c").replace("a", "u").replace("t", "f") for line in FILLER]
    paper = read(tmp_path, make_layered(bad), FakeReader(*FILLER))
    assert paper.pages[0].state is PageState.VISION
    assert "ocr_layer_replaced" in paper.pages[0].flags
    assert FILLER[0] in paper.text
    kept = read(tmp_path, make_layered(list(FILLER)), FakeReader("unused"))
    assert kept.pages[0].state is PageState.TEXT
    assert "ocr_layer" in kept.pages[0].flags
    assert FILLER[0] in kept.text


def test_without_tesseract_the_page_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "find_tesseract", lambda: None)
    paper = read(tmp_path, make_scan().to_bytes())
    assert paper.pages[0].state is PageState.UNREADABLE
    assert paper.pages[0].reason == INSTALL_HINT


def test_tsv_is_read_in_lines_and_noise_is_dropped():
    rows = [
        "5\t1\t1\t1\t1\t1\t100\t100\t50\t20\t90\tTwo",
        "5\t1\t1\t1\t1\t2\t160\t100\t60\t20\t80\twords",
        "5\t1\t1\t1\t2\t1\t100\t130\t60\t20\t96\tmore",
        "5\t1\t2\t1\t1\t1\t10\t10\t9\t9\t3\t~|",
        "4\t1\t1\t1\t1\t0\t100\t100\t120\t20\t-1\t",
    ]
    reading = parse_tsv("\n".join([TSV_HEADER, *rows]), 0.5)
    assert [(line.text, line.block) for line in reading.lines] == [("Two words", 0), ("more", 0)]
    assert (reading.lines[0].x0, reading.lines[0].x1) == (50.0, 110.0)
    assert 0.8 < reading.confidence < 0.96


@needs_tesseract
@pytest.mark.ocr
@pytest.mark.slow
def test_a_scan_is_read_by_tesseract_upright_or_not(tmp_path):
    pdf = make_scan((*FILLER, *FILLER))
    pdf.add_page().draw_picture_of(make_pdf((*FILLER, *FILLER), size=12))
    pdf.page.set_rotation(180)
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state for page in paper.pages] == [PageState.OCR, PageState.OCR]
    for page in paper.pages:
        assert "kept in a cold room and measured again" in paper.text[page.char_start : page.char_end]
        assert page.confidence is not None
        assert page.confidence > 0.8


@needs_tesseract
@pytest.mark.ocr
def test_a_language_that_is_not_installed_is_named(tmp_path):
    paper = read(tmp_path, make_scan().to_bytes(), ocr_language="xyz")
    assert "tesseract-ocr-xyz" in paper.pages[0].reason


def test_tesseract_is_looked_for_once():
    ocr.find_tesseract.cache_clear()
    assert ocr.find_tesseract() == shutil.which("tesseract")
