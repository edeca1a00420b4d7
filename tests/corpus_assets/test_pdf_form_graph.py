"""Forms that draw forms: what would never end is told before it is begun, and costs its own page."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from corpus_assets.model import PageState, PaperStatus, ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.pdf.worker import judge_pages
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf

RECTANGLE = b"0 0 1 rg 10 10 5 5 re f"


def add_form(pdf: Pdf, content: bytes, resources: str = "<<>>") -> int:
    number = int(pdf.document.get_new_xref())
    shared = f"/Resources {resources}" if resources else ""
    pdf.document.update_object(number, f"<</Type/XObject/Subtype/Form/BBox[0 0 600 800]{shared}>>")
    pdf.document.update_stream(number, content)
    return number


def draw_on_page(pdf: Pdf, content: bytes, **forms: int) -> Pdf:
    """Add operators to the last page, after its text, and the forms they name to its resources."""
    stream = int(pdf.document.get_new_xref())
    pdf.document.update_object(stream, "<<>>")
    pdf.document.update_stream(stream, content)
    streams = " ".join(f"{number} 0 R" for number in [*pdf.page.get_contents(), stream])
    pdf.document.xref_set_key(pdf.page.xref, "Contents", f"[{streams}]")
    resources = int(pdf.document.xref_get_key(pdf.page.xref, "Resources")[1].split()[0])
    names = "".join(f"/{name} {number} 0 R" for name, number in forms.items())
    pdf.document.xref_set_key(resources, "XObject", f"<<{names}>>")
    return pdf


def nest(pdf: Pdf, depth: int, times: int) -> int:
    """Return a form that draws another ``times`` times, which does likewise, ``depth`` forms deep."""
    number = add_form(pdf, RECTANGLE)
    for _ in range(depth - 1):
        number = add_form(pdf, b"/F Do " * times, f"<</XObject<</F {number} 0 R>>>>")
    return number


def read(tmp_path: Path, pdf: Pdf) -> ParsedPaper:
    path = tmp_path / "forms.pdf"
    path.write_bytes(pdf.to_bytes())
    return read_paper(str(path), ParseSettings(ocr="off"))


def assert_only_the_middle_page_is_lost(paper: ParsedPaper, reason: str) -> None:
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.UNREADABLE, PageState.TEXT]
    assert reason in paper.pages[1].reason
    status, why = judge_pages(paper)
    assert status is PaperStatus.PARTIAL
    assert "page 2" in why
    assert paper.text.count(FILLER[0]) == 2


@pytest.mark.parametrize("case", ["own resources", "the page's resources", "widening"])
def test_forms_that_draw_one_another_without_end_are_told_at_once(tmp_path, case):
    pdf = Pdf().add_page().write_lines(FILLER).add_page().write_lines(FILLER)
    if case == "own resources":
        draw_on_page(pdf, b"/F Do", F=nest(pdf, 10, 10))
    elif case == "the page's resources":
        forms = {f"F{n}": add_form(pdf, b"/F%d Do " % (n + 1) * 10 if n < 9 else RECTANGLE, "") for n in range(10)}
        draw_on_page(pdf, b"/F0 Do", **forms)
    else:
        draw_on_page(pdf, b"/F Do " * 1_000, F=nest(pdf, 3, 100))
    pdf.add_page().write_lines(FILLER)
    started = time.monotonic()
    paper = read(tmp_path, pdf)
    assert time.monotonic() - started < 5
    assert_only_the_middle_page_is_lost(paper, "its forms draw one another more than 200,000 times")


def test_forms_as_drawings_use_them_are_read(tmp_path):
    pdf = Pdf().add_page().write_lines(FILLER)
    mark = add_form(pdf, RECTANGLE)
    plot = add_form(pdf, b"/M Do " * 5_000, f"<</XObject<</M {mark} 0 R>>>>")
    itself = add_form(pdf, b"/Me Do", "")
    draw_on_page(pdf, b"/P Do " * 20 + b"/M Do " * 3_000 + b"/Me Do", P=plot, M=mark, Me=itself)
    paper = read(tmp_path, pdf)
    assert paper.pages[0].state is PageState.TEXT
    assert FILLER[0] in paper.text


def test_a_page_of_five_thousand_deep_forms_costs_that_page_alone(tmp_path):
    pdf = Pdf().add_page().write_lines(FILLER).add_page().write_lines(FILLER)
    draw_on_page(pdf, b"/F Do", F=nest(pdf, 5_000, 1))
    pdf.add_page().write_lines(FILLER)
    paper = read(tmp_path, pdf)
    assert_only_the_middle_page_is_lost(paper, "nested too deep")
