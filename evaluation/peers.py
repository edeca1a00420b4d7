"""What one would take instead, on the same texts and questions in the same run: bm25s, and FAISS alone.

Both return the best ``k`` documents and nothing else: no metadata, no filters, no texts, no versions collapsed.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from corpus_assets.folding import fold_for_search
from corpus_assets.porter import stem
from evaluation.metrics import mean, measure
from evaluation.runner import run_queries, summarize_latency

if TYPE_CHECKING:
    from corpus_assets.embedding.protocol import Embedder
    from evaluation.beir import BeirCorpus, BeirData

METRICS = ("ndcg@10", "recall@100")
BM25S_INSTALL = "pip install bm25s"
Search = Callable[[str], list[str]]


def measure_peers(data: BeirData, corpus: BeirCorpus, embedder: Embedder, *, k: int) -> dict[str, Any]:
    """Return peer -> what it does, ndcg@10, recall@100, avg_latency_ms and p95_latency_ms; one absent says so.

    FAISS is timed twice: with the question's embedding, as a user waits for it, and the search alone.
    """
    peers: dict[str, Any] = {}
    if not has_bm25s():
        peers["bm25s"] = {"absent": f"bm25s is not installed: {BM25S_INSTALL}"}
    else:
        peers["bm25s"] = {
            "what": f"BM25 over the same stems, first {k}",
            **_measure(data, make_bm25s_search(corpus, k)),
        }
    search_vector = make_faiss_search(corpus, k)
    peers["faiss"] = {
        "what": f"question embedded, exact inner product (IndexFlatIP), first {k}",
        **_measure(data, lambda query: search_vector(embedder.embed_queries([query]))),
    }
    peers["faiss_search_only"] = {
        "what": "the same with the question's vector given",
        **_time_vectors(search_vector, embedder.embed_queries(list(data.queries.values()))),
    }
    return peers


def has_bm25s() -> bool:
    """Tell whether the optional package is installed."""
    return importlib.util.find_spec("bm25s") is not None


def make_bm25s_search(corpus: BeirCorpus, k: int) -> Search:
    """Return question -> document ids by bm25s, with our tokens and our k1 and b."""
    import bm25s

    chunks = [chunk for segment in corpus.segments for chunk in segment.fts.all_chunks()]
    fts = corpus.segments[0].fts
    index = bm25s.BM25(method="lucene", k1=fts.k1, b=fts.b)
    index.index([_tokenize(chunk.text) for chunk in chunks], show_progress=False)
    names = [corpus.doc_id(chunk.chunk_id) for chunk in chunks]
    num = min(k, len(names))

    def run(query: str) -> list[str]:
        numbers, scores = index.retrieve([fts.tokenize(query)], k=num, show_progress=False)
        return [names[number] for number, score in zip(numbers[0], scores[0], strict=True) if score > 0]

    return run


def make_faiss_search(corpus: BeirCorpus, k: int) -> Callable[[Any], list[str]]:
    """Return question's vector ``(1, d)`` -> document ids by an exact FAISS index over the corpus' vectors."""
    import faiss
    import numpy as np

    faiss.omp_set_num_threads(1)
    parts = [(segment, segment.vectors) for segment in corpus.segments if segment.vectors is not None]
    names: list[str] = []
    for segment, vectors in parts:
        names += [corpus.doc_id(name) for name in segment.fts.chunk_ids_by_vector_id(vectors.ids().tolist())]
    index = faiss.IndexFlatIP(parts[0][1].dimension)
    index.add(np.concatenate([vectors.reconstruct(vectors.ids()) for _, vectors in parts]))
    num = min(k, len(names))

    def run(vector: Any) -> list[str]:
        return [names[number] for number in index.search(vector, num)[1][0].tolist()]

    return run


def _tokenize(text: str) -> list[str]:
    return [stem(token) for token in fold_for_search(text).split()]


def _measure(data: BeirData, search: Search) -> dict[str, float]:
    run = run_queries(data.queries, search, "peer")
    values: Mapping[str, Mapping[str, float]] = measure(data.qrels, run.rankings, METRICS)
    quality = {metric: mean(values[metric].values()) for metric in METRICS}
    return {**quality, **summarize_latency(list(run.latencies_ms.values()))}


def _time_vectors(search: Callable[[Any], list[str]], vectors: Any) -> dict[str, float]:
    search(vectors[:1])
    spent = []
    for row in range(len(vectors)):
        started = time.perf_counter()
        search(vectors[row : row + 1])
        spent.append((time.perf_counter() - started) * 1000)
    return summarize_latency(spent)
