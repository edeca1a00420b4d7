"""Which mode is served, and why."""

import numpy as np
import pytest

from corpus_assets.errors import BadInputError
from corpus_assets.settings import GateSettings
from evaluation.policy import decide_mode

SETTINGS = GateSettings()
LATENCY = {"fts_only": 20.0, "hybrid": 40.0, "embedding_only": 30.0}


def make_values(gain: float, *, num_cases: int = 300, spread: float = 0.2, mrr: float | None = None, hits: int = 0):
    """Build per-case values: hybrid differs from fts_only by ``gain`` on average; it loses ``hits`` hits."""
    generator = np.random.default_rng(1)
    ids = [f"q{number:03}" for number in range(num_cases)]
    base = generator.uniform(0.4, 0.8, size=num_cases)
    noise = generator.normal(0, spread, size=num_cases)
    noise -= noise.mean()

    def per_query(values):
        return dict(zip(ids, (float(value) for value in values), strict=True))

    hit = np.ones(num_cases)
    hybrid_hit = hit.copy()
    hybrid_hit[:hits] = 0
    return {
        "fts_only": {"ndcg@10": per_query(base), "mrr@10": per_query(base), "hit_rate@10": per_query(hit)},
        "hybrid": {
            "ndcg@10": per_query(base + gain + noise),
            "mrr@10": per_query(base + (gain if mrr is None else mrr) + noise),
            "hit_rate@10": per_query(hybrid_hit),
        },
        "embedding_only": {
            "ndcg@10": per_query(base - 0.1 + noise),
            "mrr@10": per_query(base - 0.1),
            "hit_rate@10": per_query(hit),
        },
    }


def decide(values, *, embedder="default", latency=LATENCY, settings=SETTINGS):
    return decide_mode(values, latency, embedder=embedder, settings=settings)


def test_a_clear_gain_on_enough_cases_serves_hybrid():
    decision = decide(make_values(0.045))
    assert decision.mode == "hybrid"
    assert all(decision.tests.values())
    assert "300 cases" in decision.reason
    assert "+0.045" in decision.reason


def test_the_same_gain_on_few_cases_does_not_and_says_how_many_are_needed():
    decision = decide(make_values(0.045, num_cases=33))
    assert decision.mode == "fts_only"
    assert not decision.tests["ndcg_significant"]
    assert "small sample" in decision.reason
    assert "33 cases" in decision.reason
    assert "cases would show 0.05" in decision.reason


@pytest.mark.parametrize(
    ("values", "failing", "words"),
    [
        (make_values(-0.05), "ndcg_significant", "not significant"),
        (make_values(0.005, spread=0.001), "ndcg_gain", "gains less than"),
        (make_values(0.045, mrr=-0.01), "mrr_not_lower", "first hit comes later"),
        (make_values(0.045, hits=3), "hit_rate_not_lower", "finds evidence for fewer cases"),
    ],
)
def test_each_condition_alone_keeps_fts_only(values, failing, words):
    decision = decide(values)
    assert decision.mode == "fts_only"
    assert not decision.tests[failing]
    assert words in decision.reason


def test_latency_over_budget_keeps_fts_only():
    decision = decide(make_values(0.045), latency={**LATENCY, "hybrid": 9000.0})
    assert decision.mode == "fts_only"
    assert "p95 of 9000 ms" in decision.reason


def test_hash_vectors_are_never_the_reason_to_serve_hybrid():
    decision = decide(make_values(0.2), embedder="hash")
    assert decision.mode == "fts_only"
    assert "hash embedder" in decision.reason


def test_more_modes_make_the_test_stricter():
    values = make_values(0.045)
    alone = {mode: values[mode] for mode in ("fts_only", "hybrid")}
    p_alone = decide(alone).numbers["ndcg@10"]["p_holm"]
    p_family = decide(values).numbers["ndcg@10"]["p_holm"]
    assert p_family >= p_alone


def test_a_missing_mode_is_an_error_not_a_decision():
    with pytest.raises(BadInputError, match="of hybrid"):
        decide({"fts_only": make_values(0.1)["fts_only"]})


def test_a_single_case_is_called_what_it_is():
    decision = decide(make_values(0.4, num_cases=1, spread=0.0))
    assert decision.mode == "fts_only"
    assert "small sample" in decision.reason
    assert "up to 95% of all cases may still differ" in decision.reason  # 1 - .05
    assert "would show" not in decision.reason
