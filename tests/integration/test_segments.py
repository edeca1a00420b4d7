"""A corpus of several segments: found, ranked and scored as one built at once, and its files shared."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from benchmarks.synthetic import Words, paper_text
from corpus_assets.build import IngestReport, ingest, load_settings_embedder
from corpus_assets.errors import StoreError
from corpus_assets.settings import EmbeddingSettings, RetrievalSettings, RunSettings, Settings
from corpus_assets.store import segments
from corpus_assets.store.generation import list_generations, open_generation, open_published
from corpus_assets.store.manifest import MANIFEST_FILE, find_damage
from corpus_assets.store.publish import generations_dir, published_id, rollback
from retrieval.search import search

WORDS = Words(3000)


@pytest.fixture
def many_segments(monkeypatch):
    """Let no segment count as small, so that every change makes one."""
    monkeypatch.setattr(segments, "SMALL_SEGMENT", 0)
    monkeypatch.setattr(segments, "MERGE_FACTOR", 0)
    monkeypatch.setattr(segments, "MAX_REMOVED_SHARE", 0.99)


def settings_of(home: Path, **run: int) -> Settings:
    return Settings(home=home, embedding=EmbeddingSettings(model="hash"), run=RunSettings(workers=1, **run))


def build(home: Path, folder: Path, **run: int) -> IngestReport:
    return ingest(settings_of(home, **run), folder)


def write(folder: Path, number: int, version: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = paper_text(WORDS, number, mean_words=500)
    if version:  # the title stays, and with it the paper's id and its passages' ids
        head, tail = text.split("\n\n", 1)[0], paper_text(WORDS, number, seed=13 + version, mean_words=500)
        text = f"{head}\n\n{tail.split(chr(10) * 2, 1)[1]}"
    (folder / f"paper-{number}.txt").write_text(text, "utf-8")


def questions(folder: Path) -> list[str]:
    """Return words of the papers in the folder: of titles, of sentences, frequent and rare ones."""
    chance = random.Random(5)
    found = ["the of and", "results were"]
    for path in sorted(folder.iterdir()):
        words = path.read_text("utf-8").split()
        found += [" ".join(words[:6]), " ".join(chance.sample(words, 4))]
    return found


def read_rankings(home: Path, folder: Path) -> dict[tuple[str, str], list[tuple[object, ...]]]:
    """Return ids, scores and order of every question's hits in each mode."""
    settings = settings_of(home)
    embedder = load_settings_embedder(settings)
    rankings = {}
    with open_published(home) as corpus:
        for question in questions(folder):
            for mode in ("fts_only", "embedding_only", "hybrid"):
                found = search(
                    corpus, question, mode=mode, k=10, embedder=embedder, settings=RetrievalSettings(depth=10)
                )
                rankings[question, mode] = [
                    (hit.chunk.chunk_id, hit.chunk.text, round(hit.score, 6), hit.fts_rank, hit.dense_rank)
                    for hit in found.hits
                ]
    return rankings


def num_segments(home: Path) -> int:
    with open_published(home) as corpus:
        return len(corpus.segments)


@pytest.mark.slow
def test_changes_in_random_order_rank_and_score_as_a_clean_build(tmp_path, many_segments):
    chance = random.Random(11)
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(5):
        write(folder, number)
    build(home, folder)
    present = set(range(5))
    most = 0
    for step in range(5):
        for _ in range(chance.randint(1, 2)):
            change = chance.choice(("add", "edit", "delete"))
            number = 10 + step if change == "add" else chance.choice(sorted(present))
            if change == "delete":
                (folder / f"paper-{number}.txt").unlink(missing_ok=True)
                present.discard(number)
            else:
                write(folder, number, version=step + 1)
                present.add(number)
        report = build(home, folder)
        most = max(most, num_segments(home))
        clean = tmp_path / f"clean-{step}"
        assert build(clean, folder).generation == report.generation
        assert num_segments(clean) == 1
        assert read_rankings(home, folder) == read_rankings(clean, folder)
    assert most >= 3


