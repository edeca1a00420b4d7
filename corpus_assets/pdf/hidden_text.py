"""Text a reader of the page cannot see, and text that talks to a machine."""

from __future__ import annotations

import re
from typing import Any

from corpus_assets.pdf.normalise import clean_text

MIN_VISIBLE_SIZE = 2.0  # points
MIN_CONTRAST = 24  # of 255, between the darkest and the lightest pixel where the text should be
FULL_PAGE_IMAGE = 0.5  # share of the page an image covers for invisible text over it to be its OCR layer
MAX_RENDER_PIXELS = 4_000_000
MAX_RENDERS_PER_PAGE = 60

_DRAWN = 16 | 32  # mupdf's FZ_STEXT_FILLED, FZ_STEXT_STROKED
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
    return _INSTRUCTION.search(text) is not None


def take_hidden_text(page: Any, page_dict: dict[str, Any]) -> tuple[list[str], bool]:
    """Take invisible spans out of a page's dict; return their text, and whether invisible text is a scan's OCR layer.

    Hidden is what is off the page, under two points high, drawn in no colour (unless it lies over a page-wide image,
    as OCR programs put it), or drawn without contrast against what is behind it; the last is seen by rendering.
    """
    hidden: list[str] = []
    suspects: list[tuple[dict[str, Any], dict[str, Any]]] = []
    has_ocr_layer = False
    covered: float | None = None
    width, height = page_dict["width"], page_dict["height"]
    for block in page_dict["blocks"]:
        if block["type"] != 0:
            continue
        for line in block["lines"]:
            x0, y0, x1, y1 = line["bbox"]
            is_off_page = x1 < 0 or y1 < 0 or x0 > width or y0 > height
            removed: list[int] = []
            for span in line["spans"]:
                color = span["color"]
                if (
                    not is_off_page
                    and span["size"] >= MIN_VISIBLE_SIZE
                    and span["char_flags"] & _DRAWN
                    and span["alpha"] >= 64
                    and (color == 0 or not _is_near_white(color))
                ):
                    continue
                if not span["text"].strip():
                    continue
                if is_off_page or span["size"] < MIN_VISIBLE_SIZE:
                    hidden.append(span["text"])
                    removed.append(id(span))
                elif not span["char_flags"] & _DRAWN:
                    if covered is None:
                        covered = find_image_cover(page)
                    if covered >= FULL_PAGE_IMAGE:
                        has_ocr_layer = True
                    else:
                        hidden.append(span["text"])
                        removed.append(id(span))
                else:
                    suspects.append((line, span))
            if removed:
                line["spans"] = [span for span in line["spans"] if id(span) not in removed]
        block["lines"] = [line for line in block["lines"] if line["spans"]]
    num_renders = 0
    for line, span in suspects:
        num_renders += 1
        if num_renders > MAX_RENDERS_PER_PAGE or has_contrast(page, span["bbox"]):
            continue
        hidden.append(span["text"])
        line["spans"] = [other for other in line["spans"] if other is not span]
    if suspects:
        for block in page_dict["blocks"]:
            if block["type"] == 0:
                block["lines"] = [line for line in block["lines"] if line["spans"]]
    return [text for raw in hidden if (text := clean_text(raw).strip())], has_ocr_layer


def find_image_cover(page: Any) -> float:
    """Return the share of the page its largest image covers."""
    rect = page.cropbox
    area = abs(rect.width * rect.height)
    covers = [0.0]
    for info in page.get_image_info():
        x0, y0, x1, y1 = info["bbox"]
        covers.append(
            max(0.0, min(x1, page.rect.width) - max(x0, 0)) * max(0.0, min(y1, page.rect.height) - max(y0, 0))
        )
    return min(1.0, max(covers) / area) if area else 0.0


def has_contrast(page: Any, box: tuple[float, float, float, float] | None = None) -> bool:
    """Return whether anything can be seen in a box of the page (the whole page without one), by rendering it."""
    import pymupdf

    rect = pymupdf.Rect(box) * page.rotation_matrix if box is not None else page.rect
    rect = rect & page.rect
    if rect.is_empty:
        return False
    area = max(1.0, rect.width * rect.height)
    zoom = min(2.0 if box is not None else 0.6, (MAX_RENDER_PIXELS / area) ** 0.5)
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), clip=rect, colorspace=pymupdf.csGRAY, alpha=False)
    samples = pixmap.samples
    return bool(samples) and max(samples) - min(samples) >= MIN_CONTRAST


def _is_near_white(color: int) -> bool:
    return (color >> 16) & 255 >= 225 and (color >> 8) & 255 >= 225 and color & 255 >= 225
