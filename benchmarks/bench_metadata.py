"""How well titles, DOIs, years and authors are read, against papers whose truth is known.

``python -m benchmarks.bench_metadata DATA [--json FILE] [--verbose]`` where DATA holds ``pdf/papers`` and
``pdf/papers_groundtruth/metadata.jsonl``. Exit code 1 when a floor is missed. Nothing is looked up online.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus_assets.folder import hash_files, scan_folder
from corpus_assets.front_title import fold_title
from corpus_assets.model import PaperMetadata, ParsedPaper
from corpus_assets.pdf.worker import parse_files
from corpus_assets.settings import Settings

FLOORS = {"title": 0.90, "doi": 0.95, "year": 0.85}


@dataclass
class Score:
    """Right answers out of the papers the field can be judged on; ``misses`` are (file, read, truth)."""

    num_right: int = 0
    num_judged: int = 0
    misses: list[tuple[str, str, str]] = field(default_factory=list)
    sources: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        return self.num_right / self.num_judged if self.num_judged else 0.0

    def count(self, file: str, is_right: bool, read: object, truth: object, source: str) -> None:
        self.num_judged += 1
        self.num_right += is_right
        self.sources[source or "none"] += 1
        if not is_right:
            self.misses.append((file, str(read), str(truth)))


def measure(data: Path) -> dict[str, Score]:
    """Return a score for title, doi, year, authors (every family name, in order) and first_author."""
    truths = read_truths(data / "pdf" / "papers_groundtruth" / "metadata.jsonl")
    settings = Settings()
    files = hash_files(scan_folder(data / "pdf" / "papers", settings).files, {}).files
    wanted = [file for file in files if file.path in truths]
    missing = truths.keys() - {file.path for file in wanted}
    if missing:
        raise SystemExit(f"not in pdf/papers: {', '.join(sorted(missing))}")
    scores = {name: Score() for name in ("title", "doi", "year", "authors", "first_author")}
    for outcome in parse_files(wanted, {}, settings):
        parsed = outcome.parsed or ParsedPaper("", (), (), PaperMetadata(), 0)
        judge(scores, outcome.path, parsed, truths[outcome.path])
    return scores


def read_truths(path: Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {row["file"]: row for row in rows}


def judge(scores: Mapping[str, Score], file: str, parsed: ParsedPaper, truth: Mapping[str, Any]) -> None:
    found, sources = parsed.metadata, parsed.metadata.sources

    def count(name: str, is_right: bool, read: object, expected: object, source: str) -> None:
        scores[name].count(file, is_right, read, expected, source)

    if title := truth.get("title"):
        count("title", fold_title(found.title) == fold_title(title), found.title, title, sources.get("title", ""))
    if (doi := truth.get("doi")) and is_printed(doi, parsed):
        count("doi", found.doi == doi.lower(), found.doi, doi, sources.get("doi", ""))
    if year := truth.get("year"):
        count("year", found.year == year, found.year, year, sources.get("year", ""))
    if authors := truth.get("authors"):
        read, expected = family_names(found.authors), family_names(authors)
        count("authors", read == expected, found.authors, authors, sources.get("authors", ""))
        count("first_author", read[:1] == expected[:1], read[:1], expected[:1], sources.get("authors", ""))


def is_printed(doi: str, parsed: ParsedPaper) -> bool:
    """Return whether the DOI can be read anywhere in the file, line breaks and case aside."""
    everything = parsed.text + " ".join(page.furniture for page in parsed.pages)
    return doi.lower() in re.sub(r"\s+", "", everything).lower()


def family_names(names: Sequence[str]) -> list[str]:
    return [fold_title(_without_tex(n.partition(",")[0].split()[-1])) for n in names]


def _without_tex(name: str) -> str:
    return unicodedata.normalize("NFC", re.sub(r"\{\\'(\w)\}", "\\1\u0301", name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--verbose", action="store_true", help="print every miss")
    arguments = parser.parse_args()
    started = time.monotonic()
    scores = measure(arguments.data)
    seconds = time.monotonic() - started
    print(f"{'field':14}{'right':>7}{'of':>5}{'share':>8}{'floor':>8}  sources")
    for name, score in scores.items():
        floor = f"{FLOORS[name]:.2f}" if name in FLOORS else "-"
        print(f"{name:14}{score.num_right:7}{score.num_judged:5}{score.share:8.3f}{floor:>8}  {dict(score.sources)}")
        for file, read, truth in score.misses if arguments.verbose else ():
            print(f"    {file}\n      read  {read}\n      truth {truth}")
    print(f"{seconds:.1f} s")
    if arguments.json:
        numbers = {name: {"right": s.num_right, "judged": s.num_judged, "share": s.share} for name, s in scores.items()}
        arguments.json.write_text(json.dumps({**numbers, "seconds": seconds}, indent=1) + "\n", encoding="utf-8")
    missed = [name for name, floor in FLOORS.items() if scores[name].share < floor]
    if missed:
        print(f"below the floor: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
