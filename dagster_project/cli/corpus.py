"""Build the corpus from a folder, list what was built, go back to an earlier generation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpus_assets.errors import BadInputError
from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.terminal import Progress, print_json, print_note, print_table, print_text

if TYPE_CHECKING:
    from corpus_assets.build import IngestReport

NUM_PROBLEMS_SHOWN = 20


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    command(app)(ingest)
    command(app)(generations)
    command(app)(rollback)


def ingest(
    call: Invocation,
    folder: Annotated[Path, typer.Argument(help="The folder of papers: PDF, text, Markdown. Only ever read.")],
    *,
    full: Annotated[bool, typer.Option("--full", help="Read every file again, also unchanged ones.")] = False,
    only_papers: Annotated[
        str, typer.Option(metavar="ID,…", help="Read only these papers again; the others stay as they are.")
    ] = "",
    embedder: Annotated[
        str, typer.Option(help="default, hash (no model), bge-small, or a model's name or path.", show_default=False)
    ] = "",
) -> None:
    """Bring the corpus up to date with a folder and publish it, if its gates pass."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise BadInputError(f"The papers folder {folder} {what}.", hint="Name an existing folder.")
    from dagster_project.ingest import run_ingest

    settings = call.settings(papers_dir=folder)
    paper_ids = [name.strip() for name in only_papers.split(",") if name.strip()]
    with Progress() as progress:
        report = run_ingest(
            settings, full=full, only_papers=paper_ids, embedder=embedder, progress=progress, is_debug=call.is_debug
        )
    if call.as_json:
        print_json(report)
    else:
        _print_report(report)


def _print_report(report: IngestReport) -> None:
    for problem in report.problems[:NUM_PROBLEMS_SHOWN]:
        print_note(f"{problem.status}: {problem.path}: {problem.reason}")
    if len(report.problems) > NUM_PROBLEMS_SHOWN:
        more = len(report.problems) - NUM_PROBLEMS_SHOWN
        print_note(f"… and {more} more: see `research-copilot papers list` or --json")
    changes = ", ".join(
        f"{count} {name}"
        for count, name in (
            (report.num_new, "new"),
            (report.num_changed, "changed"),
            (report.num_removed, "removed"),
            (report.num_renamed, "renamed"),
            (report.num_unchanged, "unchanged"),
            (report.num_failed, "not readable"),
        )
        if count
    )
    print_text(f"{report.num_files} files: {changes}")
    print_text(f"{report.num_papers} papers, {report.num_pages} pages, {report.num_chunks} chunks")
    if not (report.num_parsed or report.num_embedded or report.num_built):
        print_text("Nothing changed: nothing was read, embedded or built.")
    for note in report.notes:
        print_note(f"Note: {note}")
    state = "is published" if report.published else "is NOT published"
    print_text(f"Generation {report.generation} {state} ({report.seconds:.1f} s)")


def generations(call: Invocation) -> None:
    """List the built corpora; the published one is what questions are answered from."""
    from corpus_assets.store.generation import list_generations

    found = list_generations(call.settings().home)
    if call.as_json:
        print_json({"generations": found})
        return
    if not found:
        print_text(f"No generation in {call.settings().home}. Run `research-copilot ingest FOLDER` first.")
        return
    rows = [(g.id, g.created, g.num_papers, g.num_chunks, "published" if g.published else "") for g in found]
    print_table(("id", "created", "papers", "chunks", ""), rows)


def rollback(
    call: Invocation,
    generation: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The generation to publish; default: the one before.")
    ] = None,
) -> None:
    """Publish an earlier generation again; the present one is kept but held back from being published by itself."""
    from corpus_assets.store import publish

    home = call.settings().home
    before = publish.read_pointer(home)["id"] if (home / publish.POINTER_FILE).exists() else None
    published = publish.rollback(home, generation)
    if call.as_json:
        print_json({"published": published, "previous": before})
    else:
        print_text(f"Generation {published} is published" + (" already." if published == before else "."))
