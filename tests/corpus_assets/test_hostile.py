"""Every file of the hostile folder ends as it ought to; and the table that says how is itself sound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.bench_hostile import find_faults, find_locked_faults, measure, read_expected
from corpus_assets.model import PageState, PaperStatus

EXPECTED = read_expected()


def test_the_table_of_expected_outcomes_is_sound():
    assert len(EXPECTED) == 106
    statuses = {status.value for status in PaperStatus}
    for row in EXPECTED.values():
        assert row.statuses and row.statuses <= statuses, row
        assert bool(row.reasons) == ("ready" not in row.statuses), f"{row.file}: a reason is for what is not ready"
        assert set(row.states.values()) <= {state.value for state in PageState}, row
        assert all(1 <= number <= row.num_pages for number in row.states), row
        assert not row.paper or "ready" in row.statuses, row


@pytest.mark.slow
@pytest.mark.ocr
def test_every_hostile_file_ends_as_the_table_says(tmp_path):
    data = os.environ.get("RESEARCH_COPILOT_TEST_DATA")
    if not data:
        pytest.skip("RESEARCH_COPILOT_TEST_DATA names no folder with pdf/hostile")
    folder = Path(data) / "pdf" / "hostile"
    got = measure(folder, tmp_path / "home")
    assert list(find_faults(EXPECTED, got)) == []
    assert list(find_locked_faults(folder, EXPECTED.values())) == []
