"""One small corpus, built once by the program itself, for all tests that only read."""

from __future__ import annotations

import pytest

from dagster_project.cli.main import main
from tests.integration.cli_corpus import InProcess, write_papers


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Return (home, papers folder) of a published corpus; tests must not change either."""
    base = tmp_path_factory.mktemp("corpus")
    papers = write_papers(base / "papers")
    assert main(["ingest", str(papers), "--embedder", "hash", "--home", str(base / "home")]) == 0
    return base / "home", papers


@pytest.fixture
def cli(corpus, capsys):
    """Return a way to run commands on that corpus."""
    return InProcess(corpus[0], capsys)


@pytest.fixture
def fresh(tmp_path, capsys):
    """Return a way to run commands on a home of the test's own."""
    return InProcess(tmp_path / "home", capsys)
