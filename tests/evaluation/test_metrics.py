"""Metrics against hand-computed tables and an independent implementation."""

import math

import numpy as np
import pytest

from corpus_assets.errors import BadInputError, GateFailedError
from evaluation.metrics import mean, measure, parse_metric, require_finite, scored_queries

LOG3 = math.log2(3)

# qrels, ranking, {metric: value computed by hand}
HAND_COMPUTED = [
    # grades 3, 0, 1 at ranks 1..3; ideal 3, 1.  DCG = 3 + 1/2; IDCG = 3 + 1/log2(3)
    (
        {"a": 3, "b": 1},
        ["a", "x", "b"],
        {"ndcg@10": 3.5 / (3 + 1 / LOG3), "recall@10": 1, "mrr@10": 1, "hit_rate@10": 1},
    ),
    # first relevant at rank 2, the other one not found.  DCG = 1/log2(3)
    ({"a": 3, "b": 1}, ["x", "b"], {"ndcg@10": (1 / LOG3) / (3 + 1 / LOG3), "recall@10": 0.5, "mrr@10": 0.5}),
    # cut at 2: the relevant one at rank 3 does not count
    (
        {"a": 2},
        ["x", "y", "a"],
        {"ndcg@2": 0, "recall@2": 0, "mrr@2": 0, "hit_rate@2": 0, "recall@3": 1, "mrr@3": 1 / 3},
    ),
    # hit rate is any, recall is the share
    ({"a": 1, "b": 1, "c": 1, "d": 1}, ["x", "c"], {"recall@10": 0.25, "hit_rate@10": 1}),
    # recall@1 can be at most 1/2 here; a grade of 0 is not relevant
    ({"a": 1, "b": 2, "z": 0}, ["b", "z"], {"recall@1": 0.5, "ndcg@1": 1, "recall@10": 0.5}),
    ({"a": 1, "z": 0}, ["z"], {"hit_rate@10": 0, "ndcg@10": 0, "mrr@10": 0}),
    # judged, but no results at all
    ({"a": 1}, [], {"ndcg@10": 0, "recall@10": 0, "mrr@10": 0, "hit_rate@10": 0}),
]


@pytest.mark.parametrize(("grades", "ranking", "expected"), HAND_COMPUTED)
def test_hand_computed(grades, ranking, expected):
    values = measure({"q": grades}, {"q": ranking}, tuple(expected))
    for metric, value in expected.items():
        assert values[metric]["q"] == pytest.approx(value, abs=1e-12), metric


def test_unjudged_queries_are_left_out_and_unanswered_ones_count_as_zero():
    qrels = {"judged": {"a": 1}, "all_zero": {"a": 0}, "empty": {}, "silent": {"a": 1}}
    values = measure(qrels, {"judged": ["a"], "all_zero": ["a"], "unknown": ["a"]}, ("recall@10",))
    assert values["recall@10"] == {"judged": 1.0, "silent": 0.0}
    assert scored_queries(qrels) == ["judged", "silent"]
    assert mean(values["recall@10"].values()) == 0.5


def reference(kind: str, depth: int, grades: dict[str, int], ranking: list[str]) -> float:
    """Compute a metric from its definition, in plain numpy."""
    gains = np.array([grades.get(doc, 0) for doc in ranking[:depth]], dtype=float)
    relevant = sum(grade > 0 for grade in grades.values())
    discounts = 1 / np.log2(np.arange(2, depth + 2))
    if kind == "ndcg":
        ideal = np.sort([float(grade) for grade in grades.values()])[::-1][:depth]
        return float((gains * discounts[: len(gains)]).sum() / (ideal * discounts[: len(ideal)]).sum())
    if kind == "recall":
        return float((gains > 0).sum() / relevant)
    first = np.flatnonzero(gains > 0)
    if kind == "mrr":
        return float(1 / (first[0] + 1)) if first.size else 0.0
    return float(first.size > 0)


def test_cross_check_on_random_runs():
    generator = np.random.default_rng(5)
    docs = [f"d{number:02}" for number in range(40)]
    qrels, rankings = {}, {}
    for number in range(60):
        judged = generator.choice(docs, size=generator.integers(1, 15), replace=False)
        grades = {str(doc): int(generator.integers(0, 4)) for doc in judged}
        grades[str(judged[0])] = 2
        qrels[f"q{number}"] = grades
        rankings[f"q{number}"] = [str(doc) for doc in generator.permutation(docs)[: generator.integers(0, 40)]]
    metrics = tuple(f"{kind}@{depth}" for kind in ("ndcg", "recall", "mrr", "hit_rate") for depth in (1, 5, 10, 100))
    values = measure(qrels, rankings, metrics)
    for metric in metrics:
        kind, depth = parse_metric(metric)
        for query_id, grades in qrels.items():
            assert values[metric][query_id] == pytest.approx(
                reference(kind, depth, grades, rankings[query_id]), abs=1e-9
            )


def test_ids_do_not_break_ties():
    """Only ranks count: renaming documents changes nothing."""
    first = measure({"q": {"zz": 1}}, {"q": ["zz", "aa"]}, ("mrr@10",))
    second = measure({"q": {"aa": 1}}, {"q": ["aa", "zz"]}, ("mrr@10",))
    assert first["mrr@10"]["q"] == second["mrr@10"]["q"] == 1


def test_a_document_twice_is_refused():
    with pytest.raises(GateFailedError, match="'q' has a document twice"):
        measure({"q": {"a": 1}}, {"q": ["a", "a"]})


def test_nan_is_a_failure():
    with pytest.raises(GateFailedError, match=r"ndcg@10 is not a number for 1 case\(s\): q2"):
        require_finite("ndcg@10", {"q1": 0.5, "q2": math.nan})
    assert math.isnan(mean([]))


@pytest.mark.parametrize("name", ["ndcg", "ndcg@", "ndcg@0", "map@10", "recall@ten"])
def test_unknown_metrics_are_refused(name):
    with pytest.raises(BadInputError, match="Unknown metric"):
        parse_metric(name)
