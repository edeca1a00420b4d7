"""Retractions, concerns, corrections and reinstatements, from a local table in Retraction Watch's public CSV layout.

The layout is described at https://gitlab.com/crossref/retraction-watch-data; only four columns are needed here:
``OriginalPaperDOI``, ``RetractionNature``, ``RetractionDate`` and, to cite the notice, ``RetractionDOI``.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple

from corpus_assets.errors import BadInputError
from corpus_assets.identifiers import normalise_doi
from corpus_assets.paths import escape_path

RETRACTION = "retraction"
CONCERN = "expression_of_concern"
CORRECTION = "correction"
REINSTATEMENT = "reinstatement"

NEEDED_COLUMNS = ("OriginalPaperDOI", "RetractionNature", "RetractionDate")
_NATURES: Mapping[str, str] = {
    "retraction": RETRACTION,
    "withdrawal": RETRACTION,
    "expressionofconcern": CONCERN,
    "correction": CORRECTION,
    "erratum": CORRECTION,
    "corrigendum": CORRECTION,
    "reinstatement": REINSTATEMENT,
}
_GRAVITY = (RETRACTION, CONCERN, CORRECTION)  # a correction that follows a retraction does not undo it
_NO_DOI = frozenset({"", "unavailable", "na", "n/a", "none", "unknown"})
_DATE_FORMATS = (
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y",
    "%Y-%m-%d",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S",
)

_TITLE_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (nature, re.compile(pattern, re.IGNORECASE))
    for nature, pattern in (
        (REINSTATEMENT, r"^\W*reinstate(?:d|ment)\b\W*(?::|of\b|notice\b|article\b)"),
        (
            RETRACTION,
            r"^\W*(?:(?:notice of |statement of )?(?:partial )?(?:retraction|withdrawal)"
            r"(?: (?:notice|note|statement|article))?\s*(?:[:\]–—]|- |to:|of:|for:|$)"
            r"|(?:retracted|withdrawn)(?: (?:article|paper|chapter|publication))?\s*(?:[:\]–—]|- )"
            r"|(?:retraction|withdrawal) (?:of|to|for) [“\"'‘])"
            r"|[\[(](?:retracted|withdrawn)(?: (?:article|paper))?[\])]\W*$",
        ),
        (CONCERN, r"^\W*(?:editorial |notice of |editor['’]s )?expressions? of concern\b"),
        (
            CORRECTION,
            r"^\W*(?:author |publisher |publisher['’]s )?(?:correction|corrigendum|erratum|addendum)"
            r"(?: (?:to|for|notice))?\s*(?:[:\]–—]|to\b)",
        ),
    )
)


class Notice(NamedTuple):
    """One event in the life of a paper; ``nature`` is one of the four constants above."""

    doi: str  # of the paper it is about
    nature: str
    dated: date | None
    notice_doi: str = ""
    reason: str = ""
    title: str = ""
    line: int = 0


class TableProblem(NamedTuple):
    """A row that could not be used. ``line`` counts the file's lines from 1."""

    line: int
    reason: str


@dataclass(frozen=True)
class RetractionTable:
    """Notices by the paper's DOI, oldest first; ``as_of`` is the date of the newest one."""

    notices: Mapping[str, Sequence[Notice]]
    problems: tuple[TableProblem, ...] = ()
    num_without_doi: int = 0
    as_of: date | None = None

    def lookup(self, doi: str) -> Notice | None:
        """Return the notice that decides a paper's standing today; None when there is none about this DOI.

        A reinstatement clears what came before it. Of what came after, the gravest decides: a corrected retraction is
        a retraction still. On the same day a retraction counts as the later.
        """
        history = self.notices.get(normalise_doi(doi) or doi.lower(), ())
        if not history:
            return None
        cleared = max((i for i, notice in enumerate(history) if notice.nature == REINSTATEMENT), default=-1)
        since = history[cleared + 1 :]
        if not since:
            return history[cleared]
        gravest = min(_GRAVITY.index(notice.nature) for notice in since)
        return [notice for notice in since if notice.nature == _GRAVITY[gravest]][-1]

    def history(self, doi: str) -> Sequence[Notice]:
        """Return every notice about a DOI, oldest first."""
        return self.notices.get(normalise_doi(doi) or doi.lower(), ())


