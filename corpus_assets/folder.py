"""The papers folder: what is in it, what changed, and what is still being written. Never writes to it.

What counts as a paper's file: ``.pdf``, ``.txt`` and ``.md`` by name, in any case; any other file when ``%PDF`` stands
in its first 1024 bytes. Left out, each with its reason: the folder's own tables (``manifest.csv``, ``retractions.csv``,
the passwords file), notes about the folder (README, LICENSE and the like), hidden folders, and hidden files that are
not PDFs.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from corpus_assets.errors import BadInputError
from corpus_assets.model import Increment, SourceFile
from corpus_assets.paths import escape_path
from corpus_assets.settings import Settings

PAPER_SUFFIXES = frozenset({".pdf", ".txt", ".md"})
OWN_TABLES = frozenset({"manifest.csv", "retractions.csv", "passwords", "passwords.txt"})
NOTE_STEMS = frozenset({"readme", "license", "licence", "copying", "changelog", "contributing", "notice", "manifest"})
PDF_MARK = b"%PDF"
PDF_MARK_WITHIN = 1024  # where PDF readers look for the mark (ISO 32000-1, annex H, implementation note 13)
RACY_NS = 2_000_000_000  # the coarsest clock of a file system in use (FAT) ticks every 2 s
READ_BYTES = 1 << 20


class Skipped(NamedTuple):
    """Something in the folder that is not ingested, and why. A folder's path ends with a slash."""

    path: str
    reason: str


@dataclass(frozen=True)
class FolderScan:
    """What a scan found; both lists are sorted by path. ``unreadable`` paths may hold papers nobody could see."""

    files: list[SourceFile]
    skipped: list[Skipped]
    unreadable: list[Skipped] = field(default_factory=list)


