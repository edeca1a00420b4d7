"""The papers folder: names, links, what is left out, what changed, what has settled."""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets import folder as folder_module
from corpus_assets.errors import BadInputError
from corpus_assets.folder import (
    HashRecord,
    Skipped,
    hash_files,
    is_unchanged,
    plan_increment,
    renames,
    scan_folder,
    settled,
    snapshot_digest,
)
from corpus_assets.model import SourceFile
from corpus_assets.paths import escape_path, unescape_path
from corpus_assets.settings import Settings

PDF = b"%PDF-1.4\n%%EOF\n"
FOLLOW = Settings()
STAY = Settings(run={"follow_links": False})


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    (tmp_path / "papers").mkdir()
    return tmp_path / "papers"


def put(folder: Path, name: str | bytes, data: bytes = PDF) -> Path:
    path = folder / os.fsdecode(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def paths_of(folder: Path, settings: Settings = FOLLOW) -> list[str]:
    return [file.path for file in scan_folder(folder, settings).files]


def reasons_of(folder: Path, settings: Settings = FOLLOW) -> dict[str, str]:
    return dict(scan_folder(folder, settings).skipped)


def source(path: str, sha256: str = "", *, size: int = 1, mtime_ns: int = 1, ctime_ns: int = 1) -> SourceFile:
    return SourceFile(path, f"/papers/{path}", size, mtime_ns, ctime_ns, sha256)


class TestNames:
    def test_odd_names_are_all_found_and_printed_on_one_line(self, papers: Path) -> None:
        """B29: another encoding, a newline, a leading space, a leading dash, decomposed accents."""
        names = [b"caf\xe9 2020.pdf", b"two\nlines.pdf", b" lead space.pdf", b"-rf.pdf", "Mu\u0308ller.pdf".encode()]
        for name in names:
            put(papers, name)
        found = scan_folder(papers, FOLLOW).files
        assert [file.path for file in found] == sorted(
            ["caf\\xe9 2020.pdf", "two\\nlines.pdf", " lead space.pdf", "-rf.pdf", "Mu\u0308ller.pdf"]
        )
        assert all(file.path.isprintable() and file.path.encode() for file in found)
        hashes = hash_files(found, {})
        assert len(hashes.files) == 5 and not hashes.unreadable
        again = plan_increment(hashes.files, {file.path: file.sha256 for file in hashes.files})
        assert again.is_empty and len(again.unchanged) == 5

    def test_control_codes_in_a_name_do_not_reach_the_terminal(self, papers: Path) -> None:
        """B38: an escape sequence that sets the window's title."""
        put(papers, b"x\x1b]0;owned\x07.pdf")
        (path,) = paths_of(papers)
        assert path == "x\\x1b]0;owned\\x07.pdf"

    def test_composed_and_decomposed_names_are_two_files(self, papers: Path) -> None:
        put(papers, unicodedata.normalize("NFC", "Müller.pdf"))
        put(papers, unicodedata.normalize("NFD", "Müller.pdf"))
        assert len(set(paths_of(papers))) == 2

    @given(st.binary(max_size=30), st.binary(max_size=30))
    def test_different_byte_names_stay_different(self, one: bytes, other: bytes) -> None:
        assert (escape_path(one) == escape_path(other)) == (one == other)

    @given(st.text(alphabet=st.sampled_from("\\xnu0189abe\n\x1b\x85é\u202e\udce9\u00e9 "), max_size=12))
    def test_escaping_can_be_undone_whatever_the_name_imitates(self, name: str) -> None:
        try:
            raw = os.fsencode(name)
        except UnicodeEncodeError:
            return
        decoded = os.fsdecode(raw)
        escaped = escape_path(raw)
        assert escaped.isprintable() and unescape_path(escaped) == decoded
        escaped.encode("utf-8")


class TestWhatIsAPaper:
    def test_known_suffixes_in_any_case_and_pdfs_by_content(self, papers: Path) -> None:
        put(papers, "a.PDF", b"")
        put(papers, "b.Txt", b"text")
        put(papers, "c.md", b"# text")
        put(papers, "no_extension", PDF)
        put(papers, "sub/deep/d.bin", b"\n" * 900 + PDF)
        assert paths_of(papers) == ["a.PDF", "b.Txt", "c.md", "no_extension", "sub/deep/d.bin"]

    def test_everything_left_out_is_named_with_its_reason(self, papers: Path) -> None:
        for name in ("manifest.csv", "retractions.csv", "passwords.txt", "README.md", "LICENSE"):
            put(papers, name, b"x")
        put(papers, "photo.jpg", b"\xff\xd8\xff")
        put(papers, ".DS_Store", b"x")
        put(papers, "._paper.pdf", b"\x00\x05\x16\x07")  # what macOS leaves beside a file on other disks
        put(papers, ".git/objects/a.pdf")
        os.mkfifo(papers / "pipe.pdf")
        reasons = reasons_of(papers)
        assert paths_of(papers) == []
        assert reasons["manifest.csv"] == reasons["passwords.txt"] == "a table of the folder's own, not a paper"
        assert "note about the folder" in reasons["README.md"]
        assert "no PDF by its content" in reasons["photo.jpg"]
        assert reasons["._paper.pdf"] == reasons[".DS_Store"] == "hidden file"
        assert reasons[".git/"] == "hidden folder"
        assert reasons["pipe.pdf"] == "not a regular file"

    def test_a_hidden_file_that_is_a_pdf_is_a_paper(self, papers: Path) -> None:
        put(papers, ".hidden.pdf", PDF)
        assert paths_of(papers) == [".hidden.pdf"]

    def test_a_passwords_file_of_any_name_is_left_out(self, papers: Path) -> None:
        put(papers, "secret.txt", b"hunter2")
        settings = Settings(parse={"passwords_path": papers / "secret.txt"})
        assert paths_of(papers, settings) == []

    def test_folders_that_cannot_be_used_are_refused_by_name(self, papers: Path) -> None:
        with pytest.raises(BadInputError, match=r"nowhere does not exist"):
            scan_folder(papers / "nowhere", FOLLOW)
        put(papers, "a.pdf")
        with pytest.raises(BadInputError, match=r"a\.pdf is not a folder"):
            scan_folder(papers / "a.pdf", FOLLOW)

    def test_a_folder_that_cannot_be_listed_is_named_and_its_papers_are_kept(
        self, papers: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(papers, "a.pdf")
        put(papers, "shut/b.pdf")
        real = os.scandir

        def scandir(path: str) -> object:
            if str(path).endswith("shut"):
                raise PermissionError(13, "Permission denied")
            return real(path)

        monkeypatch.setattr(folder_module.os, "scandir", scandir)
        scan = scan_folder(papers, FOLLOW)
        assert scan.unreadable == [Skipped("shut/", "cannot be listed: Permission denied")]
        files = [source("a.pdf", "1")]
        increment = plan_increment(files, {"a.pdf": "1", "shut/b.pdf": "2", "shut.pdf": "3"}, scan.unreadable)
        assert increment.unchanged == ("a.pdf", "shut/b.pdf")
        assert increment.removed == ("shut.pdf",)

    def test_a_file_that_cannot_be_read_is_named(self, papers: Path) -> None:
        put(papers, "a.pdf")
        (file,) = scan_folder(papers, FOLLOW).files
        Path(file.fs_path).unlink()
        hashes = hash_files([file], {})
        assert hashes.files == [] and hashes.unreadable == [
            Skipped("a.pdf", "cannot be read: No such file or directory")
        ]

    def test_nothing_is_written_into_the_folder(self, papers: Path) -> None:
        put(papers, "sub/a.pdf")
        before = {path: path.stat().st_mtime_ns for path in [papers, *papers.rglob("*")]}
        papers.chmod(0o555)
        try:
            hash_files(scan_folder(papers, FOLLOW).files, {})
            assert {path: path.stat().st_mtime_ns for path in [papers, *papers.rglob("*")]} == before
        finally:
            papers.chmod(0o755)


class TestLinks:
    @pytest.fixture
    def linked(self, papers: Path, tmp_path: Path) -> Path:
        """B37: a loop, a link to a file of the folder, one to a folder elsewhere, one to nothing."""
        put(papers, "a.pdf")
        put(tmp_path / "elsewhere", "far.pdf", PDF + b"far")
        (papers / "loop").symlink_to(".")
        (papers / "link.pdf").symlink_to("a.pdf")
        (papers / "ext").symlink_to(tmp_path / "elsewhere")
        (papers / "dead.pdf").symlink_to("nowhere")
        return papers

    def test_links_are_followed_once_and_dead_ones_named(self, linked: Path) -> None:
        assert paths_of(linked) == ["a.pdf", "ext/far.pdf"]
        reasons = reasons_of(linked)
        assert reasons["loop/"] == "link to a folder that is read already"
        assert reasons["link.pdf"] == "link to a.pdf, which is read already"
        assert reasons["dead.pdf"].startswith("dead link to ") and "nowhere" in reasons["dead.pdf"]

    def test_links_out_of_the_folder_are_reported_when_they_are_not_followed(self, linked: Path) -> None:
        assert paths_of(linked, STAY) == ["a.pdf"]
        assert "run.follow_links is off" in reasons_of(linked, STAY)["ext"]

    def test_a_link_to_a_folder_above_does_not_read_the_rest_of_the_disk(self, linked: Path, tmp_path: Path) -> None:
        put(tmp_path, "private.pdf")
        (linked / "up").symlink_to("..")
        assert "up/private.pdf" not in paths_of(linked)
        assert reasons_of(linked)["up/"] == "link to a folder that contains the papers folder"

    def test_a_link_to_itself_and_two_folders_that_link_to_each_other_end(self, papers: Path, tmp_path: Path) -> None:
        (papers / "self.pdf").symlink_to("self.pdf")
        put(tmp_path / "one", "1.pdf")
        (tmp_path / "one" / "back").symlink_to(papers)
        (tmp_path / "one" / "two").symlink_to(tmp_path / "two")
        put(tmp_path / "two", "2.pdf")
        (tmp_path / "two" / "one").symlink_to(tmp_path / "one")
        (papers / "one").symlink_to(tmp_path / "one")
        assert paths_of(papers) == ["one/1.pdf", "one/two/2.pdf"]
        assert "symbolic links" in reasons_of(papers)["self.pdf"]

    def test_a_link_into_a_hidden_store_is_the_paper(self, papers: Path) -> None:
        """As git-annex and DVC keep files."""
        put(papers, ".git/annex/objects/x1.pdf")
        (papers / "paper.pdf").symlink_to(".git/annex/objects/x1.pdf")
        assert paths_of(papers) == ["paper.pdf"] == paths_of(papers, STAY)

    def test_two_links_to_one_file_elsewhere_count_once(self, papers: Path, tmp_path: Path) -> None:
        far = put(tmp_path / "elsewhere", "far.pdf")
        (papers / "one.pdf").symlink_to(far)
        (papers / "two.pdf").symlink_to(far)
        assert paths_of(papers) == ["one.pdf"]


class TestHashing:
    def test_an_edit_of_the_same_size_with_its_old_time_is_seen(self, papers: Path) -> None:
        """B35: overwrite, then put the modification time back."""
        path = put(papers, "a.pdf", PDF + b"10 mg")
        first = hash_files(scan_folder(papers, FOLLOW).files, {})
        stamp = path.stat()
        put(papers, "a.pdf", PDF + b"90 mg")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        second = hash_files(scan_folder(papers, FOLLOW).files, first.records)
        assert second.files[0].mtime_ns == first.files[0].mtime_ns and second.files[0].size == first.files[0].size
        increment = plan_increment(second.files, {"a.pdf": first.files[0].sha256})
        assert increment.changed == ("a.pdf",)

    @pytest.mark.parametrize(
        ("age_ns", "num_read"), [(10_000_000_000, 0), (1_999_999_999, 1), (0, 1), (-5_000_000_000, 1)]
    )
    def test_a_hash_is_trusted_only_when_it_was_taken_well_after_the_last_change(
        self, papers: Path, age_ns: int, num_read: int
    ) -> None:
        put(papers, "a.pdf")
        (file,) = scan_folder(papers, FOLLOW).files
        record = HashRecord(file.size, file.mtime_ns, file.ctime_ns, "0" * 64, file.ctime_ns + age_ns)
        assert hash_files([file], {"a.pdf": record}).num_read == num_read

    @pytest.mark.parametrize("field", ["size", "mtime_ns", "ctime_ns"])
    def test_any_stat_that_differs_reads_the_file_again(self, papers: Path, field: str) -> None:
        put(papers, "a.pdf")
        (file,) = scan_folder(papers, FOLLOW).files
        record = HashRecord(file.size, file.mtime_ns, file.ctime_ns, "0" * 64, file.ctime_ns + 10**10)
        changed = record._replace(**{field: getattr(record, field) + 1})
        assert hash_files([file], {"a.pdf": changed}).num_read == 1

    def test_a_large_file_is_hashed_in_pieces(self, papers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import hashlib

        data = PDF + bytes(range(256)) * 40
        put(papers, "a.pdf", data)
        monkeypatch.setattr(folder_module, "READ_BYTES", 1000)
        (file,) = hash_files(scan_folder(papers, FOLLOW).files, {}).files
        assert file.sha256 == hashlib.sha256(data).hexdigest()

    def test_a_file_that_was_touched_since_is_known_to_be(self, papers: Path) -> None:
        path = put(papers, "a.pdf")
        (file,) = scan_folder(papers, FOLLOW).files
        assert is_unchanged(file)
        put(papers, "a.pdf", PDF + b"more")
        assert not is_unchanged(file)
        path.unlink()
        assert not is_unchanged(file)


shas = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("12345"))


class TestIncrement:
    @given(shas, shas)
    def test_the_plan_parts_all_paths_and_replaying_it_gives_the_folder(
        self, current: dict[str, str], known: dict[str, str]
    ) -> None:
        plan = plan_increment([source(path, sha) for path, sha in current.items()], known)
        parts = [plan.new, plan.changed, plan.removed, plan.unchanged]
        assert sorted(path for part in parts for path in part) == sorted(current.keys() | known.keys())
        replayed = {path: sha for path, sha in known.items() if path not in plan.removed}
        replayed.update({path: current[path] for path in (*plan.new, *plan.changed)})
        assert replayed == current
        assert plan.is_empty == (current == known)
        assert all(list(part) == sorted(part) for part in parts)

    @given(shas)
    def test_a_second_run_plans_nothing(self, current: dict[str, str]) -> None:
        assert plan_increment([source(path, sha) for path, sha in current.items()], current).is_empty

    def test_a_rename_is_a_removed_and_a_new_path_with_the_same_bytes(self) -> None:
        files = [source("new.pdf", "1"), source("new2.pdf", "1"), source("other.pdf", "2")]
        known = {"old.pdf": "1", "gone.pdf": "3"}
        plan = plan_increment(files, known)
        assert plan.removed == ("gone.pdf", "old.pdf")
        assert list(renames(plan, files, known)) == [("old.pdf", "new.pdf")]


class TestSnapshot:
    def test_the_digest_is_short_and_knows_every_stat_but_no_order(self) -> None:
        files = [source("a.pdf"), source("b.pdf")]
        digest = snapshot_digest(files)
        assert len(digest) == 64 and digest == snapshot_digest(files[::-1])
        others = [[files[0]], [files[0], source("c.pdf")]]
        others += [[files[0], source("b.pdf", **{name: 9})] for name in ("size", "mtime_ns", "ctime_ns")]
        assert len({digest, *map(snapshot_digest, others)}) == 6

    def test_an_old_file_that_arrives_later_changes_the_digest(self, papers: Path) -> None:
        """B50: copied with its date of 2019 into a folder whose own date is set back."""
        put(papers, "sub/a.pdf")
        before = snapshot_digest(scan_folder(papers, FOLLOW).files)
        path = put(papers, "sub/b.pdf")
        os.utime(path, (1_550_000_000, 1_550_000_000))
        os.utime(papers / "sub", (1_546_300_800, 1_546_300_800))
        files = scan_folder(papers, FOLLOW).files
        assert snapshot_digest(files) != before
        assert snapshot_digest(scan_folder(papers, FOLLOW).files) == snapshot_digest(files)

    @pytest.mark.parametrize(
        ("seconds_ago", "is_settled"), [(0, False), (4.9, False), (5.0, True), (9999, True), (-3, False), (-3600, True)]
    )
    def test_a_file_has_settled_when_nobody_touched_it_near_now(self, seconds_ago: float, is_settled: bool) -> None:
        """The last two: a clock a little ahead, and a clock set back by an hour."""
        now = 1_700_000_000.0
        file = source("a.pdf", mtime_ns=10**18, ctime_ns=int((now - seconds_ago) * 1e9))
        assert settled([file], now, 5.0) == ([file] if is_settled else [])

    def test_a_copy_that_keeps_an_old_date_still_has_to_settle(self, papers: Path) -> None:
        path = put(papers, "a.pdf")
        os.utime(path, (1_550_000_000, 1_550_000_000))
        files = scan_folder(papers, FOLLOW).files
        now = path.stat().st_ctime
        assert settled(files, now + 1, 5.0) == []
        assert settled(files, now + 6, 5.0) == files

    def test_the_papers_folder_may_be_read_only(self, papers: Path) -> None:
        """B59: chmod 555."""
        put(papers, "a.pdf")
        papers.chmod(stat.S_IRUSR | stat.S_IXUSR | stat.S_IRGRP | stat.S_IXGRP)
        try:
            assert paths_of(papers) == ["a.pdf"]
        finally:
            papers.chmod(0o755)
