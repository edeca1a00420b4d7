"""Measure search on a judged collection: `python -m benchmarks.bench_search beir DIR --qrels test`.

Prints nDCG@10, recall@10, recall@100, MRR@10 and latency of each mode.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from corpus_assets.settings import IndexSettings, RetrievalSettings
from evaluation.beir import MODES, BeirCorpus, BeirData, build_beir_segment, load_beir, make_beir_search

MEASURES = ("nDCG@10", "R@10", "R@100", "RR@10")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["beir"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--qrels", default="test")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--embedder", default="default")
    parser.add_argument("--cache", type=Path, default=Path(".copilot/bench"), help="Built indexes are kept here.")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="Retrieval settings to change.")
    options = parser.parse_args(argv)
    from corpus_assets.embedding.registry import load_embedder

    settings = RetrievalSettings.model_validate(dict(pair.split("=", 1) for pair in options.set))
    embedder = load_embedder(options.embedder, options.cache / "models")
    data = load_beir(options.folder, options.qrels)
    started = time.perf_counter()
    segment = build_beir_segment(data.documents, options.cache, embedder, IndexSettings.model_validate({}))
    built = time.perf_counter() - started
    corpus = BeirCorpus(segment)
    print(
        f"{options.folder.name}/{options.qrels}: {len(data.documents)} documents, {len(data.queries)} queries; "
        f"model {embedder.name}; indexes ready in {built:.1f} s"
    )
    print(f"{'mode':18}" + "".join(f"{name:>9}" for name in MEASURES) + f"{'avg ms':>9}{'p95 ms':>9}")
    for mode in options.modes.split(","):
        run, times = timed_run(data, make_beir_search(corpus, mode, embedder=embedder, settings=settings))
        values = evaluate(data, run)
        print(
            f"{mode:18}"
            + "".join(f"{values[name]:9.4f}" for name in MEASURES)
            + f"{sum(times) / len(times):9.1f}{percentile(times, 95):9.1f}",
            flush=True,
        )


def timed_run(data: BeirData, search: Callable[[str], list[str]]) -> tuple[dict[str, list[str]], list[float]]:
    """Return the run and milliseconds a query; a first query that is not timed warms models and caches."""
    search(next(iter(data.queries.values())) + " warm")
    run, times = {}, []
    for query_id, text in data.queries.items():
        started = time.perf_counter()
        run[query_id] = search(text)
        times.append((time.perf_counter() - started) * 1000)
    return run, times


def evaluate(data: BeirData, run: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return each measure's mean over the judged queries (a query without results counts 0)."""
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    qrels = [ir_measures.Qrel(q, d, grade) for q, found in data.qrels.items() for d, grade in found.items()]
    scored = [ir_measures.ScoredDoc(q, d, -float(rank)) for q, docs in run.items() for rank, d in enumerate(docs)]
    return {str(measure): value for measure, value in ir_measures.calc_aggregate(measures, qrels, scored).items()}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))]


if __name__ == "__main__":
    main()
