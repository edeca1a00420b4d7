"""A published corpus, and a way to ask it with a scripted model behind the real client."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus_assets.build import ingest
from corpus_assets.settings import EmbeddingSettings, LlmSettings, RetrievalSettings, Settings
from retrieval.copilot import ask
from tests.retrieval.llm.asking import BODIES, QUESTION
from tests.retrieval.llm.scripted_server import scripted_server


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Settings:
    root: Path = tmp_path_factory.mktemp("asked")
    papers = root / "papers"
    papers.mkdir()
    for name, body in BODIES.items():
        (papers / f"{name}.md").write_text(f"# A study of {name}\n\n## Results\n\n{body}\n")
    settings = Settings(
        home=root / "home",
        papers_dir=papers,
        embedding=EmbeddingSettings(model="hash"),
        llm=LlmSettings(timeout_seconds=5.0, max_retries=0),
    )
    ingest(settings, papers)
    return settings


@pytest.fixture
def asked(corpus, monkeypatch):
    """Ask with the key and address in the environment, as a person has them; returns the answer and the script."""

    def run(*plays, question=QUESTION, mode="standard", use_cache=False, retrieval=None, **llm):
        changes = {"llm": corpus.llm.model_copy(update=llm)}
        if retrieval:
            changes["retrieval"] = RetrievalSettings(**retrieval)
        with scripted_server(*plays) as script:
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", script.url)
            answer = ask(question, settings=corpus.model_copy(update=changes), mode=mode, use_cache=use_cache)
        return answer, script

    return run
