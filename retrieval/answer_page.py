"""An answer as one self-contained page: it loads nothing, runs no script, and shows text of papers as text only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from retrieval.answer import AnswerRecord, Citation, ClaimCheck, Split, StageRecord, group_by_paper
from retrieval.page_style import STYLE
from retrieval.writing.compose import HEADINGS, SOURCES
from retrieval.writing.escape import strip_controls

if TYPE_CHECKING:
    from corpus_assets.store.generation import Generation

CONTEXT_CHARS = 280  # shown on either side of a quote, within its paragraph
MAX_AUTHORS = 6
NUMERIC = ("In", "Out", "Seconds")  # columns of numbers
ContextOf = Callable[[Citation], tuple[str, str]]


def render_html(record: AnswerRecord, context_of: ContextOf | None = None) -> str:
    """Return the page: answer, quotes in context by source, faithfulness by claim, stage ledger.

    ``context_of`` gives the text before and after a quote (see ``quote_context``); without it quotes stand alone.
    """
    title = clean(record.question)
    sections = {
        "answer": answer_html(record),
        "quotes": quotes_html(record, context_of),
        "faithfulness": faithfulness_html(record),
        "stages": ledger_html(record.stages),
    }
    names = {"answer": "Answer", "quotes": "Quotes and sources", "faithfulness": "Faithfulness", "stages": "Stages"}
    links = "".join(f'<a href="#{key}">{names[key]}</a>' for key, html in sections.items() if html)
    body = "\n".join(f'<section id="{key}">{html}</section>' for key, html in sections.items() if html)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>\n"
        f"<header><h1>{title}</h1>{facts_html(record)}<nav>{links}</nav>{notices_html(record)}</header>\n"
        f"<main>{body}</main>\n</body></html>\n"
    )


def clean(text: str) -> str:
    """Return text safe inside HTML, on one line, without control characters."""
    return escape(strip_controls(text))


def facts_html(record: AnswerRecord) -> str:
    """Return who wrote the answer, in which mode, from which corpus, and how much of it is borne out."""
    report = record.faithfulness
    facts = [("written by", record.writer), ("mode", record.mode)]
    if report.score is not None:
        facts.append(("borne out by quotes", f"{report.score:.0%} of {len(report.claims)} claims"))
    if report.removed:
        facts.append(("removed", f"{len(report.removed)} claims"))
    if record.cost.usd:
        facts.append(("cost", f"{record.cost.usd:.4f} USD"))
    facts += [("corpus", record.generation), ("answer", record.answer_id)]
    if record.created_at:
        facts.append(("on", record.created_at[:10]))
    return '<dl class="facts">' + "".join(f"<div><dt>{k}</dt><dd>{clean(v)}</dd></div>" for k, v in facts) + "</dl>"


def notices_html(record: AnswerRecord) -> str:
    """Return what a reader must know before reading: a cached answer, warnings, what did not run as configured."""
    notices = [clean(note) for note in record.notes]
    if record.cached:
        notices.insert(0, f"From the cache: first asked as “{clean(record.cached_question or record.question)}”.")
    notices += [f"Degraded, {clean(s.name)}: {clean(text)}" for s in record.stages for text in s.degraded]
    return '<ul class="notices">' + "".join(f"<li>{text}</li>" for text in notices) + "</ul>" if notices else ""


def answer_html(record: AnswerRecord) -> str:
    """Return the answer; a split as cards side by side, the sources left to the quotes further down."""
    parts: list[str] = []
    for block in re.split(r"^(?=## )", record.answer.strip(), flags=re.M):
        heading = block.removeprefix("## ").partition("\n")[0]
        if heading == SOURCES and record.citations:
            continue  # the page has its own, with the quotes
        if heading == HEADINGS["split"] and record.splits:
            parts.append(f"<h2>{inline(heading)}</h2>" + "".join(split_html(split, record) for split in record.splits))
        else:
            parts.append(markdown_to_html(block))
    html = "\n".join(parts)
    for citation in record.citations:  # the quote leads back to where it is used first
        html = html.replace(f'<a href="#q{citation.n}">', f'<a id="c{citation.n}" href="#q{citation.n}">', 1)
    return f'<div class="answer{" abstained" if record.abstained else ""}">{html}</div>'


def split_html(split: Split, record: AnswerRecord) -> str:
    """Return the sides of a split beside one another, each with its quotes."""
    cited = {citation.n: citation for citation in record.citations}
    cards = []
    for side in split.sides:
        quotes = "".join(
            f'<p>“{clean(cited[n].quote)}” {number_link(n)}</p><p class="place">{clean(short_source(cited[n]))}</p>'
            for n in side.citations
            if n in cited
        )
        cards.append(f'<div class="side"><h4>{clean(side.position)}</h4>{quotes}</div>')
    basis = split.basis.removesuffix("; found by rules")
    note = "" if split.is_verdict else " Found by rules, not by a judge: check both quotes."
    return (
        f'<div class="split"><h3>{clean(split.label)}</h3><div class="sides">{"".join(cards)}</div>'
        f'<p class="place">{clean(basis[:1].upper() + basis[1:])}.{note}</p></div>'
    )


def short_source(citation: Citation) -> str:
    """Return "Okonkwo et al. 2018, Results, p. 3"."""
    family = citation.authors[0].split()[-1] if citation.authors else citation.title or citation.paper_id
    who = f"{family} et al." if len(citation.authors) > 1 else family
    parts = [f"{who} {citation.year or ''}".strip(), citation.section, citation.page_label or "page unknown"]
    return ", ".join(part for part in parts if part)


def quote_context(generation: Generation) -> ContextOf:
    """Return a function that gives a paper's text around a citation's quote: whole words, within its paragraph."""

    def context_of(citation: Citation) -> tuple[str, str]:
        text = generation.text(citation.paper_id)
        first = max(text.rfind("\n\n", 0, citation.char_start) + 2, 0) if "\n\n" in text[: citation.char_start] else 0
        last = text.find("\n\n", citation.char_end)
        before = text[first : citation.char_start]
        after = text[citation.char_end : last if last >= 0 else len(text)]
        if len(before) > CONTEXT_CHARS:
            before = "…" + before[-CONTEXT_CHARS:].partition(" ")[2]
        if len(after) > CONTEXT_CHARS:
            after = after[:CONTEXT_CHARS].rpartition(" ")[0] + "…"
        return before, after

    return context_of


def quotes_html(record: AnswerRecord, context_of: ContextOf | None) -> str:
    """Return the sources in order of first use, each with its quotes, highlighted in their context."""
    if not record.citations:
        return ""
    papers = group_by_paper(record.citations)
    return "<h2>Quotes and sources</h2>" + "\n".join(paper_html(group, context_of) for group in papers)


def paper_html(group: Sequence[Citation], context_of: ContextOf | None) -> str:
    """Return one paper with its quotes."""
    paper = group[0]
    who = ", ".join(paper.authors[:MAX_AUTHORS]) + (" et al." if len(paper.authors) > MAX_AUTHORS else "")
    year = f"({paper.year})" if paper.year else ""
    about = [" ".join(part for part in (who, year) if part), f"doi:{paper.doi}" if paper.doi else "", paper.path]
    flag = f' <strong class="pill bad">{clean(paper.retraction)}</strong>' if paper.retraction else ""
    quotes = "".join(quote_html(citation, context_of) for citation in group)
    return (
        f'<article><h3>{clean(paper.title or paper.paper_id)}{flag}</h3><p class="place">'
        f"{' · '.join(clean(part) for part in about if part)}</p>{quotes}</article>"
    )


def quote_html(citation: Citation, context_of: ContextOf | None) -> str:
    """Return one quote with its place; its number leads back to the answer."""
    before, after = context_of(citation) if context_of else ("", "")
    others = ' <span class="pill warn">reported by others</span>' if citation.reported_by_others else ""
    place = ", ".join(part for part in (citation.section, citation.page_label or "page unknown") if part)
    return (
        f'<div class="quote" id="q{citation.n}"><p class="where"><a class="number" href="#c{citation.n}">'
        f"[{citation.n}]</a> {clean(place)}{others}</p><blockquote>"
        f"<span>{clean(before)}</span> <mark>{clean(citation.quote)}</mark> <span>{clean(after)}</span></blockquote>"
        f'<p class="place">characters {citation.char_start} to {citation.char_end} of the text · file sha256 '
        f"{clean(citation.doc_sha256[:12])}…</p></div>"
    )


def number_link(n: int) -> str:
    """Return a link to a quote."""
    return f'<a href="#q{n}">[{n}]</a>'


def faithfulness_html(record: AnswerRecord) -> str:
    """Return the verdict on each claim shipped, then on each that was taken out."""
    report = record.faithfulness
    if not report.claims and not report.removed:
        return ""
    parts = ["<h2>Faithfulness by claim</h2>"]
    if report.score is not None:
        num_good = sum(claim.verdict == "supported" for claim in report.claims)
        before = "" if report.score_before in (None, report.score) else f", {report.score_before:.0%} before removal"
        parts.append(
            f'<p>{num_good} of {len(report.claims)} claims are borne out by the quotes they cite{before}. '
            f"Checked by {clean(report.verifier)}.</p>"
        )  # fmt: skip
    heads = ("Claim", "Quotes", "Verdict", "Why")
    if report.claims:
        parts.append(table(heads, "".join(claim_row(claim) for claim in report.claims)))
    if report.removed:
        parts.append("<h3>Taken out of the answer</h3>")
        parts.append(table(heads, "".join(claim_row(claim) for claim in report.removed)))
    return "".join(parts)


def claim_row(claim: ClaimCheck) -> str:
    """Return a claim's row."""
    look = {"supported": "good", "unclear": "warn"}.get(claim.verdict, "bad")
    cited = " ".join(number_link(n) for n in claim.citations)
    return (
        f'<tr><td>{clean(claim.text)}</td><td class="nowrap">{cited}</td>'
        f'<td><span class="pill {look}">{claim.verdict}</span></td><td>{clean(claim.reason)}</td></tr>'
    )