@pytest.mark.slow
def test_segments_beyond_the_most_are_merged_and_rank_the_same(tmp_path, many_segments, monkeypatch):
    monkeypatch.setattr(segments, "MAX_SEGMENTS", 2)
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(4):
        write(folder, number)
        build(home, folder)
    assert num_segments(home) == 2
    (folder / "paper-0.txt").unlink()
    build(home, folder)
    build(tmp_path / "clean", folder)
    assert read_rankings(home, folder) == read_rankings(tmp_path / "clean", folder)


def test_what_is_kept_is_the_same_file_and_is_left_alone(tmp_path, many_segments):
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(3):
        write(folder, number)
    first = build(home, folder).generation
    before = {path: path.stat() for path in generations_dir(home).glob(f"{first}/segment-*/*")}
    write(folder, 3)
    report = build(home, folder)
    (folder / "paper-1.txt").unlink()
    second = build(home, folder).generation
    assert report.num_parsed == 1
    for path, old in before.items():
        new = generations_dir(home) / second / path.relative_to(generations_dir(home) / first)
        assert path.samefile(new)
        assert (path.stat().st_mtime_ns, path.stat().st_size) == (old.st_mtime_ns, old.st_size)


def test_a_removed_paper_is_out_of_reach_and_a_rollback_brings_it_back(tmp_path, many_segments):
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(3):
        write(folder, number)
    first = build(home, folder).generation
    with open_published(home) as corpus:
        gone = next(name for name, record in corpus.papers.items() if record.path == "paper-1.txt")
        chunk_id = corpus.chunks_of(gone)[0].chunk_id
    (folder / "paper-1.txt").unlink()
    build(home, folder)
    with open_published(home) as corpus:
        assert corpus.chunks_of(gone) == []
        assert corpus.text(gone) == ""
        with pytest.raises(Exception, match="has no chunk"):
            corpus.chunk(chunk_id)
        assert sum(1 for segment in corpus.segments for _ in segment.fts.all_chunks()) == corpus.num_chunks
    assert rollback(home) == first
    with open_published(home) as corpus:
        assert corpus.text(gone) and corpus.chunk(chunk_id).paper_id == gone


@pytest.mark.slow
def test_pruning_a_generation_leaves_those_that_share_its_files_whole(tmp_path, many_segments):
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(5):
        write(folder, number)
        build(home, folder, keep_generations=2)
    left = [summary.id for summary in list_generations(home)]
    assert len(left) == 2
    for name in left:
        with open_generation(home, name) as corpus:
            assert find_damage(corpus.path, corpus.manifest) == []
            assert len(list(corpus.segments[0].fts.all_chunks())) > 0


def test_a_damaged_segment_is_not_shared_but_written_anew(tmp_path, many_segments):
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(3):
        write(folder, number)
    first = build(home, folder).generation
    (folder / "paper-1.txt").unlink()
    path = next(generations_dir(home).glob(f"{first}/segment-*/vectors.faiss"))
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    build(home, folder)
    with open_published(home) as corpus:
        assert [segment.removed for segment in corpus.segments] == [frozenset()]
        assert find_damage(corpus.path, corpus.manifest) == []


def test_where_files_cannot_be_linked_they_are_copied_and_it_is_said(tmp_path, many_segments, monkeypatch):
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(2):
        write(folder, number)
    build(home, folder)

    def refuse(self: Path, target: Path) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    write(folder, 2)
    report = build(home, folder)
    assert any("copied" in note for note in report.notes)
    with open_published(home) as corpus:
        assert len(corpus.segments) == 2 and find_damage(corpus.path, corpus.manifest) == []


def test_an_older_format_is_named_with_the_mend_and_rebuilt_in_full(tmp_path):
    folder, home = tmp_path / "papers", tmp_path / "home"
    for number in range(2):
        write(folder, number)
    first = build(home, folder).generation
    path = generations_dir(home) / first / MANIFEST_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), "format_version": 1}))
    with pytest.raises(StoreError, match=r"format 1.*ingest"):
        open_published(home)
    assert [summary.id for summary in list_generations(home)] == [first]
    report = build(home, folder)
    assert published_id(home) == report.generation == first
    assert report.num_built > 0 and any("built in full" in note for note in report.notes)
    with open_published(home) as corpus:
        assert corpus.num_chunks > 0