class HashRecord(NamedTuple):
    """What is remembered of a file that was hashed, so that it need not be read again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str
    hashed_at_ns: int


class FileHashes(NamedTuple):
    """Files with their sha256, and those that could not be read. ``records`` is what to remember, by path."""

    files: list[SourceFile]
    unreadable: list[Skipped]
    records: dict[str, HashRecord]
    num_read: int


def scan_folder(folder: Path, settings: Settings) -> FolderScan:
    """Return every file that may be a paper, from stat alone (plus the first 1024 bytes of oddly named files).

    Links: one to something in the folder counts once, one to a file or folder outside is followed when
    ``settings.run.follow_links``, else reported; a folder is never read twice, and a link to a folder that contains
    the papers folder is not followed.

    Raises:
        BadInputError: the folder does not exist, is no folder, or cannot be listed.
    """
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise BadInputError(f"The papers folder {escape_path(str(folder))} {what}.", hint="Name an existing folder.")
    return _Scan(folder, settings).run()


class _Scan:
    """One walk: first what is really in the folder, then what links in it lead to."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.root = os.path.realpath(folder)
        self.follow_links = settings.run.follow_links
        passwords = settings.parse.passwords_path
        retractions = settings.parse.retractions_path
        self.own_files = {os.path.realpath(path) for path in (passwords, retractions) if path}
        self.files: list[SourceFile] = []
        self.skipped: list[Skipped] = []
        self.unreadable: list[Skipped] = []
        self.seen_dirs: set[tuple[int, int]] = set()
        self.seen_files: dict[tuple[int, int], str] = {}
        self.links: list[tuple[str, str]] = []  # (path in the folder, path to open)

    def run(self) -> FolderScan:
        try:
            os.scandir(self.root).close()
        except OSError as error:
            raise BadInputError(
                f"The papers folder {escape_path(self.root)} cannot be listed: {error.strerror}."
            ) from None
        self._walk("", self.root)
        while self.links:  # links found in linked folders are met after all real files of the round before
            links, self.links = sorted(self.links), []
            for relative, target in links:
                self._follow(relative, target)
        files = sorted(self.files, key=lambda file: file.path)
        return FolderScan(files, sorted(self.skipped), sorted(self.unreadable))

    def _walk(self, relative_dir: str, real_dir: str) -> None:
        pending = [(relative_dir, real_dir)]
        while pending:
            relative_dir, real_dir = pending.pop()
            try:
                info = Path(real_dir).stat()
                with os.scandir(real_dir) as iterator:
                    entries = sorted(iterator, key=lambda entry: entry.name)
            except OSError as error:
                self.unreadable.append(Skipped(_dir_path(relative_dir), f"cannot be listed: {error.strerror}"))
                continue
            if (info.st_dev, info.st_ino) in self.seen_dirs:  # mounted twice
                self.skipped.append(Skipped(_dir_path(relative_dir), "the same folder as one that is read already"))
                continue
            self.seen_dirs.add((info.st_dev, info.st_ino))
            for entry in entries:
                relative = f"{relative_dir}/{entry.name}" if relative_dir else entry.name
                if entry.is_symlink():
                    self.links.append((relative, entry.path))
                elif entry.is_dir():
                    if entry.name.startswith("."):
                        self.skipped.append(Skipped(_dir_path(relative), "hidden folder"))
                    else:
                        pending.append((relative, entry.path))
                else:
                    self._take(relative, entry.path)

    def _follow(self, relative: str, link: str) -> None:
        path = escape_path(relative)
        target = os.path.realpath(link)
        try:
            info = Path(link).stat()
        except OSError as error:
            self.skipped.append(Skipped(path, f"dead link to {escape_path(target)}: {error.strerror}"))
            return
        key = (info.st_dev, info.st_ino)
        is_inside = target == self.root or target.startswith(self.root.rstrip("/") + "/")
        if not is_inside and not self.follow_links:
            reason = f"link out of the papers folder to {escape_path(target)} (run.follow_links is off)"
            self.skipped.append(Skipped(path, reason))
        elif stat.S_ISDIR(info.st_mode):
            if key in self.seen_dirs:
                self.skipped.append(Skipped(path + "/", "link to a folder that is read already"))
            elif (self.root + "/").startswith(target.rstrip("/") + "/"):
                self.skipped.append(Skipped(path + "/", "link to a folder that contains the papers folder"))
            else:
                self._walk(relative, target)
        elif key in self.seen_files:
            self.skipped.append(Skipped(path, f"link to {self.seen_files[key]}, which is read already"))
        else:
            self._take(relative, link)

    def _take(self, relative: str, fs_path: str) -> None:
        path = escape_path(relative)
        try:
            info = Path(fs_path).stat()
        except OSError as error:  # removed, or its folder closed, since it was listed
            self.unreadable.append(Skipped(path, f"cannot be read: {error.strerror}"))
            return
        if not stat.S_ISREG(info.st_mode):
            self.skipped.append(Skipped(path, "not a regular file"))
            return
        reason = self._reason_to_leave_out(relative.rpartition("/")[2], fs_path)
        if reason:
            self.skipped.append(Skipped(path, reason))
        elif not os.access(fs_path, os.R_OK):
            self.unreadable.append(Skipped(path, "cannot be read: Permission denied"))
        else:
            self.seen_files.setdefault((info.st_dev, info.st_ino), path)
            self.files.append(SourceFile(path, fs_path, info.st_size, info.st_mtime_ns, info.st_ctime_ns))

    def _reason_to_leave_out(self, name: str, fs_path: str) -> str:
        suffix = Path(name.lower()).suffix
        stem = name.lower().removesuffix(suffix)
        if name.lower() in OWN_TABLES or (self.own_files and os.path.realpath(fs_path) in self.own_files):
            return "a table of the folder's own, not a paper"
        if suffix in (".txt", ".md", "") and stem in NOTE_STEMS:
            return "a note about the folder; rename it if it is a paper"
        is_hidden = name.startswith(".")
        if suffix in PAPER_SUFFIXES and not is_hidden:
            return ""
        if not is_hidden or suffix == ".pdf":
            try:
                if has_pdf_mark(fs_path):
                    return ""
            except OSError as error:
                return f"cannot be read: {error.strerror}"
        return "hidden file" if is_hidden else "neither .pdf, .txt nor .md, and no PDF by its content"


def has_pdf_mark(fs_path: str) -> bool:
    """Return whether ``%PDF`` stands in the first 1024 bytes."""
    with Path(fs_path).open("rb") as file:
        return PDF_MARK in file.read(PDF_MARK_WITHIN)


def hash_files(
    files: Sequence[SourceFile],
    known: Mapping[str, HashRecord | tuple[int, int, int, str, int]],
    on_file: Callable[[SourceFile], None] | None = None,
) -> FileHashes:
    """Return the files with their sha256, reading only those whose stat does not vouch for the known one.

    A known hash is trusted when size, mtime and ctime are the same and the ctime is at least 2 s older than the moment
    it was hashed: an edit that restores size and mtime still moves ctime, and one within the clock's tick is re-read
    (the "racy git" rule, https://git-scm.com/docs/racy-git). ``on_file`` is called after each file, for progress.
    """
    hashed: list[SourceFile] = []
    unreadable: list[Skipped] = []
    records: dict[str, HashRecord] = {}
    num_read = 0
    for file in files:
        record = HashRecord(*known[file.path]) if file.path in known else None
        if record is None or not _is_trusted(file, record):
            num_read += 1
            try:
                file, record = _read_hash(file)
            except OSError as error:
                unreadable.append(Skipped(file.path, f"cannot be read: {error.strerror or error}"))
                record = None
        if record is not None:
            records[file.path] = record
            hashed.append(replace(file, sha256=record.sha256))
        if on_file:
            on_file(file)
    return FileHashes(hashed, unreadable, records, num_read)


