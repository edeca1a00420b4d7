from pathlib import Path

import pytest

from corpus_assets.errors import ParseError
from corpus_assets.model import PageState, ParsedPaper, SectionKind
from corpus_assets.pdf.reader import read_paper
from corpus_assets.settings import ParseSettings

MARKDOWN = """# Moss on walls

Ada Example

## Methods

We looked at
walls.

## References

1. Wells A. Gels.
"""


def read(tmp_path: Path, data: bytes, name: str) -> ParsedPaper:
    path = tmp_path / name
    path.write_bytes(data)
    return read_paper(str(path), ParseSettings())


def test_markdown_headings_are_sections(tmp_path):
    paper = read(tmp_path, MARKDOWN.encode(), "a.md")
    assert [(s.title, s.kind) for s in paper.sections] == [
        ("Moss on walls", SectionKind.OTHER),
        ("Methods", SectionKind.METHODS),
        ("References", SectionKind.REFERENCES),
    ]
    assert "We looked at walls." in paper.text
    assert paper.sections[-1].char_end == len(paper.text)


def test_form_feeds_are_page_breaks(tmp_path):
    paper = read(tmp_path, b"First page.\n\fSecond page.\n\f\fFourth page.\n\f", "a.txt")
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.TEXT, PageState.BLANK, PageState.TEXT]
    texts = [paper.text[page.char_start : page.char_end].strip() for page in paper.pages]
    assert texts == ["First page.", "Second page.", "", "Fourth page."]
    assert paper.pages[-1].char_end == len(paper.text)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("Müller’s study".encode(), "utf-8"),
        ("Müller’s study".encode("utf-16"), "utf-16"),
        ("Müller’s study of the mosses".encode("utf-16-le"), "utf-16"),
        ("Müller’s study".encode("cp1252"), "latin-1"),
    ],
)
def test_the_encoding_is_found_and_named(tmp_path, data, encoding):
    paper = read(tmp_path, data, "a.txt")
    assert paper.text.startswith("Müller’s study")
    assert f"encoding_{encoding}" in paper.flags


@pytest.mark.parametrize(
    ("data", "name"), [(b"  \n", "a.txt"), (bytes(range(256)) * 20, "b.txt"), (b"<html><p>x", "c.md")]
)
def test_what_is_no_text_is_refused(tmp_path, data, name):
    with pytest.raises(ParseError):
        read(tmp_path, data, name)


def test_a_pdf_named_txt_is_read_as_a_pdf(tmp_path):
    from tests.corpus_assets.pdf_factory import make_pdf

    assert read(tmp_path, make_pdf(["Words of a page."]), "a.txt").text == "Words of a page."
