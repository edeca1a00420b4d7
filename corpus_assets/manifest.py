"""``manifest.csv`` in the papers folder: what a person says of a paper, which always wins."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from corpus_assets.errors import BadInputError
from corpus_assets.identifiers import normalise_arxiv_id, normalise_doi
from corpus_assets.model import SourceFile
from corpus_assets.paths import escape_path, unescape_path
from corpus_assets.settings import fingerprint

MANIFEST_NAME = "manifest.csv"

# Headers people write, folded to letters and digits, by the column they mean.
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "file": ("file", "filename", "path", "filepath", "pdf", "document", "attachment", "fileattachments"),
    "title": ("title", "papertitle", "articletitle"),
    "authors": ("authors", "author", "creators", "creator"),
    "year": ("year", "publicationyear", "pubyear", "date", "published", "publicationdate"),
    "doi": ("doi",),
    "arxiv_id": ("arxivid", "arxiv", "eprint"),
    "paper_id": ("paperid", "id", "key", "citekey", "citationkey"),
    "version_of": ("versionof",),
    "supplement_of": ("supplementof", "supplementto"),
}


class ManifestProblem(NamedTuple):
    """A row that could not be used as it stands. ``line`` counts the file's lines from 1; 0 is the file itself."""

    line: int
    reason: str


@dataclass(frozen=True)
class ManifestRow:
    """One paper's row; empty fields say nothing. ``file`` is the path as it is written in the manifest, escaped."""

    file: str
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    doi: str = ""
    arxiv_id: str = ""
    arxiv_version: int | None = None
    paper_id: str = ""
    version_of: str = ""
    supplement_of: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    line: int = 0

    def fingerprint(self) -> str:
        """Return a digest of what the row says, wherever in the manifest it stands."""
        return fingerprint({name: value for name, value in asdict(self).items() if name != "line"})


class Manifest(Mapping[str, ManifestRow]):
    """Rows by the path of the file they are about, with what was wrong with the others."""

    def __init__(self, rows: Mapping[str, ManifestRow], problems: Sequence[ManifestProblem] = ()) -> None:
        self._rows = dict(rows)
        self.problems = tuple(problems)

    def __getitem__(self, path: str) -> ManifestRow:
        return self._rows[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def resolve(self, files: Sequence[SourceFile]) -> Manifest:
        """Return the manifest keyed by the files that are there; rows that name no file become problems.

        A row names a file by its path in the folder, else by the same path up to accents' spelling and case, else by
        its bare name when only one file has it.
        """
        paths = {file.path for file in files}
        by_folded = _unique((_fold(file.path), file.path) for file in files)
        by_name = _unique((_fold(file.path).rpartition("/")[2], file.path) for file in files)
        rows: dict[str, ManifestRow] = {}
        problems = list(self.problems)
        for name, row in self._rows.items():
            folded = _fold(name)
            as_printed = unescape_path(name)  # the name as the command line shows it, copied from there
            exact = next((spelling for spelling in (name, as_printed) if spelling in paths), "")
            path = exact or by_folded.get(folded) or by_name.get(folded)
            if not path:
                problems.append(ManifestProblem(row.line, f"names a file that is not in the folder: {name}"))
            elif path in rows:
                reason = f"is about {path} again (first in line {rows[path].line}); the first row counts"
                problems.append(ManifestProblem(row.line, reason))
            else:
                rows[path] = row
        return Manifest(rows, sorted(problems))


def read_manifest(folder: Path, files: Sequence[SourceFile] | None = None) -> Manifest:
    """Return ``manifest.csv`` of the folder, empty when there is none; with ``files``, resolved against them.

    Raises:
        BadInputError: the manifest is there but cannot be read, or has no column that names files.
    """
    path = folder / MANIFEST_NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Manifest({})
    except OSError as error:
        raise BadInputError(f"{escape_path(str(path))} cannot be read: {error.strerror}.") from None
    manifest = parse_manifest(data, escape_path(str(path)))
    return manifest if files is None else manifest.resolve(files)


def parse_manifest(data: bytes, label: str = MANIFEST_NAME) -> Manifest:
    """Return the rows of a manifest's bytes: UTF-8 (with or without BOM), UTF-16 with BOM, else Windows-1252."""
    text = _decode(data)
    if not text.strip():
        return Manifest({}, [ManifestProblem(0, "the manifest is empty")])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_find_delimiter(text))
    columns: dict[int, str] = {}
    extra_columns: dict[int, str] = {}
    rows: dict[str, ManifestRow] = {}
    problems: list[ManifestProblem] = []
    for cells in _rows_of(reader, problems):
        if not any(cell.strip() for cell in cells):
            continue
        if not columns:
            columns, extra_columns = _read_header(cells)
            if "file" not in columns.values():
                raise BadInputError(f"{label} has no column named file.", hint="Its first line must name the columns.")
            continue
        line = reader.line_num
        row, complaints = _read_row(cells, columns, extra_columns, line)
        problems.extend(ManifestProblem(line, complaint) for complaint in complaints)
        if row is None:
            continue
        if row.file in rows:
            first = rows[row.file].line
            problems.append(
                ManifestProblem(line, f"is about {row.file} again (first in line {first}); the first row counts")
            )
        else:
            rows[row.file] = row
    return Manifest(rows, problems)


