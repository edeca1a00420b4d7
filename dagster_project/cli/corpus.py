"""The generations of a home: list them, go back to an earlier one."""

from __future__ import annotations

from typing import Annotated

import typer

from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.terminal import print_json, print_table, print_text


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    command(app)(generations)
    command(app)(rollback)


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
