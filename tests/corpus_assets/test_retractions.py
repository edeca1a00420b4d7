"""Retraction tables in Retraction Watch's layout, and what titles say of themselves."""

from __future__ import annotations

import csv
import re
from datetime import date
from pathlib import Path

import pytest

from corpus_assets.errors import BadInputError
from corpus_assets.retractions import RetractionTable, classify_title, read_retractions

COLUMNS = re.split(
    r",\s*",
    """Record ID,Title,Subject,Institution,Journal,Publisher,Country,Author,URLS,ArticleType,RetractionDate,
    RetractionDOI,RetractionPubMedID,OriginalPaperDate,OriginalPaperDOI,OriginalPaperPubMedID,RetractionNature,
    Reason,Paywalled,Notes""",
)


def write_table(folder: Path, *rows: dict[str, str], encoding: str = "utf-8") -> Path:
    path = folder / "retractions.csv"
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(doi: str, nature: str = "Retraction", dated: str = "3/14/2019 0:00", **more: str) -> dict[str, str]:
    return {"OriginalPaperDOI": doi, "RetractionNature": nature, "RetractionDate": dated, **more}


def read(folder: Path, *rows: dict[str, str]) -> RetractionTable:
    return read_retractions(write_table(folder, *rows))


def nature_of(table: RetractionTable, doi: str) -> str:
    notice = table.lookup(doi)
    return notice.nature if notice else ""


class TestLookup:
    def test_a_doi_is_found_in_any_case_and_spelling(self, tmp_path: Path) -> None:
        table = read(tmp_path, row("10.5555/Moss.2019.A", RetractionDOI="10.5555/notice", Reason="+Error in Data;"))
        for doi in ("10.5555/moss.2019.a", "10.5555/MOSS.2019.A", "https://doi.org/10.5555/Moss.2019.A"):
            notice = table.lookup(doi)
            assert notice is not None
            assert (notice.nature, notice.dated, notice.notice_doi) == (
                "retraction",
                date(2019, 3, 14),
                "10.5555/notice",
            )
        assert table.lookup("10.5555/moss.2019.b") is None
        assert table.lookup("") is None
        assert table.as_of == date(2019, 3, 14)

    def test_the_four_natures_are_kept_apart(self, tmp_path: Path) -> None:
        natures = {
            "Retraction": "retraction",
            "Expression of concern": "expression_of_concern",
            "Correction": "correction",
            "Reinstatement": "reinstatement",
        }
        table = read(tmp_path, *[row(f"10.5555/{i}", nature) for i, nature in enumerate(natures)])
        assert [nature_of(table, f"10.5555/{i}") for i in range(4)] == list(natures.values())

    @pytest.mark.parametrize(
        ("events", "standing"),
        [
            ([("Retraction", "2019-01-01"), ("Reinstatement", "2020-01-01")], "reinstatement"),
            ([("Reinstatement", "2020-01-01"), ("Retraction", "2019-01-01")], "reinstatement"),
            (
                [("Retraction", "2019-01-01"), ("Reinstatement", "2020-01-01"), ("Retraction", "2021-01-01")],
                "retraction",
            ),
            ([("Retraction", "2019-01-01"), ("Correction", "2020-01-01")], "retraction"),
            ([("Expression of concern", "2019-01-01"), ("Retraction", "2020-01-01")], "retraction"),
            ([("Retraction", "2019-01-01"), ("Expression of concern", "2020-01-01")], "retraction"),
            ([("Expression of concern", "2019-01-01"), ("Correction", "2020-01-01")], "expression_of_concern"),
            (
                [("Retraction", "2019-01-01"), ("Reinstatement", "2020-01-01"), ("Correction", "2021-01-01")],
                "correction",
            ),
            ([("Reinstatement", "2019-01-01"), ("Retraction", "2019-01-01")], "retraction"),
        ],
    )
    def test_the_history_decides_not_the_order_of_rows(
        self, tmp_path: Path, events: list[tuple[str, str]], standing: str
    ) -> None:
        table = read(tmp_path, *[row("10.5555/a", nature, dated) for nature, dated in events])
        assert nature_of(table, "10.5555/a") == standing
        reverse = read(tmp_path, *[row("10.5555/a", nature, dated) for nature, dated in reversed(events)])
        assert nature_of(reverse, "10.5555/a") == standing
        assert len(table.history("10.5555/A")) == len(events)


class TestReading:
    def test_rows_that_cannot_be_used_are_findings(self, tmp_path: Path) -> None:
        table = read(
            tmp_path,
            row("10.5555/a"),
            row("not a doi"),
            row("10.5555/b", "Rumour"),
            row("10.5555/c", dated="in spring"),
            row("unavailable"),
            {},
        )
        assert [(problem.line, problem.reason.split(":")[0]) for problem in table.problems] == [
            (3, "OriginalPaperDOI is not a DOI"),
            (4, "nature is not known"),
            (5, "date is not a date"),
        ]
        assert nature_of(table, "10.5555/c") == "retraction"  # a retraction without a date is one still
        assert table.num_without_doi == 1
        assert table.lookup("10.5555/b") is None

    def test_too_many_cells_are_a_finding(self, tmp_path: Path) -> None:
        path = write_table(tmp_path, row("10.5555/a"))
        with path.open("a") as file:
            file.write("x," * 30 + "\n")
        assert "more cells" in read_retractions(path).problems[0].reason

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
    def test_encodings(self, tmp_path: Path, encoding: str) -> None:
        path = write_table(tmp_path, row("10.5555/a", Title="Mörtel"), encoding=encoding)
        notice = read_retractions(path).lookup("10.5555/a")
        assert notice is not None and notice.title == "Mörtel"

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(BadInputError, match=r"nowhere\.csv does not exist.*retractions_path"):
            read_retractions(tmp_path / "nowhere.csv")
        with pytest.raises(BadInputError, match="cannot be read"):
            read_retractions(tmp_path)

    def test_another_table_is_refused_with_the_missing_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "retractions.csv"
        path.write_text("doi,nature\n10.5555/a,Retraction\n")
        with pytest.raises(BadInputError, match="no column OriginalPaperDOI, RetractionNature, RetractionDate"):
            read_retractions(path)


@pytest.mark.parametrize(
    ("title", "nature"),
    [
        ("Retraction: Moss on basalt", "retraction"),
        ("RETRACTED: Moss on basalt", "retraction"),
        ("RETRACTED ARTICLE: Moss on basalt", "retraction"),
        ("Retraction Note to: Moss on basalt", "retraction"),
        ("Notice of Retraction: Moss on basalt", "retraction"),
        ("Retraction for “Moss on basalt”", "retraction"),
        ("Moss on basalt [Retracted]", "retraction"),
        ("WITHDRAWN: Moss on basalt", "retraction"),
        ("Expression of Concern: Moss on basalt", "expression_of_concern"),
        ("Editorial Expression of Concern: Moss on basalt", "expression_of_concern"),
        ("Author Correction: Moss on basalt", "correction"),
        ("Erratum to: Moss on basalt", "correction"),
        ("Reinstatement: Moss on basalt", "reinstatement"),
        ("Retraction of the eyelid in thyroid disease", ""),
        ("Withdrawal of antidepressants in adults", ""),
        ("Retractions in the medical literature", ""),
        ("Correction for attenuation in tests", ""),
        ("Detecting retracted articles in citation networks", ""),
        ("", ""),
    ],
)
def test_titles_say_what_a_notice_is(title: str, nature: str) -> None:
    assert classify_title(title) == nature
