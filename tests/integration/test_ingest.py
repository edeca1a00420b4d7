"""A whole ingest on real small files: incremental equals clean, nothing is lost, a kill costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpus_assets.build import IngestReport, ingest
from corpus_assets.errors import BadInputError, GateFailedError, HomeLockedError
from corpus_assets.gates import Gate, GateContext, GateResult
from corpus_assets.settings import EmbeddingSettings, Settings
from corpus_assets.store.generation import Generation, list_generations, open_published
from corpus_assets.store.publish import published_id, rollback
from retrieval.search import search

TOPICS = {
    "lentils": "Lentils hold nine grams of protein in a cup. Boiling halves their phytate. Red ones cook fastest.",
    "moths": "Moths stay away from lamps of high colour temperature. Trap counts fell by 41 percent in two summers.",
    "basalt": "Lichen grew 0.4 mm per year on basalt. Growth on granite was slower in every plot we measured.",
    "gallium": "The melting point of gallium is 29.8 degrees. It wets glass when held above that temperature.",
    "zinc": "Zinc had no significant effect on growth. Copper significantly increased growth in all nine tanks.",
}


def write_paper(folder: Path, name: str, body: str | None = None, title: str | None = None) -> Path:
    path = folder / f"{name}.md"
    text = TOPICS[name] if body is None else body
    path.write_text(
        f"# {title or f'A study of {name}'}\n\n## Results\n\n{text}\n\n## References\n\n1. Wells A. 2001.\n"
    )
    return path


def hash_settings(home: Path) -> Settings:
    return Settings(home=home, embedding=EmbeddingSettings(model="hash"))


def run(home: Path, folder: Path, **options) -> IngestReport:
    return ingest(hash_settings(home), folder, **options)


def content(home: Path) -> dict[str, object]:
    """Return what a reader sees: papers, chunk ids with texts, and rankings."""
    with open_published(home) as generation:
        chunks = {c.chunk_id: c.text for p in generation.papers for c in generation.chunks_of(p)}
        rankings = {
            query: [(hit.chunk.chunk_id, round(hit.score, 6)) for hit in run_search(generation, query, mode)]
            for mode in ("fts_only", "embedding_only")
            for query in ("growth on basalt", "melting point", "protein in lentils")
        }
        return {"papers": dict(generation.papers), "chunks": chunks, "rankings": rankings}


def run_search(generation: Generation, query: str, mode: str = "fts_only"):
    from corpus_assets.build import load_settings_embedder

    settings = hash_settings(generation.path.parent.parent)
    embedder = load_settings_embedder(settings)
    return search(generation, query, mode=mode, k=10, embedder=embedder, settings=settings.retrieval).hits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "papers"
    path.mkdir()
    for name in ("lentils", "moths", "basalt", "gallium"):
        write_paper(path, name)
    return path


def test_a_second_ingest_with_nothing_changed_does_nothing(tmp_path, folder):
    first = run(tmp_path / "home", folder)
    assert (first.num_papers, first.num_new, first.published) == (4, 4, True)
    assert first.num_parsed == 4
    assert first.num_embedded > 0
    again = run(tmp_path / "home", folder)
    assert (again.num_parsed, again.num_embedded, again.num_built) == (0, 0, 0)
    assert (again.num_new, again.num_changed, again.num_removed, again.num_unchanged) == (0, 0, 0, 4)
    assert again.generation == first.generation
    assert len(list_generations(tmp_path / "home")) == 1


def test_add_edit_rename_delete_equal_a_clean_rebuild_and_touch_only_their_paper(tmp_path, folder):
    home = tmp_path / "home"
    run(home, folder)

    write_paper(folder, "zinc")
    added = run(home, folder)
    assert (added.num_new, added.num_parsed, added.num_papers) == (1, 1, 5)

    (folder / "moths.md").rename(folder / "night.md")
    renamed = run(home, folder)
    assert (renamed.num_renamed, renamed.num_parsed, renamed.num_embedded) == (1, 0, 0)

    write_paper(folder, "basalt", "Lichen grew 0.9 mm per year on basalt. Growth on granite was slower in all plots.")
    edited = run(home, folder)
    assert (edited.num_changed, edited.num_parsed) == (1, 1)

    (folder / "gallium.md").unlink()
    removed = run(home, folder)
    assert (removed.num_removed, removed.num_parsed, removed.num_embedded) == (1, 0, 0)

    run(tmp_path / "clean", folder)
    assert content(home) == content(tmp_path / "clean")
    assert published_id(home) == published_id(tmp_path / "clean")


def test_a_deleted_or_edited_text_leaves_no_byte_in_the_working_store_or_the_published_corpus(tmp_path, folder):
    home = tmp_path / "home"
    run(home, folder)
    (folder / "gallium.md").unlink()
    write_paper(folder, "lentils", "Lentils hold ninety grams of starch in a cup.")
    run(home, folder)
    current = published_id(home)
    files = [home / "corpus.duckdb", *(p for p in (home / "generations" / current).rglob("*") if p.is_file())]
    for path in files:
        data = path.read_bytes()
        assert b"gallium is 29.8" not in data, path
        assert b"nine grams" not in data, path


def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path, folder):
    home = tmp_path / "home"
    path = write_paper(folder, "zinc", "The dose used was 10 mg per day.")
    run(home, folder)
    stat = path.stat()
    path.write_bytes(path.read_bytes().replace(b"10 mg", b"90 mg"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert run(home, folder).num_changed == 1
    with open_published(home) as generation:
        assert "90 mg" in run_search(generation, "dose used per day")[0].chunk.text


def test_a_file_copied_in_two_goes_is_named_then_indexed(tmp_path, folder):
    import pymupdf

    home = tmp_path / "home"
    document = pymupdf.open()
    document.new_page().insert_text((72, 80), "The whole paper says 17 hens.")
    whole = document.tobytes()
    path = folder / "hens.pdf"
    for cut in (whole[: len(whole) * 6 // 10], b""):
        path.write_bytes(cut)
        partial = run(home, folder)
        assert partial.num_papers == 4
        assert [p.path for p in partial.problems if p.status == "refused"] == ["hens.pdf"]
    path.write_bytes(whole)
    assert run(home, folder).num_papers == 5
    with open_published(home) as generation:
        assert "17 hens" in run_search(generation, "hens")[0].chunk.text


def fail_everything(path, settings, manifest_row=None):
    from corpus_assets.errors import ParseError

    raise ParseError(f"{Path(path).name} changed while it was read", retryable=True)


@pytest.mark.parametrize("full", [False, True])
def test_a_passing_failure_keeps_what_the_last_ingest_read_and_is_tried_again(tmp_path, folder, monkeypatch, full):
    from corpus_assets.steps import raw_text

    home = tmp_path / "home"
    first = run(home, folder)
    write_paper(folder, "basalt", "Lichen grew 0.9 mm per year on basalt, and more slowly on granite in all plots.")
    with monkeypatch.context() as patched:
        parse_files = raw_text.parse_files
        patched.setattr(
            raw_text, "parse_files", lambda *a, **k: parse_files(*a, **{**k, "read_paper": fail_everything})
        )
        broken = run(home, folder, full=full)
    assert broken.num_papers == 4
    assert broken.generation == first.generation
    assert ["basalt.md", "failed"] in [[problem.path, problem.status] for problem in broken.problems]
    mended = run(home, folder)
    assert mended.num_changed == 1
    with open_published(home) as generation:
        assert "0.9 mm" in run_search(generation, "lichen growth on basalt")[0].chunk.text


def test_links_loops_and_dead_ends_are_followed_or_named(tmp_path, folder):
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    write_paper(outside, "zinc")
    (folder / "loop").symlink_to(".")
    (folder / "link.md").symlink_to("basalt.md")
    (folder / "ext").symlink_to(outside)
    (folder / "dead.md").symlink_to("nowhere.md")
    report = run(tmp_path / "home", folder)
    assert report.num_papers == 5
    assert any("dead.md" in problem.path for problem in report.problems)


def test_only_papers_reads_just_those_again(tmp_path, folder):
    home = tmp_path / "home"
    run(home, folder)
    with open_published(home) as generation:
        paper_id = next(p for p, record in generation.papers.items() if record.path == "moths.md")
    before = published_id(home)
    report = run(home, folder, only_papers=[paper_id])
    assert (report.num_parsed, report.generation) == (1, before)
    with pytest.raises(BadInputError, match="nobody"):
        run(home, folder, only_papers=["nobody"])


def test_an_empty_or_missing_folder_changes_nothing(tmp_path, folder):
    home = tmp_path / "home"
    first = run(home, folder)
    (tmp_path / "empty").mkdir()
    for bad in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(BadInputError):
            run(home, bad)
    assert published_id(home) == first.generation


def fail_gate(name: str) -> Gate:
    def judge(context: GateContext) -> GateResult:
        return GateResult(name, 0.2, 0.9, passed=False, detail="recall fell")

    return Gate(name, "ERROR", judge)


def test_a_failing_gate_leaves_the_old_generation_serving(tmp_path, folder):
    home = tmp_path / "home"
    first = run(home, folder)
    write_paper(folder, "zinc")
    with pytest.raises(GateFailedError, match=r"recall_at_k: recall fell.*stays published"):
        run(home, folder, gates=[fail_gate("recall_at_k")])
    assert published_id(home) == first.generation
    with open_published(home) as generation:
        assert not run_search(generation, "zinc copper tanks")
    assert run(home, folder).published


def test_a_rolled_back_generation_is_not_published_again_by_itself(tmp_path, folder):
    home = tmp_path / "home"
    first = run(home, folder)
    write_paper(folder, "zinc")
    second = run(home, folder)
    rollback(home)
    again = run(home, folder)
    assert published_id(home) == first.generation
    assert not again.published
    assert any(second.generation in note for note in again.notes)


def test_a_damaged_published_file_is_named_and_rebuilt(tmp_path, folder):
    home = tmp_path / "home"
    first = run(home, folder)
    victim = home / "generations" / first.generation / "cards.json"
    victim.write_bytes(victim.read_bytes()[:-5] + b"!!!!!")
    mended = run(home, folder)
    assert mended.generation == first.generation
    assert mended.num_built == 1
    with open_published(home) as generation:
        assert len(generation.cards) == 4


INGEST = """
import sys
from pathlib import Path
from tests.integration.test_ingest import run
print(run(Path(sys.argv[1]), Path(sys.argv[2])).generation)
"""


def start(home: Path, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", INGEST, str(home), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_old_generation_and_the_next_ingest_completes(tmp_path, folder):
    home = tmp_path / "home"
    first = run(home, folder)
    for number in range(6):
        write_paper(folder, "zinc", f"Zinc dose {number} had no effect on growth in tank {number * 7}.")
        process = start(home, folder)
        time.sleep(0.6 + 0.45 * number)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with open_published(home) as generation:
            assert run_search(generation, "protein in lentils")
    last = run(home, folder)
    run(tmp_path / "clean", folder)
    assert last.generation != first.generation
    assert content(home) == content(tmp_path / "clean")
    assert not [p for p in home.rglob("*.part") if p.is_file()]


@pytest.mark.slow
def test_two_ingests_of_two_folders_never_cross(tmp_path, folder):
    home = tmp_path / "home"
    other = tmp_path / "other"
    other.mkdir()
    for name in ("lentils", "moths", "basalt", "gallium"):
        write_paper(other, name, TOPICS[name].replace("growth", "decay"), title=f"Another study of {name}")
    for _ in range(3):
        processes = [start(home, folder), start(home, other)]
        outcomes = [(process.communicate(), process.returncode) for process in processes]
        won = [out.strip() for (out, _), code in outcomes if code == 0]
        assert won
        for (_, err), code in outcomes:
            assert code == 0 or "Another ingest (pid" in err, err
        with open_published(home) as generation:
            assert generation.id in won


def test_a_held_home_is_named(tmp_path, folder):
    from corpus_assets.store.lock import home_lock

    home = tmp_path / "home"
    with home_lock(home):
        process = start(home, folder)
        _, err = process.communicate()
    assert HomeLockedError.__name__ in err
    assert f"pid {os.getpid()}" in err


@pytest.mark.slow
def test_readers_keep_answering_while_an_ingest_runs(tmp_path, folder):
    home = tmp_path / "home"
    first = run(home, folder)
    write_paper(folder, "zinc")
    with open_published(home) as held:
        process = start(home, folder)
        seen = set()
        while process.poll() is None:
            with open_published(home) as generation:
                seen.add(generation.id)
                assert run_search(generation, "protein in lentils")
            time.sleep(0.1)
        assert process.returncode == 0, process.communicate()
        assert held.id == first.generation
        assert run_search(held, "protein in lentils")
    assert first.generation in seen
    assert published_id(home) != first.generation


@pytest.mark.slow
def test_a_full_disk_is_named_and_the_old_generation_still_answers(tmp_path, folder):
    home = tmp_path / "home"
    first = run(home, folder)
    for number in range(30):
        body = " ".join(f"Tank {number} of row {i} held {i * number} snails." for i in range(300))
        (folder / f"extra{number}.md").write_text(f"# Snails {number}\n\n{body}\n")
    limited = f"ulimit -f 1500; exec {sys.executable} -c '{INGEST}' {home} {folder}"
    failed = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert failed.returncode != 0
    assert "StoreError" in failed.stderr, failed.stderr[-2000:]
    assert str(home) in failed.stderr
    with open_published(home) as generation:
        assert generation.id == first.generation
        assert run_search(generation, "protein in lentils")
    assert run(home, folder).num_papers == 34
    assert not [p for p in home.rglob("*") if p.name.endswith((".part", ".tmp")) and p.is_file()]
