"""``read_paper``: one file in, one parsed paper out, or a ParseError that says why not."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus_assets.errors import BadInputError, ParseError
from corpus_assets.manifest import ManifestRow
from corpus_assets.metadata import extract_metadata
from corpus_assets.model import PageState, ParsedPaper
from corpus_assets.paths import escape_path
from corpus_assets.pdf.assemble import assemble
from corpus_assets.pdf.draft import PageDraft
from corpus_assets.pdf.front import FrontLine, FrontMatter
from corpus_assets.pdf.lines import SOFT_HYPHEN, Line
from corpus_assets.pdf.mupdf import load_pymupdf
from corpus_assets.pdf.normalise import clean_text
from corpus_assets.pdf.ocr import INSTALL_HINT, PageReader, TesseractReader, find_tesseract
from corpus_assets.pdf.page_text import NOT_IN_FILE, read_page
from corpus_assets.pdf.page_tree import read_page_tree
from corpus_assets.pdf.sniff import (
    count_pages_by_own_reading,
    describe_content,
    find_missing_end,
    holds_several_pdfs,
    is_pdf,
)
from corpus_assets.settings import ParseSettings

PARSER_VERSION = "6"  # bump whenever the same bytes give another result
PAPER_FLAGS = (  # of a page that are its paper's, too
    "control_codes",
    "detached_accents",
    "glyph_loss",
    "hidden_text",
    "instruction_like_text",
    "off_page_text_not_read",
)
FILE_FLAGS = (  # of the file as a whole
    "attached_files_not_read",
    "encrypted",
    "fewer_pages_than_page_tree",
    "repaired",
    "several_pdfs",
    "wrong_page_count",
)
FRONT_PAGES = 3
TEXT_ENDINGS = (".txt", ".md", ".markdown")
_BYTES_PER_MB = 1_000_000


def read_paper(
    path: str,
    settings: ParseSettings,
    manifest_row: ManifestRow | None = None,
    *,
    page_reader: PageReader | None = None,
) -> ParsedPaper:
    """Return the text, pages, sections and metadata of a PDF, .txt or .md file.

    What the file is, its content says; the ending only tells .txt and .md apart. ``page_reader`` replaces OCR. A file
    without any readable text is returned with its pages accounted for and an empty text.
    Raises ParseError for what is not a paper, is cut off, encrypted or over a limit.
    """
    name = escape_path(Path(path).name)
    data = _read_bytes(path, name, settings)
    if is_pdf(data):
        with _paused_collector():
            return _read_pdf(data, name, settings, manifest_row, page_reader)
    from corpus_assets.text_reader import read_text_paper

    kind = describe_content(data)
    if path.lower().endswith(TEXT_ENDINGS) and (kind.startswith(("plain text", "of no known kind", "an XML"))):
        return read_text_paper(data, name, manifest_row)
    if not data:
        raise ParseError(
            f"{name} is incomplete: it is empty (0 bytes).", hint="Copy it again, or wait for its copying to end."
        )
    raise ParseError(f"{name} is not a PDF: it is {kind}.")


def _read_bytes(path: str, name: str, settings: ParseSettings) -> bytes:
    file = Path(path)
    try:
        size_mb = file.stat().st_size / _BYTES_PER_MB
        if size_mb > settings.max_file_mb:
            raise ParseError(
                f"{name} has {size_mb:.0f} MB; the limit is {settings.max_file_mb} MB.",
                hint="Raise RESEARCH_COPILOT_PARSE__MAX_FILE_MB to read it.",
            )
        return file.read_bytes()
    except OSError as error:
        raise ParseError(f"{name} could not be read: {error.strerror or error}.", retryable=True) from error


def _read_pdf(
    data: bytes, name: str, settings: ParseSettings, manifest_row: ManifestRow | None, page_reader: PageReader | None
) -> ParsedPaper:
    reader, why_no_reader = _choose_reader(settings, page_reader)
    document, is_encrypted = _open(data, name, settings)
    try:
        flags = {"encrypted"} if is_encrypted else set()
        if holds_several_pdfs(data):
            flags.add("several_pdfs")
        if document.embfile_count():
            flags.add("attached_files_not_read")
        num_pages, num_expected, is_tree_mended = _count_pages(document, data, name, settings)
        if is_tree_mended:
            flags.add("wrong_page_count")
        if document.is_repaired:
            flags.add("repaired")
            reason = find_missing_end(data)
            if not reason and num_pages < num_expected:
                reason = f"it has {num_pages} of the {num_expected} pages its page tree names"
            if reason:
                raise _incomplete(name, reason)
        drafts = [read_page(document, n, settings, reader, why_no_reader) for n in range(1, num_pages + 1)]
        if document.is_repaired and _is_garbage(drafts):
            raise _incomplete(name, "it had to be repaired and its pages are garbage")
        if num_pages < num_expected:
            flags.add("fewer_pages_than_page_tree")
            drafts.extend(
                PageDraft(n, state=PageState.UNREADABLE, quality=0.0, reason=NOT_IN_FILE)
                for n in range(num_pages + 1, num_expected + 1)
            )
        _refuse_placeholder(document, drafts, name)
        front_candidates = {draft.number: list(draft.lines) for draft in drafts[:FRONT_PAGES]}
        assembled = assemble(drafts)
        front = _make_front(document, drafts, front_candidates, assembled.text, assembled.pages, name)
    finally:
        document.close()
    for flag in PAPER_FLAGS:
        if any(flag in page.flags for page in assembled.pages):
            flags.add(flag)
    return ParsedPaper(
        text=assembled.text,
        pages=assembled.pages,
        sections=assembled.sections,
        metadata=extract_metadata(front, manifest_row),
        num_pages_expected=num_expected,
        flags=tuple(sorted(flags)),
    )


@contextmanager
def _paused_collector() -> Iterator[None]:
    """Keep the cycle collector from walking over the many small, acyclic objects of a page (a sixth of the time)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _choose_reader(settings: ParseSettings, given: PageReader | None) -> tuple[PageReader | None, str]:
    if given is not None:
        return given, ""
    if settings.ocr == "off":
        return None, "needs OCR, which is switched off"
    if settings.ocr == "vision":
        raise BadInputError(
            "Pages are to be read by a vision model, but none was given.",
            hint="Set RESEARCH_COPILOT_PARSE__OCR=auto, or configure a language model.",
        )
    if find_tesseract() is None:
        return None, INSTALL_HINT
    return TesseractReader(settings.ocr_language), ""


