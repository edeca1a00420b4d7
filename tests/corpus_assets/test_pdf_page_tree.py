"""Page trees that count wrongly: every page that is there is read, and that the count was wrong is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus_assets.errors import ParseError
from corpus_assets.model import PageState, PaperStatus, ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.pdf.worker import judge_pages
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf

PAD = 24


def write_pages(num_pages: int = 3) -> Pdf:
    pdf = Pdf()
    for number in range(num_pages):
        pdf.add_page().write_lines([f"This is page {number + 1} of the file.", *FILLER])
    return pdf


def root_of(document: Any) -> int:
    return int(document.xref_get_key(document.pdf_catalog(), "Pages")[1].split()[0])


def recount(pdf: Pdf, count: str, node: int | None = None) -> bytes:
    """Return the file with a node's count replaced in its bytes, which keep their places."""
    node = node or root_of(pdf.document)
    good = pdf.document.xref_get_key(node, "Count")[1]
    pdf.document.xref_set_key(node, "Pad", f"({'x' * PAD})")
    data = pdf.to_bytes()
    end = data.index(f"/Pad({'x' * PAD})".encode())
    start = data.rindex(b"/Count", 0, end)
    rest = data[start + len(f"/Count {good}") : end]
    padding = "x" * (PAD + len(good) - len(count))
    new = f"/Count {count}".encode() + rest + f"/Pad({padding})".encode()
    return data[:start] + new + data[start + len(new) :]


def read(tmp_path: Path, data: bytes) -> ParsedPaper:
    path = tmp_path / "counted.pdf"
    path.write_bytes(data)
    return read_paper(str(path), ParseSettings(ocr="off", max_pages=1000))


def assert_whole(paper: ParsedPaper, num_pages: int = 3) -> None:
    assert [page.state for page in paper.pages] == [PageState.TEXT] * num_pages
    assert paper.num_pages_expected == num_pages
    positions = [paper.text.index(f"This is page {number + 1} of") for number in range(num_pages)]
    assert positions == sorted(positions)
    assert judge_pages(paper) == (PaperStatus.READY, "")


@pytest.mark.parametrize(
    "count", ["-3", "0", "1", "2", "900", "1000000000", "99999999999999", "2.5", "(3)", "null", "5 0 R"]
)
def test_every_page_is_read_whatever_the_tree_counts(tmp_path, count):
    paper = read(tmp_path, recount(write_pages(), count))
    assert_whole(paper)
    assert "wrong_page_count" in paper.flags


def test_a_right_count_is_no_finding(tmp_path):
    paper = read(tmp_path, recount(write_pages(), "3"))
    assert_whole(paper)
    assert paper.flags == ()


def test_a_few_pages_too_many_are_missing_pages(tmp_path):
    paper = read(tmp_path, recount(write_pages(), "5"))
    assert paper.num_pages_expected == 5
    assert [page.state for page in paper.pages[3:]] == [PageState.UNREADABLE] * 2
    assert judge_pages(paper)[0] is PaperStatus.PARTIAL


def group_pages(pdf: Pdf) -> int:
    """Put the first two pages under a node of their own and return it."""
    document = pdf.document
    root = root_of(document)
    pages = [page.xref for page in document]
    node = int(document.get_new_xref())
    kids = " ".join(f"{page} 0 R" for page in pages[:2])
    document.update_object(node, f"<</Type/Pages/Count 2/Parent {root} 0 R/Kids[{kids}]>>")
    for page in pages[:2]:
        document.xref_set_key(page, "Parent", f"{node} 0 R")
    rest = " ".join(f"{page} 0 R" for page in pages[2:])
    document.xref_set_key(root, "Kids", f"[{node} 0 R {rest}]")
    return node


@pytest.mark.parametrize("count", ["-2", "0", "1", "7", "null"])
def test_a_wrong_count_further_down_hides_no_page(tmp_path, count):
    pdf = write_pages()
    paper = read(tmp_path, recount(pdf, count, group_pages(pdf)))
    assert_whole(paper)
    assert "wrong_page_count" in paper.flags


def add_cycle(pdf: Pdf) -> None:
    node = group_pages(pdf)
    kids = pdf.document.xref_get_key(node, "Kids")[1]
    pdf.document.xref_set_key(node, "Kids", f"{kids[:-1]} {root_of(pdf.document)} 0 R]")


def list_a_page_twice(pdf: Pdf) -> None:
    first, *others = (page.xref for page in pdf.document)
    root = root_of(pdf.document)
    kids = " ".join(f"{page} 0 R" for page in [first, first, *others])
    pdf.document.xref_set_key(root, "Kids", f"[{kids}]")
    pdf.document.xref_set_key(root, "Count", "4")


@pytest.mark.parametrize(("change", "num_pages"), [(add_cycle, 3), (list_a_page_twice, 4)])
def test_trees_that_turn_back_on_themselves_are_read(tmp_path, change: Callable[[Pdf], None], num_pages):
    pdf = write_pages()
    change(pdf)
    paper = read(tmp_path, pdf.to_bytes())
    assert [page.state for page in paper.pages] == [PageState.TEXT] * num_pages
    assert ("wrong_page_count" in paper.flags) == (change is add_cycle)


def test_more_pages_than_the_limit_are_refused_whatever_the_count_says(tmp_path):
    pdf = Pdf()
    for _ in range(1001):
        pdf.add_page()
    with pytest.raises(ParseError, match="pages; the limit is 1000"):
        read(tmp_path, recount(pdf, "1"))
