"""One page of a PDF: its text where it has readable text, else from its picture, else why not."""

from __future__ import annotations

from typing import Any

from corpus_assets.model import PageState
from corpus_assets.pdf.covered_text import take_covered_text
from corpus_assets.pdf.draft import PageDraft
from corpus_assets.pdf.form_graph import MAX_DRAWINGS, exceeds_drawings
from corpus_assets.pdf.hidden_text import (
    MIN_VISIBLE_SIZE,
    find_image_cover,
    find_page_size,
    has_contrast,
    take_hidden_text,
)
from corpus_assets.pdf.lines import Line, merge_pieces, read_lines
from corpus_assets.pdf.lost_content import DAMAGED_FLAG, forget_warnings, has_errors, has_only_rules, is_cut_off
from corpus_assets.pdf.mupdf import load_pymupdf
from corpus_assets.pdf.normalise import clean_text, compose_detached_accents
from corpus_assets.pdf.ocr import MAX_PIXELS, OcrUnavailableError, PageReader, PageReading
from corpus_assets.pdf.quality import measure_likeness, measure_quality, measure_text
from corpus_assets.pdf.symbols import weigh_signs
from corpus_assets.settings import ParseSettings

SPARSE_CHARS = 250  # a page with less text than this and a page-wide image is looked at by OCR
SCAN_COVER = 0.6  # share of the page one image covers for the page to be a scan
GOOD_LIKENESS = 0.86  # an OCR layer whose words look less like words is made anew
BETTER_BY = 0.02  # likeness by which our OCR must beat the layer it replaces
OFF_PAGE_REACH = 20_000  # points around the page in which text is looked for
MAX_CONTENT_BYTES = 3_000_000  # larger content streams are read with the clip to the page, which bounds them
SCAN_PAGE_COVER = 0.85
DRAW_OBJECT = b"Do"  # the operator that paints a picture; a page whose content lacks it has none
MAX_SHOWN_SIDE = 20_000.0  # points; a larger page's picture is too coarse to show that it is blank
MIN_SCAN_PIXELS = 600
MIN_OCR_SIDE = 1650  # pixels of a page's longer side, as an A5 page has at 200 dpi
MAX_OCR_DPI = 600.0
MIN_OCR_CONFIDENCE = 0.35
MIN_OCR_QUALITY = 0.35
NOT_IN_FILE = "named by the page tree but not in the file"
_TOO_DEEP = "exception stack overflow"  # the library's words
MAX_SIDEWAYS_CHARS = 200  # more sideways text than this is content (a table on its side), not a stamp


def read_page(
    document: Any, number: int, settings: ParseSettings, ocr: PageReader | None, why_no_ocr: str
) -> PageDraft:
    """Return what one page (counted from 1) holds. Never raises for what the page does; the reason says it."""
    draft = PageDraft(number)
    try:
        forget_warnings()
        page = document[number - 1]
        _read(draft, page, settings, ocr, why_no_ocr)
        if draft.state is PageState.BLANK and not _is_in_file(document, page):
            draft.state, draft.quality = PageState.UNREADABLE, 0.0
            draft.reason = NOT_IN_FILE
        elif draft.state is PageState.BLANK and has_errors():
            draft.state, draft.quality = PageState.UNREADABLE, 0.0
            draft.reason = "its content is damaged and shows nothing"
        elif draft.lines and is_cut_off():
            draft.flags.add(DAMAGED_FLAG)
    except MemoryError:
        raise
    except Exception as error:  # mupdf raises RuntimeError, ValueError and a family of its own, from anywhere
        if isinstance(error, TypeError | AttributeError | KeyError | NameError | AssertionError):
            raise  # ours
        message = clean_text(str(error)).strip() or type(error).__name__
        draft.state, draft.lines, draft.quality = PageState.UNREADABLE, [], 0.0
        draft.reason = f"the page is damaged ({message[:200]})"
        if _TOO_DEEP in message:
            draft.reason = "what is drawn on it is nested too deep"
    return draft


def _is_in_file(document: Any, page: Any) -> bool:
    """Return whether the object the page tree names is there; where it is not, the library shows an empty page."""
    number = int(page.xref)
    return 0 < number < document.xref_length() and str(document.xref_object(number)).startswith("<<")


