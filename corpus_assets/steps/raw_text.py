"""From the folder to papers: find files, hash them, read what is new or changed, give identities."""

from __future__ import annotations

import functools
import hashlib
import random
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corpus_assets.errors import BadInputError
from corpus_assets.folder import FolderScan, hash_files, plan_increment, renames, scan_folder
from corpus_assets.identity import IdentityInput, assign_identities, compute_signature
from corpus_assets.manifest import Manifest, read_manifest
from corpus_assets.model import (
    SERVED_STATUSES,
    Increment,
    PageState,
    PaperMetadata,
    PaperRecord,
    PaperStatus,
    SourceFile,
)
from corpus_assets.paths import escape_path
from corpus_assets.pdf.vision import TRY_AGAIN, SpendBook, load_vision_reader
from corpus_assets.pdf.worker import ParseOutcome, ReadPaper, parse_files
from corpus_assets.retractions import RetractionTable, classify_title, read_retractions
from corpus_assets.settings import Settings, fingerprint
from corpus_assets.steps.page_chart import draw_pages_by_state
from corpus_assets.steps.report import PROBLEMS_NAME, Problem, Progress, StepReport, no_progress
from corpus_assets.steps.tries import GIVEN_UP, MAX_TRIES, LimitTries
from corpus_assets.store.atomic import write_atomic
from corpus_assets.store.working import Doc, WorkingStore

RETRACTIONS_NAME = "retractions.csv"
PASSWORDS_NAME = "passwords.txt"
_LOCKED = "no known password"  # in the reason of an encrypted file
_KEPT_FOR_GOOD = f"what an earlier ingest read of it stays in the corpus; {GIVEN_UP}"
_KEPT = "what the last ingest read of it stays in the corpus; it is tried again next time"


@dataclass(frozen=True)
class _Folder:
    """What the folder holds now and what changed since the last ingest."""

    files: list[SourceFile]
    scan: FolderScan
    increment: Increment
    num_renamed: int
    manifest: Manifest
    hashed_at_ns: Mapping[str, int]


def read_folder(
    store: WorkingStore,
    settings: Settings,
    folder: Path,
    *,
    full: bool = False,
    only_papers: Collection[str] = (),
    progress: Progress = no_progress,
) -> StepReport:
    """Bring the store's documents and papers up to date with the folder.

    Files are read again when their bytes, their manifest row or the parse settings changed, when their last reading
    failed for a transient reason (hitting a limit of time or memory is one only once), with ``full``, or when their
    paper is named in ``only_papers`` (then no other file is looked at). Raises ``BadInputError`` for a folder that does
    not exist or holds no paper, or an unknown paper id.
    """
    from corpus_assets.pdf.reader import PARSER_VERSION

    started = time.monotonic()
    settings = _with_passwords_of(folder, settings)
    found = _look(store, settings, folder, only_papers)
    read_paper, vision_book = _choose_reader(settings)
    keys = {file.path: _parse_key(PARSER_VERSION, settings, found.manifest, file) for file in found.files}
    docs = store.docs()
    forced = _paths_of(store, only_papers)
    has_ocr, passwords = _has_ocr(settings), _digest_of_passwords(settings)
    is_ocr_new = has_ocr and not store.get_meta("has_ocr")
    are_passwords_new = passwords != (store.get_meta("passwords_sha256") or "")
    tries = LimitTries(store)
    wanted: dict[str, SourceFile] = {}
    given_up: list[Problem] = []
    for file in found.files:
        doc = docs.get(file.sha256)
        is_stale = doc is None or doc.parse_key != keys[file.path] or doc.status is PaperStatus.FAILED
        is_stale = is_stale or (is_ocr_new and doc is not None and _lacked_ocr(doc))
        is_stale = is_stale or (are_passwords_new and doc is not None and _LOCKED in doc.reason)
        is_stale = is_stale or (doc is not None and TRY_AGAIN in doc.reason)
        if not file.fs_path:
            continue  # known, but out of reach at the moment
        if doc is not None and doc.parse_key != keys[file.path] and tries.is_given_up(file.sha256, keys[file.path]):
            is_stale = False  # an earlier parser could read it, or earlier limits let it
            given_up.append(Problem(file.path, "failed", f"hit a limit {MAX_TRIES} times; {_KEPT_FOR_GOOD}"))
        if (full or is_stale) if not only_papers else file.path in forced:
            wanted.setdefault(file.sha256, file)
    kept = _parse(store, settings, found.manifest, list(wanted.values()), keys, progress, tries, read_paper)
    kept.extend(problem for problem in given_up if problem.path not in {file.path for file in wanted.values()})
    if not only_papers:  # after the reading, so that a killed run does it again
        store.set_meta("has_ocr", has_ocr)
        store.set_meta("passwords_sha256", passwords)
    found, kept = _keep_last_good(store, found, kept)
    if found.increment.removed or found.increment.changed:
        store.set_meta("needs_compacting", True)  # no byte of what went may stay in the file
    store.replace_files(found.files, found.hashed_at_ns)
    tries.forget_others({file.sha256 for file in found.files})
    store.set_meta("papers_dir", escape_path(str(folder.resolve())))
    retractions = _retractions(settings, folder)
    records = _records(store, found, retractions)
    store.replace_papers(records)
    problems = [*kept, *_problems(found, records)]
    store.set_meta("problems", [vars(problem) for problem in problems])
    write_problems(settings.home, problems)
    report = _report(store, found, records, problems, len(wanted), time.monotonic() - started)
    if vision_book is not None:
        spend = vision_book.read()
        more = {"vision_usd": round(spend.usd, 6), "num_vision_calls": spend.num_calls}
        report = replace(report, counts={**report.counts, **more})
    return report


