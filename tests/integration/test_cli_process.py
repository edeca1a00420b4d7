"""The program as a process of its own: pipes, plain terminals, bare environments, what it loads."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.cli_corpus import PROGRAM, run_program, write_papers

HEAVY = (
    "torch", "faiss", "onnxruntime", "pymupdf", "sklearn", "matplotlib", "transformers", "sentence_transformers",
    "anthropic", "scipy", "datasketch", "duckdb", "numpy",
)  # fmt: skip


def loaded_by(statement, candidates):
    code = f"import sys; {statement}; print(*[name for name in {candidates!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_definitions_loads_nothing_heavy():
    assert loaded_by("import dagster_project.definitions", HEAVY) == []


def test_help_loads_next_to_nothing():
    assert loaded_by("import dagster_project.cli.main", (*HEAVY, "dagster", "pydantic", "rich", "numpy")) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "median", "-k", "50"],
        ["papers", "list"],
        ["papers", "list", "--json"],
        ["ask", "What grew?"],
        ["--help"],
    ],
)
def test_a_closed_pipe_is_no_error(corpus, arguments):
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "RESEARCH_COPILOT_HOME": str(corpus[0]),
    }
    with subprocess.Popen(
        [PROGRAM, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()  # a reader that wants nothing at all: stricter than `| head -1`
        err = process.stderr.read().decode()
    assert process.returncode in (0, 141)
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_a_closed_stdout_is_no_error(corpus):
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{PROGRAM}" papers list --home "{corpus[0]}" >&-'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line(corpus):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [PROGRAM, "papers", "list", "--home", corpus[0]],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.strip() == "Error: Standard output cannot be written: No space left on device."


@pytest.mark.slow
def test_no_escape_code_or_carriage_return_in_files(tmp_path):
    papers = write_papers(tmp_path / "papers")
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    home = str(tmp_path / "home")
    for arguments in (
        ["ingest", str(papers), "--embedder", "hash"],
        ["search", "safe harbour"],
        ["search", "safe harbour", "--json"],
        ["ask", "What do safe harbour rules protect?"],
        ["papers", "show", "hostile.txt"],
        ["doctor"],
        ["nonsense"],
    ):
        done = run_program(*arguments, "--home", home, env=environment, text=False)
        for stream in (done.stdout, done.stderr):
            assert not {0x1B, 0x07, 0x0D} & set(stream), (arguments, stream)
            assert "\x9b" not in stream.decode("utf-8")
        if "--json" in arguments:
            assert json.loads(done.stdout)["hits"]


def read_terminal(arguments, env):
    """Run the program on a terminal and return every byte it wrote there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [str(PROGRAM), *arguments], env)
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        written += part
    os.waitpid(pid, 0)
    return written


def test_control_codes_of_a_paper_do_not_reach_a_terminal(corpus):
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "OMP_NUM_THREADS": "1",
        "RESEARCH_COPILOT_HOME": str(corpus[0]),
    }
    environment.pop("NO_COLOR", None)
    for arguments in (["search", "safe harbour"], ["ask", "What do safe harbour rules protect?"]):
        written = read_terminal(arguments, environment)
        assert b"harbour" in written
        for code in (b"\x1b[2J", b"\x1b]8;;http://x", b"\x07", "\x9b".encode()):
            assert code not in written, (arguments, written)


def test_no_color_is_obeyed_on_a_terminal(corpus):
    environment = {**os.environ, "TERM": "xterm-256color", "NO_COLOR": "1", "RESEARCH_COPILOT_HOME": str(corpus[0])}
    assert b"\x1b" not in read_terminal(["ask", "What do safe harbour rules protect?"], environment)


def test_a_bare_environment_works_and_writes_nowhere_else(corpus, tmp_path):
    environment = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin", "HOME": "/nonexistent"}
    for arguments in (["search", "median"], ["ask", "What was the median growth rate?", "--json"], ["papers", "list"]):
        done = run_program(*arguments, "--home", str(corpus[0]), env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert not Path("/nonexistent").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a name")
def test_a_user_without_a_name_can_read_a_home_of_another(corpus, tmp_path):
    home, _ = corpus
    for path in [home, *home.rglob("*"), *home.parents]:
        if str(path).startswith("/tmp/"):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    try:
        subprocess.run([sys.executable, "-c", ""], user=65432, check=True)
    except PermissionError:
        pytest.skip("this Python may only be run by its owner")
    environment = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"}
    before = sorted(home.rglob("*"))
    for arguments in (["search", "median"], ["ask", "What was the median growth rate?"]):
        done = run_program(
            *arguments, "--home", str(home), env=environment, user=65432, group=65432, extra_groups=[], cwd="/"
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
        assert "Traceback" not in done.stderr
    assert "not kept in the history" in done.stderr
    assert sorted(home.rglob("*")) == before


def test_help_starts_fast():
    """A bound wide enough for a busy machine: dagster or pydantic at start-up would break it."""

    def seconds(command):
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return time.perf_counter() - started

    bare = min(seconds([sys.executable, "-c", "pass"]) for _ in range(3))
    assert min(seconds([PROGRAM, "--help"]) for _ in range(3)) - bare < 1.0


def test_ctrl_c_ends_an_ingest_with_one_line(tmp_path):
    papers = write_papers(tmp_path / "papers")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [PROGRAM, "ingest", papers, "--embedder", "hash", "--home", tmp_path / "home"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while "chunks" not in (line := process.stderr.readline()):  # reading is over: no worker is just being born
            assert line, "the run ended before it could be interrupted"
        process.send_signal(2)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("Interrupted")
    assert "--home" not in err
