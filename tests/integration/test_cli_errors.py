"""Bad input is one clear line and the right exit code; nothing unexpected ends in a traceback."""

from __future__ import annotations

import fcntl
import os

import pytest

from corpus_assets.store.lock import lock_path
from tests.integration.cli_corpus import write_papers


def assert_one_line(outcome, code, *words):
    assert outcome.code == code, outcome
    lines = outcome.err.strip().splitlines()
    assert len(lines) == 1, outcome.err
    assert "Traceback" not in outcome.err
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ingest", "/no/such/folder"], ["/no/such/folder", "does not exist"]),
        (["ingest", "/dev/null"], ["not a folder"]),
        (["ask", ""], ["question"]),
        (["ask", "   "], ["question"]),
        (["search", ""], []),
        (["search", "?!"], []),
        (["search", "x", "--sections", "nonsense"], ["nonsense", "abstract"]),
        (["search", "x", "--papers", "nonsense"], ["nonsense"]),
        (["papers", "show", "nonsense"], ["nonsense", "papers list"]),
        (["verify", "nonsense"], ["nonsense"]),
        (["verify", "nonsense.json"], ["nonsense.json"]),
        (["papers", "export", "--csv", "--json"], ["exclude"]),
    ],
)
def test_bad_input_is_one_line_and_exit_2(cli, arguments, words):
    assert_one_line(cli(*arguments), 2, *words)


@pytest.mark.parametrize(
    "arguments",
    [["search", "x"], ["ask", "What is x?"], ["papers", "list"], ["papers", "show", "x"], ["rollback"]],
)
def test_nothing_published_is_exit_3(fresh, arguments):
    assert_one_line(fresh(*arguments), 3, "No corpus is published")
    assert not (fresh.home / "dagster").exists(), "a refused question left a run history behind"


def test_an_empty_folder_is_exit_2(fresh, tmp_path):
    (tmp_path / "papers").mkdir()
    assert_one_line(fresh("ingest", str(tmp_path / "papers"), "--embedder", "hash"), 2, "holds no papers")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["ask"],
        ["ask", "x", "--mode", "nonsense"],
        ["search", "x", "--retrieval", "nonsense"],
        ["search", "x", "-k", "0"],
    ],
)
def test_usage_errors_are_exit_2(fresh, arguments):
    outcome = fresh(*arguments)
    assert outcome.code == 2
    assert "Error" in outcome.err


def test_an_error_with_json_is_one_document(fresh):
    outcome = fresh("search", "x", "--json")
    assert outcome.document["exit_code"] == outcome.code == 3
    assert outcome.document["hint"]
    assert fresh("ask", "x", "--mode", "nonsense", "--json").document["exit_code"] == 2


@pytest.mark.slow
def test_a_locked_home_is_exit_2_and_leaves_no_run(fresh, tmp_path):
    papers = write_papers(tmp_path / "papers")
    fresh.home.mkdir()
    with lock_path(fresh.home).open("w") as other:  # its own descriptor: as another process would hold it
        other.write("4711\n")
        other.flush()
        fcntl.flock(other, fcntl.LOCK_EX)
        assert_one_line(fresh("ingest", str(papers), "--embedder", "hash"), 2, "pid 4711", str(fresh.home))
    assert not (fresh.home / "dagster").exists()
    assert fresh("ingest", str(papers), "--embedder", "hash").code == 0


def test_a_wrong_setting_is_named(cli, monkeypatch):
    monkeypatch.setenv("RESEARCH_COPILOT_CHUNKS__MAX_TOKENS", "three")
    assert_one_line(cli("generations"), 2, "RESEARCH_COPILOT_CHUNKS__MAX_TOKENS")


def test_a_missing_model_is_named(fresh, tmp_path):
    papers = write_papers(tmp_path / "papers")
    outcome = fresh("ingest", str(papers), "--embedder", str(tmp_path / "no-model"))
    assert_one_line(outcome, 2, "no-model")


def test_an_unexpected_error_is_one_line_with_the_traceback_in_a_file(cli, corpus, monkeypatch):
    def explode(home):
        raise ZeroDivisionError("\x1b[31mboom")

    monkeypatch.setattr("corpus_assets.store.generation.list_generations", explode)
    outcome = cli("generations")
    assert_one_line(outcome, 1, "ZeroDivisionError", "boom", "errors.log")
    assert "\x1b" not in outcome.err
    assert "explode" in (corpus[0] / "logs" / "errors.log").read_text()
    assert "explode" in cli("generations", "--debug").err


def test_ctrl_c_is_one_line_and_130(cli, monkeypatch):
    def interrupt(home):
        raise KeyboardInterrupt

    monkeypatch.setattr("corpus_assets.store.generation.list_generations", interrupt)
    assert_one_line(cli("generations"), 130, "Interrupted")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_home_that_cannot_be_written_is_named(fresh, tmp_path):
    papers = write_papers(tmp_path / "papers")
    fresh.home.mkdir()
    fresh.home.chmod(0o555)
    assert_one_line(fresh("ingest", str(papers), "--embedder", "hash"), 1, str(fresh.home))
