"""Text a reader of the page cannot see, and text that talks to a machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from corpus_assets.pdf.mupdf import load_pymupdf
from corpus_assets.pdf.normalise import clean_text

MIN_VISIBLE_SIZE = 2.0  # points
MIN_CONTRAST = 24  # of 255, between the darkest and the lightest pixel where the text should be
FULL_PAGE_IMAGE = 0.5  # share of the page an image covers for invisible text over it to be its OCR layer
MAX_RENDER_PIXELS = 4_000_000
MAX_HIDDEN_SPANS = 5_000  # of a page that are kept to be shown
MIN_ALPHA = 64  # of 255

_HOW_DRAWN = itemgetter("size", "char_flags", "alpha", "color")  # of a span
_DRAWN = 16 | 32  # mupdf's FZ_STEXT_FILLED, FZ_STEXT_STROKED
# Every alternative below holds one of these; looking for them first is forty times as fast.
_INSTRUCTION_WORDS = ("instruction", "prompt", "guideline", "context", "rules", "text", "model", "gpt", "claude", "llm",
                      "assistant", "review", "rating", "evaluation", "weakness", "negative", "ai ", " ai")  # fmt: skip
# And one of these or the word AI; the last three fold to other letters than their small ones.
_INSTRUCTION_CUES = ("ignore", "disregard", "forget", "override", " prompt", "large model", "language model", "llm",
                     "you are", "chatgpt", "positive", "favo", "glowing", "do not ", "ſ", "ı", "i\u0307")  # fmt: skip
_AI = re.compile(r"\bai\b")
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|all|any|other)\b.{0,30}"
    r"\b(?:instructions?|prompts?|guidelines|context|rules|text)\b"
    r"|\b(?:system|hidden|developer) prompt\b|\bas an? (?:ai|large) (?:language )?model\b"
    r"|\byou are (?:now )?(?:an? |the )?(?:ai\b|chatgpt|gpt-?\d|claude|large language model|language model|"
    r"helpful assistant)"
    r"|\b(?:note|instructions?|attention|important|message)\b.{0,20}\b(?:to|for)\b.{0,12}"
    r"\b(?:ai|llms?|language models?|chatgpt|ai (?:reviewers?|assistants?|agents?))\b"
    r"|\b(?:ai|llm|language model)s?\b.{0,20}\b(?:must|should|shall)\b.{0,25}"
    r"\b(?:answer|say|respond|reply|state|output|rate|recommend|cite|report)\b"
    r"|\b(?:give|write|provide|output) (?:only )?(?:a )?(?:positive|favou?rable|glowing) (?:review|rating|evaluation)"
    r"|\bdo not (?:reveal|mention|disclose|highlight)\b.{0,40}\b(?:negative|weakness|instruction|prompt)",
    re.IGNORECASE | re.DOTALL,
)


def is_instruction_like(text: str) -> bool:
    """Return whether a passage reads like an order to a language model rather than like a paper."""
    lowered = text.lower()
    if not _holds_any(lowered, _INSTRUCTION_WORDS):
        return False
    if not (_holds_any(lowered, _INSTRUCTION_CUES) or _AI.search(lowered)):
        return False
    return _INSTRUCTION.search(text) is not None


def _holds_any(text: str, words: Sequence[str]) -> bool:
    for word in words:  # noqa: SIM110 - a generator costs more than the search
        if word in text:
            return True
    return False


def take_hidden_text(page: Any, page_dict: dict[str, Any]) -> tuple[list[str], bool]:
    """Take invisible spans out of a page's dict; return their text, and whether invisible text is a scan's OCR layer.

    Hidden is what is off the page, under two points high beside larger text, drawn in no colour (unless it lies over a
    page-wide image, as OCR programs put it), or drawn without contrast against what is behind it; the last is seen by
    rendering the page once.
    """
    if not _may_hide(page_dict):
        return [], False
    hidden: list[str] = []
    suspects: list[dict[str, Any]] = []
    tiny: list[dict[str, Any]] = []
    removed: set[int] = set()
    has_ocr_layer = has_visible = False
    covered: float | None = None
    width, height = page_dict["width"], page_dict["height"]
    for block in page_dict["blocks"]:
        if block["type"] != 0:
            continue
        for line in block["lines"]:
            x0, y0, x1, y1 = line["bbox"]
            is_off_page = x1 < 0 or y1 < 0 or x0 > width or y0 > height
            for span in line["spans"]:
                color = span["color"]
                if (
                    not is_off_page
                    and span["size"] >= MIN_VISIBLE_SIZE
                    and span["char_flags"] & _DRAWN
                    and span["alpha"] >= MIN_ALPHA
                    and (color == 0 or not _is_near_white(color))
                ):
                    has_visible = True
                    continue
                if not span["text"].strip():
                    continue
                if is_off_page:
                    removed.add(id(span))
                elif not span["char_flags"] & _DRAWN:
                    if covered is None:
                        covered = find_image_cover(page)
                    if covered >= FULL_PAGE_IMAGE:
                        has_ocr_layer = True
                    else:
                        removed.add(id(span))
                elif span["size"] < MIN_VISIBLE_SIZE:
                    if not span["font"].startswith("Type3"):  # whose sizes are in units of their own
                        tiny.append(span)
                else:
                    suspects.append(span)
    if suspects:
        picture = PagePicture(page, [span["bbox"] for span in suspects])
        removed.update(id(span) for span in suspects if not picture.has_contrast(span["bbox"]))
        has_visible = has_visible or any(id(span) not in removed for span in suspects)
    if has_visible:  # where all text is tiny, the page is drawn to another scale
        removed.update(map(id, tiny))
    if removed:
        for block in page_dict["blocks"]:
            if block["type"] == 0:
                for line in block["lines"]:
                    hidden.extend(span["text"] for span in line["spans"] if id(span) in removed)
                    line["spans"] = [span for span in line["spans"] if id(span) not in removed]
                block["lines"] = [line for line in block["lines"] if line["spans"]]
    return [text for raw in hidden[:MAX_HIDDEN_SPANS] if (text := clean_text(raw).strip())], has_ocr_layer


def _may_hide(page_dict: dict[str, Any]) -> bool:
    """Return whether any text is off the page or drawn otherwise than in sight: a sieve, which most pages pass."""
    width, height = page_dict["width"], page_dict["height"]
    styles: set[tuple[float, int, int, int]] = set()
    for block in page_dict["blocks"]:
        if block["type"] == 0:
            for line in block["lines"]:
                x0, y0, x1, y1 = line["bbox"]
                if x1 < 0 or y1 < 0 or x0 > width or y0 > height:
                    return True
                styles.update(map(_HOW_DRAWN, line["spans"]))
    return not all(
        size >= MIN_VISIBLE_SIZE and char_flags & _DRAWN and alpha >= MIN_ALPHA and not _is_near_white(color)
        for size, char_flags, alpha, color in styles
    )


def find_page_size(page: Any) -> tuple[float, float]:
    """Return the unturned page's width and height in the units its text is given in, wherever its box lies in the file.

    Not the crop box's: that knows neither UserUnit, by which large sheets are scaled, nor that the library begins at 0.
    """
    rect = page.rect
    return (rect.height, rect.width) if page.rotation % 180 else (rect.width, rect.height)


def find_image_cover(page: Any) -> float:
    """Return the share of the page its images cover, as if they did not overlap (strips of a scan add up)."""
    width, height = page.rect.width, page.rect.height
    area = abs(width * height)
    covered = 0.0
    for info in page.get_image_info():
        x0, y0, x1, y1 = info["bbox"]
        covered += max(0.0, min(x1, width) - max(x0, 0)) * max(0.0, min(y1, height) - max(y0, 0))
    return min(1.0, covered / area) if area else 0.0


class PagePicture:
    """The part of the page that holds some boxes, in grey; unrotated, so that the boxes point into it."""

    def __init__(self, page: Any, boxes: Sequence[tuple[float, float, float, float]]) -> None:
        pymupdf = load_pymupdf()
        area = max(1.0, page.rect.width * page.rect.height)
        self.zoom = min(2.0, (MAX_RENDER_PIXELS / area) ** 0.5)
        matrix = page.derotation_matrix * pymupdf.Matrix(self.zoom, self.zoom)
        clip = None
        if not page.rotation:
            x0, y0, x1, y1 = zip(*boxes, strict=True)
            clip = pymupdf.Rect(min(x0) - 2, min(y0) - 2, max(x1) + 2, max(y1) + 2) & page.rect
            clip = None if clip.is_empty else clip
        pixmap = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False, clip=clip)
        self.x: int = pixmap.x if clip is not None else 0
        self.y: int = pixmap.y if clip is not None else 0
        self.width, self.height, self.stride = pixmap.width, pixmap.height, pixmap.stride
        self.samples = bytes(pixmap.samples)

    def has_contrast(self, box: tuple[float, float, float, float]) -> bool:
        """Return whether the lightest and the darkest pixel of a box differ as text and paper do."""
        left, right = max(0, int(box[0] * self.zoom) - self.x), min(self.width, int(box[2] * self.zoom) + 1 - self.x)
        top, bottom = max(0, int(box[1] * self.zoom) - self.y), min(self.height, int(box[3] * self.zoom) + 1 - self.y)
        if left >= right:
            return False
        darkest, lightest = 255, 0
        for row in range(top, bottom):
            pixels = self.samples[row * self.stride + left : row * self.stride + right]
            darkest, lightest = min(darkest, *pixels, 255), max(lightest, *pixels, 0)
            if lightest - darkest >= MIN_CONTRAST:
                return True
        return False


def has_contrast(page: Any) -> bool:
    """Return whether anything at all can be seen on a page, by rendering it small."""
    pymupdf = load_pymupdf()
    area = max(1.0, page.rect.width * page.rect.height)
    zoom = min(0.6, (MAX_RENDER_PIXELS / area) ** 0.5)
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False)
    samples = pixmap.samples
    return bool(samples) and max(samples) - min(samples) >= MIN_CONTRAST


def _is_near_white(color: int) -> bool:
    return (color >> 16) & 255 >= 225 and (color >> 8) & 255 >= 225 and color & 255 >= 225
