"""`ask --interactive` as a person and a program meet it: questions a line, errors in between, Ctrl-C, a new corpus."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys

import pytest

import dagster_project.agent_desk
from tests.integration.cli_corpus import PROGRAM, run_program, write_papers

QUESTION = "What was the median progression-free survival with osimertinib?"
OTHER = "How fast did lichen grow on basalt?"


@pytest.fixture
def say(cli, monkeypatch):
    """Return a way to ask lines of one call."""

    def run(text, *arguments):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return cli("ask", "--interactive", *arguments)

    return run


def documents(out):
    return [json.loads(line) for line in out.splitlines()]


def test_each_line_is_a_question_and_each_answer_a_line_of_json(say):
    done = say(f"{QUESTION}\n\n  {OTHER}  \n", "--json", "--no-cache")
    assert done.code == 0
    first, second = documents(done.out)
    assert (first["question"], second["question"]) == (QUESTION, OTHER)
    assert first["citations"][0]["quote"] == "The median progression-free survival was 10.1 months."
    assert not second["abstained"] and not second["cached"]
    assert done.err == ""


def test_an_answer_is_the_one_ask_gives_and_can_be_verified_by_its_id(say, cli):
    (warm,) = documents(say(QUESTION, "--json", "--no-cache", "--mode", "brief").out)
    cold = cli("ask", QUESTION, "--json", "--no-cache", "--mode", "brief").document
    for record in (warm, cold):
        record.pop("stages")  # seconds
        record.pop("created_at", None)
    assert warm == cold
    assert cli("verify", warm["answer_id"]).code == 0


@pytest.mark.parametrize("word", ["exit", "quit", " EXIT "])
def test_exit_and_quit_end_it(say, word):
    done = say(f"{word}\n{QUESTION}\n")
    assert (done.code, done.out) == (0, "")


def test_as_text_answers_come_with_who_wrote_them(say):
    done = say(f"{QUESTION}\n{OTHER}\nquit\n")
    assert done.code == 0
    assert "10.1 months" in done.out and "12 mm in 40 plots" in done.out
    assert done.err.count("written by") == 2


def test_options_hold_for_every_question(say):
    found = documents(say(f"{QUESTION}\n{OTHER}\n", "--json", "--sections", "abstract", "--top-k", "1").out)
    assert len(found) == 2
    assert all(len(record["evidence"]) <= 1 for record in found)
    assert {item["section"] for record in found for item in record["citations"]} <= {"Abstract"}


def test_an_error_ends_its_question_only(say, monkeypatch):
    answer = dagster_project.agent_desk.AgentDesk.answer

    def fail_on_boom(self, question, **options):
        if question == "boom":
            raise ZeroDivisionError("\x1b[31mboom")
        return answer(self, question, **options)

    monkeypatch.setattr(dagster_project.agent_desk.AgentDesk, "answer", fail_on_boom)
    done = say(f"?!\nboom\n{QUESTION}\n", "--json")
    assert done.code == 0
    empty, broken, fine = documents(done.out)
    assert empty["exit_code"] == 2 and empty["error"]
    assert broken["exit_code"] == 1 and "ZeroDivisionError" in broken["error"]
    assert fine["question"] == QUESTION
    assert "\x1b" not in done.err and "Traceback" not in done.err


def test_an_interrupt_told_as_an_error_ends_it(say, monkeypatch):
    def fail(self, question, **options):
        before = signal.signal(signal.SIGINT, lambda *_: None)
        os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, before)
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(dagster_project.agent_desk.AgentDesk, "answer", fail)
    done = say(f"{QUESTION}\n{OTHER}\n")
    assert done.code == 130
    assert done.err == "Interrupted. What was published before still answers.\n"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((QUESTION,), "stdin"),
        (("--html", "x.html"), "--html"),
        (("--sections", "nonsense"), "nonsense"),
    ],
)
def test_what_does_not_go_with_it_is_refused(say, arguments, word):
    done = say(f"{QUESTION}\n", *arguments)
    assert done.code == 2
    assert word in done.err and len(done.err.splitlines()) == 1
    assert done.out == ""


def test_nothing_published_is_exit_3(fresh, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\n"))
    done = fresh("ask", "--interactive")
    assert done.code == 3
    assert "No corpus is published" in done.err


def test_a_closed_stdin_is_no_error(corpus):
    command = f'"{PROGRAM}" ask --interactive --home "{corpus[0]}" <&-'
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr


def start_program(home, *arguments):
    return subprocess.Popen(
        [PROGRAM, "ask", "--interactive", "--json", "--home", str(home), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def ask_program(process, question):
    process.stdin.write(f"{question}\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_ctrl_c_while_it_waits_is_130(corpus):
    with start_program(corpus[0]) as process:
        assert ask_program(process, QUESTION)["citations"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert process.stderr.read() == "Interrupted. What was published before still answers.\n"


@pytest.mark.slow
def test_a_corpus_published_meanwhile_answers_the_next_question(tmp_path):
    papers, home = write_papers(tmp_path / "papers"), tmp_path / "home"
    ingest = ("ingest", str(papers), "--embedder", "hash", "--home", str(home))
    assert run_program(*ingest).returncode == 0
    with start_program(home, "--no-cache") as process:
        before = ask_program(process, OTHER)
        (papers / "zinc.md").write_text("# On zinc\n\n## Results\n\nZinc melts at 693 kelvin under argon.\n")
        assert run_program(*ingest).returncode == 0
        after = ask_program(process, "At what temperature does zinc melt under argon?")
        assert process.communicate("exit\n", timeout=30) == ("", "")
        assert process.returncode == 0
    assert after["generation"] != before["generation"]
    assert any("693 kelvin" in citation["quote"] for citation in after["citations"])
