"""Write laid-out pages as PDF bytes that are the same on every run."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from sample_corpus.flow import STYLES, LineOp, Op, TextOp
from sample_corpus.source import SYNTHETIC_NOTICE, PaperSource
from sample_corpus.typesetting import FACES, load_font

SCAN_DPI = 150
SCAN_GREYS = 6  # few grey levels keep the page images small


def render_pdf(source: PaperSource, pages: Sequence[Sequence[Op]]) -> bytes:
    """Return the paper as a PDF with a text layer, or as page images for a source marked ``scan: yes``."""
    import pymupdf

    width, height = STYLES[source.get("layout")].page
    document = pymupdf.open()
    for ops in pages:
        _draw_page(document.new_page(width=width, height=height), ops)
    if source.is_on("scan"):
        document = _scan(document, source.key)
    else:
        document.subset_fonts()
    document.set_metadata(_describe(source))
    return bytes(document.tobytes(garbage=4, deflate=True, deflate_images=True, deflate_fonts=True, no_new_id=True))


def _describe(source: PaperSource) -> dict[str, str]:
    date = f"D:{source.get('year')}{source.get('month', '06')}01000000Z"
    authors = "; ".join(part.split("^")[0].strip() for part in source.get("authors").split(";"))
    return {
        "title": source.get("pdf_title", source.get("title").replace("*", "")),
        "author": authors,
        "subject": SYNTHETIC_NOTICE,
        "keywords": "synthetic, sample corpus",
        "creator": "Research Copilot sample corpus",
        "producer": "Research Copilot sample corpus",
        "creationDate": date,
        "modDate": date,
    }


def _draw_page(page: Any, ops: Sequence[Op]) -> None:
    import pymupdf

    shape = page.new_shape()
    writers: dict[tuple[float, float, float], Any] = {}
    for op in ops:
        if isinstance(op, LineOp):
            shape.draw_line((op.x0, op.y0), (op.x1, op.y1))
            shape.finish(color=op.colour, width=op.width)
        elif op.is_vertical:
            page.insert_text((op.x, op.y), op.text, fontsize=op.size, fontname="tiro", rotate=90, color=op.colour)
        else:
            writer = writers.setdefault(op.colour, pymupdf.TextWriter(page.rect))
            writer.append((op.x, op.y), op.text, font=_font(op), fontsize=op.size)
    shape.commit()
    for colour, writer in writers.items():
        writer.write_text(page, color=colour)


def _font(op: TextOp) -> Any:
    return load_font(FACES[op.face][op.style])


def _scan(document: Any, seed: str) -> Any:
    """Return a document of slightly turned, specked grey page images and no text layer."""
    import numpy as np
    import pymupdf

    random = Random(seed)
    scanned = pymupdf.open()
    for page in document:
        turn = pymupdf.Matrix(SCAN_DPI / 72, SCAN_DPI / 72).prerotate(random.uniform(-0.45, 0.45))
        turned = page.get_pixmap(matrix=turn, colorspace=pymupdf.csGRAY)
        grey = np.frombuffer(turned.samples, dtype=np.uint8).reshape(turned.height, turned.width).astype(np.int16)
        noise = np.frombuffer(random.randbytes(grey.size), dtype=np.uint8).reshape(grey.shape)
        grey = np.where(noise < 1, grey - 110, grey)  # specks on some 0.4 % of the pixels
        levels = np.clip((grey * (SCAN_GREYS - 1) + 127) // 255, 0, SCAN_GREYS - 1)
        image = (levels * 255 // (SCAN_GREYS - 1)).astype(np.uint8)
        pixmap = pymupdf.Pixmap(pymupdf.csGRAY, turned.width, turned.height, image.tobytes(), False)
        sheet = scanned.new_page(width=page.rect.width, height=page.rect.height)
        sheet.insert_image(sheet.rect, stream=pixmap.tobytes("png"), keep_proportion=False)
    return scanned
