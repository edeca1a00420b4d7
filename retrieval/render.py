"""Answers for a terminal; `answer_page` makes those for a browser. All text from papers or people is escaped."""

from __future__ import annotations

from retrieval.answer import AnswerRecord
from retrieval.answer_page import markdown_to_html, quote_context, render_html
from retrieval.quoted_sources import answer_with_quotes
from retrieval.writing.escape import escape_markdown

__all__ = ["markdown_to_html", "quote_context", "render_html", "render_markdown", "summary_line"]


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