def _rows_of(reader: Iterator[list[str]], problems: list[ManifestProblem]) -> Iterator[list[str]]:
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.append(ManifestProblem(getattr(reader, "line_num", 0), f"cannot be read as CSV: {error}"))


def _read_header(cells: Sequence[str]) -> tuple[dict[int, str], dict[int, str]]:
    meaning = {name: column for column, names in COLUMN_NAMES.items() for name in names}
    columns: dict[int, str] = {}
    extra: dict[int, str] = {}
    for index, cell in enumerate(cells):
        column = meaning.get(re.sub(r"[^a-z0-9]", "", cell.lower()))
        if column and column not in columns.values():
            columns[index] = column
        elif cell.strip():
            extra[index] = cell.strip()
    return columns, extra


def _read_row(
    cells: Sequence[str], columns: Mapping[int, str], extra_columns: Mapping[int, str], line: int
) -> tuple[ManifestRow | None, list[str]]:
    values = {column: _clean(cells[index]) for index, column in columns.items() if index < len(cells)}
    complaints: list[str] = []
    if len(cells) > max([*columns, *extra_columns]) + 1 and any(
        _clean(cell) for cell in cells[max([*columns, *extra_columns]) + 1 :]
    ):
        complaints.append("has more cells than the header has columns")
    name = cells[next(index for index, column in columns.items() if column == "file")] if values.get("file") else ""
    if not name:
        return None, ["names no file", *complaints]
    year = _read_year(values.get("year", ""))
    if values.get("year") and year is None:
        complaints.append(f"year is not a year: {values['year']}")
    doi = normalise_doi(values.get("doi", ""))
    if values.get("doi") and not doi:
        complaints.append(f"doi is not a DOI: {values['doi']}")
    arxiv_id, arxiv_version = normalise_arxiv_id(values.get("arxiv_id", ""))
    if values.get("arxiv_id") and not arxiv_id:
        complaints.append(f"arxiv_id is not an arXiv id: {values['arxiv_id']}")
    row = ManifestRow(
        file=escape_path(name.strip("\r\n").removeprefix("./")),
        title=values.get("title", ""),
        authors=split_authors(values.get("authors", "")),
        year=year,
        doi=doi,
        arxiv_id=arxiv_id,
        arxiv_version=arxiv_version,
        paper_id=values.get("paper_id", ""),
        version_of=values.get("version_of", ""),
        supplement_of=values.get("supplement_of", ""),
        extra={extra_columns[i]: _clean(cells[i]) for i in extra_columns if i < len(cells) and _clean(cells[i])},
        line=line,
    )
    return row, complaints


def split_authors(text: str) -> tuple[str, ...]:
    """Return the names in a cell: separated by ``;``, ``|`` or `` and ``, else by commas between full names."""
    parts = re.split(r"\s*[;|]\s*|\s+and\s+|\s+&\s+", text.strip())
    if len(parts) == 1 and text.count(",") > 1 and all(" " in part.strip() for part in text.split(",")):
        parts = text.split(",")
    return tuple(name for part in parts if (name := " ".join(part.strip(" ,").split())))


def _read_year(text: str) -> int | None:
    match = re.search(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)", text)
    return int(match[1]) if match else None


def _find_delimiter(text: str) -> str:
    header = next(line for line in text.splitlines() if line.strip())
    return max(",\t;|", key=header.count)


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _clean(cell: str) -> str:
    text = "".join(char if char.isprintable() else " " for char in unicodedata.normalize("NFC", cell))
    return " ".join(text.split())


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path.replace("\\\\", "/")).casefold()


def _unique(pairs: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in pairs:
        found[key] = "" if key in found else value
    return {key: value for key, value in found.items() if value}
