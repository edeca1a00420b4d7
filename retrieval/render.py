"""Answers for a terminal and for a browser. All text that comes from papers or people is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from retrieval.answer import AnswerRecord, Citation
from retrieval.quoted_sources import answer_with_quotes
from retrieval.writing.escape import escape_markdown, strip_controls

if TYPE_CHECKING:
    from corpus_assets.store.generation import Generation

CONTEXT_CHARS = 240  # shown on either side of a quote

STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--mark:#ffe08a;--on-mark:#222}
body{font:16px/1.55 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;width:100%;font-size:.9rem}td,th{border:1px solid var(--line);padding:.3rem .5rem}
td,th{text-align:left;vertical-align:top}
blockquote{margin:.4rem 0;padding:.4rem .8rem;background:var(--soft);border-left:3px solid var(--line)}
mark{background:var(--mark);color:var(--on-mark)}.meta{opacity:.75;font-size:.9rem}.bad{color:#b00020}.good{color:#1b7f3b}
.scroll{overflow-x:auto}a{color:inherit}
"""


def render_markdown(record: AnswerRecord) -> str:
    """Return the answer with its quotes, for a terminal. No control characters survive."""
    lines = [answer_with_quotes(record).rstrip()]
    lines.append(summary_line(record))
    lines.extend(f"Note: {escape_markdown(note)}" for note in record.notes)
    degraded = [f"{stage.name}: {text}" for stage in record.stages for text in stage.degraded]
    if degraded:
        lines.append("Degraded: " + "; ".join(escape_markdown(text) for text in degraded))
    return "\n\n".join(lines) + "\n"


def summary_line(record: AnswerRecord) -> str:
    """Return who wrote the answer, how it was checked and what was found."""
    parts = [f"Written by: {record.writer}", f"mode {record.mode}", f"corpus {record.generation}"]
    faithfulness = record.faithfulness
    if faithfulness.score is not None:
        parts.append(
            f"faithfulness {faithfulness.score:.2f} ({faithfulness.verifier}, {len(faithfulness.claims)} claims)"
        )
    if faithfulness.removed:
        parts.append(f"{len(faithfulness.removed)} claims removed")
    if record.cached:
        parts.append(f"from the cache, first asked as “{escape_markdown(record.cached_question)}”")
    return f"*{' · '.join(parts)} · answer {record.answer_id}*"


def render_html(record: AnswerRecord, context_of: Callable[[Citation], tuple[str, str]] | None = None) -> str:
    """Return one self-contained page: answer, quotes in context, sources, faithfulness by claim, stage ledger.

    ``context_of`` gives the text before and after a quote (see ``quote_context``); without it quotes stand alone.
    The page loads nothing and runs no script.
    """
    title = clean(record.question)
    blocks = [
        f"<h1>{title}</h1>",
        f'<p class="meta">{clean(summary_line(record).strip("*"))}</p>',
        markdown_to_html(record.answer),
        quotes_html(record, context_of),
        splits_html(record),
        faithfulness_html(record),
        ledger_html(record),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(filter(None, blocks))
        + "\n</body></html>\n"
    )


def clean(text: str) -> str:
    """Return text safe inside HTML, on one line, without control characters."""
    return escape(strip_controls(text))


def quote_context(generation: Generation) -> Callable[[Citation], tuple[str, str]]:
    """Return a function that gives the paper's text around a citation's quote."""

    def context_of(citation: Citation) -> tuple[str, str]:
        text = generation.text(citation.paper_id)
        before = text[max(0, citation.char_start - CONTEXT_CHARS) : citation.char_start]
        return before, text[citation.char_end : citation.char_end + CONTEXT_CHARS]

    return context_of


def quotes_html(record: AnswerRecord, context_of: Callable[[Citation], tuple[str, str]] | None) -> str:
    """Return each quote, highlighted in its context, with its source."""
    if not record.citations:
        return ""
    parts = ["<h2>Quotes and sources</h2>"]
    for citation in record.citations:
        before, after = context_of(citation) if context_of else ("", "")
        who = ", ".join(citation.authors[:4]) + (" et al." if len(citation.authors) > 4 else "")
        source = ". ".join(
            part
            for part in (
                who,
                str(citation.year or ""),
                citation.title,
                citation.section,
                f"p. {citation.pages}",
                citation.path,
            )
            if part
        )
        flags = "".join(
            f' <strong class="bad">{clean(flag)}</strong>'
            for flag in (citation.retraction, "reported by others" if citation.reported_by_others else "")
            if flag
        )
        parts.append(
            f'<div id="q{citation.n}"><p><strong>[{citation.n}]</strong> {clean(source)}{flags}</p><blockquote>'
            f"{'…' if before else ''}{clean(before)} <mark>{clean(citation.quote)}</mark> "
            f"{clean(after)}{'…' if after else ''}"
            f'</blockquote><p class="meta">characters {citation.char_start} to {citation.char_end} · file '
            f"{clean(citation.doc_sha256[:16])}…</p></div>"
        )
    return "\n".join(parts)


def splits_html(record: AnswerRecord) -> str:
    """Return what each split stands on."""
    if not record.splits:
        return ""
    rows = "".join(
        f"<tr><td>{clean(split.label)}</td><td>{clean(split.basis)}</td>"
        f"<td>{'verdict' if split.is_verdict else 'check'}</td></tr>"
        for split in record.splits
    )
    return table("Splits", ("about", "basis", "kind"), rows)


def faithfulness_html(record: AnswerRecord) -> str:
    """Return the verdict on each claim, shipped and removed."""
    rows = []
    for claims, is_removed in ((record.faithfulness.claims, False), (record.faithfulness.removed, True)):
        for claim in claims:
            look = "good" if claim.verdict == "supported" else "bad"
            cited = " ".join(f'<a href="#q{n}">[{n}]</a>' for n in claim.citations)
            verdict = claim.verdict + (" (removed)" if is_removed else "")
            rows.append(
                f'<tr><td>{clean(claim.text)}</td><td>{cited}</td><td class="{look}">{verdict}</td>'
                f"<td>{clean(claim.reason)}</td></tr>"
            )
    return table("Faithfulness by claim", ("claim", "quotes", "verdict", "reason"), "".join(rows)) if rows else ""


def ledger_html(record: AnswerRecord) -> str:
    """Return the stage ledger."""
    rows = "".join(
        f"<tr><td>{clean(stage.name)}</td><td>{stage.seconds:.3f}</td><td>{stage.num_in}</td><td>{stage.num_out}</td>"
        f"<td>{clean('; '.join(stage.degraded))}</td><td>{clean(short_json(stage.detail))}</td></tr>"
        for stage in record.stages
    )
    return table("Stages", ("stage", "seconds", "in", "out", "degraded", "detail"), rows)


def short_json(detail: dict[str, object], limit: int = 300) -> str:
    """Return a stage's detail as JSON, cut to ``limit`` characters."""
    text = json.dumps(detail, ensure_ascii=False, default=str) if detail else ""
    return text if len(text) <= limit else text[:limit] + "…"


def table(title: str, heads: tuple[str, ...], rows: str) -> str:
    """Return a titled table; ``rows`` is HTML."""
    cells = "".join(f"<th>{head}</th>" for head in heads)
    return (
        f'<h2>{title}</h2><div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


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
