"""The promise of the README's first command: the sample corpus, one question, every citation an exact quote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corpus_assets.pdf.mupdf import load_pymupdf
from tests.integration.cli_corpus import run_program

PAPERS = Path(__file__).parents[2] / "sample_corpus" / "papers"
QUESTION = (
    "What are the resistance mechanisms to EGFR inhibitors in lung cancer, and how can resistance be detected early?"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    home = str(tmp_path_factory.mktemp("demo") / "home")
    done = run_program("ingest", str(PAPERS), "--home", home, timeout=900)
    assert done.returncode == 0, done.stderr
    return home


def letters(text: str) -> str:
    """Return a text's letters and digits only: what a page's own text keeps of a sentence, however it is set."""
    folded = text.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789"))
    return "".join(ch for ch in folded.casefold() if ch.isalnum())


@pytest.mark.slow
def test_every_citation_of_the_demo_answer_stands_on_the_page_it_names(home: str) -> None:
    done = run_program("ask", QUESTION, "--json", "--no-cache", "--home", home)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert not record["abstained"] and len(record["citations"]) >= 4
    pymupdf = load_pymupdf()
    for citation in record["citations"]:
        with pymupdf.open(PAPERS / citation["path"]) as document:
            pages = [int(page) for page in citation["pages"].split("-")]
            shown = "".join(document[page - 1].get_text() for page in range(pages[0], pages[-1] + 1))
        assert letters(citation["quote"]) in letters(shown), citation
    text = run_program("ask", QUESTION, "--home", home).stdout
    for citation in record["citations"]:
        assert f"[{citation['n']}]" in text and f"p. {citation['pages'].split('-')[0]}" in text
    for fact in ("15 to 20 %", "10 to 15 %", "2 to 4 months"):
        assert fact in record["answer"], fact
    assert "ALK" not in record["answer"] and "KRAS" not in record["answer"]  # other diseases' resistance is no answer
    answer_file = Path(home).parent / "answer.json"
    answer_file.write_text(json.dumps(record))
    verified = run_program("verify", str(answer_file), "--home", home, "--papers-dir", str(PAPERS))
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fts_only", "hybrid"])
def test_an_identifier_is_found_at_rank_one(home: str, mode: str) -> None:
    done = run_program("search", "T790M", "--retrieval", mode, "--json", "--home", home)
    hits = json.loads(done.stdout)["hits"]
    assert "T790M" in hits[0]["quote"] or "T790M" in hits[0]["title"], hits[0]
