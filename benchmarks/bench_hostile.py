"""What becomes of each file of a folder of damaged, odd and hostile PDFs, against what ought to.

``python -m benchmarks.bench_hostile DATA [--home DIR] [--verbose]`` where DATA holds ``pdf/hostile``. The whole folder
is ingested at once, gates included, then the encrypted files are read with their passwords. Exits 1 when one outcome
is not the expected one. The expected ones stand in ``tests/corpus_assets/hostile_expected.tsv``:

file      its name
status    what reading it gives; several when more than one is right
pages     of its page tree, also when it is refused; 0 when they cannot be counted
reason    what the reason must say: all of the parts between ``;``, one of those between ``|``
states    what single pages must become, as ``3=ocr``
flags     what the paper must be flagged with
paper     files with the same word here are one paper: exactly one of them is served
unlocked  status and pages once the password is known; either of two, with ``|``
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus_assets.build import ingest
from corpus_assets.folder import hash_files, scan_folder
from corpus_assets.model import PaperRecord, PaperStatus
from corpus_assets.pdf.worker import parse_files
from corpus_assets.settings import EmbeddingSettings, ParseSettings, Settings
from corpus_assets.store.working import WorkingStore

EXPECTED_PATH = Path(__file__).resolve().parent.parent / "tests" / "corpus_assets" / "hostile_expected.tsv"
MAX_SECONDS = 600.0  # for the folder: no file hangs
NOT_SERVED_TWICE = {PaperStatus.DUPLICATE, PaperStatus.SUPERSEDED}


@dataclass(frozen=True)
class Expected:
    """A row of the table."""

    file: str
    statuses: frozenset[str]
    num_pages: int
    reasons: tuple[tuple[str, ...], ...]  # all of these, each in one of its wordings
    states: Mapping[int, str]
    flags: frozenset[str]
    paper: str
    unlocked: str


@dataclass(frozen=True)
class Got:
    """What became of a file: as read, before it was compared with the others, and as a record."""

    status: str
    num_pages: int
    reason: str
    states: Mapping[int, str]
    flags: frozenset[str]
    record: PaperRecord


def read_expected(path: Path = EXPECTED_PATH) -> dict[str, Expected]:
    """Return the table by file name."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {row["file"]: _expected(row) for row in rows}


def _expected(row: Mapping[str, str]) -> Expected:
    parts = [part.strip() for part in row["reason"].split(";") if part.strip()]
    pairs = [item.split("=") for item in row["states"].split()]
    return Expected(
        file=row["file"],
        statuses=frozenset(row["status"].split()),
        num_pages=int(row["pages"]),
        reasons=tuple(tuple(part.split("|")) for part in parts),
        states={int(number): state for number, state in pairs},
        flags=frozenset(row["flags"].split()),
        paper=row["paper"],
        unlocked=row["unlocked"],
    )


def measure(folder: Path, home: Path) -> dict[str, Got]:
    """Ingest the folder into a home of its own and return what became of each file."""
    settings = Settings(home=home, embedding=EmbeddingSettings(model="hash"))
    ingest(settings, folder)
    found: dict[str, Got] = {}
    with WorkingStore(home) as store:
        docs = store.docs()
        for record in store.papers().values():
            doc = docs[record.doc_sha256]
            parsed = store.parsed(record.doc_sha256)
            states = {page.number: page.state.value for page in parsed.pages} if parsed else {}
            got = Got(
                doc.status.value,
                doc.num_expected,
                doc.reason or record.reason,
                states,
                frozenset(doc.flags),
                record,
            )
            found.update(dict.fromkeys([record.path, *record.also_at], got))
    return found


def find_faults(expected: Mapping[str, Expected], got: Mapping[str, Got]) -> Iterator[tuple[str, str]]:
    """Yield each file and what is not as expected of it."""
    for file in sorted(expected.keys() | got.keys()):
        if file not in expected:
            yield file, "is not in the table"
        elif file not in got:
            yield file, "has no row at all"
        else:
            yield from ((file, fault) for fault in _faults_of(expected[file], got[file]))
    yield from _faults_of_groups(expected, got)


