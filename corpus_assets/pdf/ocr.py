"""Reading a page from its picture. Tesseract does it offline; anything with the same method can take its place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from corpus_assets.model import PageState
from corpus_assets.pdf.mupdf import load_pymupdf
from corpus_assets.pdf.quality import measure_text

INSTALL_HINT = "needs OCR; install tesseract-ocr"
PAGE_TIMEOUT_SECONDS = 120.0
MAX_PIXELS = 25_000_000
MIN_STATED_DPI = 70  # tesseract guesses below it
LOW_CONFIDENCE = 0.6  # below it the page may stand on its side: ask tesseract which way is up
NOISE_CONFIDENCE = 0.25  # lines read with less are specks and pictures, not text
MIN_ORIENTATION_CONFIDENCE = 1.0


class OcrUnavailableError(Exception):
    """No OCR program is there, or it lacks the language; the text says what to install."""


@dataclass(frozen=True)
class ReadLine:
    """A line as read from a picture; coordinates in points, ``block`` numbers its paragraph."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    block: int
    confidence: float


@dataclass(frozen=True)
class PageReading:
    """What a reader made of a page, in reading order; ``confidence`` 0..1 is its own estimate, weighted by length."""

    lines: tuple[ReadLine, ...]
    confidence: float

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


class PageReader(Protocol):
    """Reads pages from pictures. ``state`` is what a page becomes that it has read."""

    state: PageState

    def read(self, png: bytes, dpi: float) -> PageReading:
        """Return a page's lines. Raises OcrUnavailableError when it cannot read at all."""
        ...


@lru_cache(maxsize=1)
def find_tesseract() -> str | None:
    """Return the path of the tesseract program, or None."""
    return shutil.which("tesseract")


class TesseractReader:
    """Runs the tesseract program, one thread, one page at a time."""

    state = PageState.OCR

    def __init__(self, language: str = "eng", timeout_seconds: float = PAGE_TIMEOUT_SECONDS) -> None:
        self.language = language
        self.timeout_seconds = timeout_seconds

    def read(self, png: bytes, dpi: float) -> PageReading:
        reading = self._read(png, dpi)
        if reading.confidence >= LOW_CONFIDENCE and measure_text(reading.text) >= 0.5 and len(reading.text) > 20:
            return reading
        turn = self._find_turn(png)
        if not turn:
            return reading
        turned = self._read(_turn_png(png, turn), dpi)
        return turned if (turned.confidence, len(turned.text)) > (reading.confidence, 0) else reading

    def _read(self, png: bytes, dpi: float) -> PageReading:
        output = self._run(png, "--psm", "3", "--dpi", str(max(MIN_STATED_DPI, round(dpi))), "-l", self.language, "tsv")
        return parse_tsv(output, 72.0 / dpi)

    def _find_turn(self, png: bytes) -> int:
        """Return by how many degrees clockwise the picture must be turned to stand upright; 0 when not sure."""
        try:
            output = self._run(png, "--psm", "0", "-l", "osd")
        except OcrUnavailableError:
            return 0  # too few letters, or no orientation data: the page is kept as it stands
        rotate = re.search(r"Rotate: (\d+)", output)
        sure = re.search(r"Orientation confidence: ([\d.]+)", output)
        if not rotate or not sure or float(sure[1]) < MIN_ORIENTATION_CONFIDENCE:
            return 0
        return int(rotate[1]) % 360

    def _run(self, png: bytes, *arguments: str) -> str:
        program = find_tesseract()
        if program is None:
            raise OcrUnavailableError(INSTALL_HINT)
        environment = {**os.environ, "OMP_THREAD_LIMIT": "1", "LC_ALL": "C"}
        try:
            done = subprocess.run(
                [program, "stdin", "stdout", *arguments],
                input=png,
                capture_output=True,
                timeout=self.timeout_seconds,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OcrUnavailableError(f"OCR took longer than {self.timeout_seconds:.0f} s") from None
        if done.returncode:
            message = done.stderr.decode("utf-8", "replace").strip().splitlines()
            detail = message[-1][:200] if message else f"exit code {done.returncode}"
            if "loading language" in " ".join(message) or "traineddata" in " ".join(message):
                raise OcrUnavailableError(
                    f"tesseract has no data for the language {self.language}; install tesseract-ocr-{self.language}"
                )
            raise OcrUnavailableError(f"tesseract failed: {detail}")
        return done.stdout.decode("utf-8", "replace")


def parse_tsv(output: str, points_per_pixel: float) -> PageReading:
    """Return the lines of tesseract's TSV output; lines read with next to no confidence are left out."""
    rows: dict[tuple[str, ...], list[tuple[float, float, float, float, float, str]]] = {}
    for row in output.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) < 12 or cells[0] != "5" or not cells[11].strip():
            continue
        left, top, width, height, confidence = (float(cell) for cell in cells[6:11])
        rows.setdefault(tuple(cells[1:5]), []).append((left, top, width, height, confidence / 100.0, cells[11].strip()))
    lines: list[ReadLine] = []
    blocks: dict[tuple[str, ...], int] = {}
    for key, words in rows.items():
        text = " ".join(word[5] for word in words)
        confidence = _weighted(words)
        if confidence < NOISE_CONFIDENCE:
            continue
        block = blocks.setdefault(key[:3], len(blocks))
        x0, y0 = min(word[0] for word in words), min(word[1] for word in words)
        x1, y1 = max(word[0] + word[2] for word in words), max(word[1] + word[3] for word in words)
        scale = points_per_pixel
        lines.append(ReadLine(text, x0 * scale, y0 * scale, x1 * scale, y1 * scale, block, confidence))
    total = sum(len(line.text) for line in lines)
    mean = sum(line.confidence * len(line.text) for line in lines) / total if total else 0.0
    return PageReading(tuple(lines), round(mean, 3))


def _weighted(words: Sequence[tuple[float, float, float, float, float, str]]) -> float:
    total = sum(len(word[5]) for word in words)
    return sum(word[4] * len(word[5]) for word in words) / total if total else 0.0


def _turn_png(png: bytes, degrees: int) -> bytes:
    """Return the picture turned clockwise by a multiple of 90 degrees."""
    pymupdf = load_pymupdf()

    picture = pymupdf.open(stream=png, filetype="png")
    try:
        page = pymupdf.open("pdf", picture.convert_to_pdf())[0]
        page.set_rotation(degrees)
        source = pymupdf.Pixmap(png)
        side = page.rect.height if degrees % 180 == 0 else page.rect.width
        zoom = source.height / side
        return bytes(page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY).tobytes("png"))
    finally:
        picture.close()
