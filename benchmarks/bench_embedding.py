"""Texts a second of each embedding path against plain ``SentenceTransformer.encode``: same texts, cores and run.

    python -m benchmarks.bench_embedding --cache-dir DIR [--texts 64] [--runs 5] [--threads N] [--words 150]

The paths take turns, so that other load on the machine falls on all of them; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus_assets.embedding.packaged import find_default_folder
from corpus_assets.embedding.registry import load_embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OUR_PATHS = ("default", "default@int8")
MIN_RATIO = {"default": 1.5, "default@int8": 3.0}
_SENTENCE = (
    "the resistance of epidermal growth factor receptor inhibitors in lung cancer patients was measured with "
    "osimertinib median survival months hazard ratio confidence interval plasma mutation amplification T790M "
    "p = 0.03 and a cohort without progression at baseline showed (95% CI 1.2–3.4) heterogeneous expression"
)


def make_texts(count: int, words: int, seed: int = 13) -> list[str]:
    """Return texts of between half and the whole of ``words`` words, like the chunks of a paper."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(_SENTENCE.split(), k=rng.randint(words // 2, words))) for _ in range(count)]


def measure(
    paths: dict[str, Callable[[Sequence[str]], NDArray[np.float32]]], texts: list[str], runs: int
) -> dict[str, dict[str, Any]]:
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
            "bound": MIN_RATIO.get(name),
            "min_cosine": round(float((vectors[name] * reference).sum(axis=1).min()), 5),
            "mean_cosine": round(float((vectors[name] * reference).sum(axis=1).mean()), 5),
            "runs": [round(value, 3) for value in seconds[name]],
        }
        for name in paths
    }


def main() -> int:
    """Print the table; exit 1 when a ratio is below its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache-dir", type=Path, required=True, help="where exported graphs are kept")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--words", type=int, default=150, help="most words a text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    arguments = parser.parse_args()
    paths: dict[str, Callable[[Sequence[str]], NDArray[np.float32]]] = {}
    for name in OUR_PATHS:
        embedder = load_embedder(name, arguments.cache_dir, threads=arguments.threads)
        paths[name] = embedder.embed_documents

    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(arguments.threads)
    reference = SentenceTransformer(str(find_default_folder()), device="cpu")
    paths["sentence-transformers"] = lambda texts: reference.encode(
        list(texts), normalize_embeddings=True, show_progress_bar=False
    )
    results = measure(paths, make_texts(arguments.texts, arguments.words), arguments.runs)
    if arguments.json:
        print(json.dumps({"threads": arguments.threads, "texts": arguments.texts, "paths": results}, indent=1))
    else:
        print(f"{'path':24} {'texts/s':>8} {'ratio':>6} {'bound':>6} {'min cos':>8} {'mean cos':>8}")
        for name, row in results.items():
            bound = "" if row["bound"] is None else f"{row['bound']:.1f}"
            print(
                f"{name:24} {row['texts_per_second']:8.1f} {row['ratio']:6.2f} {bound:>6} "
                f"{row['min_cosine']:8.5f} {row['mean_cosine']:8.5f}"
            )
    return int(any(row["bound"] is not None and row["ratio"] < row["bound"] for row in results.values()))


if __name__ == "__main__":
    sys.exit(main())
