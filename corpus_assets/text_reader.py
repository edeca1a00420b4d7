"""Papers as plain text or Markdown: form feeds are page breaks, Markdown headings are sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corpus_assets.errors import ParseError
from corpus_assets.manifest import ManifestRow
from corpus_assets.metadata import extract_metadata
from corpus_assets.model import Page, PageState, ParsedPaper
from corpus_assets.pdf.front import FrontLine, FrontMatter
from corpus_assets.pdf.headings import build_sections
from corpus_assets.pdf.hidden_text import is_instruction_like
from corpus_assets.pdf.normalise import GLYPH_LOSS, clean_text, compose_detached_accents
from corpus_assets.pdf.quality import measure_text
from corpus_assets.pdf.sniff import is_textual
from corpus_assets.pdf.titles import is_known_title

FRONT_LINES = 120

_MARKDOWN_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)\s*$")
_LIST_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_KEEPS_LINES = re.compile(r"^(?:\s{4,}\S|\t|\s*\||\s*>|```)")


def read_text_paper(data: bytes, name: str, manifest_row: ManifestRow | None = None) -> ParsedPaper:
    """Return a parsed .txt or .md file; the encoding it was read as is among the flags.

    Raises ParseError for an empty file and for binary data.
    """
    raw, encoding = decode_text(data, name)
    if not raw.strip():
        raise ParseError(f"{name} is empty: it holds no text.")
    is_markdown = name.lower().endswith((".md", ".markdown"))
    parts: list[str] = []
    length = 0
    headings: list[tuple[int, str, int]] = []
    pages: list[Page] = []
    front_lines: list[FrontLine] = []
    for number, page_text in enumerate(raw.split("\f"), start=1):
        start = length
        flags: set[str] = set()
        for paragraph, title, level in _paragraphs(page_text, is_markdown):
            text, has_detached = compose_detached_accents(_clean_paragraph(paragraph))
            if not text:
                continue
            if has_detached:
                flags.add("detached_accents")
            if GLYPH_LOSS in text:
                flags.add("glyph_loss")
            if "\x1b" in paragraph or "\x9b" in paragraph:
                flags.add("control_codes")
            if is_instruction_like(text):
                flags.add("instruction_like_text")
            if parts:
                parts.append("\n\n")
                length += 2
                if start + 2 == length:
                    start = length
            if title:
                headings.append((length, clean_text(title).strip(), level))
            if len(front_lines) < FRONT_LINES:
                size = 10.0 + 2 * max(0, 4 - level) if title else 10.0
                front_lines.append(FrontLine(text[:1000], size, bool(title), number, 0.0))
            parts.append(text)
            length += len(text)
        body = "".join(parts)[start:length] if length > start else ""
        pages.append(
            Page(
                number,
                PageState.TEXT if body else PageState.BLANK,
                start,
                length,
                quality=measure_text(body),
                flags=tuple(sorted(flags)),
            )
        )
    while len(pages) > 1 and pages[-1].state is PageState.BLANK and raw.endswith("\f"):
        pages.pop()  # a form feed that ends the last page opens none
        raw = raw[:-1]
    text = "".join(parts)
    closed = tuple(_adjoin(pages, len(text)))
    first_page_end = closed[min(3, len(closed)) - 1].char_end
    front = FrontMatter(lines=tuple(front_lines), first_pages_text=text[: min(first_page_end, 20_000)], file_name=name)
    all_flags = {f"encoding_{encoding}"} | {flag for page in closed for flag in page.flags}
    return ParsedPaper(
        text=text,
        pages=closed,
        sections=build_sections(headings, len(text)),
        metadata=extract_metadata(front, manifest_row),
        num_pages_expected=len(closed),
        flags=tuple(sorted(all_flags)),
    )


def decode_text(data: bytes, name: str) -> tuple[str, str]:
    """Return the text and the encoding it was read as: utf-8, utf-16, utf-32 or latin-1."""
    for mark, encoding in ((b"\xff\xfe\x00\x00", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            try:
                return data.decode(encoding), encoding
            except UnicodeDecodeError as error:
                raise ParseError(f"{name} is damaged: it starts as {encoding} text but is not.") from error
    try:
        return data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        pass  # one of the older encodings, tried below
    sample = data[:4000]
    if len(sample) >= 4 and sample.count(0) > 0.3 * len(sample):
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        try:
            return data.decode("utf-16-le" if odd > even else "utf-16-be"), "utf-16"
        except UnicodeDecodeError as error:
            raise ParseError(f"{name} is not text: it is of no known encoding.") from error
    if not is_textual(sample):
        raise ParseError(f"{name} is not text: it holds binary data.")
    return data.decode("cp1252", "replace") if _has_windows_letters(data) else data.decode("latin-1"), "latin-1"


def _has_windows_letters(data: bytes) -> bool:
    return any(0x80 <= byte < 0xA0 for byte in data[:200_000])


def _paragraphs(page: str, is_markdown: bool) -> Iterator[tuple[str, str, int]]:
    """Yield ``(paragraph, title, level)``; the title is empty for what is no heading."""
    for chunk in re.split(r"\n[ \t]*(?:\n[ \t]*)+", page.replace("\r\n", "\n").replace("\r", "\n")):
        lines = [line for line in chunk.split("\n") if line.strip()]
        pending: list[str] = []
        position = 0
        while position < len(lines):
            line = lines[position]
            heading = _MARKDOWN_HEADING.match(line) if is_markdown else None
            following = lines[position + 1] if position + 1 < len(lines) else ""
            underline = _UNDERLINE.match(following) if is_markdown and not pending else None
            if heading or underline:
                if pending:
                    yield "\n".join(pending), "", 0
                    pending = []
                title = heading[2] if heading else line.strip()
                yield title, title, len(heading[1]) if heading else (1 if underline and "=" in underline[1] else 2)
                position += 1 if heading else 2
                continue
            if not is_markdown and len(lines) == 1 and is_known_title(line.strip()) and line.strip()[:1].isupper():
                yield line.strip(), line.strip(), 1
                position += 1
                continue
            pending.append(line)
            position += 1
        if pending:
            yield "\n".join(pending), "", 0


def _clean_paragraph(paragraph: str) -> str:
    """Return lines joined by spaces; list items, tables and code keep their lines as separate ones."""
    lines: list[str] = []
    for raw in paragraph.split("\n"):
        line = " ".join(clean_text(raw).split())
        if not line:
            continue
        if lines and not _LIST_ITEM.match(raw) and not _KEEPS_LINES.match(raw):
            lines[-1] = f"{lines[-1]} {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _adjoin(pages: list[Page], length: int) -> Iterator[Page]:
    from dataclasses import replace

    for position, page in enumerate(pages):
        start = 0 if position == 0 else page.char_start
        end = pages[position + 1].char_start if position + 1 < len(pages) else length
        yield replace(page, char_start=start, char_end=end)
