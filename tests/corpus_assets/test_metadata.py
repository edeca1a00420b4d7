"""What is needed to cite a paper: from first pages made here, from XMP, from the manifest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus_assets.errors import BadInputError
from corpus_assets.identifiers import normalise_arxiv_id, normalise_doi
from corpus_assets.manifest import ManifestRow, parse_manifest, read_manifest, split_authors
from corpus_assets.metadata import apply_manifest, extract_metadata
from corpus_assets.model import PaperMetadata, SourceFile
from corpus_assets.pdf.front import FrontLine, FrontMatter

BODY = "The body of the paper is set in ten points and goes on for a while, as bodies do."


def lines(*rows: tuple[str, float] | str, page: int = 1, start: float = 60.0) -> tuple[FrontLine, ...]:
    """Lines below each other; a bare string is set in ten points."""
    result = []
    y = start
    for row in rows:
        text, size = (row, 10.0) if isinstance(row, str) else row
        result.append(FrontLine(text, size, False, page, y))
        y += 1.25 * max(size, 10.0)
    return tuple(result)


def front(*rows: tuple[str, float] | str, **fields: object) -> FrontMatter:
    return FrontMatter(lines=lines(*rows, *[BODY] * 20), **fields)  # type: ignore[arg-type]


class TestTitle:
    def test_the_largest_lines_are_the_title_and_journal_and_kind_are_not(self) -> None:
        found = extract_metadata(
            front(
                ("R E S C I E N C E", 24),
                ("Journal of Imaginary Botany", 20),
                ("Research Article", 18),
                ("Lichen growth on basalt: a", 18),
                ("four-year field study", 18),
                ("A. Okonkwo and B. Mensah", 12),
            )
        )
        assert found.title == "Lichen growth on basalt: a four-year field study"
        assert found.sources["title"] == "first_page"

    @pytest.mark.parametrize(
        "stated",
        [
            "untitled",
            "t.dvi",
            "Microsoft Word - final2.doc",
            "acl07.dvi",
            "ipg1300180a",
            "Proceedings of the 45th Meeting",
            "",
        ],
    )
    def test_what_programs_write_into_a_file_is_no_title(self, stated: str) -> None:
        rows = [("Lichen growth on basalt", 18.0), ("Proceedings of the 45th Meeting", 8.0)]
        assert extract_metadata(front(*rows, pdf_title=stated)).title == "Lichen growth on basalt"

    def test_the_files_own_title_counts_when_the_page_says_the_same(self) -> None:
        rows = [("Lichen growth on", 18.0), ("basalt", 14.0)]
        found = extract_metadata(front(*rows, pdf_title="Lichen growth on basalt"))
        assert (found.title, found.sources["title"]) == ("Lichen growth on basalt", "pdf_metadata")
        other = extract_metadata(front(*rows, pdf_title="Annual report of the botanical society"))
        assert other.title.startswith("Lichen growth on")

    def test_a_page_in_one_size_has_its_first_line_for_title_unless_that_is_a_sentence(self) -> None:
        same = FrontMatter(lines=lines("Tidal damping in shallow basins", *["Body text that goes on."] * 3))
        assert extract_metadata(same).title == "Tidal damping in shallow basins"
        sentence = FrontMatter(lines=lines("The dose used was 10 mg per day."))
        assert extract_metadata(sentence).title == ""

    @pytest.mark.parametrize(
        "rows",
        [
            ["100 | Annals of Imaginary Catalysis 12 (2021)", "Body text goes on."],
            ["The trap gave off undecanal and n-", "tridecanal at 4 ppm."],
            ["We measured the snow line over many", "years and found it rising."],
        ],
    )
    def test_running_headers_and_wrapped_sentences_are_no_title(self, rows: list[str]) -> None:
        assert extract_metadata(FrontMatter(lines=lines(*rows))).title == ""

    def test_text_files_name_their_title_in_markdown_or_in_the_first_line(self) -> None:
        def of(*texts: str) -> PaperMetadata:
            return extract_metadata(
                FrontMatter(lines=tuple(FrontLine(t, 0.0, False, 1, i) for i, t in enumerate(texts)))
            )

        assert of("# Lichen growth on basalt #", "body").title == "Lichen growth on basalt"
        assert of("---", 'title: "Moss: a survey"', "---").title == "Moss: a survey"
        assert of("Lichen growth on basalt", "Anna Okonkwo", "body").title == "Lichen growth on basalt"
        assert of("this is running text, not a title", "body").title == ""

    def test_a_title_from_xmp_without_any_readable_page(self) -> None:
        xmp = '<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Moss &amp; stone: a survey</rdf:li></rdf:Alt></dc:title>'
        found = extract_metadata(FrontMatter(xmp=xmp))
        assert (found.title, found.sources) == ("Moss & stone: a survey", {"title": "xmp"})

    def test_markup_in_the_files_title_is_not_believed(self) -> None:
        found = extract_metadata(FrontMatter(pdf_title="<script>alert(1)</script> {{7*7}} ../../etc"))
        assert "<" not in found.title and "{" not in found.title


class TestAuthors:
    @pytest.mark.parametrize(
        ("printed", "expected"),
        [
            (
                ["Anna Sundström,¹ Michael Rönnlund,² and Lars-Göran Nilsson⁴"],
                ("Anna Sundström", "Michael Rönnlund", "Lars-Göran Nilsson"),
            ),
            (
                ["Ross G. DOUGLAS∗¹, Geoffrey MASUYER‡ and K. Ravi ACHARYA†"],
                ("Ross G. Douglas", "Geoffrey Masuyer", "K. Ravi Acharya"),
            ),
            (["Di Cosmo, Roberto¹ and Danelutto, Marco²"], ("Roberto Di Cosmo", "Marco Danelutto")),
            (["Dani Arribas-Bel", "Department of Geography, University of Liverpool"], ("Dani Arribas-Bel",)),
            (
                ["Zena Lapp¹, Courtney R.", "Armour², and", "Maya M. Lapp"],
                ("Zena Lapp", "Courtney R. Armour", "Maya M. Lapp"),
            ),
            (["Vy Kim", "Nguyen¹, Ivo H. M. van Stokkum²"], ("Vy Kim Nguyen", "Ivo H. M. van Stokkum")),
            (["Department of Botany", "42 Main Street"], ()),
        ],
    )
    def test_names_are_read_without_marks_and_over_line_ends(
        self, printed: list[str], expected: tuple[str, ...]
    ) -> None:
        found = extract_metadata(
            front(("Lichen growth on basalt", 18), *[(text, 11.0) for text in printed], "Abstract")
        )
        assert found.authors == expected

    def test_the_files_own_list_counts_when_the_page_prints_those_names(self) -> None:
        rows = [("Lichen growth on basalt", 18.0), ("W. Ammar D. Groeneveld", 11.0)]
        stated = extract_metadata(front(*rows, pdf_author="Waleed Ammar ; Dirk Groeneveld"))
        assert (stated.authors, stated.sources["authors"]) == (("Waleed Ammar", "Dirk Groeneveld"), "pdf_metadata")
        assert extract_metadata(front(*rows, pdf_author="Jane Typesetter")).authors != ("Jane Typesetter",)
        assert extract_metadata(front(*rows, pdf_author="chrisq")).sources.get("authors") != "pdf_metadata"


class TestDoi:
    def test_a_broken_doi_keeps_its_hyphen_and_anothers_is_not_taken(self) -> None:
        """B32."""
        found = extract_metadata(
            FrontMatter(
                lines=lines(
                    "Tidal damping in shallow basins",
                    "Comment on doi:10.5555/other.2001.77 (see also the reply)",
                    "Published online. https://doi.org/10.5555/",
                    "TIDE-2020-10-",
                    "311704. Received 3 May 2020.",
                )
            )
        )
        assert found.doi == "10.5555/tide-2020-10-311704"
        assert found.sources["doi"] == "first_page"

    def test_only_anothers_doi_leaves_the_field_empty(self) -> None:
        rows = ["Comment on doi:10.5555/other.2001.77", "We follow earlier work (10.5555/cited.1) on this."]
        assert extract_metadata(front(("A comment on tides", 18), *rows)).doi == ""

    def test_references_and_data_are_not_the_paper(self) -> None:
        rows = [
            "Data are available at https://doi.org/10.5061/dryad.1234",
            "References",
            "1. Wells. doi:10.5555/wells.1",
        ]
        assert extract_metadata(front(("Lichen growth on basalt", 18), *rows)).doi == ""

    def test_a_label_in_a_side_column_counts_for_the_doi_below_it(self) -> None:
        rows = [("DOI", 8.0), "beside it the body runs on and on", ("10.5281/zenodo.3886628", 8.0)]
        assert extract_metadata(front(("Lichen growth on basalt", 18), *rows)).doi == "10.5281/zenodo.3886628"

    def test_a_doi_that_was_cut_gives_way_to_the_whole_one(self) -> None:
        rows = ["DOI: 10.21105/jose.00302", "Cite as https://doi.org/10.21105/jose.", "00302. 1"]
        assert extract_metadata(front(("Lichen growth on basalt", 18), *rows)).doi == "10.21105/jose.00302"

    def test_the_files_own_xmp_wins_over_the_page(self) -> None:
        xmp = "<prism:doi>10.1371/Journal.pone.0194893</prism:doi>"
        found = extract_metadata(front(("Lichen growth on basalt", 18), "doi:10.5555/other", xmp=xmp))
        assert (found.doi, found.sources["doi"]) == ("10.1371/journal.pone.0194893", "xmp")

    def test_a_figure_of_the_paper_is_not_the_paper(self) -> None:
        rows = ["https://doi.org/10.1371/journal.pone.0194893", "doi:10.1371/journal.pone.0194893.g001"]
        assert extract_metadata(front(("Lichen growth on basalt", 18), *rows)).doi == "10.1371/journal.pone.0194893"

    @pytest.mark.parametrize(
        ("text", "doi"),
        [
            ("https://doi.org/10.5555/tide-2020-10-311704.", "10.5555/tide-2020-10-311704"),
            ("DOI: 10.1016/S0140-6736(05)67889-3)", "10.1016/s0140-6736(05)67889-3"),
            ("(doi:10.1000/abc).", "10.1000/abc"),
            ("10.1000/a%2Fb", "10.1000/a/b"),
            ("10.1000/", ""),
            ("unavailable", ""),
        ],
    )
    def test_one_spelling_for_a_doi(self, text: str, doi: str) -> None:
        assert normalise_doi(text) == doi

    @given(st.text(max_size=40))
    def test_normalising_twice_changes_nothing(self, text: str) -> None:
        once = normalise_doi("10.1234/" + text)
        assert normalise_doi(once) == once


class TestArxiv:
    def test_the_stamp_on_page_one_counts_and_a_citation_does_not(self) -> None:
        stamp = front(("arXiv:1706.03762v5 [cs.CL] 6 Dec 2017", 20), ("Attention in moss", 18))
        found = extract_metadata(stamp)
        assert (found.arxiv_id, found.arxiv_version, found.year) == ("1706.03762", 5, 2017)
        assert found.title == "Attention in moss"
        cited = front(
            ("Attention in moss", 18), "As shown before (Wells et al., arXiv:1234.56789), moss grows where it can."
        )
        assert extract_metadata(cited).arxiv_id == ""

    def test_the_files_name_counts_when_it_is_an_id(self) -> None:
        found = extract_metadata(front(("Attention in moss", 18), file_name="1706.03762v5.pdf"))
        assert (found.arxiv_id, found.arxiv_version, found.sources["arxiv_id"]) == ("1706.03762", 5, "filename")
        assert extract_metadata(front(("Attention in moss", 18), file_name="scan 1706.pdf")).arxiv_id == ""

    def test_an_arxiv_doi_names_the_id(self) -> None:
        assert (
            extract_metadata(front(("Moss", 18), "https://doi.org/10.48550/arXiv.1706.03762")).arxiv_id == "1706.03762"
        )

    def test_old_ids(self) -> None:
        assert normalise_arxiv_id("arXiv:hep-th/9901001v2") == ("hep-th/9901001", 2)
        assert normalise_arxiv_id("10.1234/567") == ("", None)


class TestYear:
    @pytest.mark.parametrize(
        ("rows", "year"),
        [
            (["Received 3 May 2018; Accepted 4 June 2019; Published 7 January 2020"], 2020),
            (["Received 3 May 2018; Accepted 4 June 2019"], 2019),
            (["Clinical Science (2014) 126, 305-313", "© 2013 The Authors"], 2014),
            (["Rehabilitation Research, Volume 2010, Article ID 157939"], 2010),
            (["Copyright © 2011 Tully et al."], 2011),
            (["Proceedings of NAACL-HLT 2013, pages 211-220, Atlanta, 9-14 June 2013"], 2013),
            ([("Published", 8.0), "the body beside it goes back to 1988", ("09 June 2020", 8.0)], 2020),
        ],
    )
    def test_publication_details_decide(self, rows: list[str | tuple[str, float]], year: int) -> None:
        found = extract_metadata(front(*rows, ("Lichen growth on basalt", 18), pdf_creation="D:20230101000000Z"))
        assert (found.year, found.sources["year"]) == (year, "first_page")

    def test_a_journal_line_gives_the_year_and_no_author(self) -> None:
        """B41: nothing on the page is set larger than the rest."""
        rows = ["Lichen growth on basalt", "A. Okonkwo", "J Imag Bot, 2018", "Thalli grew 0.4 mm per year."]
        found = extract_metadata(FrontMatter(lines=lines(*rows)))
        assert (found.title, found.authors, found.year) == ("Lichen growth on basalt", ("A. Okonkwo",), 2018)
        cites = ["Stone and crust: a review", "Point 0 follows the earlier study (Okonkwo, 2018)."]
        assert extract_metadata(FrontMatter(lines=lines(*cites))).year is None

    def test_years_of_cited_work_do_not_count(self) -> None:
        rows = [BODY] * 12 + [
            "Brown et al. (1993) built a model that was published in 1994, see Proceedings of X 1995."
        ]
        found = extract_metadata(front(("Lichen growth on basalt", 18), *rows, pdf_creation="D:20040611191217"))
        assert (found.year, found.sources["year"]) == (2004, "pdf_metadata")

    def test_nothing_found_is_none(self) -> None:
        assert extract_metadata(front(("Lichen growth on basalt", 18))).year is None
        assert extract_metadata(FrontMatter()) == PaperMetadata()


class TestManifest:
    def test_the_manifest_wins_and_says_so(self) -> None:
        row = ManifestRow(
            "a.pdf", title="Stated", authors=("A B",), year=1999, doi="10.1/stated", arxiv_id="1706.03762"
        )
        found = extract_metadata(front(("Lichen growth on basalt", 18), "doi:10.5555/printed"), row)
        assert (found.title, found.authors, found.year, found.doi) == ("Stated", ("A B",), 1999, "10.1/stated")
        assert set(found.sources.values()) == {"manifest"}

    def test_empty_cells_leave_what_was_read(self) -> None:
        read = PaperMetadata(title="Read", year=2001, sources={"title": "first_page", "year": "first_page"})
        found = apply_manifest(read, ManifestRow("a.pdf", year=2002))
        assert (found.title, found.year) == ("Read", 2002)
        assert found.sources == {"title": "first_page", "year": "manifest"}

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_headers_separators_and_encodings_as_people_write_them(self, encoding: str, delimiter: str) -> None:
        header = delimiter.join(
            ["File Name", "Title", "Author(s)", "Publication Year", "DOI", "arXiv", "Paper ID", "Lab"]
        )
        cells = [
            "sub/Müller.pdf",
            "Moss",
            '"Müller, Jan; B. Mensah"',
            "2019-05-01",
            "https://doi.org/10.1234/X",
            "1706.03762v2",
        ]
        row = delimiter.join([*cells, "moss-1", "West"])
        manifest = parse_manifest(f"{header}\r\n\r\n{row}\r\n".encode(encoding))
        assert manifest.problems == ()
        assert manifest["sub/Müller.pdf"] == ManifestRow(
            file="sub/Müller.pdf",
            title="Moss",
            authors=("Müller, Jan", "B. Mensah"),
            year=2019,
            doi="10.1234/x",
            arxiv_id="1706.03762",
            arxiv_version=2,
            paper_id="moss-1",
            extra={"Lab": "West"},
            line=3,
        )

    def test_rows_that_cannot_be_used_are_findings(self) -> None:
        text = "file,title,year,doi\na.pdf,A,soon,10.x\n,no file,2001,\na.pdf,again,2002,\n"
        text += "b.pdf,B,2003,10.1234/b,too many\n"
        manifest = parse_manifest(text.encode())
        assert list(manifest) == ["a.pdf", "b.pdf"]
        assert manifest["a.pdf"].title == "A"
        assert [(problem.line, problem.reason.split(":")[0]) for problem in manifest.problems] == [
            (2, "year is not a year"),
            (2, "doi is not a DOI"),
            (3, "names no file"),
            (4, "is about a.pdf again (first in line 2); the first row counts"),
            (5, "has more cells than the header has columns"),
        ]

    def test_rows_find_their_files_and_the_others_are_named(self) -> None:
        text = "file\nSub\\One.PDF\nmu\u0308ller.pdf\ntwo.pdf\ngone.pdf\nsub/one.pdf\n"
        files = [
            SourceFile(path, "", 0, 0, 0)
            for path in ("sub/one.pdf", "müller.pdf", "deep/two.pdf", "x/t.pdf", "y/t.pdf")
        ]
        manifest = parse_manifest(text.encode()).resolve(files)
        assert set(manifest) == {"sub/one.pdf", "müller.pdf", "deep/two.pdf"}
        assert [problem.line for problem in manifest.problems] == [5, 6]
        assert "gone.pdf" in manifest.problems[0].reason

    def test_a_name_in_bytes_that_are_not_utf8_can_be_given_escaped(self) -> None:
        manifest = parse_manifest(b"file\ncaf\\xe9 2020.pdf\n").resolve([SourceFile("caf\\xe9 2020.pdf", "", 0, 0, 0)])
        assert list(manifest) == ["caf\\xe9 2020.pdf"]

    def test_no_manifest_is_an_empty_one_and_a_useless_one_is_refused(self, tmp_path: Path) -> None:
        assert len(read_manifest(tmp_path)) == 0
        (tmp_path / "manifest.csv").write_text("name of thing,title\nx,y\n")
        with pytest.raises(BadInputError, match=r"manifest\.csv has no column named file"):
            read_manifest(tmp_path)
        (tmp_path / "manifest.csv").write_text("")
        assert read_manifest(tmp_path).problems[0].reason == "the manifest is empty"

    def test_moving_a_row_does_not_change_what_it_says(self) -> None:
        one, other = ManifestRow("a.pdf", title="A", line=2), ManifestRow("a.pdf", title="A", line=9)
        assert one.fingerprint() == other.fingerprint() != ManifestRow("a.pdf", title="B", line=2).fingerprint()

    @pytest.mark.parametrize(
        ("cell", "names"),
        [
            ("Müller, Jan; Mensah, B.", ("Müller, Jan", "Mensah, B.")),
            ("Jan Müller, Bea Mensah, C. Wu", ("Jan Müller", "Bea Mensah", "C. Wu")),
            ("Jan Müller and Bea Mensah", ("Jan Müller", "Bea Mensah")),
            ("Müller, Jan", ("Müller, Jan",)),
            ("", ()),
        ],
    )
    def test_author_cells(self, cell: str, names: tuple[str, ...]) -> None:
        assert split_authors(cell) == names


@pytest.mark.slow
def test_metadata_of_real_papers_is_good_enough_to_cite() -> None:
    data = os.environ.get("RESEARCH_COPILOT_TEST_DATA")
    if not data or not (Path(data) / "pdf" / "papers_groundtruth").is_dir():
        pytest.skip("RESEARCH_COPILOT_TEST_DATA names no folder with pdf/papers_groundtruth")
    from benchmarks.bench_metadata import FLOORS, measure

    scores = measure(Path(data))
    assert {name: scores[name].share for name in FLOORS if scores[name].share < FLOORS[name]} == {}
