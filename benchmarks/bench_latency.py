"""Search times beside what a user would pick instead, on the same passages, in the same run.

``python -m benchmarks.bench_latency [--passages 20000] [--questions 200] [--slow-questions 20]
[--rankings 1000] [--rounds 5] [--json FILE]``

Full text against DuckDB's own ``match_bm25`` on the same index (the rankings of 1,000 questions must be the same, ties
aside) and, where it is installed, against bm25s; vectors against bare FAISS with the same index file and number of
probes; the hybrid against the slower of its parts, with questions that the default model embeds, as a user's are.
Passages and questions are synthetic, the passages' vectors are those of the incremental bench. Each figure is the
median of the rounds. Exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import nan
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.bench_incremental import QuickEmbedder
from benchmarks.synthetic import passages, questions
from benchmarks.timing import Figure, p95, print_figures, time_modes
from corpus_assets.duckdb_files import connect_reader, load_full_text
from corpus_assets.embedding.protocol import Embedder
from corpus_assets.embedding.registry import load_embedder
from corpus_assets.folding import fold_for_search
from corpus_assets.fts import build_fts, search_segments
from corpus_assets.model import Chunk, PaperRecord, PaperStatus, SectionKind
from corpus_assets.settings import IndexSettings
from corpus_assets.vectors import build_vectors_streamed, vector_id
from retrieval.corpus import FTS_FILE, VECTORS_FILE, SegmentCorpus

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEPTH = 100
PER_PAPER = 40


def make_chunks(num: int) -> Iterator[Chunk]:
    """Yield ``num`` chunks of synthetic papers."""
    for number, text in enumerate(passages(num)):
        paper_id = f"p{number // PER_PAPER:06}"
        yield Chunk(
            chunk_id=f"{paper_id}:results:{number % PER_PAPER}",
            paper_id=paper_id,
            section="results",
            section_title="Results",
            section_kind=SectionKind.RESULTS,
            index=number % PER_PAPER,
            text=text,
            char_start=0,
            char_end=len(text),
            page_start=1,
            page_end=1,
            text_sha256=hashlib.sha256(text.encode()).hexdigest(),
            num_tokens=len(text.split()),
        )


def build_corpus(folder: Path, num: int, embedder: QuickEmbedder, index: IndexSettings) -> SegmentCorpus:
    """Write one segment and open it."""
    names = [f"p{number:06}" for number in range((num + PER_PAPER - 1) // PER_PAPER)]
    papers = {name: PaperRecord(name, PaperStatus.READY, f"{name}.txt", "") for name in names}
    build_fts(make_chunks(num), papers, folder / FTS_FILE, index)

    def batches() -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        batch: list[Chunk] = []
        for chunk in make_chunks(num):
            batch.append(chunk)
            if len(batch) == 1024:
                yield [vector_id(one.chunk_id) for one in batch], embedder.embed_documents([c.text for c in batch])
                batch = []
        if batch:
            yield [vector_id(one.chunk_id) for one in batch], embedder.embed_documents([c.text for c in batch])

    ids = (vector_id(f"{names[i // PER_PAPER]}:results:{i % PER_PAPER}") for i in range(num))
    build_vectors_streamed(ids, batches(), embedder.dimension, folder / VECTORS_FILE, index)
    return SegmentCorpus([folder], papers)


def times(work: Callable[[str], object], asked: Sequence[str]) -> list[float]:
    """Return milliseconds a question; the first is asked once before."""
    work(asked[0])
    spent = []
    for question in asked:
        started = time.perf_counter()
        work(question)
        spent.append((time.perf_counter() - started) * 1000)
    return spent


def compare_full_text(corpus: SegmentCorpus, folder: Path, asked: Sequence[str], ranked: Sequence[str]) -> list[Figure]:
    """Hold our query against ``match_bm25``, the rankings of ``ranked`` too, and against bm25s."""
    indexes = [segment.fts for segment in corpus.segments]
    con = connect_reader(folder / FTS_FILE)
    load_full_text(con)

    def by_duckdb(question: str) -> list[tuple[str, float]]:
        return con.execute(
            "SELECT chunk_id, fts_main_chunks.match_bm25(chunk_id, ?) AS score FROM chunks WHERE score IS NOT NULL "
            f"ORDER BY score DESC, chunk_id LIMIT {DEPTH}",
            [fold_for_search(question, is_query=True)],
        ).fetchall()

    def ours(question: str) -> list[tuple[str, float]]:
        return search_segments(indexes, question, DEPTH)

    num_same = sum(is_same_ranking(ours(question), by_duckdb(question)) for question in ranked)
    slow, fast = times(by_duckdb, asked), times(ours, asked)
    con.close()
    floor = 20.0 if corpus.segments[0].fts.num_rows < 400_000 else 25.0
    detail = f"p50 {median(fast):.1f} ms against {median(slow):.1f} ms"
    detail_same = f"{num_same} of {len(ranked)} questions"
    figures = [Figure("rankings as match_bm25", num_same / len(ranked), 1.0, True, detail_same)] if ranked else []
    figures += [
        Figure("full text: times faster", median(slow) / median(fast), floor, True, detail),
    ]
    if importlib.util.find_spec("bm25s") is None:
        print("bm25s is not installed: not compared with it", file=sys.stderr)
        return figures
    import bm25s

    peer = bm25s.BM25()
    peer.index([indexes[0].tokenize(chunk.text) for chunk in indexes[0].all_chunks()], show_progress=False)
    theirs = times(lambda q: peer.retrieve([indexes[0].tokenize(q)], k=DEPTH, show_progress=False), asked)
    detail = f"p50 {median(fast):.1f} ms against {median(theirs):.1f} ms"
    return [*figures, Figure("full text: times bm25s", median(fast) / median(theirs), 10.0, False, detail)]


def is_same_ranking(mine: Sequence[tuple[str, float]], theirs: Sequence[tuple[str, float]]) -> bool:
    """Tell whether two rankings agree but for the order of equal scores (and for which of them the cut leaves in)."""
    if len(mine) != len(theirs):
        return False
    if any(abs(a - b) > 1e-6 for (_, a), (_, b) in zip(mine, theirs, strict=True)):
        return False
    last = mine[-1][1] + 1e-6 if mine else 0.0
    return {name for name, score in mine if score > last} == {name for name, score in theirs if score > last}


def compare_vectors(corpus: SegmentCorpus, folder: Path, vectors: NDArray[np.float32]) -> list[Figure]:
    """Hold our search against FAISS' own over the same file, and its results against exact search."""
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(1)
    peer = faiss.read_index(str(folder / VECTORS_FILE))
    mine = corpus.segments[0].vectors
    assert mine is not None
    exact = faiss.IndexFlatIP(mine.dimension)
    exact.add(mine.reconstruct(mine.ids()))
    own, theirs, recalls = [], [], []
    for vector in vectors:
        started = time.perf_counter()
        _, found = mine.search(vector, DEPTH)
        own.append((time.perf_counter() - started) * 1000)
        started = time.perf_counter()
        peer.search(vector[None], DEPTH)
        theirs.append((time.perf_counter() - started) * 1000)
        truth = mine.ids()[exact.search(vector[None], 10)[1][0]]
        recalls.append(len(np.intersect1d(truth, found[:10])) / len(truth))
    detail = f"p95 {p95(own):.2f} ms against {p95(theirs):.2f} ms"
    return [
        Figure("vectors: times bare FAISS, p95", p95(own) / p95(theirs), 2.0, False, detail),
        Figure("vectors: recall@10", sum(recalls) / len(recalls), 0.99, True, f"{len(recalls)} questions"),
    ]


