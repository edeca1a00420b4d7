"""Generations: published atomically, verified, rolled back, pruned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus_assets.errors import BadInputError, NothingPublishedError, StoreError
from corpus_assets.store.atomic import file_sha256
from corpus_assets.store.candidate import Candidate
from corpus_assets.store.generation import list_generations, open_published
from corpus_assets.store.manifest import Artifact, EmbedderEntry, FileEntry, Manifest, SegmentEntry
from corpus_assets.store.publish import (
    check_complete,
    generations_dir,
    is_held,
    point_to,
    prune,
    published_id,
    rollback,
)


def make_generation(home: Path, name: str, created: str, content: str = "x") -> None:
    folder = generations_dir(home) / name
    folder.mkdir(parents=True)
    file = folder / "cards.json"
    file.write_text(content)
    manifest = Manifest(
        id=name,
        created=created,
        papers_dir="",
        num_papers=1,
        num_pages=1,
        num_chunks=1,
        num_vectors=1,
        embedder=EmbedderEntry(name="hash", fingerprint="f", dimension=4),
        settings={},
        settings_fingerprint="s",
        versions={},
        segments=(SegmentEntry(name="segment-0", fts="a", vectors=None, bodies="b", members="c"),),
        artifacts={
            "cards": Artifact(
                inputs="i", files={"cards.json": FileEntry(sha256=file_sha256(file), size=file.stat().st_size)}
            )
        },
    )
    (folder / "manifest.json").write_text(manifest.model_dump_json())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for number in (1, 2, 3):
        make_generation(tmp_path, f"g{number}", f"2026-01-0{number}")
    return tmp_path


def test_nothing_published_is_said_with_the_mend(tmp_path):
    with pytest.raises(NothingPublishedError, match=r"0 papers.*ingest") as caught:
        open_published(tmp_path)
    assert caught.value.exit_code == 3


def test_publish_moves_the_pointer_and_remembers_what_was_before(home):
    point_to(home, "g1")
    point_to(home, "g2")
    assert published_id(home) == "g2"
    assert [(g.id, g.published) for g in list_generations(home)] == [("g3", False), ("g2", True), ("g1", False)]


def test_a_damaged_generation_is_never_published(home):
    point_to(home, "g1")
    (generations_dir(home) / "g2" / "cards.json").write_text("y")
    with pytest.raises(StoreError, match=r"cards\.json does not match its checksum"):
        point_to(home, "g2")
    assert published_id(home) == "g1"


def test_a_truncated_file_is_named_before_it_is_read(home):
    point_to(home, "g1")
    (generations_dir(home) / "g1" / "cards.json").write_text("")
    with pytest.raises(StoreError, match=r"cards\.json has 0 bytes"):
        open_published(home)


def test_rollback_goes_back_and_holds_the_generation_it_left(home):
    point_to(home, "g1")
    point_to(home, "g2")
    assert rollback(home) == "g1"
    assert published_id(home) == "g1"
    assert is_held(home, "g2")
    assert rollback(home, "g2") == "g2"
    assert not is_held(home, "g2")


@pytest.mark.parametrize("name", ["nope", "../g1", ""])
def test_rollback_to_what_is_not_there_changes_nothing(home, name):
    point_to(home, "g1")
    with pytest.raises(BadInputError):
        rollback(home, name)
    assert published_id(home) == "g1"


def test_rollback_mends_a_damaged_pointer(home):
    (home / "published").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        published_id(home)
    assert rollback(home, "g2") == "g2"
    assert published_id(home) == "g2"


def test_prune_keeps_the_newest_and_the_published(home):
    point_to(home, "g1")
    assert prune(home, keep=1) == ["g2"]
    assert {g.id for g in list_generations(home)} == {"g1", "g3"}
    check_complete(home, "g1")


def test_an_artifact_is_shared_from_a_generation_with_the_same_inputs_and_never_when_damaged(home):
    built = []

    def build(folder: Path) -> tuple[list[str], dict[str, int]]:
        built.append(folder)
        (folder / "cards.json").write_text("fresh")
        return ["cards.json"], {"n": 1}

    shared, origin = Candidate(home, "new1").ensure("cards", "i", build)
    assert (origin, built) == ("shared", [])
    assert (generations_dir(home) / ".candidate-new1" / "cards.json").read_text() == "x"
    for number in (1, 2, 3):
        (generations_dir(home) / f"g{number}" / "cards.json").unlink()  # a new file: sharing links would change all
        (generations_dir(home) / f"g{number}" / "cards.json").write_text("z")
    fresh, origin = Candidate(home, "new2").ensure("cards", "i", build)
    assert origin == "built"
    assert fresh.files != shared.files
    _, origin = Candidate(home, "new2").ensure("cards", "i", build)
    assert origin == "kept"


def test_a_candidate_finishes_in_place_and_only_whole(home):
    candidate = Candidate(home, "g9")
    candidate.ensure("cards", "other", lambda folder: _write(folder))
    manifest = json.loads((generations_dir(home) / "g1" / "manifest.json").read_text())
    whole = Manifest.model_validate({**manifest, "id": "g9", "artifacts": candidate.artifacts()})
    candidate.seal(whole)
    (candidate.staging_path / "cards.json").write_text("cut")
    with pytest.raises(StoreError, match="damaged"):
        candidate.finish()
    assert not candidate.final_path.exists()
    (candidate.staging_path / "cards.json").write_text("whole text")
    candidate.finish()
    point_to(home, "g9")
    assert published_id(home) == "g9"
    assert not candidate.staging_path.exists()


def _write(folder: Path) -> tuple[list[str], dict[str, int]]:
    (folder / "cards.json").write_text("whole text")
    return ["cards.json"], {}
