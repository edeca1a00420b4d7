"""Retrieval measures, per query, by ir-measures; aggregated late.

- ``recall@k``: share of the relevant chunks (grade 1 and up) among the first k.
- ``hit_rate@k``: 1 when any relevant chunk is among the first k (success@k), else 0. Never mixed with recall.
- ``mrr@k``: 1 / rank of the first relevant chunk within k, else 0.
- ``ndcg@k``: sum of grade / log2(rank + 1) over the first k, divided by the best possible sum (trec_eval's gain).

Queries without a relevant judgment are left out; a query that has one and no results scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from corpus_assets.errors import BadInputError, GateFailedError

Qrels = Mapping[str, Mapping[str, int]]  # query id -> document id -> grade
Rankings = Mapping[str, Sequence[str]]  # query id -> document ids, best first
PerQuery = dict[str, float]

DEFAULT_METRICS = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "hit_rate@10")


def parse_metric(name: str) -> tuple[str, int]:
    """Return ("ndcg", 10) for "ndcg@10". Raises BadInputError for anything this module does not measure."""
    kind, _, depth = name.partition("@")
    if kind not in ("ndcg", "recall", "mrr", "hit_rate") or not depth.isdigit() or int(depth) < 1:
        raise BadInputError(f"Unknown metric {name!r}.", hint="Use ndcg@K, recall@K, mrr@K or hit_rate@K.")
    return kind, int(depth)


def scored_queries(qrels: Qrels) -> list[str]:
    """Return the queries that can score, sorted: those with at least one judgment above 0."""
    return sorted(query_id for query_id, grades in qrels.items() if any(grade > 0 for grade in grades.values()))


def measure(qrels: Qrels, rankings: Rankings, metrics: Sequence[str] = DEFAULT_METRICS) -> dict[str, PerQuery]:
    """Return metric -> query id -> value, for every query that can score.

    Ranks are what is measured: documents are passed on with strictly falling scores, so no tie is broken by an id.
    Raises GateFailedError if a value is not a finite number or a document appears twice in a ranking.
    """
    import ir_measures

    query_ids = scored_queries(qrels)
    for query_id in query_ids:
        ranking = rankings.get(query_id, ())
        if len(set(ranking)) != len(ranking):
            raise GateFailedError(f"Query {query_id!r} has a document twice in its results: metrics would be wrong.")
    judged = [
        ir_measures.Qrel(query_id, doc_id, grade)
        for query_id in query_ids
        for doc_id, grade in sorted(qrels[query_id].items())
    ]
    run = [
        ir_measures.ScoredDoc(query_id, doc_id, float(-rank))
        for query_id in query_ids
        for rank, doc_id in enumerate(rankings.get(query_id, ()), start=1)
    ]
    by_measure = {_as_ir_measure(name): name for name in metrics}
    values: dict[str, PerQuery] = {name: dict.fromkeys(query_ids, 0.0) for name in metrics}
    if judged and run:
        for result in ir_measures.iter_calc(list(by_measure), judged, run):
            values[by_measure[result.measure]][result.query_id] = float(result.value)
    for name, per_query in values.items():
        require_finite(name, per_query)
    return values


def _as_ir_measure(name: str) -> Any:
    import ir_measures

    kind, depth = parse_metric(name)
    kinds = {"ndcg": ir_measures.nDCG, "recall": ir_measures.R, "mrr": ir_measures.RR, "hit_rate": ir_measures.Success}
    return kinds[kind] @ depth


def require_finite(name: str, per_query: Mapping[str, float]) -> None:
    """Raise GateFailedError if a value is NaN or infinite: a broken case is a failure, never a pass."""
    broken = sorted(query_id for query_id, value in per_query.items() if not math.isfinite(value))
    if broken:
        raise GateFailedError(f"{name} is not a number for {len(broken)} case(s): {', '.join(broken[:10])}.")


def mean(values: Iterable[float]) -> float:
    """Return the mean, summed exactly so that the order of cases cannot change a digit. NaN for no values."""
    items = list(values)
    return math.fsum(items) / len(items) if items else math.nan
