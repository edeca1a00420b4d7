"""A file that runs into a limit is tried once more, and then not until something changes."""

from __future__ import annotations

import functools
import time
from pathlib import Path

import pytest

from corpus_assets.build import ingest
from corpus_assets.manifest import ManifestRow
from corpus_assets.model import ParsedPaper
from corpus_assets.pdf import reader
from corpus_assets.settings import ParseSettings, Settings
from corpus_assets.steps import raw_text
from tests.corpus_assets.pdf_factory import make_paper
from tests.integration.small_corpus import SmallCorpus, small_settings

SLOW = b"moss and slow"


def read_or_hang(path: str, settings: ParseSettings, row: ManifestRow | None) -> ParsedPaper:
    if SLOW in Path(path).read_bytes():
        time.sleep(600)
    return reader.read_paper(path, settings, row)


def read_or_burst(path: str, settings: ParseSettings, row: ManifestRow | None) -> ParsedPaper:
    if SLOW in Path(path).read_bytes():
        raise MemoryError
    return reader.read_paper(path, settings, row)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "good.pdf").write_bytes(make_paper(2))
    (folder / "slow.pdf").write_bytes(make_paper(2, title="On ferns", topic="ferns") + b"\n% " + SLOW)
    return folder


def run(settings: Settings, folder: Path, **options: bool) -> tuple[str, str, int]:
    """Ingest and return the slow file's status and reason and how many files were read."""
    report = ingest(settings, folder, **options)
    record = SmallCorpus(settings.home, folder, report).records()["slow.pdf"]
    return record.status.value, record.reason, report.num_parsed


def limited(tmp_path: Path, folder: Path, seconds: int = 1) -> Settings:
    settings = small_settings(tmp_path / "home", folder)
    return settings.model_copy(update={"parse": ParseSettings(timeout_seconds=seconds, ocr="off")})


@pytest.mark.parametrize("read", [read_or_hang, read_or_burst])
def test_a_limit_hit_twice_is_a_lasting_reason_until_something_changes(tmp_path, folder, monkeypatch, read):
    monkeypatch.setattr(raw_text, "parse_files", functools.partial(_parse_with, read))
    settings = limited(tmp_path, folder)
    status, reason, num_parsed = run(settings, folder)
    assert (status, num_parsed) == ("failed", 2)
    assert "not tried again" not in reason
    status, reason, num_parsed = run(settings, folder)
    assert (status, num_parsed) == ("refused", 1)
    assert "2 times" in reason
    assert "not tried again until the file, the limit or the parser changes" in reason
    assert run(settings, folder) == (status, reason, 0)
    assert run(settings, folder, full=True)[2] == 2, "asked for by name, it is tried"
    assert run(limited(tmp_path, folder, seconds=2), folder)[0] == "failed", "another limit counts anew"
    monkeypatch.setattr(reader, "PARSER_VERSION", "of tomorrow")
    assert run(limited(tmp_path, folder, seconds=2), folder)[0] == "failed", "so does another parser"
    (folder / "slow.pdf").write_bytes(make_paper(2, title="On ferns", topic="ferns"))
    assert run(settings, folder)[0] == "ready"


def test_a_paper_read_before_stays_when_a_new_parser_hits_the_limit(tmp_path, folder, monkeypatch):
    settings = limited(tmp_path, folder, seconds=20)
    assert run(settings, folder)[0] == "ready"
    monkeypatch.setattr(raw_text, "parse_files", functools.partial(_parse_with, read_or_burst))
    monkeypatch.setattr(reader, "PARSER_VERSION", "of tomorrow")
    nums_parsed = []
    for _ in range(3):
        report = ingest(settings, folder)
        nums_parsed.append(report.num_parsed)
        assert SmallCorpus(settings.home, folder, report).records()["slow.pdf"].status.value == "ready"
        assert any(
            problem.path == "slow.pdf" and "stays in the corpus" in problem.reason for problem in report.problems
        )
    assert nums_parsed == [2, 1, 0]


def _parse_with(read, *arguments, **options):
    from corpus_assets.pdf.worker import parse_files

    return parse_files(*arguments, **{**options, "read_paper": read})
