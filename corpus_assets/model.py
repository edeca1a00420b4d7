"""The nouns of the corpus: papers, pages, sections, chunks, cards. Frozen, plain, importable anywhere.

Offsets are always Python character offsets, half-open ``[start, end)``, into ``ParsedPaper.text``: the paper's
normalised running text. Page furniture (running headers, footers, page and line numbers) is *not* part of that
text; it is kept beside it on its page, so that a sentence that runs over a page break is one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class PageState(StrEnum):
    """How a page's text was obtained; each page of a paper ends in exactly one."""

    TEXT = "text"
    OCR = "ocr"
    VISION = "vision"
    BLANK = "blank"
    UNREADABLE = "unreadable"


class PaperStatus(StrEnum):
    """What became of a file. Only ``READY`` and ``PARTIAL`` papers have chunks in a generation."""

    READY = "ready"
    PARTIAL = "partial"  # readable, but some page is unreadable; the pages are named in the reason
    SUPERSEDED = "superseded"  # an older version of a paper that is served in a newer one
    DUPLICATE = "duplicate"  # same bytes (or same text) as another file, which is named in the reason
    REFUSED = "refused"  # permanently not a paper until the file changes: HTML, encrypted, truncated, empty, ...
    FAILED = "failed"  # a transient fault (time, memory, crash); tried again at the next ingest


SERVED_STATUSES = frozenset({PaperStatus.READY, PaperStatus.PARTIAL})


class SectionKind(StrEnum):
    """What a section is for; ``REFERENCES`` is the one that is not retrievable by default."""

    FRONT = "front"  # title, authors, affiliations: what stands before the first heading
    ABSTRACT = "abstract"
    INTRODUCTION = "introduction"
    METHODS = "methods"
    RESULTS = "results"
    DISCUSSION = "discussion"
    CONCLUSION = "conclusion"
    LIMITATIONS = "limitations"
    ACKNOWLEDGEMENTS = "acknowledgements"
    REFERENCES = "references"
    APPENDIX = "appendix"
    OTHER = "other"


@dataclass(frozen=True)
class SourceFile:
    """A file found in the papers folder.

    ``path`` is relative to the folder and printable: bytes that are not UTF-8, control characters and backslashes
    are escaped (injectively), so it is safe in a database, in JSON and on a terminal. ``fs_path`` opens the file.
    """

    path: str
    fs_path: str  # os.fsdecode'd absolute path; may hold surrogate escapes: never store or print it
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str = ""


@dataclass(frozen=True)
class Page:
    """One page of the file's page tree and what became of it. ``number`` counts from 1."""

    number: int
    state: PageState
    char_start: int = 0  # span of the page's body in the paper's text; empty for blank and unreadable pages
    char_end: int = 0
    quality: float = 1.0  # 0..1, share of the page's text that reads like text
    confidence: float | None = None  # 0..1, for OCR and vision pages
    reason: str = ""
    flags: tuple[str, ...] = ()  # e.g. "glyph_loss", "hidden_text", "detached_accents", "ocr_layer_replaced"
    furniture: str = ""  # running header, footer, page and line numbers, one a line
    hidden_text: str = ""  # text a reader cannot see; never part of the paper's text

    @property
    def num_chars(self) -> int:
        return self.char_end - self.char_start


@dataclass(frozen=True)
class Section:
    """A stretch of the text under one heading. Sections are in order, do not overlap, and cover the text."""

    title: str
    kind: SectionKind
    level: int
    char_start: int
    char_end: int


@dataclass(frozen=True)
class PaperMetadata:
    """What is needed to cite a paper; ``sources`` says where each field came from.

    Sources: "manifest", "first_page", "pdf_metadata", "xmp", "filename", "text".
    """

    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str = ""  # lower case, no resolver prefix
    arxiv_id: str = ""  # without version
    arxiv_version: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ParsedPaper:
    """What reading one file gave. Pure function of the file's bytes, the manifest row and the parse settings."""

    text: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]
    metadata: PaperMetadata
    num_pages_expected: int  # by the file's page tree
    flags: tuple[str, ...] = ()  # "repaired", "fewer_pages_than_page_tree", "hidden_text", "instruction_like_text", ...


@dataclass(frozen=True)
class PaperRecord:
    """A paper (or a file that did not become one) as the stores and the CLI know it."""

    paper_id: str
    status: PaperStatus
    path: str
    doc_sha256: str
    metadata: PaperMetadata = PaperMetadata()
    reason: str = ""
    num_pages: int = 0
    num_pages_expected: int = 0
    text_sha256: str = ""
    flags: tuple[str, ...] = ()
    version_of: str = ""  # paper_id of the paper that is served instead of (or is completed by) this one
    relation: str = ""  # "duplicate", "near_duplicate", "version", "supplement"
    retraction: str = ""  # "", "retraction", "expression_of_concern", "correction", "reinstatement"
    also_at: tuple[str, ...] = ()  # further paths with the same bytes

    @property
    def is_served(self) -> bool:
        return self.status in SERVED_STATUSES

    @property
    def is_retracted(self) -> bool:
        """Tell whether the paper was taken back, which an expression of concern or a correction does not do."""
        return self.retraction == "retraction"

    @property
    def label(self) -> str:
        """Return the title, or the path when no title was found."""
        return self.metadata.title or self.path


@dataclass(frozen=True)
class Chunk:
    """A retrievable piece of a paper: ``paper_text[char_start:char_end] == text``, always.

    ``chunk_id`` is ``paper_id:section:n``: the section's slug and the chunk's number within all chunks of that slug.
    """

    chunk_id: str
    paper_id: str
    section: str  # slug
    section_title: str
    section_kind: SectionKind
    index: int
    text: str
    char_start: int
    char_end: int
    page_start: int
    page_end: int
    text_sha256: str
    num_tokens: int
    is_retrievable: bool = True

    @property
    def pages(self) -> str:
        """Return ``"3"`` or ``"3-4"``."""
        return str(self.page_start) if self.page_start == self.page_end else f"{self.page_start}-{self.page_end}"


@dataclass(frozen=True)
class Card:
    """A paper in one paragraph, for shortlisting and for a person who skims."""

    paper_id: str
    title: str
    summary: str
    method: str = ""
    findings: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    cluster: int = -1
    cluster_label: str = ""
    writer: str = "extractive"  # or the model's name


@dataclass(frozen=True)
class ClusterMap:
    """Which papers stand together. ``silhouette`` is NaN where it is not defined (fewer than 3 papers)."""

    assignments: Mapping[str, int]  # paper_id -> cluster
    labels: Mapping[int, str]
    silhouette: float
    largest_share: float
    k: int
    coordinates: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # 2-D map


@dataclass(frozen=True)
class Increment:
    """What changed since the last ingest, as printable paths."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.new or self.changed or self.removed)
