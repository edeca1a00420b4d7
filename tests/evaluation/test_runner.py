"""The runner keeps per-case values, slices, latencies, and never hides a failed case."""

import json

import pytest

from corpus_assets.errors import BadInputError, GateFailedError, StoreError
from corpus_assets.settings import GateSettings
from evaluation.runner import measure_modes, require_floors, summarize

QUERIES = {"q1": "one", "q2": "two", "q3": "three", "unjudged": "four"}
QRELS = {"q1": {"a": 3}, "q2": {"b": 1, "c": 2}, "q3": {"d": 1}}
FTS = {"one": ["a"], "two": ["x", "b"], "three": [], "four": ["a"]}
DENSE = {"one": ["x", "a"], "two": ["c", "b"], "three": ["d"], "four": []}


def run(**changes):
    searches = {"fts_only": FTS.__getitem__, "hybrid": DENSE.__getitem__}
    return measure_modes(QUERIES, QRELS, changes.pop("searches", searches), **changes)


def report_of(benchmark):
    return summarize(benchmark, num_docs=5, embedder="default", gates=GateSettings(), details={"golden_hash": "abc"})


def without_latency(value):
    if isinstance(value, dict):
        return {key: without_latency(item) for key, item in value.items() if "_ms" not in key}
    return [without_latency(item) for item in value] if isinstance(value, list) else value


def test_report_has_the_promised_keys_and_is_json():
    report = report_of(run(slices={"query_type": {"exact": ["q1"], "paraphrase": ["q2", "q3"], "cross_field": []}}))
    json.dumps(report, allow_nan=False)
    assert report["corpus"] == {"num_docs": 5}
    assert set(report["modes"]) == {"fts_only", "hybrid"}
    promised = {
        "ndcg@10",
        "recall@10",
        "recall@100",
        "mrr@10",
        "hit_rate@10",
        "avg_latency_ms",
        "p95_latency_ms",
        "ci95",
    }
    assert promised <= set(report["modes"]["hybrid"])
    assert {"a", "b", "metric", "diff", "ci95", "p"} <= set(report["comparisons"][0])
    assert report["decision"]["mode"] == "fts_only"
    assert report["num_cases"] == 3
    assert report["golden_hash"] == "abc"


def test_values_by_hand():
    report = report_of(run())
    assert report["modes"]["fts_only"]["recall@10"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert report["modes"]["fts_only"]["hit_rate@10"] == pytest.approx(2 / 3)
    assert report["modes"]["hybrid"]["mrr@10"] == pytest.approx((0.5 + 1 + 1) / 3)
    case = next(case for case in report["cases"] if case["case_id"] == "q3")
    assert case["modes"]["fts_only"]["first_relevant_rank"] is None
    assert case["modes"]["hybrid"]["first_relevant_rank"] == 1


def test_two_runs_agree_to_the_last_digit():
    first, second = (json.dumps(without_latency(report_of(run())), sort_keys=True) for _ in range(2))
    assert first == second


def test_a_slice_that_got_worse_is_listed_although_the_mean_holds():
    report = report_of(run(slices={"query_type": {"exact": ["q1"], "paraphrase": ["q2", "q3"], "empty": ["nobody"]}}))
    slices = report["slices"]["query_type"]
    assert report["modes"]["hybrid"]["ndcg@10"] > report["modes"]["fts_only"]["ndcg@10"]
    assert [item["mode"] for item in slices["exact"]["regressions"]] == ["hybrid"]
    assert slices["paraphrase"]["regressions"] == []
    assert "empty" not in slices


def test_a_failed_case_fails_the_run_by_name():
    def search(text):
        if text == "two":
            raise StoreError("vectors are damaged")
        return ["a"]

    with pytest.raises(GateFailedError, match=r"Case 'q2' failed in mode hybrid: vectors are damaged"):
        run(searches={"hybrid": search})


def test_nothing_judged_is_an_error():
    with pytest.raises(BadInputError, match="No query has a judgment"):
        measure_modes({"q": "x"}, {"q": {"a": 0}}, {"fts_only": lambda _: []})


def test_twins_count_as_the_judged_chunk():
    benchmark = run(searches={"fts_only": lambda _: ["twin", "a"]}, twins={"q1": {"twin": "a"}})
    assert benchmark.values["fts_only"]["mrr@10"]["q1"] == 1.0
    assert benchmark.values["fts_only"]["mrr@10"]["q2"] == 0.0


def test_unjudged_queries_are_not_even_searched():
    asked = []

    def search(text):
        asked.append(text)
        return []

    run(searches={"fts_only": search})
    assert "four" not in asked


def test_floors_are_a_verdict():
    report = report_of(run())
    require_floors(report, hybrid_recall=0.9, hybrid_hit_rate=1.0)
    with pytest.raises(GateFailedError, match="hybrid recall@10"):
        require_floors({"modes": {"hybrid": {"recall@10": 0.4}}}, hybrid_recall=0.5)
    with pytest.raises(GateFailedError, match="not measured"):
        require_floors({"modes": {}}, hybrid_hit_rate=0.5)
    with pytest.raises(GateFailedError):
        require_floors({"modes": {"hybrid": {"recall@10": float("nan")}}}, hybrid_recall=0.0)
