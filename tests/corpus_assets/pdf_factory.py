"""Small PDFs for tests, drawn line by line, so that a test says in line what its file looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corpus_assets.pdf.mupdf import load_pymupdf

PAGE_WIDTH, PAGE_HEIGHT = 595.0, 842.0
FILLER = (
    "The samples were kept in a cold room and measured again on the third day.",
    "Each value is the mean of four readings taken by two observers.",
    "Moss grew on the northern side of every wall that we looked at.",
    "No reading was left out, and all of them are listed in the table.",
    "The walls were built of grey stone and stood in a damp valley.",
    "Rain fell on most days, and the wind came from the west.",
)


class Pdf:
    """A PDF under construction; coordinates are in points from the top left, ``y`` is the baseline."""

    def __init__(self) -> None:
        self.pymupdf = load_pymupdf()
        self.document = self.pymupdf.open()
        self.page: Any = None

    def add_page(self, width: float = PAGE_WIDTH, height: float = PAGE_HEIGHT) -> Pdf:
        self.page = self.document.new_page(width=width, height=height)
        return self

    def write(
        self, text: str, x: float = 72, y: float = 80, size: float = 10, font: str = "helv", **options: Any
    ) -> Pdf:
        self.page.insert_text((x, y), text, fontsize=size, fontname=font, **options)
        return self

    def write_lines(
        self,
        lines: Sequence[str],
        x: float = 72,
        y: float = 80,
        size: float = 10,
        leading: float = 0,
        font: str = "helv",
    ) -> Pdf:
        """Write lines under one another; an empty string leaves a line free."""
        for number, line in enumerate(lines):
            if line:
                self.write(line, x, y + number * (leading or 1.3 * size), size, font)
        return self

    def write_run(
        self, parts: Sequence[tuple[str, float, float]], x: float = 72, y: float = 80, font: str = "helv"
    ) -> Pdf:
        """Write ``(text, size, rise)`` pieces after one another on a line."""
        for text, size, rise in parts:
            self.write(text, x, y - rise, size, font)
            x += self.pymupdf.get_text_length(text, fontname=font, fontsize=size)
        return self

    def write_html(self, html: str, box: tuple[float, float, float, float] = (72, 72, 520, 760)) -> Pdf:
        """Write text of any script; fonts that have it are found by the library."""
        self.page.insert_htmlbox(self.pymupdf.Rect(box), f"<p style='font-size:11pt'>{html}</p>")
        return self

    def draw_picture_of(self, other: bytes, dpi: int = 200) -> Pdf:
        """Cover the page with a picture of another PDF's first page: a scan."""
        with self.pymupdf.open(stream=other, filetype="pdf") as source:
            pixmap = source[0].get_pixmap(dpi=dpi, colorspace=self.pymupdf.csGRAY)
        self.page.insert_image(self.page.rect, pixmap=pixmap)
        return self

    def to_bytes(self, **options: Any) -> bytes:
        return bytes(self.document.tobytes(**options))


def make_pdf(*pages: Sequence[str], size: float = 10, **options: Any) -> bytes:
    """Return a PDF with these lines on each page; a page without lines is blank."""
    pdf = Pdf()
    for lines in pages:
        pdf.add_page().write_lines(lines, size=size)
    return pdf.to_bytes(**options)


def make_paper(num_pages: int = 3, title: str = "On the moss of northern walls", topic: str = "moss") -> bytes:
    """Return a small paper with a title, numbered bold headings, paragraphs, a running header and page numbers."""
    pdf = Pdf()
    titles = ["1 Introduction", "2 Methods", "3 Results", "4 Discussion", "5 Conclusion"]
    for number in range(num_pages):
        pdf.add_page()
        pdf.write("Journal of Small Tests 7 (2020)", y=36, size=8).write(str(number + 1), x=290, y=815, size=8)
        y = 80.0
        if number == 0:
            pdf.write(title, y=y, size=16).write("Ada Example and Bo Sample", y=y + 24)
            y += 60
        pdf.write(titles[min(number, 4)], y=y, size=12, font="hebo")
        lines = [FILLER[(number + line) % len(FILLER)] for line in range(12)]
        pdf.write_lines([f"On page {number + 1} we write about {topic}.", *lines], y=y + 22)
    return pdf.to_bytes()