def _read(draft: PageDraft, page: Any, settings: ParseSettings, ocr: PageReader | None, why_no_ocr: str) -> None:
    pymupdf = load_pymupdf()

    flags = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES
    box = None
    contents = page.read_contents()
    if exceeds_drawings(page, contents):
        draft.state, draft.quality = PageState.UNREADABLE, 0.0
        draft.reason = f"its forms draw one another more than {MAX_DRAWINGS:,} times"
        return
    width, height = find_page_size(page)
    if len(contents) <= MAX_CONTENT_BYTES:  # what is off the page is wanted too: it is hidden text
        box = pymupdf.Rect(-OFF_PAGE_REACH, -OFF_PAGE_REACH, width + OFF_PAGE_REACH, height + OFF_PAGE_REACH)
    else:
        draft.flags.add("off_page_text_not_read")
    textpage = page.get_textpage(clip=box, flags=flags)
    page_dict = textpage.extractDICT()
    page_dict["width"], page_dict["height"] = width, height
    covered = take_covered_text(page, textpage, page_dict, contents)
    hidden, has_ocr_layer = take_hidden_text(page, page_dict)
    draft.hidden = [*hidden, *covered]
    upright, sideways = read_lines(page_dict)
    draft.lines = merge_pieces(upright)
    _set_extent(draft, page_dict)
    _place_sideways(draft, merge_pieces(sideways))
    num_chars = sum([len(line.text) for line in draft.lines])
    if not num_chars:
        _read_without_text(draft, page, settings, ocr, why_no_ocr)
        return
    draft.quality = weigh_signs(measure_quality(draft.lines), draft.lines)
    if draft.quality < settings.min_page_quality:
        _replace_bad_text(draft, page, settings, ocr, why_no_ocr)
    elif _has_broken_metrics(draft.lines):
        draft.flags.add("broken_font_metrics")
        _replace_poor_layer(draft, page, settings, ocr)
    elif has_ocr_layer or (DRAW_OBJECT in contents and _is_scan(page)):
        draft.flags.add("ocr_layer")
        _replace_poor_layer(draft, page, settings, ocr)
    elif num_chars < SPARSE_CHARS and not has_ocr_layer and find_image_cover(page) >= SCAN_COVER:
        _add_text_of_image(draft, page, settings, ocr, num_chars)


def _set_extent(draft: PageDraft, page_dict: dict[str, Any]) -> None:
    draft.width, draft.height = page_dict["width"], page_dict["height"]
    bottom = max((line.y1 for line in draft.lines), default=0.0)
    if bottom > draft.height + 40 and draft.width > draft.height:  # read as a reader turns it
        draft.width, draft.height = draft.height, draft.width


def _place_sideways(draft: PageDraft, sideways: list[Line]) -> None:
    """Keep stamps and axis labels beside the text; a sideways table goes to the end of its page."""
    num_sideways, num_upright = (sum(len(line.text) for line in lines) for lines in (sideways, draft.lines))
    if num_sideways <= MAX_SIDEWAYS_CHARS and num_sideways < 0.25 * num_upright:
        draft.furniture.extend(line.text for line in sideways)
        return
    bottom = max((line.y1 for line in draft.lines), default=0.0)
    top = min((line.y0 for line in sideways), default=0.0)
    for line in sideways:
        shift = bottom + 40 - top
        line.y0, line.y1, line.baseline = line.y0 + shift, line.y1 + shift, line.baseline + shift
    draft.lines.extend(sideways)


def _read_without_text(
    draft: PageDraft, page: Any, settings: ParseSettings, ocr: PageReader | None, why_no_ocr: str
) -> None:
    if has_only_rules(page):
        draft.state = PageState.BLANK
        return
    if not has_contrast(page):
        if max(page.rect.width, page.rect.height) <= MAX_SHOWN_SIDE:
            draft.state = PageState.BLANK
        else:  # shrunk to a picture that fits, letters of any size are gone: seeing nothing proves nothing
            draft.state, draft.quality = PageState.UNREADABLE, 0.0
            draft.reason = "something is drawn on it, but the page is too large to be looked at"
        return
    reading, reason = _ocr(page, settings, ocr, why_no_ocr)
    if reading is None:
        draft.state, draft.quality, draft.reason = PageState.UNREADABLE, 0.0, reason
        return
    quality = measure_text(reading.text)
    if not reading.lines:
        draft.state, draft.quality, draft.reason = PageState.UNREADABLE, 0.0, "a picture in which OCR found no text"
    elif reading.confidence < MIN_OCR_CONFIDENCE or quality < MIN_OCR_QUALITY:
        draft.state, draft.quality, draft.confidence = PageState.UNREADABLE, quality, reading.confidence
        draft.reason = f"OCR could not read it (confidence {reading.confidence:.2f}, quality {quality:.2f})"
    else:
        _take_reading(draft, reading, quality, ocr)


