import multiprocessing
import time

import pytest

from corpus_assets.errors import StoreError
from retrieval.state_store import StateStore


def hold(home, seconds, ready) -> None:
    with StateStore(home).open(read_only=False):
        ready.set()
        time.sleep(seconds)


def save(store: StateStore, key: str) -> None:
    store.save_answer(key, "2026-01-01", "q", "g", "brief", "{}")


def test_a_short_lock_is_waited_for_and_a_long_one_is_named(tmp_path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(tmp_path, 3.0, ready))
    process.start()
    assert ready.wait(60)
    with pytest.raises(StoreError, match=r"state\.duckdb"):
        save(StateStore(tmp_path, wait_seconds=0.2), "a")
    save(StateStore(tmp_path, wait_seconds=60), "a")
    process.join()
    assert StateStore(tmp_path).load_answer("a") == "{}"


def test_reading_before_anything_was_saved_gives_nothing(tmp_path) -> None:
    assert StateStore(tmp_path).load_answer("a") is None
    assert not (tmp_path / "state.duckdb").exists()