def compare_hybrid(corpus: SegmentCorpus, embedders: Mapping[str, Embedder], asked: Sequence[str]) -> list[Figure]:
    """Hold the hybrid against the slower of its parts, each question in all three modes in turn.

    The bound is on a question that the real model embeds; with a stand-in's vector at hand, what the hybrid does beside
    its parts weighs more, and is reported.
    """
    figures = []
    for name, embedder in embedders.items():
        spent = time_modes(corpus, embedder, asked)
        slower = max(p95(spent["fts_only"]), p95(spent["embedding_only"]))
        detail = ", ".join(f"{mode} p50 {median(row):.1f} p95 {p95(row):.1f} ms" for mode, row in spent.items())
        bound = 1.3 if name == "embedded" else nan
        figures.append(
            Figure(f"hybrid: times slower part, {name}", p95(spent["hybrid"]) / slower, bound, False, detail)
        )
    return figures


def middle(rounds: Sequence[Sequence[Figure]]) -> list[Figure]:
    """Return for each figure the round whose value is the median one (the upper of two), its detail with it."""
    columns: dict[str, list[Figure]] = {}
    for figure in (figure for one in rounds for figure in one):
        columns.setdefault(figure.name, []).append(figure)
    ordered = [sorted(column, key=lambda figure: figure.value) for column in columns.values()]
    return [column[len(column) // 2] for column in ordered]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--slow-questions", type=int, default=20, help="How many match_bm25 is asked.")
    parser.add_argument("--rankings", type=int, default=1000, help="questions whose whole rankings are compared, once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--exact-up-to", type=int, default=50_000, help="From here on the vector index approximates.")
    parser.add_argument("--models", type=Path, default=Path(".copilot/models"), help="where exported graphs are kept")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    embedder = QuickEmbedder()
    model = load_embedder("default", options.models)
    asked = questions(options.questions)
    ranked = questions(options.rankings)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        started = time.perf_counter()
        corpus = build_corpus(
            folder, options.passages, embedder, IndexSettings.model_validate({"exact_up_to": options.exact_up_to})
        )
        print(f"{options.passages} passages, indexes built in {time.perf_counter() - started:.1f} s", flush=True)
        figures = middle(
            [
                [
                    *compare_full_text(corpus, folder, asked[: options.slow_questions], ranked if number == 0 else ()),
                    *compare_vectors(corpus, folder, embedder.embed_queries(asked)),
                    *compare_hybrid(corpus, {"embedded": model, "vector given": embedder}, asked),
                ]
                for number in range(options.rounds)
            ]
        )
        corpus.close()
    print_figures(figures)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1), encoding="utf-8")
    return 1 if any(figure.is_missed for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
