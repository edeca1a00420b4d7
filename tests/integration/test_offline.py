"""Offline means offline: a whole ingest and a whole ask without a key open no socket to anywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GUARDED = """
import sys
opened = []
def guard(event, args):
    if event == "socket.getaddrinfo" or event == "socket.gethostbyname":
        opened.append((event, args[0]))
    if event == "socket.connect" and args[1].__class__ is tuple:  # a path is a local pipe between processes
        opened.append((event, args[1]))
    if event == "socket.bind" and args[1].__class__ is tuple:
        opened.append((event, args[1]))
sys.addaudithook(guard)

from pathlib import Path
from corpus_assets.settings import EmbeddingSettings, Settings
from corpus_assets.build import ingest
from retrieval.copilot import ask

settings = Settings(home=Path(sys.argv[1]), embedding=EmbeddingSettings(model=sys.argv[3]))
report = ingest(settings, Path(sys.argv[2]))
assert report.num_papers == 3, report
answer = ask("What is the melting point of gallium?", settings=settings)
assert answer.citations, answer
assert not opened, opened
import socket
try:
    socket.create_connection(("127.0.0.1", 9), timeout=0.1)
except OSError:
    pass
assert opened, "the guard sees nothing"
print("no socket was opened;", answer.writer)
"""


@pytest.mark.parametrize("model", ["hash", pytest.param("default", marks=[pytest.mark.slow, pytest.mark.model])])
def test_an_ingest_and_an_ask_without_a_key_open_no_socket(tmp_path, monkeypatch, model):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)  # it must hold without that help
    papers = tmp_path / "papers"
    papers.mkdir()
    for name, body in {
        "gallium": "The melting point of gallium is 29.8 degrees. It wets glass when held above that temperature.",
        "lichen": "Lichen grew 0.4 mm per year on basalt. Growth on granite was slower in every plot we measured.",
        "moths": "Moths stay away from lamps of high colour temperature. Counts fell by 41 percent in two summers.",
    }.items():
        (papers / f"{name}.md").write_text(f"# A study of {name}\n\n## Results\n\n{body}\n")
    script = [sys.executable, "-c", GUARDED, str(tmp_path / "home"), str(papers), model]
    done = subprocess.run(script, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert "no socket was opened; extractive" in done.stdout
