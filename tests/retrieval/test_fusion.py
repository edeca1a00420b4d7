"""One order, whatever the hash seed and the order of the inputs."""

import os
import subprocess
import sys

import pytest

from retrieval.fusion import combine_scores, rrf


def test_rrf_adds_reciprocal_ranks():
    fused = rrf([["a", "b"], ["b", "c"]], k=60)
    assert [item.id for item in fused] == ["b", "a", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert [item.best_rank for item in fused] == [1, 1, 2]


def test_ties_go_to_the_better_single_rank_then_to_the_smaller_id():
    assert [item.id for item in rrf([["A", "B"], ["C", "D"]])] == ["A", "C", "B", "D"]
    assert [item.id for item in rrf([["B", "A"], ["A", "B"]])] == ["A", "B"]
    assert [item.id for item in rrf([["x", "y", "z"], ["z", "y", "x"]], weights=[1, 1])][:2] == ["x", "z"]


def test_order_does_not_hang_on_hash_seed_or_on_the_order_of_the_legs():
    code = (
        "from retrieval.fusion import rrf, combine_scores\n"
        "for legs in ([['A','B'],['C','D']], [['C','D'],['A','B']], [['A','B'],['B','A']], [['B','A'],['A','B']]):\n"
        "    print([i.id for i in rrf(legs)])\n"
        "print([i.id for i in combine_scores([{'A': 2, 'B': 1}, {'C': 2, 'D': 1}])])\n"
        "print([i.id for i in combine_scores([{'D': 1, 'C': 2}, {'B': 1, 'A': 2}])])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(outputs) == 1
    lines = outputs.pop().decode().splitlines()
    assert lines[0] == lines[1]
    assert lines[2] == lines[3]
    assert lines[4] == lines[5]


def test_combined_scores_are_scaled_within_each_leg():
    fused = combine_scores([{"a": 10.0, "b": 0.0}, {"a": 0.2, "c": 0.9}], weights=[0.5, 0.5])
    assert [(item.id, item.score) for item in fused] == [("a", 0.5), ("c", 0.5), ("b", 0.0)]
    standardised = combine_scores([{"a": 3.0, "b": 1.0, "c": 2.0}], norm="zscore")
    assert [item.id for item in standardised] == ["a", "c", "b"]
    assert sum(item.score for item in standardised) == pytest.approx(0.0)


def test_empty_legs():
    assert rrf([]) == []
    assert [item.id for item in rrf([[], ["a"]])] == ["a"]
    assert [item.id for item in combine_scores([{}, {"a": 1.0}])] == ["a"]
