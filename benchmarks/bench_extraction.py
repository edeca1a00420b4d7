"""Pages a second of the reader beside those of a bare ``page.get_text()`` loop, on one core and on several.

``python -m benchmarks.bench_extraction FOLDER [--rounds 5] [--workers N] [--json FILE]``; FOLDER holds PDFs. Both sides
take turns in every round, so that a busy machine slows them alike; the ratio is the median over the rounds of what one
round gives. One core: processor time, OCR off, files warm. Library: the loop with the one call more that no reader of
type, place and hidden text can do without, ``extractDICT()``, and nothing done with what it gives: what the ratio could
be at best. Workers: the time on the clock of ``parse_files``, its
processes started and its answers pickled, against the bare rate of one core times the cores used. Exits 1 when the
ratio on one core is below its floor.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.bench_ingest_quality import print_table
from corpus_assets.errors import ParseError
from corpus_assets.folder import hash_files, scan_folder
from corpus_assets.pdf.mupdf import load_pymupdf
from corpus_assets.pdf.reader import read_paper
from corpus_assets.pdf.worker import parse_files
from corpus_assets.settings import ParseSettings, RunSettings, Settings

SPEED_FLOOR = 0.70


@dataclass(frozen=True)
class Round:
    """Pages a second: of the bare loop, the library alone and the reader on one core, of the workers together."""

    bare: float
    library: float
    reader: float
    workers: float
    num_cores: int

    @property
    def ratio(self) -> float:
        return self.reader / self.bare

    @property
    def library_ratio(self) -> float:
        return self.library / self.bare

    @property
    def workers_ratio(self) -> float:
        return self.workers / (self.bare * self.num_cores)


def measure(folder: Path, num_rounds: int, num_workers: int) -> Iterator[Round]:
    """Yield one round at a time. Files the reader refuses are left out on every side."""
    parse = ParseSettings(ocr="off")
    settings = Settings(papers_dir=folder, parse=parse, run=RunSettings(workers=num_workers))
    scan = scan_folder(folder, settings)
    files = hash_files(scan.files, {}).files
    pages: dict[str, int] = {}
    for file in files:
        try:
            pages[file.fs_path] = len(read_paper(file.fs_path, parse).pages)  # warms the files and the word lists
        except ParseError as error:
            print(f"left out: {error.message}", file=sys.stderr)
    files = [file for file in files if file.fs_path in pages]
    num_pages = sum(pages.values())
    for _ in range(num_rounds):
        start = time.process_time()
        for path in pages:
            _read_bare(path)
        bare = num_pages / (time.process_time() - start)
        start = time.process_time()
        for path in pages:
            _read_spans(path)
        library = num_pages / (time.process_time() - start)
        start = time.process_time()
        for path in pages:
            read_paper(path, parse)
        reader = num_pages / (time.process_time() - start)
        start = time.perf_counter()
        for _outcome in parse_files(files, {}, settings):
            pass
        yield Round(bare, library, reader, num_pages / (time.perf_counter() - start), num_workers)


def _read_bare(path: str) -> None:
    with load_pymupdf().open(stream=Path(path).read_bytes(), filetype="pdf") as document:
        for page in document:
            page.get_text()


def _read_spans(path: str) -> None:
    pymupdf = load_pymupdf()
    flags = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_IMAGES
    with pymupdf.open(stream=Path(path).read_bytes(), filetype="pdf") as document:
        for page in document:
            page.get_textpage(flags=flags).extractDICT()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rounds = list(measure(options.folder, options.rounds, options.workers))
    figures = [[r.bare, r.library, r.reader, r.ratio, r.library_ratio, r.workers, r.workers_ratio] for r in rounds]
    middle = [median(column) for column in zip(*figures, strict=True)]
    ratio, library_ratio, workers_ratio = middle[3], middle[4], middle[6]
    rows: list[list[object]] = [[number, *figure] for number, figure in enumerate(figures, start=1)]
    rows.append(["median", *middle])
    names = ["round", "bare pages/s", "library", "reader", "ratio", "library's", "workers", "of bare x cores"]
    print_table(rows, names)
    print(
        f"ratio on one core {ratio:.2f} (bound {SPEED_FLOOR}; the library alone, nothing done with what it reads: "
        f"{library_ratio:.2f}), {options.workers} workers {workers_ratio:.2f}"
    )
    if options.json:
        report = {
            "ratio": ratio,
            "library_ratio": library_ratio,
            "workers_ratio": workers_ratio,
            "rounds": [asdict(r) for r in rounds],
        }
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    if ratio < SPEED_FLOOR:
        print(f"BELOW FLOOR: ratio {ratio:.2f} < {SPEED_FLOOR}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