def _open(data: bytes, name: str, settings: ParseSettings) -> tuple[Any, bool]:
    """Return the open document and whether a password was needed.

    ``needs_pass`` may be asked only once: it tries the empty password, which locks the document again.
    """
    pymupdf = load_pymupdf()

    try:
        document = pymupdf.open(stream=data, filetype="pdf")
        if not document.is_pdf:
            raise ParseError(f"{name} is not a PDF: it is {describe_content(data)}.")
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase) as error:
        reason = find_missing_end(data)
        if reason:
            raise _incomplete(name, reason) from error
        raise ParseError(f"{name} is a damaged PDF: {clean_text(str(error))[:200]}.") from error
    if not document.needs_pass:
        return document, False
    if not _unlock(document, settings):
        document.close()
        raise ParseError(
            f"{name} is encrypted and no known password opens it.",
            hint="Put its password on a line of passwords.txt in the papers folder, or of the file "
            "RESEARCH_COPILOT_PARSE__PASSWORDS_PATH names.",
        )
    return document, True


def _unlock(document: Any, settings: ParseSettings) -> bool:
    passwords = [""]
    if settings.passwords_path is not None:
        try:
            text = settings.passwords_path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInputError(f"The passwords file {settings.passwords_path} could not be read: {error}.") from error
        passwords.extend(line for line in text.splitlines() if line)
    return any(document.authenticate(password) for password in passwords)