def _choose_reader(settings: Settings) -> tuple[ReadPaper | None, SpendBook | None]:
    """Return what reads a file in the workers when it is not the project's own way, and where it counts its cost."""
    if settings.parse.ocr != "vision":
        return None, None
    from corpus_assets.pdf.reader import read_paper

    reader = load_vision_reader(settings)
    return functools.partial(read_paper, page_reader=reader), reader.book


def write_problems(home: Path, problems: Sequence[Problem]) -> Path:
    """Write every problem as ``problems.tsv`` into the home (a header alone when there is none); return its path."""
    rows = [("file", "status", "reason"), *((p.path, p.status, p.reason) for p in problems)]
    lines = ["\t".join(" ".join(cell.split()) for cell in row) for row in rows]
    path = home / PROBLEMS_NAME
    write_atomic(path, "\n".join(lines) + "\n")
    return path


def _look(store: WorkingStore, settings: Settings, folder: Path, only_papers: Collection[str]) -> _Folder:
    scan = scan_folder(folder, settings)
    known = store.known_files()
    if not scan.files:
        raise BadInputError(
            f"The papers folder {escape_path(str(folder))} holds no papers (.pdf, .txt, .md).",
            hint="Name a folder with papers; what was ingested before is untouched.",
        )
    hashes = hash_files(scan.files, known)
    scan = replace(scan, unreadable=[*scan.unreadable, *hashes.unreadable])
    known_shas = {path: row[3] for path, row in known.items()}
    increment = plan_increment(hashes.files, known_shas, scan.unreadable)
    hashed = {file.path for file in hashes.files}
    out_of_reach = [path for path in increment.unchanged if path not in hashed]  # in a folder that cannot be read now
    files = [*hashes.files, *(SourceFile(path, "", *known[path][:4]) for path in out_of_reach)]
    files.sort(key=lambda file: file.path)
    if only_papers:  # everything else stays as the store has it
        paths = _paths_of(store, only_papers)
        files = [
            file if file.path in paths else replace(file, sha256=known_shas[file.path], ctime_ns=0)
            for file in files
            if file.path in paths or file.path in known_shas
        ]
        increment = Increment(unchanged=tuple(file.path for file in files))
    num_renamed = sum(1 for _ in renames(increment, files, known_shas))
    hashed_at_ns = {path: row[4] for path, row in known.items()}
    hashed_at_ns.update({path: record.hashed_at_ns for path, record in hashes.records.items()})
    return _Folder(files, scan, increment, num_renamed, read_manifest(folder, files), hashed_at_ns)


def _paths_of(store: WorkingStore, only_papers: Collection[str]) -> set[str]:
    if not only_papers:
        return set()
    papers = store.papers()
    unknown = [paper_id for paper_id in only_papers if paper_id not in papers]
    if unknown:
        raise BadInputError(f"No paper {unknown[0]} in this corpus.", hint="See `research-copilot papers list`.")
    return {path for paper_id in only_papers for path in (papers[paper_id].path, *papers[paper_id].also_at)}


def _parse_key(version: str, settings: Settings, manifest: Manifest, file: SourceFile) -> str:
    row = manifest.get(file.path)
    shaping = settings.parse.model_dump(mode="json", exclude={"retractions_path", "passwords_path"})
    if settings.parse.ocr == "vision":
        shaping["vision_model"] = settings.llm.large_model
    return fingerprint([version, shaping, row.fingerprint() if row else ""])


def _has_ocr(settings: Settings) -> bool:
    """Tell whether scanned pages can be read; when that begins, pages that waited for it are read."""
    from corpus_assets.pdf.ocr import find_tesseract

    return settings.parse.ocr != "off" and find_tesseract() is not None


