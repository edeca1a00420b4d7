"""Ingests of PDFs by the command line, killed at random moments: the same corpus as if nobody had."""

from __future__ import annotations

import pytest

from benchmarks.bench_kill import find_differences, run_kills
from tests.corpus_assets.pdf_factory import make_paper

TOPICS = ("moss", "gallium", "lichen", "moths", "lentils", "zinc")


@pytest.mark.slow
def test_five_kills_lose_nothing_and_need_no_manual_step(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for number, topic in enumerate(TOPICS):
        data = make_paper(3 + number % 3, title=f"On the {topic} of northern walls", topic=topic)
        (source / f"{topic}.pdf").write_bytes(data)
    work = tmp_path / "work"
    work.mkdir()
    report = run_kills(sorted(source.iterdir()), work, num_kills=5, seed=3, num_queries=6)
    assert report.faults == []
    assert report.num_kills == 5
    assert report.num_papers == 6


def test_a_difference_from_a_clean_build_is_named():
    clean = {"papers": {}, "chunks": {"a:results:0": ("Moss grew.", 0, "1")}, "rankings": {}}
    lost = {**clean, "chunks": {}}
    assert find_differences(clean, clean) == []
    assert find_differences(lost, clean) == [
        "1 chunks differ from a clean build, as a:results:0: None against ('Moss grew.', 0, '1')"
    ]
