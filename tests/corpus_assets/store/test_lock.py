"""One ingest at a time in a home."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corpus_assets.errors import HomeLockedError
from corpus_assets.store.lock import acquire_home, home_lock, release_home

HOLD = """
import sys, time
from pathlib import Path
from corpus_assets.store.lock import acquire_home
acquire_home(Path(sys.argv[1])); print("held", flush=True); time.sleep(60)
"""


def test_another_process_is_named_and_its_death_frees_the_home(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "held"
        with pytest.raises(HomeLockedError, match=rf"Another ingest \(pid {holder.pid}\)") as caught:
            acquire_home(tmp_path)
        assert (caught.value.exit_code, caught.value.retryable) == (2, True)
    finally:
        holder.kill()
        holder.wait()
    with home_lock(tmp_path):
        pass


def test_steps_of_one_process_share_the_home_and_the_outer_holder_keeps_it(tmp_path):
    acquire_home(tmp_path)
    with home_lock(tmp_path):
        acquire_home(tmp_path)
    still_held = subprocess.run(
        [sys.executable, "-c", HOLD, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "HomeLockedError" in still_held.stderr
    release_home(tmp_path)