def read_retractions(path: Path) -> RetractionTable:
    """Return the table; rows that cannot be used are in ``problems``.

    Raises:
        BadInputError: the file is missing, cannot be read, or lacks a needed column.
    """
    label = escape_path(str(path))
    hint = "Set parse.retractions_path to a CSV in Retraction Watch's column layout, or unset it."
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BadInputError(f"The table of retractions {label} does not exist.", hint=hint) from None
    except OSError as error:
        raise BadInputError(f"The table of retractions {label} cannot be read: {error.strerror}.", hint=hint) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    names = {re.sub(r"[^a-z]", "", (name or "").lower()): name for name in reader.fieldnames or ()}
    missing = [column for column in NEEDED_COLUMNS if column.lower() not in names]
    if missing:
        raise BadInputError(f"The table of retractions {label} has no column {', '.join(missing)}.", hint=hint)
    return _read_rows(reader, names)


def _read_rows(reader: csv.DictReader[str], names: Mapping[str, str]) -> RetractionTable:
    found: dict[str, list[Notice]] = defaultdict(list)
    problems: list[TableProblem] = []
    num_without_doi = 0
    for row in _rows(reader, problems):
        cells = {key: " ".join((row.get(name) or "").split()) for key, name in names.items()}
        if not any(cells.values()):
            continue
        nature = _NATURES.get(re.sub(r"[^a-z]", "", cells["retractionnature"].lower()))
        stated = cells["originalpaperdoi"]
        doi = normalise_doi(stated)
        dated = _read_date(cells["retractiondate"])
        if nature is None:
            problems.append(
                TableProblem(reader.line_num, f"nature is not known: {cells['retractionnature'] or 'empty'}")
            )
            continue
        if stated.lower() in _NO_DOI:
            num_without_doi += 1
            continue
        if not doi:
            problems.append(TableProblem(reader.line_num, f"OriginalPaperDOI is not a DOI: {stated}"))
            continue
        if dated is None:
            problems.append(
                TableProblem(
                    reader.line_num, f"date is not a date: {cells['retractiondate'] or 'empty'}; taken as the oldest"
                )
            )
        notice_doi, reason = normalise_doi(cells.get("retractiondoi", "")), cells.get("reason", "")
        found[doi].append(Notice(doi, nature, dated, notice_doi, reason, cells.get("title", ""), reader.line_num))
    notices = {doi: tuple(sorted(history, key=_chronology)) for doi, history in found.items()}
    dates = [notice.dated for history in notices.values() for notice in history if notice.dated]
    return RetractionTable(notices, tuple(problems), num_without_doi, max(dates, default=None))


def _rows(reader: csv.DictReader[str], problems: list[TableProblem]) -> Iterable[dict[str, str]]:
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.append(TableProblem(reader.line_num, f"cannot be read as CSV: {error}"))
            continue
        if None in row:
            problems.append(TableProblem(reader.line_num, "has more cells than the header has columns"))
        yield row


def _chronology(notice: Notice) -> tuple[date, bool, int]:
    return notice.dated or date.min, notice.nature != REINSTATEMENT, notice.line


def _read_date(text: str) -> date | None:
    for layout in _DATE_FORMATS:
        try:
            return datetime.strptime(text, layout).date()
        except ValueError:
            continue
    return None


def classify_title(title: str) -> str:
    """Return what a title says of itself (``"Retraction: …"``, ``"RETRACTED: …"``), or ``""`` for an ordinary one."""
    return next((nature for nature, pattern in _TITLE_SIGNS if pattern.search(title)), "")
