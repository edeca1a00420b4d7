"""A corpus of a few PDFs made by a test, and what its readers see of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from corpus_assets.build import IngestReport, ingest
from corpus_assets.model import Chunk, Page, PaperRecord
from corpus_assets.settings import EmbeddingSettings, RunSettings, Settings
from corpus_assets.store.generation import open_published
from dagster_project.cli.hits import describe_hits
from retrieval import copilot
from retrieval.answer import AnswerRecord
from retrieval.claims.check import check_claim


@dataclass
class SmallCorpus:
    """A published corpus; ``papers`` maps file names (bytes where they are no text) to contents."""

    home: Path
    folder: Path
    report: IngestReport

    @cached_property
    def settings(self) -> Settings:
        return small_settings(self.home, self.folder)

    def records(self) -> dict[str, PaperRecord]:
        """Return the records by path."""
        with open_published(self.home) as generation:
            return {record.path: record for record in generation.papers.values()}

    def chunks(self) -> list[Chunk]:
        with open_published(self.home) as generation:
            served = [name for name, record in generation.papers.items() if record.is_served]
            return [chunk for name in served for chunk in generation.chunks_of(name)]

    def texts(self) -> dict[str, str]:
        """Return the text of each served paper by path."""
        with open_published(self.home) as generation:
            return {
                record.path: generation.text(name) for name, record in generation.papers.items() if record.is_served
            }

    def pages(self) -> list[Page]:
        with open_published(self.home) as generation:
            served = [name for name, record in generation.papers.items() if record.is_served]
            return [page for name in served for page in generation.pages(name)]

    @property
    def text(self) -> str:
        """The text of the only paper."""
        (text,) = self.texts().values()
        return text

    def search(self, query: str, mode: Any = None) -> list[dict[str, Any]]:
        """Return hits as the command line prints them; each quote is checked against its paper."""
        with open_published(self.home) as generation:
            found = copilot.search(query, settings=self.settings, mode=mode, generation=generation)
            rows = describe_hits(generation, query, found.hits)
            for row in rows:
                assert generation.text(row["paper_id"])[row["char_start"] : row["char_end"]] == row["quote"]
        return rows

    def ask(self, question: str) -> AnswerRecord:
        """Return an answer whose every quote verifies."""
        answer = copilot.ask(question, settings=self.settings, use_cache=False)
        verified = copilot.verify(answer, settings=self.settings)
        assert verified.failures == ()
        assert verified.num_ok == verified.num_quotes == len(answer.citations)
        return answer

    def judge(self, claim: str) -> str:
        """Return the verdict on a claim against the only paper's text."""
        return check_claim(claim, self.text).verdict


def small_settings(home: Path, folder: Path) -> Settings:
    return Settings(home=home, papers_dir=folder, embedding=EmbeddingSettings(model="hash"), run=RunSettings(workers=1))


def build_corpus(root: Path, **papers: bytes) -> SmallCorpus:
    """Ingest ``name=content`` PDFs and return the corpus; every one of the corpus' gates passed."""
    return build_corpus_of(root, {f"{name}.pdf".encode(): data for name, data in papers.items()})


def build_corpus_of(root: Path, papers: dict[bytes, bytes]) -> SmallCorpus:
    """The same for file names that are not text."""
    folder, home = root / "papers", root / "home"
    folder.mkdir()
    for name, data in papers.items():
        (folder / os.fsdecode(name)).write_bytes(data)
    return SmallCorpus(home, folder, ingest(small_settings(home, folder), folder))
