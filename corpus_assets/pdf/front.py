"""What the metadata reader sees of a file: the lines of its first pages with their type, and what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FrontLine:
    """One printed line of the first pages, normalised, furniture included. ``y`` is its top in points, page top = 0."""

    text: str
    font_size: float  # of most of its characters, in points; 0 for OCR and text files
    is_bold: bool
    page: int  # from 1
    y: float


@dataclass(frozen=True)
class FrontMatter:
    """The evidence for title, authors, year and identifiers; ``lines`` are in reading order of pages 1 to 3.

    ``first_pages_text`` is the running text (and the furniture, one piece a line, at the end) of those pages.
    """

    lines: tuple[FrontLine, ...] = ()
    pdf_title: str = ""
    pdf_author: str = ""
    pdf_creation: str = ""  # as the file writes it, e.g. "D:20180703120000Z"
    xmp: str = ""
    first_pages_text: str = ""
    file_name: str = ""  # printable, without folder
