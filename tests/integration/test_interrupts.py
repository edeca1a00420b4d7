"""Ctrl-C is remembered even where its exception is dropped."""

from __future__ import annotations

import os
import signal
import threading

import pytest

import dagster_project.cli.main as main_module
from corpus_assets.errors import StoreError
from corpus_assets.settings import Settings
from dagster_project.ingest import run_ingest
from dagster_project.interrupts import remember_interrupts


def interrupt_unheard():
    """Send SIGINT so that nobody gets an exception."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def deaf():
    """A handler that does nothing, as native code that drops the exception."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("deaf")
def test_an_interrupt_is_told_once_and_the_descriptor_is_given_back():
    with remember_interrupts() as is_interrupted:
        assert not is_interrupted()
        os.kill(os.getpid(), signal.SIGINT)
        assert is_interrupted()
        assert not is_interrupted()
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.usefixtures("deaf")
def test_another_signal_is_no_interrupt():
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with remember_interrupts() as is_interrupted:
            os.kill(os.getpid(), signal.SIGUSR1)
            assert not is_interrupted()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_another_thread_is_never_interrupted():
    said = []

    def ask():
        with remember_interrupts() as is_interrupted:
            said.append(is_interrupted())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert said == [False]


def test_a_swallowed_interrupt_ends_the_run_at_the_next_progress(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "moths.md").write_text("# Moths\n\nFemale moths laid eggs.\n", encoding="utf-8")
    settings = Settings(home=tmp_path / "home", papers_dir=tmp_path / "papers")
    steps = []

    def progress(step, *_):
        steps.append(step)
        if len(steps) == 1:
            interrupt_unheard()

    with pytest.raises(KeyboardInterrupt):
        run_ingest(settings, embedder="hash", progress=progress)
    assert len(steps) == 1


def test_an_interrupt_told_as_an_error_is_an_interrupt(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "moths.md").write_text("# Moths\n\nFemale moths laid eggs.\n", encoding="utf-8")
    settings = Settings(home=tmp_path / "home", papers_dir=tmp_path / "papers")

    def progress(*_):
        interrupt_unheard()
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        run_ingest(settings, embedder="hash", progress=progress)


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), StoreError("The index is damaged.")])
def test_the_program_says_interrupted_whatever_the_interrupt_became(monkeypatch, capsys, error):
    def list_papers(*_, **__):
        interrupt_unheard()
        raise error

    monkeypatch.setattr(main_module, "app", list_papers)
    assert main_module.main(["papers", "list"]) == 130
    assert capsys.readouterr().err == "Interrupted. What was published before still answers.\n"


def test_without_an_interrupt_an_error_is_told(monkeypatch, capsys):
    def list_papers(*_, **__):
        raise StoreError("The index is damaged.")

    monkeypatch.setattr(main_module, "app", list_papers)
    assert main_module.main(["papers", "list"]) == StoreError.exit_code
    assert "The index is damaged." in capsys.readouterr().err