def _is_trusted(file: SourceFile, record: HashRecord) -> bool:
    is_same = (file.size, file.mtime_ns, file.ctime_ns) == (record.size, record.mtime_ns, record.ctime_ns)
    return is_same and bool(record.sha256) and record.ctime_ns < record.hashed_at_ns - RACY_NS


def _read_hash(file: SourceFile) -> tuple[SourceFile, HashRecord]:
    """Hash a file in pieces; the stat is taken before the first, so that a write meanwhile shows next time."""
    hashed_at_ns = time.time_ns()
    digest = hashlib.sha256()
    with Path(file.fs_path).open("rb", buffering=0) as stream:
        info = os.fstat(stream.fileno())
        while piece := stream.read(READ_BYTES):
            digest.update(piece)
    now = replace(file, size=info.st_size, mtime_ns=info.st_mtime_ns, ctime_ns=info.st_ctime_ns)
    return now, HashRecord(now.size, now.mtime_ns, now.ctime_ns, digest.hexdigest(), hashed_at_ns)


def is_unchanged(file: SourceFile) -> bool:
    """Return whether the file on disk still is, by stat, the one that was hashed."""
    try:
        info = Path(file.fs_path).stat()
    except OSError:
        return False
    return (info.st_size, info.st_mtime_ns, info.st_ctime_ns) == (file.size, file.mtime_ns, file.ctime_ns)


def snapshot_digest(files: Sequence[SourceFile]) -> str:
    """Return a digest of names and stats, the same in any order: the sensor's cursor, however many files there are."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.path):
        digest.update(f"{file.path}\0{file.size}\0{file.mtime_ns}\0{file.ctime_ns}\n".encode())
    return digest.hexdigest()


def settled(files: Sequence[SourceFile], now: float, settle_seconds: float) -> list[SourceFile]:
    """Return the files that nobody has touched for ``settle_seconds`` before ``now`` (epoch seconds).

    Only nearness counts, not order: a file from the future (a clock set back, another machine's clock) is settled too,
    else it would wait for hours. What was cut short all the same is seen again when it grows.
    """
    return [file for file in files if _distance_seconds(file, now) >= settle_seconds]


def _distance_seconds(file: SourceFile, now: float) -> float:
    return min(abs(now - file.ctime_ns / 1e9), abs(now - file.mtime_ns / 1e9))


def plan_increment(
    files: Sequence[SourceFile], known: Mapping[str, str], unreadable: Collection[Skipped] = ()
) -> Increment:
    """Return what changed since the last ingest; ``known`` maps each path to the sha256 it had.

    A rename is a removed path and a new one with the same sha256 (``renames`` pairs them). Known papers under an
    unreadable folder count as unchanged: a share that is offline deletes nothing.
    """
    current = {file.path: file.sha256 for file in files}
    hidden = [skipped.path for skipped in unreadable]
    new: list[str] = []
    changed: list[str] = []
    unchanged: list[str] = []
    removed: list[str] = []
    for path in sorted(current.keys() | known.keys()):
        if path not in known:
            new.append(path)
        elif path in current:
            (unchanged if current[path] == known[path] else changed).append(path)
        elif any(path == gone or gone == "/" or (gone.endswith("/") and path.startswith(gone)) for gone in hidden):
            unchanged.append(path)
        else:
            removed.append(path)
    return Increment(tuple(new), tuple(changed), tuple(removed), tuple(unchanged))


def renames(increment: Increment, files: Sequence[SourceFile], known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield ``(old path, new path)`` for each removed path whose bytes came back under a new one, each used once."""
    new_by_sha: dict[str, list[str]] = {}
    is_new = set(increment.new)
    for file in sorted(files, key=lambda file: file.path, reverse=True):
        if file.path in is_new:
            new_by_sha.setdefault(file.sha256, []).append(file.path)
    for old in increment.removed:
        candidates = new_by_sha.get(known[old])
        if candidates:
            yield old, candidates.pop()


def _dir_path(relative: str) -> str:
    return escape_path(relative) + "/"