def _faults_of(expected: Expected, got: Got) -> Iterator[str]:
    if got.status not in expected.statuses:
        yield f"is {got.status} ({got.reason}), not {' or '.join(sorted(expected.statuses))}"
    if got.num_pages != expected.num_pages:
        yield f"has {got.num_pages} pages, not {expected.num_pages}"
    for wordings in expected.reasons:
        if not any(wording.lower() in got.reason.lower() for wording in wordings):
            yield f"the reason does not say {' or '.join(wordings)!r}: {got.reason}"
    for number, state in expected.states.items():
        if got.states.get(number) != state:
            yield f"page {number} is {got.states.get(number)}, not {state}"
    if missing := expected.flags - got.flags:
        yield f"is not flagged {', '.join(sorted(missing))}"
    if not expected.paper and got.status in ("ready", "partial") and got.record.status in NOT_SERVED_TWICE:
        yield f"is hidden behind another paper: {got.record.reason}"


def _faults_of_groups(expected: Mapping[str, Expected], got: Mapping[str, Got]) -> Iterator[tuple[str, str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for row in expected.values():
        if row.paper and row.file in got:
            record = got[row.file].record
            groups[row.paper].add(record.paper_id if record.is_served else record.version_of)
    yield from ((name, f"is served as {sorted(ids)}, not as one paper") for name, ids in groups.items() if len(ids) > 1)


def find_locked_faults(folder: Path, expected: Iterable[Expected]) -> Iterator[tuple[str, str]]:
    """Read the encrypted files with the passwords of the folder's MANIFEST.tsv and yield what is not as expected."""
    locked = {row.file: row.unlocked for row in expected if row.unlocked}
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        passwords = [row["password"] for row in csv.DictReader(file, delimiter="\t") if row["file"] in locked]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "passwords.txt"
        path.write_text("\n".join(["wrong", *passwords]) + "\n", encoding="utf-8")
        settings = Settings(parse=ParseSettings(passwords_path=path))
        files = [file for file in scan_folder(folder, settings).files if file.path in locked]
        for outcome in parse_files(hash_files(files, {}).files, {}, settings):
            num_pages = len(outcome.parsed.pages) if outcome.parsed else 0
            is_now, ought = f"{outcome.status.value} {num_pages}", locked[outcome.path]
            if is_now not in ought.split("|"):
                yield outcome.path, f"with its password: {is_now} pages ({outcome.reason}), not {ought}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--home", type=Path, help="Where to build; default: a folder that is removed afterwards.")
    parser.add_argument("--json", type=Path, help="Write the numbers here.")
    parser.add_argument("--verbose", action="store_true", help="Print every file's outcome.")
    options = parser.parse_args(arguments)
    folder, expected = options.data / "pdf" / "hostile", read_expected()
    with tempfile.TemporaryDirectory() as scratch:
        started = time.monotonic()
        got = measure(folder, options.home or Path(scratch) / "home")
        seconds = time.monotonic() - started
    for file, outcome in sorted(got.items()) if options.verbose else ():
        print(f"{file[:70]:72}{outcome.status:10}{outcome.num_pages:5}  {outcome.reason}")
    faults = [*find_faults(expected, got), *find_locked_faults(folder, expected.values())]
    for file, fault in faults:
        print(f"WRONG  {file}: {fault}")
    num_right = len(expected) - len({file for file, _ in faults})
    print(f"outcomes right   {num_right} of {len(expected)}   (bound: all)")
    print(f"seconds          {seconds:.0f}   (bound: {MAX_SECONDS:.0f})")
    if options.json:
        report = {"num_right": num_right, "num_files": len(expected), "seconds": seconds, "faults": faults}
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 1 if faults or seconds > MAX_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
