"""Pages read by a vision model behind the Messages wire format, played by a loopback server."""

from __future__ import annotations

import base64
import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from corpus_assets.errors import BadInputError
from corpus_assets.model import PageState, PaperStatus
from corpus_assets.pdf.ocr import OcrUnavailableError
from corpus_assets.pdf.reader import read_paper
from corpus_assets.pdf.vision import SPEND_NAME, TRY_AGAIN, SpendBook, VisionReader, load_vision_reader
from corpus_assets.pdf.worker import judge_pages
from corpus_assets.settings import LlmSettings, ParseSettings, Settings
from tests.corpus_assets.pdf_factory import FILLER, Pdf, make_pdf
from tests.integration.cli_corpus import run_program
from tests.retrieval.llm.scripted_server import error, scripted_server, text, tool_use

PAGE = {"paragraphs": ["1 Results", *FILLER, "The vision\nmodel saw 31 herons."], "confidence": 0.93}
LLM = LlmSettings(timeout_seconds=5.0, max_retries=0)


def make_scan() -> bytes:
    """Return a page of text, then a picture of one."""
    pdf = Pdf().add_page().write_lines(FILLER)
    pdf.add_page().draw_picture_of(make_pdf(FILLER), dpi=100)
    return pdf.to_bytes()


@pytest.fixture
def scan(tmp_path):
    path = tmp_path / "scan.pdf"
    path.write_bytes(make_scan())
    return path


@pytest.fixture
def read(scan, tmp_path, monkeypatch):
    """Read the scan against a script; returns the paper, the script and what was spent."""

    def run(*plays, llm=LLM):
        book = SpendBook(tmp_path / SPEND_NAME)
        book.reset()
        with scripted_server(*plays) as script:
            monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", script.url)
            reader = pickle.loads(pickle.dumps(VisionReader(llm, book)))  # as it goes to a worker
            paper = read_paper(str(scan), ParseSettings(ocr="vision"), page_reader=reader)
        return paper, script, book.read()

    return run


def test_only_the_page_without_text_is_sent_and_its_text_comes_back_in_order(read):
    paper, script, spend = read(tool_use(PAGE))
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.VISION]
    assert paper.pages[1].confidence == 0.93
    assert paper.text.endswith("The vision model saw 31 herons.")
    assert judge_pages(paper) == (PaperStatus.READY, "")
    (request,) = script.requests
    source = request["messages"][0]["content"][0]["source"]
    assert source["media_type"] == "image/png"
    assert base64.b64decode(source["data"]).startswith(b"\x89PNG")
    assert request["tool_choice"] == {"type": "tool", "name": "give_text"}
    assert (spend.num_calls, spend.input_tokens, spend.output_tokens) == (1, 100, 20)
    assert spend.usd == pytest.approx((100 * 3 + 20 * 15) / 1e6)


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (text("Here is the page.", "refusal"), "declined"),
        (text("Here is the", "max_tokens"), "cut off"),
        (text("Here is the page."), "did not have the form"),
        (tool_use({"paragraphs": ["x"], "confidence": 7}), "did not have the form"),
        (error(500, "api_error"), TRY_AGAIN),
        (error(401, "authentication_error", "bad key"), "bad key"),
    ],
)
def test_a_page_the_model_does_not_read_is_unreadable_with_the_reason(read, play, reason):
    paper, _, spend = read(play)
    status, said = judge_pages(paper)
    assert [page.state for page in paper.pages] == [PageState.TEXT, PageState.UNREADABLE]
    assert status is PaperStatus.PARTIAL
    assert reason in said
    assert spend.usd < 0.001, "nothing stays set aside"


def test_a_page_the_model_finds_empty_is_not_called_read(read):
    paper, _, _ = read(tool_use({"paragraphs": [], "confidence": 1.0}))
    assert paper.pages[1].state is PageState.UNREADABLE


def test_the_budget_is_a_hard_limit(read):
    paper, script, spend = read(tool_use(PAGE), llm=LLM.model_copy(update={"budget_usd_per_ingest": 0.01}))
    assert script.requests == []
    assert "llm.budget_usd_per_ingest" in paper.pages[1].reason
    assert (spend.usd, spend.num_calls) == (0.0, 0)


def test_workers_count_in_one_book(tmp_path):
    book = SpendBook(tmp_path / "book.json")
    book.reset()

    def spend(_: int) -> None:
        book.reserve(0.01, 1.0)
        book.settle(0.01, 0.004, 10, 2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spend, range(40)))
    total = book.read()
    assert (total.num_calls, total.input_tokens, total.output_tokens) == (40, 400, 80)
    assert total.usd == pytest.approx(0.16)
    with pytest.raises(OcrUnavailableError, match=r"\$0\.16 of the ingest's \$0\.16"):
        book.reserve(0.01, 0.16)


def test_without_a_key_the_ingest_says_what_to_set(tmp_path, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadInputError, match="no model is configured") as raised:
        load_vision_reader(Settings(home=tmp_path, parse=ParseSettings(ocr="vision")))
    assert "ANTHROPIC_API_KEY" in raised.value.hint


@pytest.mark.slow
def test_an_ingest_counts_what_it_spent_and_tries_unread_pages_again(tmp_path, scan):
    folder, home = tmp_path / "papers", tmp_path / "home"
    folder.mkdir()
    scan.rename(folder / "scan.pdf")

    def ingest(*plays):
        with scripted_server(*plays) as script:
            environment = {
                **os.environ,
                "ANTHROPIC_API_KEY": "k",
                "ANTHROPIC_BASE_URL": script.url,
                "RESEARCH_COPILOT_PARSE__OCR": "vision",
                "RESEARCH_COPILOT_LLM__MAX_RETRIES": "0",
            }
            arguments = ["ingest", str(folder), "--embedder", "hash", "--home", str(home), "--json"]
            done = run_program(*arguments, env=environment)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        pictures = [r for r in script.requests if "image" in json.dumps(r["messages"])[:200]]
        return report["problems"], len(pictures), SpendBook(home / SPEND_NAME).read()

    problems, _, spend = ingest(error(503, "api_error"))
    assert TRY_AGAIN in problems[0]["reason"]
    assert spend.num_calls == 0
    problems, num_pictures, spend = ingest(tool_use(PAGE))
    assert (problems, num_pictures, spend.num_calls) == ([], 1, 1)
    problems, num_pictures, spend = ingest(tool_use(PAGE))
    assert (problems, num_pictures, spend.num_calls) == ([], 0, 0), "what is read is not read again"
