import csv
import hashlib
import re
from pathlib import Path

import pymupdf
import pytest

from sample_corpus.generate import PAPERS_DIR, SOURCES_DIR, generate_papers
from sample_corpus.source import SYNTHETIC_NOTICE, read_source, read_sources
from sample_corpus.typesetting import HYPHENATED_WORDS, HYPHENATIONS, break_lines, split_words

SCANNED = "her2_amplification_scan_2014"
KEY_FACTS = {
    "rebiopsy_first_generation_2016": ["120 of 214 samples (56 %)", "50 to 60 %"],
    "osimertinib_resistance_sequencing_2020": ["MET amplification was the commonest", "C797S was found in 10 of 101"],
    "c797s_allelic_context_2018": ["10 to 15 % of patients", "71 %"],
    "ctdna_lead_time_2019": ["median lead time was 2.8 months"],
    "ctdna_guided_switch_plover_2022": ["median 14.1 v 9.8 months (hazard ratio 0.61"],
    "ctdna_guided_switch_heron_2023": ["median 11.0 v 10.8 months (hazard ratio 0.98"],
    "first_line_osimertinib_flaura_2019": ["18.9 months", "10.2 months", "0.46"],
    "osimertinib_chemotherapy_flaura2_2024": ["25.5 months", "16.7 months", "0.62"],
    "il6_tgfb_emt_mice_2015": ["TGF-β1", "IL-6 (18-fold)"],
    "persister_yap_preprint_v1": ["A fraction of 2.4 %"],
    "persister_yap_preprint_v2": ["A fraction of 3.1 %"],
    "ascorbate_t790m_prevention_2015": ["prevents T790M"],
}


def read_text(path: Path) -> str:
    """Return a PDF's text on one line, with hyphens at line ends closed up."""
    with pymupdf.open(path) as document:
        text = "\n".join(page.get_text() for page in document)
    return re.sub(r"\s+", " ", re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", text))


@pytest.mark.parametrize("key", ["il6_tgfb_emt_mice_2015", SCANNED])
def test_regenerating_a_paper_gives_the_bytes_that_are_checked_in(key: str, tmp_path: Path) -> None:
    (again,) = generate_papers(tmp_path, [key])
    assert again.read_bytes() == (PAPERS_DIR / f"{key}.pdf").read_bytes()


@pytest.mark.slow
def test_regenerating_everything_gives_the_bytes_that_are_checked_in(tmp_path: Path) -> None:
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in generate_papers(tmp_path)}
    assert digests == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in PAPERS_DIR.glob("*.pdf")}


def test_corpus_is_whole_and_small() -> None:
    papers = sorted(PAPERS_DIR.glob("*.pdf"))
    assert [path.stem for path in papers] == [path.stem for path in sorted(SOURCES_DIR.glob("*.md"))]
    assert len(papers) >= 14
    assert sum(path.stat().st_size for path in papers) < 3_000_000
    assert sum("two_column" in source.get("layout") for source in read_sources(SOURCES_DIR)) >= 5


@pytest.mark.parametrize("path", sorted(PAPERS_DIR.glob("*.pdf")), ids=lambda path: path.stem)
def test_paper_has_pages_and_says_that_it_is_synthetic(path: Path) -> None:
    with pymupdf.open(path) as document:
        assert 2 <= document.page_count <= 6
        assert document.metadata["subject"] == SYNTHETIC_NOTICE
        texts = [page.get_text() for page in document]
        images = [len(page.get_images()) for page in document]
    if path.stem == SCANNED:
        assert not any(text.strip() for text in texts)
        assert images == [1] * len(images)
    else:
        assert all(SYNTHETIC_NOTICE in text for text in texts)


@pytest.mark.parametrize("key", sorted(KEY_FACTS))
def test_key_facts_can_be_extracted(key: str) -> None:
    text = read_text(PAPERS_DIR / f"{key}.pdf")
    assert [fact for fact in KEY_FACTS[key] if fact not in text] == []


def test_dois_are_invented_and_unique() -> None:
    dois = [source.get("doi") for source in read_sources(SOURCES_DIR) if source.get("doi")]
    assert all(doi.startswith("10.5555/") for doi in dois)
    assert len(dois) == len(set(dois))


def test_retraction_notice_names_a_paper_of_the_corpus() -> None:
    with (PAPERS_DIR / "retractions.csv").open(encoding="utf-8", newline="") as file:
        (notice,) = csv.DictReader(file)
    retracted = read_source(SOURCES_DIR / "ascorbate_t790m_prevention_2015.md")
    assert notice["OriginalPaperDOI"] == retracted.get("doi")
    assert notice["Title"] == retracted.get("title")
    assert notice["RetractionNature"] == "Retraction"


def test_manifest_names_files_of_the_corpus() -> None:
    with (PAPERS_DIR / "manifest.csv").open(encoding="utf-8", newline="") as file:
        assert all((PAPERS_DIR / row["file"]).exists() for row in csv.DictReader(file))


def test_each_line_fits_and_no_letter_is_lost_when_lines_are_broken() -> None:
    text = (
        "Progression of **resistance** under osimertinib^1,2^ in 56 % of patients with TGF-β and a first-line treatment"
    )
    lines = break_lines(split_words(text), 90.0, "serif", 10.0, hyphenate=True)
    letters = "".join(piece.text for line in lines for word in line.words for piece in word)
    marked = re.sub(r"[*^ -]", "", text)
    assert letters.replace("-", "").replace(" ", "") == marked
    assert all(line.words[0][0].text != "%" for line in lines)


def test_hyphenation_list_has_no_double() -> None:
    assert len(HYPHENATIONS) == len(set(HYPHENATED_WORDS.split()))


def test_source_without_header_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.md"
    path.write_text("# Abstract\n\nNo header.\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"broken\.md"):
        read_source(path)