def _with_passwords_of(folder: Path, settings: Settings) -> Settings:
    """Return the settings with the folder's own passwords file, when they name none and it has one."""
    path = folder / PASSWORDS_NAME
    if settings.parse.passwords_path is not None or not path.is_file():
        return settings
    return settings.model_copy(update={"parse": settings.parse.model_copy(update={"passwords_path": path})})


def _digest_of_passwords(settings: Settings) -> str:
    """Return what changes when a password is added, so that locked files are tried again then."""
    path = settings.parse.passwords_path
    if path is None:
        return ""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise BadInputError(
            f"The passwords file {escape_path(str(path))} could not be read: {error.strerror}.",
            hint="Mend RESEARCH_COPILOT_PARSE__PASSWORDS_PATH.",
        ) from error


def _lacked_ocr(doc: Doc) -> bool:
    return bool(doc.states.get(PageState.UNREADABLE.value)) or "OCR" in doc.reason


def _parse(
    store: WorkingStore,
    settings: Settings,
    manifest: Manifest,
    files: Sequence[SourceFile],
    keys: Mapping[str, str],
    progress: Progress,
    tries: LimitTries,
    read_paper: ReadPaper | None = None,
) -> list[Problem]:
    """Read files in worker processes; each outcome is stored as it arrives, so a killed run keeps what it had.

    A passing failure never replaces a reading that succeeded; it is returned as a problem and tried again next time.
    """
    docs = store.docs()
    total = len(files)
    kept = []
    progress("raw_text", 0, total, "")
    for done, read in enumerate(parse_files(files, manifest, settings, read_paper=read_paper), start=1):
        known = docs.get(read.sha256)
        outcome = tries.judge(read, keys[read.path])
        if read.status is PaperStatus.FAILED and known is not None and known.status in SERVED_STATUSES:
            why = _KEPT if outcome is read else _KEPT_FOR_GOOD
            kept.append(Problem(read.path, "failed", f"{read.reason}; {why}"))
        else:
            store.put_doc(_doc(outcome, keys[outcome.path]), outcome.parsed)
        note = "" if outcome.status is PaperStatus.READY else f" ({outcome.status.value}: {outcome.reason})"
        progress("raw_text", done, total, f"{outcome.path}{note}")
    return kept


def _keep_last_good(store: WorkingStore, found: _Folder, kept: Sequence[Problem]) -> tuple[_Folder, list[Problem]]:
    """Return the folder with changed files that failed for a passing reason as they were at the last ingest."""
    docs, known = store.docs(), store.known_files()
    problems = list(kept)
    files = []
    hashed_at_ns = dict(found.hashed_at_ns)
    for file in found.files:
        doc, before = docs.get(file.sha256), known.get(file.path)
        last = docs.get(before[3]) if before else None
        is_failed = doc is None or doc.status is PaperStatus.FAILED
        if is_failed and before is not None and last is not None and last.status in SERVED_STATUSES:
            reason = doc.reason if doc else "could not be read"
            if file.sha256 != before[3]:
                problems.append(Problem(file.path, "failed", f"{reason}; {_KEPT}"))
            file = replace(file, size=before[0], mtime_ns=before[1], ctime_ns=before[2], sha256=before[3])
            hashed_at_ns[file.path] = before[4]
        files.append(file)
    return replace(found, files=files, hashed_at_ns=hashed_at_ns), problems


def _doc(outcome: ParseOutcome, parse_key: str) -> Doc:
    parsed = outcome.parsed
    text = parsed.text if parsed else ""
    return Doc(
        sha256=outcome.sha256,
        parse_key=parse_key,
        status=outcome.status,
        reason=outcome.reason,
        text_sha256=hashlib.sha256(text.encode("utf-8")).hexdigest() if parsed else "",
        num_pages=len(parsed.pages) if parsed else 0,
        num_expected=parsed.num_pages_expected if parsed else 0,
        num_chars=len(text),
        signature=compute_signature(text) if parsed else b"",
        seconds=outcome.seconds,
        metadata=parsed.metadata if parsed else PaperMetadata(),
        flags=parsed.flags if parsed else (),
        states=Counter(page.state.value for page in parsed.pages) if parsed else {},
    )


def _retractions(settings: Settings, folder: Path) -> RetractionTable | None:
    path = settings.parse.retractions_path or folder / RETRACTIONS_NAME
    return read_retractions(path) if settings.parse.retractions_path or path.exists() else None


