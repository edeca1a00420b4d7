"""Parse workers: one file's crash, hang or bomb is that file's row, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from corpus_assets.errors import CopilotError
from corpus_assets.folder import hash_files, scan_folder
from corpus_assets.manifest import ManifestRow
from corpus_assets.model import Page, PageState, PaperStatus, SourceFile
from corpus_assets.pdf.worker import ParseOutcome, judge_pages, parse_files
from corpus_assets.settings import Settings
from tests.corpus_assets.fake_readers import Unloadable, make_parsed, read_by_name

SETTINGS = Settings(parse={"timeout_seconds": 20, "memory_mb": 500}, run={"workers": 2})
IMPATIENT = Settings(parse={"timeout_seconds": 1, "memory_mb": 500}, run={"workers": 2})


def make_files(folder: Path, names: Sequence[str]) -> list[SourceFile]:
    for name in names:
        (folder / name).write_bytes(b"%PDF-1.4 " + name.encode())
    files = {file.path: file for file in hash_files(scan_folder(folder, SETTINGS).files, {}).files}
    return [files[name] for name in names]


def parse(folder: Path, names: Sequence[str], settings: Settings = SETTINGS) -> dict[str, ParseOutcome]:
    outcomes = list(parse_files(make_files(folder, names), {}, settings, read_paper=read_by_name))
    assert sorted(outcome.path for outcome in outcomes) == sorted(names)
    return {outcome.path: outcome for outcome in outcomes}


def worker_pids() -> set[int]:
    """Return what our processes started, the fork server aside, which has no children of its own when all is well."""
    children = psutil.Process().children(recursive=True)
    servers = {child.pid for child in psutil.Process().children() if "forkserver" in " ".join(child.cmdline())}
    trackers = {child.pid for child in children if "resource_tracker" in " ".join(child.cmdline())}
    return {child.pid for child in children if child.status() != psutil.STATUS_ZOMBIE} - servers - trackers


def wait_until_gone(pids: set[int], seconds: float = 5.0) -> set[int]:
    deadline = time.monotonic() + seconds
    while pids and time.monotonic() < deadline:
        pids = {pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE}
        time.sleep(0.05)
    return pids


class TestOutcomes:
    def test_every_kind_of_failure_is_its_own_files_row(self, tmp_path: Path) -> None:
        names = ["ok-1.pdf", "crash-1.pdf", "killed-1.pdf", "exit-1.pdf", "bomb-1.pdf", "library-1.pdf", "bug-1.pdf"]
        names += ["html-1.pdf", "flaky-1.pdf", "ok-2.pdf"]
        found = parse(tmp_path, names)
        assert {name: outcome.status for name, outcome in found.items()} == {
            **dict.fromkeys(names, PaperStatus.FAILED),
            "ok-1.pdf": PaperStatus.READY,
            "ok-2.pdf": PaperStatus.READY,
            "html-1.pdf": PaperStatus.REFUSED,
        }
        assert found["crash-1.pdf"].reason == "the reader crashed (SIGSEGV) on this file"
        assert "SIGKILL" in found["killed-1.pdf"].reason and "memory" in found["killed-1.pdf"].reason
        assert found["exit-1.pdf"].reason == "the reader ended unexpectedly (exit code 3) on this file"
        assert (
            found["bomb-1.pdf"].reason == found["library-1.pdf"].reason == "needed more than 500 MB (parse.memory_mb)"
        )
        assert "KeyError" in found["bug-1.pdf"].reason and found["bug-1.pdf"].reason.isprintable()
        assert "fake_readers.py" in found["bug-1.pdf"].reason
        assert found["html-1.pdf"].reason == "html-1.pdf is HTML."
        assert found["ok-1.pdf"].parsed is not None and found["crash-1.pdf"].parsed is None
        assert worker_pids() == set()

    def test_a_hang_ends_at_the_time_limit_with_what_it_had_started(self, tmp_path: Path) -> None:
        started = time.monotonic()
        found = parse(tmp_path, ["hang-1.pdf", "helper-1.pdf", "ok-1.pdf", "ok-2.pdf"], IMPATIENT)
        assert time.monotonic() - started < 15
        assert found["hang-1.pdf"].reason == "took longer than 1 s and was stopped"
        assert found["helper-1.pdf"].status is PaperStatus.FAILED and found["helper-1.pdf"].seconds >= 1
        assert found["ok-1.pdf"].status is found["ok-2.pdf"].status is PaperStatus.READY
        assert wait_until_gone({int((tmp_path / "helper-1.pid").read_text())}) == set()

    def test_a_row_of_crashes_blames_no_other_file(self, tmp_path: Path) -> None:
        names = [f"{'crash' if i % 2 else 'ok'}-{i}.pdf" for i in range(24)]
        found = parse(tmp_path, names)
        for name, outcome in found.items():
            assert (outcome.status is PaperStatus.READY) == name.startswith("ok"), outcome
            assert outcome.seconds < 10

    def test_a_single_file_is_isolated_too(self, tmp_path: Path) -> None:
        assert parse(tmp_path, ["crash-1.pdf"])["crash-1.pdf"].status is PaperStatus.FAILED

    def test_no_files_need_no_workers(self) -> None:
        assert list(parse_files([], {}, SETTINGS)) == []

    def test_a_large_result_arrives_whole(self, tmp_path: Path) -> None:
        outcome = parse(tmp_path, ["large-1.pdf"])["large-1.pdf"]
        assert outcome.parsed is not None and len(outcome.parsed.text) == 10_000_000

    def test_workers_are_limited_and_get_the_manifests_row(self, tmp_path: Path) -> None:
        files = make_files(tmp_path, ["ok-1.pdf"])
        rows = {"ok-1.pdf": ManifestRow("ok-1.pdf", title="Stated")}
        (outcome,) = parse_files(files, rows, SETTINGS, read_paper=read_by_name)
        assert outcome.parsed is not None
        assert outcome.parsed.text == "ok-1.pdf Stated threads=1 limited=True sigint=SIG_IGN"
        assert outcome.sha256 == files[0].sha256 != ""

    def test_a_file_that_changes_while_it_is_read_is_tried_again_next_time(self, tmp_path: Path) -> None:
        files = make_files(tmp_path, ["grows-1.pdf", "ok-1.pdf"])
        (tmp_path / "ok-1.pdf").unlink()
        found = {o.path: o for o in parse_files(files, {}, SETTINGS, read_paper=read_by_name)}
        assert found["grows-1.pdf"].status is found["ok-1.pdf"].status is PaperStatus.FAILED
        assert found["grows-1.pdf"].reason == "changed while it was being read"
        assert "vanished" in found["ok-1.pdf"].reason

    def test_a_worker_that_cannot_start_is_an_error_not_every_files_fault(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        files = make_files(tmp_path, ["ok-1.pdf"])
        with pytest.raises(CopilotError, match="cannot start"):
            list(parse_files(files, {}, SETTINGS, read_paper=Unloadable()))
        assert worker_pids() == set()


class TestJudgement:
    def test_pages_decide_between_ready_partial_and_refused(self) -> None:
        text = Page(1, PageState.TEXT, 0, 4)
        holes = tuple(Page(n, PageState.UNREADABLE, 4, 4, reason="no OCR") for n in (2, 3, 5))
        blank = Page(1, PageState.BLANK)
        assert judge_pages(make_parsed("text", (text,))) == (PaperStatus.READY, "")
        partial = judge_pages(make_parsed("text", (text, *holes)))
        assert partial == (PaperStatus.PARTIAL, "unreadable: page 2-3, 5 (no OCR)")
        assert judge_pages(make_parsed("text", (text,), 3)) == (PaperStatus.PARTIAL, "2 of 3 pages missing")
        assert judge_pages(make_parsed("", (blank,))) == (PaperStatus.REFUSED, "no readable text: every page is blank")
        assert judge_pages(make_parsed("", holes[:1]))[0] is PaperStatus.REFUSED


class TestLifetime:
    def test_outcomes_are_streamed_and_workers_do_not_run_ahead(self, tmp_path: Path) -> None:
        files = make_files(tmp_path, [f"slow-{i:02}.pdf" for i in range(20)])
        done: list[str] = []
        outcomes = parse_files(files, {}, SETTINGS, lambda outcome: done.append(outcome.path), read_paper=read_by_name)
        first = next(outcomes)
        time.sleep(0.5)
        assert done == [first.path]
        assert len(list(tmp_path.glob("*.read"))) <= 3  # the first, its worker's next, and the other worker's
        assert len(list(outcomes)) == 19

    def test_stopping_early_leaves_no_process(self, tmp_path: Path) -> None:
        files = make_files(tmp_path, ["ok-1.pdf", "hang-1.pdf", "hang-2.pdf"])
        outcomes = parse_files(files, {}, SETTINGS, read_paper=read_by_name)
        next(outcomes)
        assert worker_pids() != set()
        outcomes.close()
        assert worker_pids() == set()

    def test_ctrl_c_leaves_no_process(self, tmp_path: Path) -> None:
        files = make_files(tmp_path, ["ok-1.pdf", "hang-1.pdf", "hang-2.pdf"])

        def interrupt(outcome: ParseOutcome) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            list(parse_files(files, {}, SETTINGS, interrupt, read_paper=read_by_name))
        assert worker_pids() == set()

    @pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    def test_no_worker_outlives_a_killed_ingest(self, tmp_path: Path, stop: signal.Signals) -> None:
        """An unguarded script at that: workers must not run it again."""
        make_files(tmp_path, ["hang-1.pdf", "hang-2.pdf", "ok-1.pdf"])
        script = tmp_path / "ingest.py"
        script.write_text(
            textwrap.dedent(f"""
                from pathlib import Path
                from corpus_assets.folder import scan_folder
                from corpus_assets.pdf.worker import parse_files
                from corpus_assets.settings import Settings
                from tests.corpus_assets.fake_readers import read_by_name

                settings = Settings(run={{"workers": 3}})
                files = [file for file in scan_folder(Path({str(tmp_path)!r}), settings).files]
                for outcome in parse_files(files, {{}}, settings, read_paper=read_by_name):
                    print(outcome.path, flush=True)
            """)
        )
        root = Path(__file__).parents[2]
        environment = {**os.environ, "PYTHONPATH": str(root)}
        command = [sys.executable, str(script)]
        with subprocess.Popen(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True) as ingest:
            assert ingest.stdout is not None
            assert ingest.stdout.readline() == "ok-1.pdf\n"
            pids = {child.pid for child in psutil.Process(ingest.pid).children(recursive=True)}
            assert len(pids) >= 3
            ingest.send_signal(stop)
            ingest.wait(10)
        assert wait_until_gone(pids) == set()

    def test_the_fork_server_has_one_thread(self, tmp_path: Path) -> None:
        """A process with threads must not be forked: the child may wait for a lock that nobody holds."""
        parse(tmp_path, ["ok-1.pdf"])
        servers = [child for child in psutil.Process().children() if "forkserver" in " ".join(child.cmdline())]
        assert [server.num_threads() for server in servers] == [1]


class TestHalfCopied:
    def test_a_cut_file_is_incomplete_and_the_whole_one_is_read(self, tmp_path: Path) -> None:
        """B34: the first 60 %, then nothing at all, then the rest under the same name."""
        import pymupdf

        document = pymupdf.open()
        document.new_page().insert_text((72, 80), "The whole paper says 17 hens.")
        whole = document.tobytes()
        for part in (whole[: len(whole) * 6 // 10], b""):
            (tmp_path / "a.pdf").write_bytes(part)
            files = hash_files(scan_folder(tmp_path, SETTINGS).files, {}).files
            (outcome,) = parse_files(files, {}, SETTINGS)
            assert outcome.status is PaperStatus.REFUSED and "incomplete" in outcome.reason
            assert outcome.parsed is None
        (tmp_path / "a.pdf").write_bytes(whole)
        (outcome,) = parse_files(hash_files(scan_folder(tmp_path, SETTINGS).files, {}).files, {}, SETTINGS)
        assert outcome.status is PaperStatus.READY
        assert outcome.parsed is not None and "17 hens" in outcome.parsed.text
