"""What one paper more or less costs in a large corpus, against building it all.

``python -m benchmarks.bench_incremental [--papers 200] [--repeat 5] [--work DIR] [--json FILE]``

Writes synthetic papers, ingests them (every step and the corpus' own gates), then adds one, edits one, deletes one and
changes nothing, ``--repeat`` times each, and prints each median beside the full build. The vectors are of a stand-in
that costs next to nothing: embedding grows with the change alone and would only make the shares smaller. The files of
the segments that were there must stay the same files, unchanged. Exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import corpus_assets.build
from benchmarks.synthetic import WORDS_A_PAPER, write_papers
from corpus_assets.build import IngestReport, ingest
from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.settings import EmbeddingSettings, Settings
from corpus_assets.store.publish import generations_dir, published_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BOUND = 0.03  # of the full build
FIRST_WORDS = 8  # an embedded text starts with its paper's title


class QuickEmbedder(HashEmbedder):
    """Vectors that cost microseconds: those of one paper lie together, each has noise of its own."""

    name = "quick"
    fingerprint = "quick-1"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row += np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.dimension, np.float32)
            for word in text.split(maxsplit=FIRST_WORDS)[:FIRST_WORDS]:
                row += _word_vector(word.casefold(), self.dimension)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


@lru_cache(maxsize=100_000)
def _word_vector(word: str, dimension: int) -> NDArray[np.float32]:
    import numpy as np

    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(dimension, np.float32)


def use_quick_embedder(embedder: QuickEmbedder | None = None) -> None:
    """Let every ingest of this process embed with the stand-in, or with one that bears another model's name."""
    embedder = embedder or QuickEmbedder()
    corpus_assets.build._load_embedder = lambda *_: embedder  # type: ignore[assignment]


def time_ingest(settings: Settings) -> tuple[float, IngestReport]:
    """Ingest the settings' papers folder, which must be published, and return the seconds it took and its report."""
    started = time.perf_counter()
    report = ingest(settings, settings.papers_dir)
    seconds = time.perf_counter() - started
    assert report.published, report.notes
    return seconds, report


def peak_mb() -> float:
    """Return the most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def disk_mb(home: Path) -> float:
    """Return the size of a home's files, in MB."""
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 1e6


def segment_files(home: Path, generation: str) -> dict[str, tuple[int, int, int]]:
    """Return (inode, time of change, size) of a generation's segment files, by relative path."""
    root = generations_dir(home) / generation
    states = {str(path.relative_to(root)): path.stat() for path in root.glob("segment-*/*")}
    return {name: (state.st_ino, state.st_mtime_ns, state.st_size) for name, state in states.items()}


def measure(work: Path, num_papers: int, repeat: int, mean_words: int = WORDS_A_PAPER) -> dict[str, float]:
    """Return seconds by stage, sizes and whether old files were left alone."""
    folder, home = work / "papers", work / "home"
    settings = Settings(home=home, papers_dir=folder, embedding=EmbeddingSettings(model="hash"))
    use_quick_embedder()
    write_papers(folder, range(num_papers), mean_words)
    figures: dict[str, float] = {}

    figures["full"], report = time_ingest(settings)
    figures["papers"], figures["chunks"] = report.num_papers, report.num_chunks
    figures["peak_mb"], figures["disk_mb"] = peak_mb(), disk_mb(home)
    print(f"full build: {figures['full']:.1f} s, {report.num_papers} papers, {report.num_chunks} chunks", flush=True)
    first = segment_files(home, published_id(home) or "")
    path = folder / f"paper-{num_papers:06}.txt"
    changes: list[tuple[str, Callable[[int], None]]] = [
        ("add", lambda number: write_papers(folder, [num_papers + number], mean_words)),
        ("edit", lambda number: _append(path, f"Addendum {number} on {number} further plots.")),
        ("delete", lambda number: (folder / f"paper-{number:06}.txt").unlink()),
        ("no-op", lambda number: None),
    ]
    is_untouched = True
    for name, change in changes:
        seconds = []
        for number in range(repeat):
            change(number)
            spent, report = time_ingest(settings)
            seconds.append(spent)
        figures[name] = median(seconds)
        now = segment_files(home, published_id(home) or "")
        is_untouched = is_untouched and all(now.get(file) == state for file, state in first.items())
        print(f"{name}: {', '.join(f'{value:.2f}' for value in seconds)} s", flush=True)
    figures["untouched"] = float(is_untouched)
    figures["peak_mb_end"] = peak_mb()
    return figures


def _append(path: Path, text: str) -> None:
    path.write_text(path.read_text("utf-8") + f"\n{text}\n", "utf-8")


def print_table(figures: dict[str, float]) -> bool:
    """Print each stage beside its bound; return whether all are kept."""
    print(
        f"\n{figures['papers']:.0f} papers, {figures['chunks']:.0f} chunks; peak {figures['peak_mb']:.0f} MB, "
        f"disk {figures['disk_mb']:.0f} MB\n\n{'stage':10}{'seconds':>10}{'share':>9}{'bound':>9}"
    )
    print(f"{'full':10}{figures['full']:10.2f}{1:9.1%}{'-':>9}")
    is_well = True
    for name in ("add", "edit", "delete", "no-op"):
        share = figures[name] / figures["full"]
        is_missed = share > BOUND
        is_well = is_well and not is_missed
        print(f"{name:10}{figures[name]:10.2f}{share:9.1%}{BOUND:9.0%}{'   MISSED' if is_missed else ''}")
    print(f"old segment files left alone: {'yes' if figures['untouched'] else 'NO'}")
    return is_well and bool(figures["untouched"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--words", type=int, default=WORDS_A_PAPER, help="Mean words a paper.")
    parser.add_argument("--work", type=Path, help="An empty folder to work in; default: a temporary one.")
    parser.add_argument("--json", type=Path, help="Write the figures here.")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.work) as scratch:
        figures = measure(Path(scratch), options.papers, options.repeat, options.words)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0 if print_table(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