def _records(store: WorkingStore, found: _Folder, retractions: RetractionTable | None) -> list[PaperRecord]:
    """Return one record a paper and one a file that is none, from the stored documents; deterministic in any order."""
    docs = store.docs()
    inputs = [
        IdentityInput(
            sha256=file.sha256,
            path=file.path,
            metadata=docs[file.sha256].metadata,
            text_sha256=docs[file.sha256].text_sha256,
            signature=docs[file.sha256].signature,
            num_pages=docs[file.sha256].num_pages,
            num_chars=docs[file.sha256].num_chars,
            status=docs[file.sha256].status,
            flags=docs[file.sha256].flags,
        )
        for file in found.files
    ]
    identities = assign_identities(inputs, found.manifest)
    records: dict[str, PaperRecord] = {}
    for file in found.files:
        identity = identities[file.path]
        if identity.paper_id in records:
            continue  # the same bytes under another name: listed in also_at
        doc = docs[file.sha256]
        records[identity.paper_id] = PaperRecord(
            paper_id=identity.paper_id,
            status=identity.status,
            path=file.path,
            doc_sha256=file.sha256,
            metadata=docs[file.sha256].metadata,
            reason=identity.reason or doc.reason,
            num_pages=doc.num_pages,
            num_pages_expected=doc.num_expected,
            text_sha256=doc.text_sha256,
            flags=doc.flags,
            version_of=identity.version_of,
            relation=identity.relation,
            retraction=_retraction(doc.metadata, retractions),
            also_at=identity.also_at,
        )
    return sorted(records.values(), key=lambda record: record.paper_id)


def _retraction(metadata: PaperMetadata, table: RetractionTable | None) -> str:
    notice = table.lookup(metadata.doi) if table and metadata.doi else None
    return notice.nature if notice else classify_title(metadata.title)


def _problems(found: _Folder, records: Sequence[PaperRecord]) -> list[Problem]:
    not_whole = [record for record in records if record.status is not PaperStatus.READY]
    not_served = [Problem(path, r.status.value, r.reason) for r in not_whole for path in (r.path, *r.also_at)]
    left_out = [Problem(s.path, "unreadable", s.reason) for s in found.scan.unreadable]
    left_out += [Problem(s.path, "skipped", s.reason) for s in found.scan.skipped]
    rows = [Problem(f"manifest.csv line {p.line}", "manifest", p.reason) for p in found.manifest.problems]
    return [*not_served, *left_out, *rows]


def _report(
    store: WorkingStore,
    found: _Folder,
    records: Sequence[PaperRecord],
    problems: Sequence[Problem],
    num_parsed: int,
    seconds: float,
) -> StepReport:
    by_status = Counter(record.status for record in records)
    served = [record for record in records if record.is_served]
    docs = store.docs()
    states: Counter[str] = Counter()
    for record in served:
        states.update(docs[record.doc_sha256].states)
    counts: dict[str, int | float] = {
        "num_files": len(found.files),
        "num_papers": len(served),
        "num_new": len(found.increment.new),
        "num_changed": len(found.increment.changed),
        "num_removed": len(found.increment.removed),
        "num_renamed": found.num_renamed,
        "num_unchanged": len(found.increment.unchanged),
        "num_parsed": num_parsed,
        "num_failed": by_status[PaperStatus.FAILED] + by_status[PaperStatus.REFUSED] + len(found.scan.unreadable),
        "num_partial": by_status[PaperStatus.PARTIAL],
        "num_duplicates": by_status[PaperStatus.DUPLICATE],
        "num_superseded": by_status[PaperStatus.SUPERSEDED],
        "num_pages": sum(states.values()),
        **{f"num_pages_{state.value}": states[state.value] for state in PageState},
        "seconds": round(seconds, 3),
    }
    version = fingerprint([[r.paper_id, r.status.value, r.doc_sha256, r.text_sha256, r.path] for r in records])
    images = {"pages_by_state": draw_pages_by_state(states)} if served else {}
    return StepReport("raw_text", counts, version, _samples(store, served, version), tuple(problems), images=images)


def _samples(store: WorkingStore, served: Sequence[PaperRecord], seed: str) -> dict[str, str]:
    if not served:
        return {}
    record = random.Random(seed).choice(served)
    parsed = store.parsed(record.doc_sha256)
    if parsed is None or not parsed.pages:
        return {}
    pages = {"first_page": parsed.pages[0], "last_page": parsed.pages[-1]}
    samples = {"sample_paper": f"{record.paper_id} ({record.path})"}
    for name, page in pages.items():
        text = parsed.text[page.char_start : page.char_end]
        samples[name] = f"page {page.number}, {page.state.value}, quality {page.quality:.2f}\n\n{text[:1500]}"
    return samples
