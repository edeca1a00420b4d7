"""What became of each file of the papers folder."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from corpus_assets.errors import BadInputError
from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.terminal import make_safe, print_json, print_table, print_text, write_out

if TYPE_CHECKING:
    from corpus_assets.model import PaperRecord
    from corpus_assets.store.generation import Generation

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What became of each file of the papers folder.")

Status = Literal["ready", "partial", "superseded", "duplicate", "refused", "failed"]
StatusOption = Annotated[Status | None, typer.Option(help="Only papers of this status.")]

NUM_FIRST_CHARS = 200  # of a page's text that `show` prints


def add_to(parent: typer.Typer) -> None:
    """Register this file's commands."""
    command(app, "list")(list_papers)
    command(app, "show")(show_paper)
    command(app, "export")(export_papers)
    command(app, "retractions")(list_retractions)
    parent.add_typer(app, name="papers")


def list_papers(call: Invocation, *, status: StatusOption = None) -> None:
    """List the papers and the files that did not become one, each with its reason."""
    from corpus_assets.store.generation import open_published

    with open_published(call.settings().home) as generation:
        rows = _summaries(generation, status)
    if call.as_json:
        print_json(rows)
        return
    shown = [
        (row["paper_id"], row["status"], row["num_pages"], row["title"] or row["path"], row["reason"]) for row in rows
    ]
    print_table(("paper", "status", "pages", "title", "reason"), shown, max_width=60)
    counts = Counter(str(row["status"]) for row in rows)
    print_text(f"\n{len(rows)} files: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))


def show_paper(
    call: Invocation, paper_id: Annotated[str, typer.Argument(metavar="ID", help="As `papers list` names it.")]
) -> None:
    """Show one paper: its pages and their states, first lines, versions, duplicates, flags."""
    from corpus_assets.store.generation import open_published

    with open_published(call.settings().home) as generation:
        document = describe_paper(generation, paper_id)
    if call.as_json:
        print_json(document)
        return
    print_text(f"{document['title'] or document['path']}\n")
    for name in (
        "paper_id",
        "status",
        "reason",
        "path",
        "authors",
        "year",
        "doi",
        "arxiv_id",
        "retraction",
        "num_chunks",
    ):
        value = document[name]
        if value not in ("", None, [], ()):
            print_text(f"{name:>12}  {', '.join(value) if isinstance(value, (list, tuple)) else value}")
    for name in ("flags", "versions", "duplicates", "also_at"):
        if document[name]:
            print_text(f"{name:>12}  {', '.join(str(item) for item in document[name])}")
    if document["pages"]:
        print_text()
        rows = [
            (
                page["page"],
                page["state"],
                page["num_chars"],
                f"{page['quality']:.2f}",
                page["reason"] or page["first_line"],
            )
            for page in document["pages"]
        ]
        print_table(("page", "state", "chars", "quality", "first line"), rows, max_width=70)


def describe_paper(generation: Generation, paper_id: str) -> dict[str, Any]:
    """Return all that is known of a paper, named by its id or path. Raises BadInputError for an unknown one."""
    record = _find(generation, paper_id)
    return {**_summary(generation, record), **_details(generation, record)}


def export_papers(
    call: Invocation,
    *,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values, the default without --json.")] = False,
    status: StatusOption = None,
) -> None:
    """Write the list of papers as CSV (or JSON) to stdout."""
    from corpus_assets.store.generation import open_published

    if as_csv and call.as_json:
        raise BadInputError("--csv and --json exclude each other.", hint="Give one of them.")
    with open_published(call.settings().home) as generation:
        rows = _summaries(generation, status)
    if call.as_json:
        print_json(rows)
        return
    text = io.StringIO()
    names = [*_COLUMNS, "pages_by_state"]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        states = " ".join(f"{state}={count}" for state, count in row["pages_by_state"].items())
        cells = {**{name: row[name] for name in _COLUMNS}, "pages_by_state": states}
        writer.writerow({name: _csv_cell(cell) for name, cell in cells.items()})
    write_out(make_safe(text.getvalue()))


def list_retractions(call: Invocation) -> None:
    """List papers with a retraction or another notice, and the saved answers that cited them."""
    from corpus_assets.store.generation import open_published
    from retrieval.answer import AnswerRecord
    from retrieval.state_store import StateStore

    settings = call.settings()
    with open_published(settings.home) as generation:
        noticed = {name: record for name, record in generation.papers.items() if record.retraction}
    stored = StateStore(settings.home).read("SELECT record FROM answers ORDER BY created_at, answer_id", [])
    answers = [AnswerRecord.model_validate_json(row[0]) for row in stored]
    rows: list[dict[str, Any]] = [
        {
            "paper_id": paper_id,
            "title": record.label,
            "notice": record.retraction,
            "doi": record.metadata.doi,
            "answers": [
                {"answer_id": answer.answer_id, "question": answer.question, "created_at": answer.created_at}
                for answer in answers
                if any(citation.paper_id == paper_id for citation in answer.citations)
            ],
        }
        for paper_id, record in noticed.items()
    ]
    if call.as_json:
        print_json(rows)
        return
    if not rows:
        print_text("No paper of the published corpus has a notice.")
    for row in rows:
        print_text(f"{row['notice']}: {row['title']} ({row['paper_id']})")
        for answer in row["answers"]:
            print_text(f"    cited in answer {answer['answer_id']}: {answer['question']}")


_COLUMNS = (
    "paper_id", "title", "authors", "year", "doi", "arxiv_id", "status", "reason", "path", "num_pages", "num_chunks",
    "retraction", "also_at",
)  # fmt: skip


def _csv_cell(value: object) -> object:
    """Join lists, and keep a spreadsheet from taking text for a formula."""
    if isinstance(value, (list, tuple)):
        value = "; ".join(str(item) for item in value)
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


def _summaries(generation: Generation, status: str | None) -> list[dict[str, Any]]:
    return [_summary(generation, record) for record in generation.papers.values() if status in (None, record.status)]


def _summary(generation: Generation, record: PaperRecord) -> dict[str, Any]:
    pages = generation.pages(record.paper_id) if record.is_served else ()
    return {
        "paper_id": record.paper_id,
        "title": record.metadata.title,
        "authors": list(record.metadata.authors),
        "year": record.metadata.year,
        "doi": record.metadata.doi,
        "arxiv_id": record.metadata.arxiv_id,
        "status": record.status.value,
        "reason": record.reason,
        "path": record.path,
        "num_pages": record.num_pages,
        "num_pages_expected": record.num_pages_expected,
        "pages_by_state": dict(sorted(Counter(page.state.value for page in pages).items())),
        "num_chunks": len(generation.chunks_of(record.paper_id)) if record.is_served else 0,
        "retraction": record.retraction,
        "also_at": list(record.also_at),
    }


def _details(generation: Generation, record: PaperRecord) -> dict[str, Any]:
    text = generation.text(record.paper_id) if record.is_served else ""
    pages = generation.pages(record.paper_id) if record.is_served else ()
    related = [
        other
        for other in generation.papers.values()
        if other.version_of == record.paper_id or (record.version_of and other.paper_id == record.version_of)
    ]
    copies = [other for other in related if "duplicate" in (other.relation if other.version_of else record.relation)]
    return {
        "pages": [
            {
                "page": page.number,
                "state": page.state.value,
                "num_chars": page.num_chars,
                "quality": page.quality,
                "confidence": page.confidence,
                "reason": page.reason,
                "flags": list(page.flags),
                "first_line": " ".join(text[page.char_start : page.char_end][:NUM_FIRST_CHARS].split()),
            }
            for page in pages
        ],
        "sections": [
            {"title": section.title, "kind": section.kind.value, "level": section.level}
            for section in (generation.sections(record.paper_id) if record.is_served else ())
        ],
        "versions": [other.paper_id for other in related if other not in copies],
        "duplicates": [other.paper_id for other in copies],
        "relation": record.relation,
        "version_of": record.version_of,
        "flags": list(record.flags),
        "doc_sha256": record.doc_sha256,
        "sources": dict(record.metadata.sources),
    }


def _find(generation: Generation, paper_id: str) -> PaperRecord:
    record = generation.papers.get(paper_id)
    if record is not None:
        return record
    by_path = [record for record in generation.papers.values() if paper_id in (record.path, *record.also_at)]
    if by_path:
        return by_path[0]
    raise BadInputError(
        f"No paper {paper_id} in generation {generation.id}.", hint="See `research-copilot papers list`."
    )
