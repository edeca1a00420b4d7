"""Reading order, drop caps, scripts, furniture: on drawn pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus_assets.model import ParsedPaper
from corpus_assets.pdf.reader import read_paper
from corpus_assets.settings import ParseSettings
from tests.corpus_assets.pdf_factory import FILLER, Pdf


def read(tmp_path: Path, pdf: Pdf) -> ParsedPaper:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf.to_bytes())
    return read_paper(str(path), ParseSettings(ocr="off"))


def assert_in_order(text: str, *parts: str) -> None:
    places = [text.index(part) for part in parts]
    assert places == sorted(places), list(zip(parts, places, strict=True))


def column(word: str, num_lines: int = 12) -> list[str]:
    return [f"{word} line {n} goes on about the moss of a wall" for n in range(num_lines)]


def test_two_columns_are_read_one_after_the_other_whatever_order_they_are_drawn_in(tmp_path):
    pdf = Pdf().add_page()
    pdf.write("A wide title that stands over both of the columns of this page", y=60, size=16)
    for n, (left, right) in enumerate(zip(column("left"), column("right"), strict=True)):
        pdf.write(right, x=320, y=110 + 13 * n).write(left, x=60, y=110 + 13 * n)
    text = read(tmp_path, pdf).text
    assert_in_order(text, "A wide title", "left line 0", "left line 11", "right line 0", "right line 11")


def test_a_wide_caption_does_not_stand_inside_a_sentence(tmp_path):
    pdf = Pdf().add_page()
    caption = "Figure 1. The wall in the valley from the west, and the same wall from the east on a day of rain."
    pdf.write(caption, x=60, y=90, size=8.5)
    left, right = column("left"), column("right")
    left[-1] = "the sentence which begins here at the end is"
    right[0] = "continued at the top of the second column, yes"
    pdf.write_lines(left, x=60, y=120).write_lines(right, x=320, y=120)
    text = read(tmp_path, pdf).text
    assert "begins here at the end is continued at the top" in text
    assert caption in text


def test_a_column_float_does_not_stand_inside_a_sentence(tmp_path):
    pdf = Pdf().add_page()
    left, right = column("left", 30), column("right", 20)
    left[-1] = "the sentence which begins here at the end is"
    right[0] = "continued under the float of this column, yes"
    pdf.write_lines(left, x=60, y=120)
    pdf.write_lines(["Figure 2. A wall with moss and the", "shade of a tall tree on it."], x=320, y=120, size=8)
    pdf.write_lines(right, x=320, y=180)
    text = read(tmp_path, pdf).text
    assert "begins here at the end is continued under the float" in text
    assert "Figure 2. A wall with moss and the shade of a tall tree on it." in text


def test_a_table_is_read_row_by_row(tmp_path):
    pdf = Pdf().add_page()
    for n in range(8):
        pdf.write(f"row{n}", x=72, y=100 + 14 * n).write(f"{n}.5", x=220, y=100 + 14 * n).write(
            f"{n}0", x=400, y=100 + 14 * n
        )
    assert_in_order(read(tmp_path, pdf).text, "row0 0.5 00", "row1 1.5 10", "row7 7.5 70")


def test_b11_a_drop_cap_is_put_back_onto_its_word(tmp_path):
    pdf = Pdf().add_page().write("T", y=112, size=40)
    pdf.write("he melting point of gallium is 29.8 degrees,", x=98, y=90)
    pdf.write("well below that of indium, and the metal wets", x=98, y=104)
    pdf.write("glass when it is held above that temperature.", y=126)
    assert read(tmp_path, pdf).text == (
        "The melting point of gallium is 29.8 degrees, well below that of indium, and the metal wets glass when it is "
        "held above that temperature."
    )


def test_b08_b10_raised_numbers_are_superscripts(tmp_path):
    pdf = Pdf().add_page()
    pdf.write_run(
        [("It held (p = 5.8 x 10", 11, 0), ("-48", 6, 4), (") in 910 samples of CO", 11, 0), ("2", 6, -2), (".", 11, 0)]
    )
    pdf.write_run([("Drug Q improved survival", 11, 0), ("12,13", 6, 4), (" in 40 patients.", 11, 0)], y=140)
    text = read(tmp_path, pdf).text
    assert "(p = 5.8 x 10⁻⁴⁸) in 910 samples of CO₂." in text
    assert "improved survival¹²,¹³ in 40 patients." in text


def test_b17_right_to_left_text_keeps_its_numbers(tmp_path):
    pdf = Pdf().add_page().write_html("המחקר כלל 42 נבדקים בשנת 2019.")
    pdf.add_page().write_html("مرحبا")
    text = read(tmp_path, pdf).text
    assert "המחקר כלל 42 נבדקים בשנת 2019" in text
    assert "مرحبا" in text


def test_b14_composed_decomposed_and_detached_accents_are_one_text(tmp_path):
    spellings = ("Müller and René", "Mu\u0308ller and Rene\u0301", "M¨uller and Ren´e")
    papers = [read(tmp_path, Pdf().add_page().write_html(f"{s} measured the snow line.")) for s in spellings]
    assert {paper.text for paper in papers} == {"Müller and René measured the snow line."}
    assert ["detached_accents" in paper.flags for paper in papers] == [False, False, True]


def test_b02_a_ligature_is_its_letters(tmp_path):
    text = read(tmp_path, Pdf().add_page().write_html("The assay was an eﬃcient marker of ﬁbrosis.")).text
    assert text == "The assay was an efficient marker of fibrosis."


def test_a_line_drawn_twice_is_read_once(tmp_path):
    pdf = Pdf().add_page().write("Fake bold heading", y=90).write("Fake bold heading", x=72.4, y=90)
    pdf.write_lines(FILLER, y=110)
    assert read(tmp_path, pdf).text.count("Fake bold heading") == 1


def test_a_stamp_in_the_margin_is_furniture(tmp_path):
    pdf = Pdf().add_page().write_lines(FILLER)
    pdf.write("arXiv:2001.00001v2 [q-bio] 1 Jan 2020", x=30, y=500, size=16, rotate=90)
    paper = read(tmp_path, pdf)
    assert "arXiv" not in paper.text
    assert "arXiv:2001.00001v2" in paper.pages[0].furniture


@pytest.mark.parametrize("angle", [90, 270])
def test_the_arxiv_id_is_read_from_a_stamp_drawn_up_the_margin(tmp_path, angle):
    pdf = Pdf().add_page().write("On the moss of northern walls", y=60, size=16).write_lines(FILLER, y=100)
    pdf.write("arXiv:2001.00001v2 [q-bio] 1 Jan 2020", x=30, y=500, size=20, rotate=angle)
    metadata = read(tmp_path, pdf).metadata
    assert (metadata.arxiv_id, metadata.arxiv_version) == ("2001.00001", 2)
    assert metadata.title == "On the moss of northern walls"


def test_two_pages_are_enough_for_a_running_header_that_stands_apart(tmp_path):
    pdf = Pdf()
    for number in (1, 2):
        pdf.add_page().write("Journal of Small Tests 7 (2020)", y=36, size=8)
        pdf.write("The same sentence opens both of the pages here.", y=80)
        pdf.write_lines([FILLER[(number + n) % len(FILLER)] for n in range(5)], y=93)
        pdf.write(f"Example et al. {number}", y=815, size=8)
    paper = read(tmp_path, pdf)
    assert "Journal" not in paper.text
    assert "Example et al." not in paper.text
    assert paper.text.count("The same sentence opens both") == 2
    assert paper.pages[1].furniture.splitlines() == ["Journal of Small Tests 7 (2020)", "Example et al. 2"]


def test_line_numbers_in_the_margin_are_furniture(tmp_path):
    pdf = Pdf().add_page()
    lines = [FILLER[n % len(FILLER)] for n in range(20)]
    for n, line in enumerate(lines):
        pdf.write(str(n + 1), x=40, y=80 + 16 * n, size=8).write(line, y=80 + 16 * n)
    paper = read(tmp_path, pdf)
    assert " 7 " not in paper.text
    assert "7" in paper.pages[0].furniture.splitlines()


def test_paragraphs_begin_at_gaps_and_indents(tmp_path):
    pdf = Pdf().add_page()
    flowing = [line.rstrip(".") for line in FILLER]
    pdf.write_lines([*flowing[:2], FILLER[2]], y=80)
    pdf.write_lines([*flowing[3:5], FILLER[5]], y=150)
    pdf.write("An indented line begins here and runs on to the edge of it,", x=90, y=189)
    pdf.write("and goes on below at the left edge of the column as usual.", y=202)
    assert len(read(tmp_path, pdf).text.split("\n\n")) == 3


def test_a_table_inside_one_column_is_not_read_into_the_other(tmp_path):
    pdf = Pdf().add_page().write_lines(column("left", 30), x=60, y=110)
    for n in range(14):
        cells = zip((320, 390, 450, 510), (f"cell{n}a", f"{n}.5", f"{n}.7", f"{n}.9"), strict=True)
        for x, cell in cells:
            pdf.write(cell, x=x, y=116 + 11.3 * n, size=8)
    pdf.write_lines(column("right", 3), x=320, y=300)
    text = read(tmp_path, pdf).text
    assert_in_order(text, "left line 0", "left line 1 goes", "left line 29", "right line 0", "right line 2")
    assert "cell0a 0.5 0.7 0.9 cell1a" in " ".join(text.split())


def test_a_table_whose_rows_are_text_and_numbers_is_still_read_row_by_row(tmp_path):
    pdf = Pdf().add_page()
    for n, line in enumerate(column("row", 12)):
        pdf.write(line, x=60, y=110 + 13 * n).write(f"{n}.25", x=380, y=110 + 13 * n)
    assert_in_order(read(tmp_path, pdf).text, "row line 0", "0.25", "row line 1 goes", "1.25", "row line 11", "11.25")


def test_labels_of_a_figure_do_not_hide_the_columns_below_it(tmp_path):
    pdf = Pdf().add_page()
    for n in range(24):
        x, y = 35 * (n % 6), 80 + 12 * (n // 6)
        pdf.write("NH", x=330 + x, y=y, size=7).write("OH", x=70 + x, y=y, size=7)
    for n, (left, right) in enumerate(zip(column("left"), column("right"), strict=True)):
        pdf.write(left, x=60, y=160 + 13 * n).write(right, x=320, y=160 + 13 * n)
    assert_in_order(read(tmp_path, pdf).text, "left line 0", "left line 11", "right line 0", "right line 11")


@pytest.mark.parametrize("title", ["3.2 Rain on walls", "Rain on walls"])
def test_a_title_in_italics_without_space_around_it_is_a_heading(tmp_path, title):
    pdf = Pdf().add_page()
    pdf.write("Results", 72, 80, 12, "hebo")
    pdf.write_lines(FILLER[:3], 72, 100)
    pdf.write(title, 72, 139, 10, "heit")
    pdf.write_lines(FILLER[3:], 72, 152)
    paper = read(tmp_path, pdf)
    assert [section.title for section in paper.sections if section.title] == ["Results", "Rain on walls"]
    assert f"{FILLER[2]}\n\n{title}\n\n{FILLER[3]}" in paper.text


def test_a_line_in_italics_inside_a_sentence_is_no_heading(tmp_path):
    pdf = Pdf().add_page()
    pdf.write("Results", 72, 80, 12, "hebo")
    pdf.write_lines([*FILLER[:2], "The moss that grew on the northern side of every wall was"], 72, 100)
    pdf.write("Tortula muralis", 72, 139, 10, "heit")
    pdf.write_lines(["and it covered more than half of the stones that we had", *FILLER[3:]], 72, 152)
    paper = read(tmp_path, pdf)
    assert [section.title for section in paper.sections if section.title] == ["Results"]
    assert "every wall was Tortula muralis and it covered" in paper.text