def ledger_html(stages: Sequence[StageRecord]) -> str:
    """Return the stage ledger: what went in and came out, how long it took, what did not run as configured."""
    if not stages:
        return ""
    longest = max(stage.seconds for stage in stages) or 1.0
    rows = []
    for stage in stages:
        width = max(1, round(100 * stage.seconds / longest))
        degraded = f'<p class="bad">{clean("; ".join(stage.degraded))}</p>' if stage.degraded else ""
        detail = (
            f"<details><summary>show</summary><pre>{plain_json(stage.detail)}</pre></details>" if stage.detail else ""
        )
        rows.append(
            f'<tr><td>{clean(stage.name.replace("_", " "))}</td><td class="num">{stage.num_in}</td>'
            f'<td class="num">{stage.num_out}</td><td class="num">{stage.seconds:.3f}'
            f'<span class="bar" style="width:{width}%"></span></td><td>{degraded}{detail}</td></tr>'
        )
    total = sum(stage.seconds for stage in stages)
    return (
        f"<h2>Stages</h2><p>What each stage received and returned; {total:.2f} seconds in all.</p>"
        + table(("Stage", "In", "Out", "Seconds", "Detail"), "".join(rows))
    )  # fmt: skip


def plain_json(detail: dict[str, object]) -> str:
    """Return a stage's detail as JSON, safe inside HTML."""
    return clean(json.dumps(detail, ensure_ascii=False, default=str))


