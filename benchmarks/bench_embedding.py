"""Texts a second of the default model here against plain ``SentenceTransformer.encode``: same texts, cores and run.

    python -m benchmarks.bench_embedding --cache-dir DIR [--texts 64] [--words 150] [--runs 5] [--threads N]
                                         [--beir DIR] [--json FILE]

Both take turns, onnxruntime (what runs where OpenVINO has no build) with them, so that other load on the machine falls
on all; the ratio is that of the medians. With ``--beir``, a judged set's documents and test questions are embedded both
ways and the nDCG@10 of exact search is compared: minutes. Exits 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.timing import Figure, print_figures
from corpus_assets.cores import num_cores
from corpus_assets.embedding.folders import read_bert_folder
from corpus_assets.embedding.onnx_embedder import OnnxEmbedder
from corpus_assets.embedding.onnx_export import open_export
from corpus_assets.embedding.openvino_session import OpenVinoSession
from corpus_assets.embedding.packaged import find_default_folder
from corpus_assets.embedding.registry import load_embedder
from evaluation.beir import BeirData, load_beir

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Encode = Callable[[Sequence[str]], NDArray[np.float32]]

MIN_RATIO = 3.0
MIN_COSINE = 0.99
MAX_LOSS = 0.005  # of nDCG@10
_SENTENCE = (
    "the resistance of epidermal growth factor receptor inhibitors in lung cancer patients was measured with "
    "osimertinib median survival months hazard ratio confidence interval plasma mutation amplification T790M "
    "p = 0.03 and a cohort without progression at baseline showed (95% CI 1.2–3.4) heterogeneous expression"
)


def make_texts(count: int, words: int, seed: int = 13) -> list[str]:
    """Return texts of between half and the whole of ``words`` words, like the chunks of a paper."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(_SENTENCE.split(), k=rng.randint(words // 2, words))) for _ in range(count)]


def measure(paths: dict[str, Encode], texts: list[str], runs: int) -> dict[str, dict[str, Any]]:
    """Return by path the texts a second (median of the runs), the ratio to the reference and the cosine to it."""
    vectors = {name: encode(texts) for name, encode in paths.items()}  # also warms each up
    seconds: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(runs):
        for name, encode in paths.items():
            started = time.perf_counter()
            encode(texts)
            seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    reference = vectors["sentence-transformers"]
    return {
        name: {
            "texts_per_second": round(len(texts) / medians[name], 2),
            "ratio": round(medians["sentence-transformers"] / medians[name], 2),
            "min_cosine": round(float((vectors[name] * reference).sum(axis=1).min()), 5),
            "mean_cosine": round(float((vectors[name] * reference).sum(axis=1).mean()), 5),
            "runs": [round(value, 3) for value in seconds[name]],
        }
        for name in paths
    }


def ranking_quality(encode: Encode, encode_queries: Encode, data: BeirData) -> float:
    """Return nDCG@10 of exact search over a judged set."""
    import ir_measures
    import numpy as np

    documents = encode([document.embedding_text for document in data.documents])
    names = [document.doc_id for document in data.documents]
    queries = list(data.queries)
    scores = encode_queries([data.queries[query] for query in queries]) @ documents.T
    run = {
        query: {names[i]: float(row[i]) for i in np.argsort(-row, kind="stable")[:10]}
        for query, row in zip(queries, scores, strict=True)
    }
    return float(ir_measures.calc_aggregate([ir_measures.nDCG @ 10], data.qrels, run)[ir_measures.nDCG @ 10])


def main() -> int:
    """Print the table; exit 1 when a figure is off its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache-dir", type=Path, required=True, help="where exported graphs are kept")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--words", type=int, default=150, help="most words a text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=num_cores())
    parser.add_argument("--beir", type=Path, help="folder with corpus.jsonl, queries.jsonl and qrels/test.tsv")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    ours = load_embedder("default", arguments.cache_dir, threads=arguments.threads)
    paths: dict[str, Encode] = {"default": ours.embed_documents}
    bert = read_bert_folder(find_default_folder())
    if not isinstance(ours, OnnxEmbedder) or bert is None:
        print(f"The default model does not run as an export: {ours.degraded}", file=sys.stderr)
        return 1
    if ours.runtime != "onnxruntime":
        other = open_export(bert, "", "", ours.model_path, "onnxruntime", threads=arguments.threads)
        paths["onnxruntime"] = other.embed_documents

    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(arguments.threads)
    reference = SentenceTransformer(str(find_default_folder()), device="cpu")

    def encode_reference(texts: Sequence[str]) -> NDArray[np.float32]:
        return reference.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)

    paths["sentence-transformers"] = encode_reference
    results = measure(paths, make_texts(arguments.texts, arguments.words), arguments.runs)
    runtime = f"{ours.runtime} {ours.session.precision if isinstance(ours.session, OpenVinoSession) else 'fp32'}"
    print(f"default runs in {runtime}, {arguments.threads} threads, {arguments.texts} texts, {arguments.runs} runs")
    print(f"{'path':24} {'texts/s':>8} {'ratio':>6} {'min cos':>8} {'mean cos':>8}")
    for name, row in results.items():
        print(
            f"{name:24} {row['texts_per_second']:8.1f} {row['ratio']:6.2f} "
            f"{row['min_cosine']:8.5f} {row['mean_cosine']:8.5f}"
        )
    figures = [
        Figure("embedding: times encode", results["default"]["ratio"], MIN_RATIO, True, runtime),
        Figure("embedding: least cosine to it", results["default"]["min_cosine"], MIN_COSINE, True, runtime),
    ]
    if arguments.beir is not None:
        data = load_beir(arguments.beir)
        mine = ranking_quality(ours.embed_documents, ours.embed_queries, data)
        theirs = ranking_quality(encode_reference, encode_reference, data)
        detail = f"{mine:.4f} against {theirs:.4f}, {len(data.queries)} questions"
        figures.append(Figure("embedding: nDCG@10 lost", round(theirs - mine, 4), MAX_LOSS, False, detail))
    print_figures(figures)
    if arguments.json is not None:
        document = {"threads": arguments.threads, "texts": arguments.texts, "paths": results}
        arguments.json.write_text(json.dumps({**document, "figures": [asdict(one) for one in figures]}, indent=1))
    return int(any(figure.is_missed for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
