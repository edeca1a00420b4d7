"""The sources of an answer with the exact words each citation stands on, for people to read."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval.answer import AnswerRecord, Citation, group_by_paper
from retrieval.writing.compose import SOURCES
from retrieval.writing.escape import escape_markdown

NUM_AUTHORS = 3


def answer_with_quotes(record: AnswerRecord) -> str:
    """Return the answer in Markdown, its short list of sources replaced by one that quotes.

    The mode's word limit is that of ``record.answer``; quotes come on top of it, so that no claim has to be taken on
    trust.
    """
    if not record.citations:
        return record.answer.rstrip() + "\n"
    body = record.answer.rsplit(f"\n## {SOURCES}\n", 1)[0].rstrip()
    return f"{body}\n\n## {SOURCES}\n\n{quoted_sources(record.citations)}\n"


def quoted_sources(citations: Sequence[Citation]) -> str:
    """Return a list of papers in order of first use, each with its quotes: number, section, page, exact words."""
    return "\n".join(
        "\n".join([f"- {describe_paper(group[0])}", *(f"  - {describe_quote(item)}" for item in group)])
        for group in group_by_paper(citations)
    )


def describe_paper(citation: Citation) -> str:
    """Return "A. Okonkwo, B. Mensah (2018). **Title.** DOI. file.pdf"."""
    names = ", ".join(citation.authors[:NUM_AUTHORS]) + (" et al." if len(citation.authors) > NUM_AUTHORS else "")
    who = " ".join(part for part in (names, f"({citation.year})" if citation.year else "") if part)
    mark = {"retraction": "**RETRACTED.** ", "": ""}.get(citation.retraction, f"**{citation.retraction.upper()}.** ")
    title = f"**{escape_markdown(citation.title or citation.paper_id).rstrip('.')}.**"
    rest = [f"doi:{escape_markdown(citation.doi)}" if citation.doi else "", escape_markdown(citation.path)]
    head = f"{escape_markdown(who).rstrip('.')}. " if who else ""
    return f"{mark}{head}{title} {' · '.join(part for part in rest if part)}".rstrip()


def describe_quote(citation: Citation) -> str:
    """Return "[1] Results, p. 4: “exact words”"."""
    pages = citation.page_label or "page unknown"
    place = ", ".join(part for part in (escape_markdown(citation.section), pages) if part)
    others = " (reported by others)" if citation.reported_by_others else ""
    return f"[{citation.n}] {place}{others}: “{escape_markdown(citation.quote)}”"