def table(heads: Sequence[str], rows: str) -> str:
    """Return a table that scrolls sideways when it must; ``rows`` is HTML."""
    cells = "".join(f'<th class="num">{head}</th>' if head in NUMERIC else f"<th>{head}</th>" for head in heads)
    return f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table></div>'


def markdown_to_html(markdown: str) -> str:
    """Render the Markdown that ``compose`` writes (headings, bold, lists, citations) and nothing more."""
    html: list[str] = []
    for block in re.split(r"\n{2,}", markdown.strip()):
        lines = block.split("\n")
        if block.startswith("## "):
            html.append(f"<h2>{inline(block[3:])}</h2>")
        elif all(re.match(r"- ", line) for line in lines):
            html.append("<ul>" + "".join(f"<li>{inline(line[2:])}</li>" for line in lines) + "</ul>")
        elif all(re.match(r"\d+\. ", line) for line in lines):
            items = "".join(f"<li>{inline(line.split('. ', 1)[1])}</li>" for line in lines)
            html.append(f"<ol>{items}</ol>")
        else:
            html.append(f"<p>{inline(' '.join(lines))}</p>")
    return "\n".join(html)


def inline(text: str) -> str:
    """Return one line of Markdown as HTML: bold, links to quotes, and backslash escapes undone."""
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        kept.append(match.group(1))
        return f"\ue000{len(kept) - 1}\ue001"

    text = re.sub(r"\\([\\`*_\[\]<>|~&:.#+=)-])", keep, strip_controls(text))
    text = escape(text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"\[(\d+)\]", r'<a href="#q\1">[\1]</a>', text)
    return re.sub("\ue000(\\d+)\ue001", lambda match: escape(kept[int(match.group(1))]), text)
