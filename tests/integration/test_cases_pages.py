"""Faults seen in the field between a page and what is found on it: each once, on files made here."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest

from corpus_assets.settings import ChunkSettings
from tests.corpus_assets.pdf_factory import Pdf, make_pdf
from tests.integration.cli_corpus import InProcess, run_on_terminal
from tests.integration.small_corpus import build_corpus, build_corpus_of


def html(*pages: str) -> bytes:
    pdf = Pdf()
    for text in pages:
        pdf.add_page().write_html(text)
    return pdf.to_bytes()


def test_a_hyphen_at_a_line_end_stays_when_it_belongs_to_the_word(tmp_path):
    lines = [
        "The vial held decanal and n-",
        "pentadecanal at 6 ppm. The insulin-",
        "dependent step was shown by electro-",
        "phoresis in 8 of 11 rats.",
    ]
    corpus = build_corpus(tmp_path, a=make_pdf(lines))
    for query in ("n-pentadecanal", "insulin-dependent", "electrophoresis"):
        hits = corpus.search(query)
        assert (hits[0]["rank"], hits[0]["pages"]) == (1, "1"), query
    text = corpus.text
    assert "npentadecanal" not in text
    assert "insulindependent" not in text
    assert "electrophoresis" in text


@pytest.mark.parametrize("mode", ["fts_only", "embedding_only", "hybrid"])
def test_a_word_set_with_ligatures_is_found_typed_and_pasted(tmp_path, mode):
    corpus = build_corpus(tmp_path, a=html("A su\ufb03cient \ufb02ow kept the \ufb01lter clean in 14 tanks."))
    assert "sufficient flow kept the filter" in corpus.text
    typed, pasted = corpus.search("sufficient filter", mode), corpus.search("su\ufb03cient \ufb01lter", mode)
    assert [(hit["chunk_id"], hit["score"]) for hit in typed] == [(hit["chunk_id"], hit["score"]) for hit in pasted]
    assert typed[0]["score"] > 0


def test_both_micro_characters_find_the_microgram_page_and_milligrams_are_not_supported(tmp_path):
    corpus = build_corpus(
        tmp_path,
        micro=html("The cells were given 7 \u00b5g/mL of the venom."),
        milli=html("The cells were given 7 mg/mL of the syrup."),
    )
    for query in ("7 \u03bcg/mL", "7 \u00b5g/mL"):
        assert corpus.search(query)[0]["path"] == "micro.pdf"
    from retrieval.claims.check import check_claim

    assert check_claim("The cells were given 7 mg/mL of the venom.", corpus.texts()["micro.pdf"]).verdict != "supported"
    assert check_claim("7 mg/mL", corpus.texts()["micro.pdf"]).verdict != "supported"


def test_a_lost_minus_sign_is_marked_and_never_stated_as_a_positive_number(tmp_path):
    pdf = Pdf().add_page()
    pdf.page.insert_font(fontname="F0", fontbuffer=pdf.pymupdf.Font("cjk").buffer)  # has no minus sign and no micro
    pdf.write("The gradient was \u22120.71 (SE 0.09) and the dose 8 \u00b5g.", font="F0")
    corpus = build_corpus(tmp_path, a=pdf.to_bytes(garbage=3, deflate=True))
    assert corpus.report.published
    assert "\x00" not in corpus.text
    assert "\ufffd0.71" in corpus.text
    assert "glyph_loss" in corpus.pages()[0].flags
    answer = corpus.ask("What was the gradient?")
    assert answer.abstained or not re.search(r"(?<!\ufffd)\b0\.71|(?<!\ufffd)\b8 g", answer.answer)


def test_decimal_commas_and_thousands_are_told_apart(tmp_path):
    corpus = build_corpus(
        tmp_path, a=html("Die Dosis war 0,03 mg. We followed 1,480 patients. The load was 23 456,7 Pa.")
    )
    for claim in ("0.03 mg", "1480 patients", "23 456.7 Pa"):
        assert corpus.judge(claim) == "supported", claim
    for claim in ("3 mg", "1.48 patients"):
        assert corpus.judge(claim) != "supported", claim


def test_a_raised_exponent_keeps_its_rise(tmp_path):
    pdf = Pdf().add_page()
    pdf.write_run([("The link was strong (p = 3.1 x 10", 11, 0), ("-36", 6, 4), (") in 640 samples.", 11, 0)], y=100)
    pdf.write_run([("The lamp sends out 10", 11, 0), ("36", 6, 4), (" photons per hour.", 11, 0)], y=130)
    corpus = build_corpus(tmp_path, a=pdf.to_bytes())
    assert "10⁻³⁶" in corpus.text
    assert corpus.judge("p = 3.1e-36") == "supported"
    assert corpus.judge("1036 photons") != "supported"
    assert corpus.judge("p = 3.1 × 1036") != "supported"
    for question in ("How strong was the link?", "How many photons does the lamp send out?"):
        answer = corpus.ask(question)
        assert "1036" not in answer.answer
        assert "10-36" not in answer.answer


def test_reference_marks_are_no_data(tmp_path):
    pdf = Pdf().add_page()
    pdf.write_run([("Balm K shortened healing", 11, 0), ("14,15", 6, 4), (" in 60 horses.", 11, 0)], y=100)
    corpus = build_corpus(tmp_path, a=pdf.to_bytes())
    assert corpus.search("shortened healing")[0]["rank"] == 1
    assert corpus.judge("14 horses healed") != "supported"
    assert corpus.judge("60 horses") == "supported"


def test_a_large_first_letter_joins_its_word(tmp_path):
    pdf = Pdf().add_page().write("T", y=112, size=40)
    pdf.write("he boiling point of krypton is minus 153 degrees,", x=98, y=90)
    pdf.write("well above that of argon, and the gas fills lamps", x=98, y=104)
    pdf.write("that have to burn with a very white light.", y=126)
    corpus = build_corpus(tmp_path, a=pdf.to_bytes())
    assert all(len(chunk.text) > 1 for chunk in corpus.chunks())
    quote = corpus.search("The boiling point of krypton")[0]["quote"]
    assert quote.startswith(("The boiling point", "boiling point"))


def test_an_accented_name_is_found_however_it_was_typed_or_printed(tmp_path):
    def sentence(place: str, form: str = "NFC") -> str:
        return unicodedata.normalize(form, f"Müller, Garçon and René mapped the {place}.")

    detached = "M¨uller, Gar¸con and Ren´e mapped the moraine of the third valley."
    corpus = build_corpus(
        tmp_path, nfc=html(sentence("snow line")), nfd=html(sentence("lake shore", "NFD")), tex=html(detached)
    )
    for query in ("Müller", unicodedata.normalize("NFD", "Müller"), "Muller"):
        assert {hit["path"] for hit in corpus.search(query)} == {"nfc.pdf", "nfd.pdf", "tex.pdf"}, query
    assert "detached_accents" in corpus.records()["tex.pdf"].flags


def test_a_phrase_in_a_script_without_spaces_is_quoted_from_its_own_page(tmp_path):
    corpus = build_corpus(
        tmp_path,
        a=html("調査票の説明と凡例です。編集は事務局です。", "海洋観測網に関する報告をまとめた。観測は六回あった。"),
    )
    hits = corpus.search("海洋観測網")
    assert hits[0]["quote"].startswith("海洋観測網")
    assert hits[0]["quote_pages"] == "2"
    assert hits[0]["score"] > 0
    assert corpus.search("宇宙望遠鏡", "fts_only") == [], "no hit is said plainly"


def test_right_to_left_words_and_their_numbers_keep_their_order(tmp_path):
    corpus = build_corpus(tmp_path, a=html("مكتبة", "הסקר כלל 57 משתתפים בשנת 2016."))
    for query in ("مكتبة", "משתתפים"):
        assert corpus.search(query, "fts_only")[0]["path"] == "a.pdf", query
    text = corpus.text
    assert "57" in text and "2016" in text
    assert "75" not in text and "6102" not in text
    assert corpus.judge("57 משתתפים") == "supported"
    assert corpus.judge("75 משתתפים") != "supported"


def test_a_sentence_over_a_page_break_is_one_and_headers_are_none_of_it(tmp_path):
    pdf = Pdf()
    sentences = {
        1: "First words. In the closed phase the median time to flowering was",
        2: "19 days in the shaded plots and 26 days in the others. End of part.",
    }
    for number in range(12):
        pdf.add_page().write(f"{300 + number} | Letters of Invented Botany 9 (2019)", y=40, size=8)
        pdf.write(str(300 + number), x=290, y=820, size=8)
        text = sentences.get(number, f"Paragraph {number} of the body. Plot {number} was watered {40 + number} times.")
        pdf.write(text, y=80)
    corpus = build_corpus(tmp_path, a=pdf.to_bytes())
    answer = corpus.ask("What was the median time to flowering in the shaded plots?")
    assert "19 days" in answer.answer
    assert answer.citations[0].pages == "2-3"
    assert "Invented Botany" not in corpus.text
    for citation in answer.citations:
        assert "Invented Botany" not in citation.quote
        assert not re.search(r"\b30\d\b", citation.quote)
    assert len(corpus.search("Letters of Invented Botany")) <= 1


@pytest.mark.slow
def test_a_word_longer_than_any_chunk_ends_and_what_follows_is_found(tmp_path):
    pdf = Pdf().add_page(width=200_000, height=300)
    pdf.write("".join("ACGT"[(index * index // 7 + index) % 4] for index in range(30_000)), x=10, y=100, size=6)
    pdf.add_page().write("Strand melting was done at 94 degrees for 20 s.")
    started = time.monotonic()
    corpus = build_corpus(tmp_path, a=pdf.to_bytes())
    assert time.monotonic() - started < 60
    limits = ChunkSettings()
    assert all(chunk.num_tokens <= limits.max_tokens for chunk in corpus.chunks())
    assert all(len(chunk.text) <= limits.max_chars for chunk in corpus.chunks())
    assert "".join(chunk.text for chunk in corpus.chunks()).count("ACGT"[0]) >= 7000, "no piece of it is lost"
    hit = corpus.search("strand melting at 94 degrees")[0]
    assert hit["quote"] == "Strand melting was done at 94 degrees for 20 s."
    assert hit["quote_pages"] == "2"


def test_what_stands_after_the_references_is_indexed_and_the_references_are_no_evidence(tmp_path):
    corpus = build_corpus(
        tmp_path,
        a=make_pdf(
            ["References to older maps are few.", "We drew a new map for this survey."],
            ["Results. The survey lasted for 70 days."],
            ["References", "1. Norton B. Maps and surveys. J Inv Geo. 1998;4:2-11."],
            ["Appendix A. The ink held 3.9 mM iron."],
        ),
    )
    answer = corpus.ask("How much iron was in the ink?")
    assert "3.9 mM" in answer.answer
    assert answer.citations[0].pages == "4"
    assert corpus.search("survey lasted 70 days")[0]["quote_pages"] == "2"
    for query in ("References to older maps", "Norton maps and surveys"):
        assert all("Norton" not in hit["text"] for hit in corpus.search(query)), query


@pytest.mark.slow
def test_a_fact_near_the_end_of_six_hundred_pages_is_found(tmp_path):
    pages = [[f"Text of the book on page {number}."] for number in range(1, 601)]
    pages[592].append("The winter wren lays 5 speckled eggs.")
    corpus = build_corpus(tmp_path, a=make_pdf(*pages))
    assert corpus.report.num_pages == 600
    hit = corpus.search("winter wren eggs")[0]
    assert (hit["rank"], hit["quote_pages"]) == (1, "593")
    assert corpus.ask("How many eggs does the winter wren lay?").citations[0].pages == "593"


def test_a_doi_broken_over_lines_is_whole_and_the_one_of_another_paper_is_not_taken(tmp_path):
    lines = [
        "Wave drag over shallow reefs",
        "Comment on doi:10.5555/elsewhere.1999.12 (see also the reply)",
        "Published online. https://doi.org/10.5555/",
        "REEF-2018-07-",
        "204417. Received 9 June 2018.",
    ]
    corpus = build_corpus(tmp_path, a=make_pdf(lines), other=make_pdf(["Wind over dunes", "Dunes move in the wind."]))
    assert corpus.records()["a.pdf"].metadata.doi in ("10.5555/reef-2018-07-204417", "")
    for query in ("10.5555/REEF-2018-07-204417", "https://doi.org/10.5555/reef-2018-07-204417."):
        assert corpus.search(query)[0]["path"] == "a.pdf", query


@pytest.mark.slow
def test_control_codes_of_a_page_or_a_file_name_never_reach_the_terminal(tmp_path, capsys):
    lines = ["A quiet bay \x1b[2J\x1b]8;;http://x.invalid\x1b\\here\x1b]8;;\x1b\\ was seen in 17 fjords."]
    corpus = build_corpus_of(tmp_path, {b"q\x1b]0;mine\x07.pdf": make_pdf(lines)})
    assert corpus.ask("Where was a quiet bay seen?").citations
    cli = InProcess(corpus.home, capsys)
    runs = [
        ["ingest", str(corpus.folder), "--embedder", "hash", "--full"],
        ["search", "quiet bay"],
        ["search", "quiet bay", "--json"],
        ["ask", "Where was a quiet bay seen?"],
        ["papers", "list"],
        ["papers", "show", next(iter(corpus.records()))],
        ["papers", "export", "--csv"],
    ]
    for arguments in runs:
        done = cli(*arguments)
        assert done.code == 0, done.err
        assert not re.search("[\x1b\x07\x9b]", done.out + done.err), arguments
        if "--json" in arguments:
            assert done.document["hits"][0]["path"].isprintable()


@pytest.mark.slow
def test_a_terminal_gets_no_control_codes_of_the_corpus_either(tmp_path):
    lines = ["A quiet bay \x1b[2J\x1b]8;;http://x.invalid\x1b\\here\x1b]8;;\x1b\\ was seen in 17 fjords."]
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "q\x1b]0;mine\x07.pdf").write_bytes(make_pdf(lines))
    shown = run_on_terminal("ingest", str(folder), "--embedder", "hash", "--home", str(tmp_path / "home"))
    shown += run_on_terminal("search", "quiet bay", "--home", str(tmp_path / "home"))
    assert b"quiet bay" in shown
    assert b"]0;mine\x07" not in shown
    for code in (b"\x1b[2J", b"\x1b]", b"\x07", b"\xc2\x9b"):  # the program's own colours and its bar may be there
        assert code not in shown, code
