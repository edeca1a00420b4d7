"""The work every peer is given, how it is timed, and the row it prints.

A peer is a module of this package with ``NAME``, ``WHAT``, ``PACKAGES`` (modules that must be there) and either or
both of ``ingest(files, scratch) -> number of pieces`` and ``index(work) -> search``; a search takes a question and
returns document ids, best first. It runs in a process of its own, so that the peak of its memory is its own.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.timing import p95
from corpus_assets.embedding.packaged import find_default_folder
from evaluation.beir import BeirData, load_beir

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Search = Callable[[str], list[str]]

PEERS = (
    "research_copilot",
    "haystack_memory",
    "llamaindex_memory",
    "plain_sentence_transformers",
    "bare_faiss",
    "plain_bm25s",
    "duckdb_bm25",
    "bare_pymupdf",
)
NUM_FOUND = 10
CHUNK_TOKENS = 200  # as corpus_assets.settings.ChunkSettings.target_tokens
CHUNK_WORDS = 127  # the same in words: scientific text has 1.58 word pieces a word
THREADS = 2
ROUNDS = 5
VECTORS_FILE = "scifact.npy"


@dataclass
class Row:
    """One peer's figures; None for what it does not do."""

    name: str
    what: str
    problem: str = ""
    ingest_seconds: float | None = None
    num_pieces: int | None = None
    index_seconds: float | None = None
    query_p95_ms: float | None = None
    ndcg: float | None = None
    peak_mb: float | None = None


@dataclass(frozen=True)
class Work:
    """SciFact, and where its documents' vectors are kept once a peer has computed them."""

    data_dir: Path
    scratch: Path

    @cached_property
    def scifact(self) -> BeirData:
        return load_beir(self.data_dir / "beir" / "scifact", "test")

    def papers(self, num: int) -> list[Path]:
        """Return the first ``num`` PDFs by name (0: all)."""
        files = sorted((self.data_dir / "pdf" / "papers").glob("*.pdf"))
        return files[:num] if num else files

    def vectors(self) -> NDArray[np.float32]:
        """Return the documents' vectors by sentence-transformers, computed once for every peer."""
        import numpy as np

        path = self.scratch / VECTORS_FILE
        if not path.exists():
            texts = [document.embedding_text for document in self.scifact.documents]
            np.save(path, load_reference().encode(texts, normalize_embeddings=True, show_progress_bar=False))
        vectors: NDArray[np.float32] = np.load(path)
        return vectors

    @property
    def doc_ids(self) -> list[str]:
        return [document.doc_id for document in self.scifact.documents]


def read_pieces(files: Sequence[Path]) -> list[str]:
    """Return the files' words in pieces of equal size."""
    import pymupdf

    pieces = []
    for file in files:
        with pymupdf.open(file) as document:
            words = " ".join(page.get_text() for page in document).split()
        pieces += [" ".join(words[start : start + CHUNK_WORDS]) for start in range(0, len(words), CHUNK_WORDS)]
    return pieces


def load_reference() -> Any:
    """Return the model as sentence-transformers runs it."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    return SentenceTransformer(str(find_default_folder()), device="cpu")


def run_peer(name: str, data_dir: Path, scratch: Path, num_papers: int) -> Row:
    """Return the figures of one peer, measured in this process."""
    peer = importlib.import_module(f"benchmarks.peers.{name}")
    row = Row(peer.NAME, peer.WHAT)
    missing = [package for package in peer.PACKAGES if not is_installed(package)]
    if missing:
        row.problem = f"not installed: {', '.join(missing)}"
        return row
    work = Work(data_dir, scratch)
    if hasattr(peer, "ingest"):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            row.num_pieces = peer.ingest(work.papers(num_papers), Path(folder))
            row.ingest_seconds = time.perf_counter() - started
    row.peak_mb = peak_mb()
    if hasattr(peer, "index"):
        if getattr(peer, "IS_DENSE", False):
            work.vectors()
        started = time.perf_counter()
        search = peer.index(work)
        row.index_seconds = time.perf_counter() - started
        row.ndcg, row.query_p95_ms = judge(work.scifact, search)
    return row


def is_installed(package: str) -> bool:
    """Tell whether a module can be found; its parents are looked for first."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def judge(data: BeirData, search: Search) -> tuple[float, float]:
    """Return nDCG@10 over the judged queries and the median over the rounds of the p95 in milliseconds."""
    from evaluation.metrics import mean, measure

    search(next(iter(data.queries.values())) + " warm")
    p95s = []
    found: dict[str, list[str]] = {}
    for _ in range(ROUNDS):
        spent = []
        for query_id, text in data.queries.items():
            started = time.perf_counter()
            found[query_id] = search(text)[:NUM_FOUND]
            spent.append((time.perf_counter() - started) * 1000)
        p95s.append(p95(spent))
    values: Mapping[str, Mapping[str, float]] = measure(data.qrels, found, ("ndcg@10",))
    return mean(values["ndcg@10"].values()), median(p95s)


def peak_mb() -> float:
    """Return the most memory this process and its children have held, in MB."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one peer and write its row as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--papers", type=int, default=0)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    row = run_peer(options.peer, options.data, options.scratch, options.papers)
    options.json.write_text(json.dumps(asdict(row)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