def _replace_bad_text(
    draft: PageDraft, page: Any, settings: ParseSettings, ocr: PageReader | None, why_no_ocr: str
) -> None:
    """Read a page of garbled text from its picture."""
    bad = draft.quality
    reading, reason = _ocr(page, settings, ocr, why_no_ocr)
    if reading is not None and reading.lines:
        quality = measure_text(reading.text)
        if reading.confidence >= MIN_OCR_CONFIDENCE and quality >= max(MIN_OCR_QUALITY, bad):
            draft.flags.add("garbled_text_replaced")
            _take_reading(draft, reading, quality, ocr)
            return
        reason = f"OCR did no better (confidence {reading.confidence:.2f})"
    elif reading is not None:
        reason = "OCR found no text"
    draft.lines = []
    draft.state = PageState.UNREADABLE
    draft.reason = f"garbled text (quality {bad:.2f}); {reason}"


def _has_broken_metrics(lines: list[Line]) -> bool:
    """Return whether most letters claim to be too small to see, as bitmap fonts in units of their own do.

    Where words begin and end is then guesswork.
    """
    num_tiny = sum([len(line.text) for line in lines if line.size < MIN_VISIBLE_SIZE])
    return num_tiny > 0 and 2 * num_tiny > sum([len(line.text) for line in lines])


def _is_scan(page: Any) -> bool:
    """Return whether the page is one picture with text drawn behind or over it, as some OCR programs leave it."""
    width, height = find_page_size(page)
    pictures = page.get_images()
    if not any(_has_shape(image[2], image[3], width, height) for image in pictures) or not height:
        return False
    return find_image_cover(page) >= SCAN_PAGE_COVER


def _has_shape(image_width: int, image_height: int, width: float, height: float) -> bool:
    if min(image_width, image_height) < MIN_SCAN_PIXELS:
        return False
    shape = (image_width / image_height) / (width / height)
    return 0.85 < shape < 1.18 or 0.85 < 1 / (shape * (width / height) ** 2) < 1.18


def _replace_poor_layer(draft: PageDraft, page: Any, settings: ParseSettings, ocr: PageReader | None) -> None:
    """Read a scan anew where the text layer it came with reads poorly; keep the layer that ours does not beat."""
    layer = "\n".join(line.text for line in draft.lines)
    before = measure_likeness(layer)
    if before is not None and before >= GOOD_LIKENESS:
        return
    reading, reason = _ocr(page, settings, ocr, "")
    after = measure_likeness(reading.text) if reading is not None else None
    if reading is not None and after is not None and reading.confidence >= MIN_OCR_CONFIDENCE:
        is_better = before is None or after >= before + BETTER_BY
        if is_better and len(reading.text) > 0.5 * len(layer):
            draft.flags.add("ocr_layer_replaced")
            draft.flags.discard("ocr_layer")
            _take_reading(draft, reading, measure_text(reading.text), ocr)
            return
    if reading is None and reason:
        draft.flags.add("image_not_read")
    if before is not None:
        draft.flags.add("poor_ocr_layer")


def _add_text_of_image(
    draft: PageDraft, page: Any, settings: ParseSettings, ocr: PageReader | None, num_chars: int
) -> None:
    """Read a scan that has only a stamp or a page number as text."""
    reading, reason = _ocr(page, settings, ocr, "")
    if reading is None:
        draft.flags.add("image_not_read")
        draft.reason = reason
        return
    quality = measure_text(reading.text)
    if reading.confidence >= 0.6 and quality >= 0.5 and len(reading.text) > 2 * num_chars + 50:
        draft.flags.add("scan_with_some_text")
        _take_reading(draft, reading, quality, ocr)


def _take_reading(draft: PageDraft, reading: PageReading, quality: float, ocr: PageReader | None) -> None:
    draft.state = ocr.state if ocr is not None else PageState.OCR
    draft.quality, draft.confidence = quality, reading.confidence
    draft.keeps_order = True
    draft.reason = ""
    lines = []
    for read in reading.lines:
        text, _ = compose_detached_accents(clean_text(read.text).strip())
        if not text:
            continue
        line = Line(read.x0, read.y0, read.x1, read.y1, read.block, [])
        line.text, line.baseline = text, read.y1
        lines.append(line)
    draft.lines = lines


def _ocr(page: Any, settings: ParseSettings, ocr: PageReader | None, why_no_ocr: str) -> tuple[PageReading | None, str]:
    """Return the reading of a page's picture, or None and why there is none."""
    pymupdf = load_pymupdf()

    if ocr is None:
        return None, why_no_ocr
    area = max(1.0, page.rect.width * page.rect.height)
    side = max(page.rect.width, page.rect.height, 1.0)
    dpi = max(float(settings.ocr_dpi), min(MAX_OCR_DPI, 72.0 * MIN_OCR_SIDE / side))  # small print on a small page
    dpi = min(dpi, 72.0 * (MAX_PIXELS / area) ** 0.5)  # a poster is read at what fits
    matrix = pymupdf.Matrix(dpi / 72, dpi / 72)
    png = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False).tobytes("png")
    try:
        return ocr.read(png, dpi), ""
    except OcrUnavailableError as error:
        return None, str(error)
