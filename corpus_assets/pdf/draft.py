"""What the reader knows of a page and a paragraph before the paper's text is put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from corpus_assets.model import PageState
from corpus_assets.pdf.lines import Line


@dataclass
class PageDraft:
    """One page on its way. ``runs`` are its lines in reading order, one column or strip each."""

    number: int
    width: float = 0.0
    height: float = 0.0
    state: PageState = PageState.TEXT
    lines: list[Line] = field(default_factory=list)
    runs: list[list[Line]] = field(default_factory=list)
    furniture: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    quality: float = 1.0
    confidence: float | None = None
    reason: str = ""
    flags: set[str] = field(default_factory=set)
    keeps_order: bool = False  # lines already stand in reading order, ``block`` numbers their paragraphs (OCR)


class ParagraphKind(StrEnum):
    BODY = "body"
    HEADING = "heading"
    CAPTION = "caption"
    ASIDE = "aside"  # smaller type: notes, tables, labels in figures


@dataclass
class Paragraph:
    """Lines that belong together. ``run`` numbers the column it stands in, over all pages."""

    lines: list[Line]
    run: int
    kind: ParagraphKind = ParagraphKind.BODY
    level: int = 0
    title: str = ""
    reaches_edge: bool = True  # its last line goes up to the column's right edge

    @property
    def size(self) -> float:
        longest = self.lines[0]
        for line in self.lines:
            if len(line.text) > len(longest.text):
                longest = line
        return longest.size

    @property
    def first_page(self) -> int:
        return self.lines[0].page

    @property
    def last_page(self) -> int:
        return self.lines[-1].page

    @property
    def is_bold(self) -> bool:
        return self.lines[0].bold >= 0.85 and all(line.bold >= 0.85 for line in self.lines)

    @property
    def num_chars(self) -> int:
        return sum([len(line.text) for line in self.lines])
