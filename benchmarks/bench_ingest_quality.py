"""How much of what papers say the reader keeps, and in order: against JATS, parsed and scanned references.

``python -m benchmarks.bench_ingest_quality DATA [--part papers|scanned] [--json FILE]``; DATA holds
``pdf/papers``, ``pdf/papers_groundtruth`` and ``pdf/scanned``. Prints tables; exits 1 when a figure is below its floor.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from corpus_assets.model import ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.settings import ParseSettings

WORD_RECALL_FLOOR = 0.98
ORDER_FLOOR = 0.97

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_NOT_TEXT = {"inline-formula", "disp-formula", "table-wrap", "fig", "table", "code", "preformat", "disp-quote", "math"}


@dataclass(frozen=True)
class Truth:
    """What a paper says: its paragraphs in order and its section titles."""

    paragraphs: tuple[str, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True)
class TruthScore:
    """``word_recall``: share of the body's words found (as a multiset). ``order_kept``: share of neighbouring sentences
    that follow one another; ``order_found``: the same among those both found. ``titles_found``: as section titles."""

    file: str
    word_recall: float
    order_kept: float
    order_found: float
    titles_found: float
    num_titles: int


def read_jats(path: Path) -> Truth:
    """Return the body of a JATS file, formulas, tables and code left out."""
    body = ET.parse(path).getroot().find(".//body")
    paragraphs: list[str] = []
    titles: list[str] = []
    for element in body.iter() if body is not None else ():
        if element.tag == "title":
            titles.append(" ".join(_text_of(element).split()))
        elif element.tag == "p":
            paragraphs.append(" ".join(_text_of(element).split()))
    return Truth(tuple(p for p in paragraphs if p), tuple(t for t in titles if t))


def _text_of(element: ET.Element) -> str:
    parts = [element.text or ""]
    for child in element:
        if child.tag not in _NOT_TEXT:
            parts.append(_text_of(child))
        else:
            parts.append(" \u241f ")  # a gap: no sentence is matched over it
        parts.append(child.tail or "")
    return "".join(parts)


def read_s2orc(path: Path) -> Truth:
    """Return the body of a paper parsed by s2orc-doc2json (itself a parser: a cross-check, not a truth)."""
    blocks = json.loads(path.read_text(encoding="utf-8"))["pdf_parse"]["body_text"]
    titles = list(dict.fromkeys(block["section"] for block in blocks if block["section"]))
    return Truth(tuple(block["text"] for block in blocks), tuple(titles))


def words_of(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def squeeze(text: str) -> str:
    """Return only the letters and digits, folded: what two prints of one sentence share."""
    return "".join(words_of(text))


def score_truth(file: str, truth: Truth, parsed: ParsedPaper) -> TruthScore:
    wanted = Counter(word for paragraph in truth.paragraphs for word in words_of(paragraph.replace("\u241f", " ")))
    got = Counter(words_of(parsed.text))
    recall = sum(min(count, got[word]) for word, count in wanted.items()) / max(1, sum(wanted.values()))
    squeezed = squeeze(parsed.text)
    num_pairs = num_kept = num_both = 0
    for paragraph in truth.paragraphs:
        places = [_find(sentence, squeezed) for sentence in sentences_of(paragraph)]
        for (start, end), (next_start, _) in pairwise(places):
            num_pairs += 1
            if start >= 0 and next_start >= 0:
                num_both += 1
                num_kept += end - 3 <= next_start <= end + 40
    titles = {squeeze(section.title) for section in parsed.sections}
    num_found = sum(1 for title in truth.titles if squeeze(re.sub(r"^[\d.]+\s*", "", title)) in titles)
    return TruthScore(
        file,
        recall,
        num_kept / max(1, num_pairs),
        num_kept / max(1, num_both),
        num_found / max(1, len(truth.titles)),
        len(truth.titles),
    )


def sentences_of(paragraph: str) -> list[str]:
    return [s for s in _SENTENCE.split(paragraph) if len(squeeze(s)) >= 20 and "\u241f" not in s]


def _find(sentence: str, text: str) -> tuple[int, int]:
    squeezed = squeeze(sentence)
    start = text.find(squeezed)
    if start >= 0:
        return start, start + len(squeezed)
    start, end = text.find(squeezed[:18]), text.find(squeezed[-18:])
    return (start, end + 18) if 0 <= start < end <= start + 2 * len(squeezed) else (-1, -1)


def measure_papers(data: Path) -> Iterator[TruthScore]:
    for path in sorted((data / "pdf/papers_groundtruth/jats").glob("*.jats.xml")):
        file = path.name.removesuffix(".jats.xml") + ".pdf"
        yield score_truth(file, read_jats(path), _read(data / "pdf/papers" / file))
    for path in sorted((data / "pdf/papers_groundtruth").glob("s2orc*.json")):
        yield score_truth(path.stem + ".pdf", read_s2orc(path), _read(data / "pdf/papers" / f"{path.stem}.pdf"))


def _read(path: Path) -> ParsedPaper:
    return read_paper(str(path), ParseSettings())


@dataclass(frozen=True)
class ScanScore:
    file: str
    states: str
    char_accuracy: float | None
    num_passed: int
    num_assertions: int
    seconds: float


def measure_scanned(data: Path) -> Iterator[ScanScore]:
    """Yield character accuracy (1 - edit distance / reference length) and assertions passed, a file at a time."""
    folder = data / "pdf/scanned"
    truths = {}
    for row in (folder / "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        cells = row.split("\t")
        truths[cells[0]] = cells[6] if cells[6].startswith("text/") else ""
    tests: dict[str, list[dict[str, str]]] = {}
    for line in (folder / "olmocr_bench_tests.jsonl").read_text(encoding="utf-8").splitlines():
        test = json.loads(line)
        tests.setdefault(test["pdf"], []).append(test)
    for file, truth in sorted(truths.items()):
        start = time.perf_counter()
        parsed = _read(folder / file)
        seconds = time.perf_counter() - start
        results = [r for test in tests.get(file, []) if (r := passes(test, parsed.text)) is not None]
        accuracy = char_accuracy((folder / truth).read_text(encoding="utf-8"), parsed.text) if truth else None
        states = ",".join(sorted({page.state.value for page in parsed.pages}))
        yield ScanScore(file, states, accuracy, sum(results), len(results), seconds)


def passes(test: dict[str, str], text: str) -> bool | None:
    """Return whether an assertion holds; None for formulas, which plain text cannot hold."""
    flat = " ".join(words_of(text))
    kind = test["type"]
    if kind == "present":
        return _is_near(" ".join(words_of(test["text"])), flat)
    if kind == "absent":
        return f" {' '.join(words_of(test['text']))} " not in f" {flat} "
    if kind == "order":
        before, after = flat.find(" ".join(words_of(test["before"]))), flat.rfind(" ".join(words_of(test["after"])))
        return 0 <= before < after
    if kind == "table":
        return f" {' '.join(words_of(test['cell']))} " in f" {flat} "
    return None


def _is_near(wanted: str, text: str) -> bool:
    """Return whether the text holds the wanted words but for a twentieth of the characters."""
    if wanted in text:
        return True
    num_words = wanted.count(" ") + 1
    words = text.split(" ")
    return any(
        edit_distance(wanted, " ".join(words[start : start + num_words])) <= 0.05 * len(wanted)
        for start in range(len(words) - num_words + 1)
        if words[start][:1] == wanted[:1]
    )


def char_accuracy(truth: str, text: str) -> float:
    wanted, got = (" ".join(unicodedata.normalize("NFKC", t).split()) for t in (truth, text))
    return max(0.0, 1.0 - edit_distance(wanted, got) / max(1, len(wanted)))


def edit_distance(left: str, right: str) -> int:
    """Return the Levenshtein distance, a row at a time."""
    import numpy as np

    if not left or not right:
        return len(left) + len(right)
    target = np.array([ord(char) for char in right], dtype=np.int64)
    steps = np.arange(len(right) + 1)
    row = steps.copy()
    for number, char in enumerate(left, start=1):
        best = np.minimum(row[1:] + 1, row[:-1] + (target != ord(char)))
        row = np.minimum.accumulate(np.concatenate(([number], best)) - steps) + steps
    return int(row[-1])


def print_table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> None:
    cells = [[f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", choices=["papers", "scanned"], action="append")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    parts = options.part or ["papers", "scanned"]
    report: dict[str, object] = {}
    failed: list[str] = []
    if "papers" in parts:
        scores = list(measure_papers(options.data))
        print_table([list(asdict(score).values()) for score in scores], list(TruthScore.__dataclass_fields__))
        jats = [score for score in scores if not score.file.startswith("s2orc")]
        recall, order = mean(s.word_recall for s in jats), mean(s.order_kept for s in jats)
        titles = sum(s.titles_found * s.num_titles for s in jats) / max(1, sum(s.num_titles for s in jats))
        print(f"JATS: word recall {recall:.4f}, sentence order kept {order:.4f}, headings found {titles:.3f}\n")
        report["papers"] = {"word_recall": recall, "order_kept": order, "titles_found": titles}
        failed += [f"word recall {recall:.4f} < {WORD_RECALL_FLOOR}"] if recall < WORD_RECALL_FLOOR else []
        failed += [f"sentence order {order:.4f} < {ORDER_FLOOR}"] if order < ORDER_FLOOR else []
    if "scanned" in parts:
        scans = list(measure_scanned(options.data))
        print_table([list(asdict(scan).values()) for scan in scans], list(ScanScore.__dataclass_fields__))
        accuracy = mean(scan.char_accuracy for scan in scans if scan.char_accuracy is not None)
        passed, asserted = sum(s.num_passed for s in scans), sum(s.num_assertions for s in scans)
        print(f"scanned: character accuracy {accuracy:.4f}, assertions passed {passed} of {asserted}\n")
        report["scanned"] = {"char_accuracy": accuracy, "passed": passed, "assertions": asserted}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    for line in failed:
        print("BELOW FLOOR:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