def _count_pages(document: Any, data: bytes, name: str, settings: ParseSettings) -> tuple[int, int, bool]:
    """Return the pages the library finds, the pages the page tree names, and whether that had to be set right."""
    tree = read_page_tree(document, settings.max_pages)
    if tree.num_pages is None:
        raise ParseError(f"{name} is damaged: its page tree claims an impossible number of pages.")
    num_named = count_pages_by_own_reading(data) if tree.num_named is None else tree.num_named
    num_expected = max(tree.num_pages, num_named)
    if tree.num_pages == 0:
        reason = find_missing_end(data)
        if reason or document.is_repaired:
            raise _incomplete(name, reason or "no page of it could be found")
        raise ParseError(f"{name} has no pages.")
    if num_expected > settings.max_pages:
        raise ParseError(
            f"{name} has {num_expected} pages; the limit is {settings.max_pages}.",
            hint="Raise RESEARCH_COPILOT_PARSE__MAX_PAGES to read it (it is never cut).",
        )
    return tree.num_pages, num_expected, tree.is_mended


def _incomplete(name: str, reason: str) -> ParseError:
    return ParseError(
        f"{name} is incomplete: {reason}.", hint="Copy or download it again; it is read as soon as it changes."
    )


def _is_garbage(drafts: Sequence[PageDraft]) -> bool:
    """Return whether most pages that have anything on them are unreadable or damaged."""
    written = [draft for draft in drafts if draft.state is not PageState.BLANK]
    num_bad = sum(1 for draft in written if draft.state is PageState.UNREADABLE)
    return bool(written) and num_bad > 0.5 * len(written)


def _refuse_placeholder(document: Any, drafts: Sequence[PageDraft], name: str) -> None:
    """Refuse a dynamic form whose one page only says that another viewer is needed."""
    if len(drafts) != 1:
        return
    text = " ".join(line.text for line in drafts[0].lines)
    if text.startswith("Please wait...") and "PDF viewer" in text:
        raise ParseError(f"{name} is a dynamic form (XFA); its content is only shown by the program it was made for.")


def _make_front(
    document: Any,
    drafts: Sequence[PageDraft],
    candidates: dict[int, list[Line]],
    text: str,
    pages: Sequence[Any],
    name: str,
) -> FrontMatter:
    lines: list[FrontLine] = []
    for draft in drafts[:FRONT_PAGES]:
        ordered = [line for run in draft.runs for line in run]
        kept = {id(line) for line in ordered}
        left_out = [line for line in candidates[draft.number] if id(line) not in kept and line.text in draft.furniture]
        lines.extend(
            FrontLine(
                line.text.rstrip(SOFT_HYPHEN),
                0.0 if draft.keeps_order else round(line.size, 2),
                line.bold >= 0.85,
                draft.number,
                round(line.y0, 1),
            )
            for line in [*left_out, *ordered]
        )
    if drafts:  # drawn up the margin, a stamp is among no page's upright lines
        stamps = [text for text in drafts[0].furniture if text.lower().startswith("arxiv")]
        lines.extend(FrontLine(text, 0.0, False, 1, 0.0) for text in stamps)
    end = pages[min(FRONT_PAGES, len(pages)) - 1].char_end if pages else 0
    furniture = "\n".join("\n".join(draft.furniture) for draft in drafts[:FRONT_PAGES] if draft.furniture)
    info = document.metadata or {}
    return FrontMatter(
        lines=tuple(lines),
        pdf_title=clean_text(info.get("title") or "").strip(),
        pdf_author=clean_text(info.get("author") or "").strip(),
        pdf_creation=clean_text(info.get("creationDate") or "").strip(),
        xmp=_read_xmp(document),
        first_pages_text=f"{text[:end]}\n{furniture}".strip(),
        file_name=name,
    )


def _read_xmp(document: Any) -> str:
    pymupdf = load_pymupdf()

    try:
        return clean_text((document.get_xml_metadata() or "")[:200_000])
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase):
        return ""  # damaged metadata says nothing; the page is asked
