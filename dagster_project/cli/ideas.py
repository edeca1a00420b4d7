"""Show the ideas that join papers of the published corpus."""

from __future__ import annotations

from typing import Annotated

import typer

from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.terminal import print_json, print_markdown, print_note


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    command(app)(ideas)


def ideas(
    call: Invocation,
    *,
    limit: Annotated[int, typer.Option(help="Most ideas kept.", min=1, max=200)] = 12,
    again: Annotated[bool, typer.Option("--again", help="Spin anew, also when this corpus has its ideas.")] = False,
) -> None:
    """Show hypotheses that join papers of different clusters, each with the passages it stands on."""
    from corpus_assets.store.generation import open_published
    from dagster_project.ideas import IDEAS_JOB
    from dagster_project.runs import run_job
    from retrieval.spinner.ideas import ideas_markdown, load_ideas

    settings = call.settings()
    with open_published(settings.home) as generation:
        generation_id = generation.id
    report = None if again else load_ideas(settings.home, generation_id)
    if report is None:
        run_job(IDEAS_JOB, settings, run_config={"home": str(settings.home), "limit": limit}, is_debug=call.is_debug)
        report = load_ideas(settings.home, generation_id)
    if report is None:  # another corpus was published meanwhile
        raise RuntimeError(f"the run left no ideas on {generation_id}")
    shown = report.ideas[:limit]
    if call.as_json:
        print_json({**report.model_dump(mode="json"), "ideas": [idea.model_dump(mode="json") for idea in shown]})
        return
    print_markdown(ideas_markdown(shown))
    for note in report.degraded:
        print_note(f"Degraded: {note}")
    print_note(
        f"{len(report.ideas)} kept, {len(report.dropped)} dropped because their passages did not bear them out; "
        f"worded by {report.writer}."
    )
