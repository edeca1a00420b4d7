from types import SimpleNamespace

import pytest

from corpus_assets.errors import CopilotError
from retrieval.citations import PaperResolver, find_quote, verify_answer, widen_to_sentences
from retrieval.copilot import finish, start
from retrieval.pipeline import run_stages
from tests.retrieval.fakes import FakeGeneration, fake_context, paper

DENIED = "Compound X is not associated with hepatic failure in adults. Follow-up lasted 31 weeks."
PAPERS = [
    paper("x", DENIED),
    paper(
        "y",
        "Filler text stands here. " * 3 + "In the open phase the median time to relapse was 31 weeks.",
        chars_per_page=60,
    ),
]


@pytest.fixture
def answer(tmp_path):
    ctx = fake_context(tmp_path, PAPERS)
    record = finish(run_stages(start("Is compound X associated with hepatic failure?"), ctx), ctx)
    return record, resolver_of(ctx.generation)


def resolver_of(generation: FakeGeneration):
    def resolve(citation):
        return SimpleNamespace(text=generation.text(citation.paper_id), pages=generation.pages(citation.paper_id))

    return resolve


def changed(record, **update):
    citation = record.citations[0].model_copy(update=update)
    return record.model_copy(update={"citations": (citation, *record.citations[1:])})


def test_what_is_shipped_verifies(answer) -> None:
    record, resolve = answer
    report = verify_answer(record, resolve)
    assert report.num_quotes == len(record.citations) > 0 and report.passed
    assert verify_answer(record.model_dump(mode="json"), resolve).passed


def test_any_changed_character_fails(answer) -> None:
    record, resolve = answer
    quote = record.citations[0].quote
    for index in range(len(quote)):
        letter = "z" if quote[index] != "z" else "y"
        assert not verify_answer(changed(record, quote=quote[:index] + letter + quote[index + 1 :]), resolve).passed


@pytest.mark.parametrize("update", [{"char_start": 1}, {"char_end": 12}, {"pages": "7"}])
def test_a_changed_place_fails(answer, update) -> None:
    assert not verify_answer(changed(answer[0], **update), answer[1]).passed


def test_a_cut_start_fails_and_is_widened_to_the_sentence(answer) -> None:
    record, resolve = answer
    text = resolve(record.citations[0]).text
    cut = "associated with hepatic failure in adults."
    start_at = text.index(cut)
    report = verify_answer(changed(record, quote=cut, char_start=start_at, char_end=start_at + len(cut)), resolve)
    assert "within a sentence" in report.failures[0].reason
    widened = widen_to_sentences(text, start_at, start_at + len(cut))
    assert text[slice(*widened)] == "Compound X is not associated with hepatic failure in adults."


@pytest.mark.parametrize("joined", ["Compound X is ... associated with hepatic failure", "31 weeks … Compound X"])
def test_fragments_joined_with_an_ellipsis_are_refused(answer, joined) -> None:
    record, resolve = answer
    assert find_quote(DENIED, joined) is None
    assert "ellipsis" in verify_answer(changed(record, quote=joined), resolve).failures[0].reason


def test_a_quote_over_a_page_break_names_both_pages(tmp_path) -> None:
    ctx = fake_context(tmp_path, PAPERS)
    record = finish(run_stages(start("What was the median time to relapse?"), ctx), ctx)
    quoted = next(citation for citation in record.citations if "31 weeks" in citation.quote)
    first, _, last = quoted.pages.partition("-")
    assert int(last) > int(first)
    assert verify_answer(record, resolver_of(ctx.generation)).passed


def test_a_file_whose_bytes_changed_is_named(answer, tmp_path) -> None:
    record, _ = answer
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "x.pdf").write_bytes(b"something else")
    report = verify_answer(record, PaperResolver(tmp_path / "papers", settings=None))  # type: ignore[arg-type]
    assert "has the bytes cited" in report.failures[0].reason
    with pytest.raises(CopilotError):
        PaperResolver(tmp_path / "papers", settings=None)(record.citations[0])  # type: ignore[arg-type]
