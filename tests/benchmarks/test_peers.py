"""The peers' driver: what it says of one that is absent, of one that fails, and of where we lose."""

from __future__ import annotations

import importlib

import pytest

from benchmarks.peers import __main__ as driver
from benchmarks.peers import work
from benchmarks.peers.work import PEERS, Row, Work, is_installed, judge, run_peer
from evaluation.beir import BeirData


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_says_what_it_is_and_imports_nothing_of_its_own_at_first(name):
    peer = importlib.import_module(f"benchmarks.peers.{name}")
    assert peer.NAME and peer.WHAT and peer.PACKAGES
    assert hasattr(peer, "ingest") or hasattr(peer, "index")


def test_a_peer_that_is_absent_says_so(monkeypatch, tmp_path):
    peer = importlib.import_module("benchmarks.peers.plain_bm25s")
    monkeypatch.setattr(peer, "PACKAGES", ("no_such_package", "no_such_package.inner"))
    row = run_peer("plain_bm25s", tmp_path, tmp_path, 1)
    assert row.problem == "not installed: no_such_package, no_such_package.inner"
    assert row.ndcg is None and is_installed("json.decoder")


def test_a_peer_that_fails_is_a_row_and_the_exit_code_is_1(tmp_path, capsys):
    assert driver.main(["--data", str(tmp_path), "--only", "bare_pymupdf,plain_bm25s", "--papers", "1"]) == 1
    assert "failed: " in capsys.readouterr().out


def test_the_judged_figures_are_those_of_the_ranking():
    data = BeirData([], {"q1": "one", "q2": "two"}, {"q1": {"a": 1}, "q2": {"b": 1}})
    ndcg, milliseconds = judge(data, lambda question: ["a"] if question.startswith("one") else ["x", "a"])
    assert ndcg == pytest.approx(0.5)
    assert milliseconds >= 0


def test_where_we_lose_is_said_for_each_figure():
    ours = Row("ours", "", ingest_seconds=9.0, num_pieces=5, query_p95_ms=10.0, ndcg=0.72, peak_mb=500.0)
    other = Row("other", "", ingest_seconds=2.0, num_pieces=9, query_p95_ms=20.0, ndcg=0.80)
    assert driver.find_losses([ours, other]) == [
        "ingest s: other 2.0 against our 9.0",
        "nDCG@10: other 0.800 against our 0.720",
    ]


def test_pieces_are_of_the_size_ours_are():
    from corpus_assets.settings import ChunkSettings

    assert ChunkSettings.model_validate({}).target_tokens == work.CHUNK_TOKENS


def test_papers_are_taken_by_name(tmp_path):
    folder = tmp_path / "pdf" / "papers"
    folder.mkdir(parents=True)
    for name in ("b.pdf", "a.pdf", "c.txt"):
        (folder / name).touch()
    given = Work(tmp_path, tmp_path)
    assert [file.name for file in given.papers(1)] == ["a.pdf"]
    assert [file.name for file in given.papers(0)] == ["a.pdf", "b.pdf"]
