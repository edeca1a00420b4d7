"""What a file is, by its content; and whether all of it is there."""

from __future__ import annotations

import re

PDF_HEADER_WITHIN = 1024  # bytes of junk that may stand before %PDF-, as readers allow
_TAIL = 2048

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"BM", "a BMP image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript file"),
    (b"AT&TFORM", "a DjVu file"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"SQLite format 3\x00", "a SQLite database"),
)
_HTML = re.compile(
    rb"^(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*(?:<!doctype html|<html|<head|<body|<meta|<script|<title)", re.I | re.S
)
_XML = re.compile(rb"^(?:\xef\xbb\xbf)?\s*<\?xml", re.I)
_ZIP_KINDS = (
    (b"word/", "a Word document (docx)"),
    (b"xl/", "an Excel workbook (xlsx)"),
    (b"ppt/", "a PowerPoint file (pptx)"),
    (b"mimetypeapplication/epub", "an EPUB book"),
    (b"mimetypeapplication/vnd.oasis", "an OpenDocument file"),
)
_PDF_PARTS = re.compile(rb"\d+\s+\d+\s+obj\b|\bstartxref\s+\d|\bendobj\b|\bendstream\b")
_SECOND_PDF = re.compile(rb"%%EOF\s*%PDF-\d")
_OBJECT = re.compile(rb"\d+\s+\d+\s+obj\b")
_PAGES_COUNT = re.compile(
    rb"/Type\s*/Pages\b[^>]{0,4000}?/Count\s+(\d{1,9})|/Count\s+(\d{1,9})[^>]{0,4000}?/Type\s*/Pages\b"
)


def is_pdf(data: bytes) -> bool:
    """Return whether the file says it is a PDF within its first kilobyte."""
    return b"%PDF-" in data[:PDF_HEADER_WITHIN]


def describe_content(data: bytes) -> str:
    """Return what a file that is no PDF is instead, for a person: "an HTML page", "a PNG image", "empty"."""
    if not data:
        return "empty"
    head = data[:4096]
    if not head.strip(b"\x00"):
        return "nothing but NUL bytes"
    if _HTML.match(head):
        return "an HTML page (a paywall or login page saved under this name?)"
    if head.startswith(b"PK\x03\x04"):
        return next(
            (kind for part, kind in _ZIP_KINDS if part in data[:200_000] or part in data[-200_000:]), "a zip archive"
        )
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if _XML.match(head):
        return "an XML file"
    if _PDF_PARTS.search(head) or b"startxref" in data[-_TAIL:]:
        return "a piece of a PDF without its beginning"
    if is_textual(head):
        return "plain text (give it the ending .txt or .md to have it read)"
    return "of no known kind"


def is_textual(head: bytes) -> bool:
    """Return whether bytes look like text of some encoding rather than like binary data."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    num_control = sum(1 for byte in head if byte < 32 and byte not in (9, 10, 12, 13, 27))
    return num_control <= 0.02 * len(head)


def holds_several_pdfs(data: bytes) -> bool:
    """Return whether one PDF follows another in the file; readers show the last alone."""
    return _SECOND_PDF.search(data) is not None


def find_missing_end(data: bytes) -> str:
    """Return why a PDF looks cut off, or an empty string when its end is there.

    Only asked about a file the library had to repair: an intact cross-reference table is proof enough of a whole file.
    """
    last = data.rfind(b"%%EOF")
    if last < 0:
        return "its end is missing (no %%EOF)"
    rest = data[last + 5 :]
    if _OBJECT.search(rest[:200_000]):
        return "its end is missing (objects follow the last %%EOF)"
    if b"startxref" not in data[max(0, last - _TAIL) : last]:
        return "its end is damaged (no startxref before %%EOF)"
    return ""


def count_pages_by_own_reading(data: bytes) -> int:
    """Return the largest page count a page tree node states in plain bytes; 0 when none can be read that way."""
    counts = [int(first or second) for first, second in _PAGES_COUNT.findall(data)]
    return max(counts, default=0)
