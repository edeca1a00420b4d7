import re
from html.parser import HTMLParser

import pytest

from retrieval.copilot import finish, start
from retrieval.pipeline import run_stages
from retrieval.quoted_sources import answer_with_quotes
from retrieval.render import markdown_to_html, quote_context, render_html, render_markdown
from retrieval.writing.escape import display_sentence, escape_markdown, strip_controls
from tests.retrieval.fakes import fake_context, paper

EVIL = (
    "Zinc raised root growth by 12 % <img src=x onerror=alert(1)> in maize\x1b]8;;http://x.invalid\x1b\\ and \x9bmoss."
)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append((tag, dict(attrs)))


@pytest.fixture
def answered(tmp_path):
    ctx = fake_context(
        tmp_path, [paper("z", "Plots were watered. " + EVIL, title="<b>Zinc</b> [x](y)")], use_cache=False
    )
    return ctx, finish(run_stages(start("Does zinc raise root growth in maize?"), ctx), ctx)


def test_the_terminal_sees_no_control_characters(answered) -> None:
    text = render_markdown(answered[1])
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) and "root growth" in text


def test_the_page_is_self_contained_and_holds_no_markup_of_a_paper(answered) -> None:
    ctx, record = answered
    page = render_html(record, quote_context(ctx.generation))
    tags = Tags()
    tags.feed(page)
    names = {name for name, _ in tags.seen}
    assert not names & {"img", "script", "b", "iframe", "link"} and "mark" in names
    assert all(attrs["href"].startswith("#") for name, attrs in tags.seen if name == "a")
    targets = {attrs["id"] for _, attrs in tags.seen if attrs.get("id")}
    assert {attrs["href"][1:] for name, attrs in tags.seen if name == "a"} <= targets
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)
    for heading in ("Quotes and sources", "Faithfulness by claim", "Stages"):
        assert heading in page
    assert "Plots were watered." in page  # the quote's context


@pytest.mark.parametrize(
    "text",
    [
        "[a](http://x)",
        "![a](b)",
        "<script>",
        "**bold**",
        "`code`",
        "# head",
        "1. item",
        "a_b_ c",
        "&lt;",
        "~~x~~",
        "p < 0.05",
    ],
)
def test_escaped_markdown_renders_as_the_text_itself(text: str) -> None:
    html = markdown_to_html(escape_markdown(text))
    plain = re.sub(r"^<p>|</p>$", "", html)
    from html import unescape

    assert unescape(plain) == text and "<a" not in html and "<strong" not in html


def test_own_reference_marks_are_left_out_of_what_is_shown() -> None:
    assert display_sentence("It falls fast [12, 13].") == "It falls fast."
    assert display_sentence("Resistance takes hold.¹") == "Resistance takes hold."
    assert display_sentence("It emits 10⁴⁸ photons per m².") == "It emits 10⁴⁸ photons per m²."


def test_direction_overrides_are_removed() -> None:
    assert strip_controls("a\u202eb\u2066c\n d") == "abc d"


def test_sources_give_each_quote_with_its_section_and_page(answered) -> None:
    _, record = answered
    text = answer_with_quotes(record)
    assert text.count("## Sources") == 1
    for citation in record.citations:
        line = next(line for line in text.splitlines() if line.startswith(f"  - [{citation.n}] "))
        assert f"p. {citation.pages}" in line and "root growth by 12 %" in line
    assert "\\<b>Zinc" in text and "[x](y)" not in text  # titles cannot add markup


def test_an_answer_without_citations_is_left_as_it_is(answered) -> None:
    record = answered[1].model_copy(update={"citations": (), "answer": "Not enough evidence.\n"})
    assert answer_with_quotes(record) == "Not enough evidence.\n"


def test_the_page_shows_each_quote_in_its_paragraph_and_leads_back_to_the_answer(answered) -> None:
    ctx, record = answered
    page = render_html(record, quote_context(ctx.generation))
    (citation,) = record.citations
    assert page.count(f'id="q{citation.n}"') == page.count(f'id="c{citation.n}"') == 1
    assert f'href="#c{citation.n}"' in page
    assert "<h2>Sources</h2>" not in page  # the sources stand with their quotes, once


def test_a_split_is_shown_side_by_side(tmp_path) -> None:
    papers = [
        paper("a", "Zinc increased root growth in maize."),
        paper("b", "Zinc did not increase root growth in maize."),
    ]
    ctx = fake_context(tmp_path, papers, use_cache=False)
    record = finish(run_stages(start("Does zinc increase root growth in maize?"), ctx), ctx)
    page = render_html(record, quote_context(ctx.generation))
    assert record.splits and page.count('class="side"') == 2
    for citation in record.citations:
        assert f'id="c{citation.n}"' in page


def test_an_abstention_and_what_did_not_run_are_told_apart(tmp_path) -> None:
    ctx = fake_context(tmp_path, [paper("a", "Zinc increased root growth in maize.")], use_cache=False)
    record = finish(run_stages(start("Which comets pass close to Jupiter?"), ctx), ctx)
    page = render_html(record.model_copy(update={"notes": ("<b>mind</b> this",)}))
    assert "answer abstained" in page and "Quotes and sources" not in page
    assert "&lt;b&gt;mind&lt;/b&gt; this" in page
