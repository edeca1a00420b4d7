"""Retrieval decisions are kept, read back, and rolled back with their history."""

import subprocess
import sys
import threading

import pytest

from corpus_assets.errors import BadInputError, StoreError
from retrieval import decision as decision_module
from retrieval.decision import (
    RetrievalDecision,
    latest_decision,
    list_decisions,
    rollback_decision,
    store_decision,
    stored_mode,
)


def make(mode, generation="g1", **changes):
    return RetrievalDecision(generation=generation, mode=mode, reason=f"because {mode}", **changes)


def test_reading_an_empty_home_writes_nothing(tmp_path):
    assert stored_mode(tmp_path, "g1") is None
    assert list_decisions(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_newest_decision_of_a_generation_counts(tmp_path):
    store_decision(tmp_path, make("fts_only"))
    store_decision(tmp_path, make("hybrid", numbers={"ndcg@10": {"diff": 0.04}}, num_cases=300, golden_hash="abc"))
    store_decision(tmp_path, make("fts_only", generation="g2"))
    assert stored_mode(tmp_path, "g1") == ("hybrid", "because hybrid")
    assert stored_mode(tmp_path, "g3") is None
    kept = latest_decision(tmp_path, "g1")
    assert kept is not None
    assert kept.numbers == {"ndcg@10": {"diff": 0.04}}
    assert kept.decided_at
    assert [item.generation for item in list_decisions(tmp_path)] == ["g1", "g1", "g2"]


def test_roll_back_serves_what_was_served_before(tmp_path):
    store_decision(tmp_path, make("fts_only"))
    store_decision(tmp_path, make("hybrid"))
    rollback_decision(tmp_path, "g1")
    mode, reason = stored_mode(tmp_path, "g1") or ("", "")
    assert mode == "fts_only"
    assert "Rolled back from hybrid" in reason
    assert len(list_decisions(tmp_path, "g1")) == 3


def test_roll_back_of_a_first_decision_falls_to_the_baseline(tmp_path):
    store_decision(tmp_path, make("hybrid"))
    assert rollback_decision(tmp_path, "g1").mode == "fts_only"
    with pytest.raises(BadInputError, match="No retrieval decision"):
        rollback_decision(tmp_path, "unknown")


def test_unusable_decisions_are_refused(tmp_path):
    with pytest.raises(StoreError, match="Unknown retrieval mode"):
        store_decision(tmp_path, make("vibes"))
    with pytest.raises(BadInputError):
        store_decision(tmp_path, make("hybrid", generation=""))
    with pytest.raises(ValueError, match="JSON"):
        store_decision(tmp_path, make("hybrid", numbers={"ndcg": float("nan")}))


def test_threads_wait_for_each_other(tmp_path):
    errors = []

    def write(number):
        try:
            store_decision(tmp_path, make("hybrid", generation=f"g{number}"))
            assert stored_mode(tmp_path, f"g{number}") is not None
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(list_decisions(tmp_path)) == 8


HOLD = """
import duckdb, sys, time
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("waits", [True, False])
def test_another_process_holding_the_file(tmp_path, monkeypatch, waits):
    store_decision(tmp_path, make("hybrid"))
    seconds = "0.5" if waits else "30"
    monkeypatch.setattr(decision_module, "LOCK_WAIT_SECONDS", 10.0 if waits else 0.3)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "state.duckdb"), seconds], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "held"
        if waits:
            assert stored_mode(tmp_path, "g1") == ("hybrid", "because hybrid")
        else:
            with pytest.raises(StoreError, match=r"Could not open .*state\.duckdb") as error:
                stored_mode(tmp_path, "g1")
            assert error.value.retryable
    finally:
        process.kill()
        process.wait()
