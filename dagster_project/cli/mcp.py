"""Serve the corpus to agents."""

from __future__ import annotations

from typing import Annotated

import typer

from corpus_assets.errors import CopilotError
from dagster_project.cli.invocation import Invocation, command
from dagster_project.cli.terminal import print_note


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    command(app)(mcp)


def mcp(
    call: Invocation,
    *,
    save: Annotated[
        bool, typer.Option("--save", help="Keep answers in the home, as `ask` does; without it nothing is written.")
    ] = False,
) -> None:
    """Serve search, ask, show_paper and verify to agents over stdio (Model Context Protocol)."""
    from dagster_project.agent_desk import AgentDesk
    from dagster_project.mcp_server import make_server

    desk = AgentDesk(call.settings(), saves=save)
    server = make_server(desk)
    try:
        desk.warm_up()
    except CopilotError as error:
        print_note(f"Note: {error} Calls will say so until a corpus is published.")
    try:
        server.run("stdio")
    finally:
        desk.close()
