"""What every command has in common: --home, --json, --debug, the settings, and errors as one line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from corpus_assets.errors import BadInputError

if TYPE_CHECKING:
    from corpus_assets.settings import Settings

P = ParamSpec("P")

Home = Annotated[
    Path | None,
    typer.Option(help="Where the corpus and its answers live (default: RESEARCH_COPILOT_HOME, else .copilot)."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show logs, and the traceback of an unexpected error.")]


@dataclass
class Invocation:
    """One call of a command. Options given before the command's name and after it mean the same."""

    home: Path | None = None
    as_json: bool = False
    is_debug: bool = False

    def settings(self, **changes: object) -> Settings:
        """Return the settings of the environment, with ``--home`` and ``changes`` over them; paths are absolute."""
        from pydantic import ValidationError

        from corpus_assets.settings import Settings

        if self.home is not None:
            changes["home"] = self.home
        try:
            settings = Settings(**changes)  # type: ignore[arg-type]
        except ValidationError as error:
            problem = error.errors()[0]
            name = "__".join(str(part) for part in problem["loc"]).upper()
            raise BadInputError(
                f"The setting RESEARCH_COPILOT_{name} cannot be used: {problem['msg']}.",
                hint="Change or unset that environment variable.",
            ) from error
        paths = {"home": settings.home.absolute(), "papers_dir": settings.papers_dir.absolute()}
        return settings.model_copy(update=paths)


def command(
    app: typer.Typer, name: str | None = None, **options: Any
) -> Callable[[Callable[Concatenate[Invocation, P], int | None]], Callable[Concatenate[Invocation, P], int | None]]:
    """Register a function as a command that also takes ``--home``, ``--json`` and ``--debug``.

    The function gets an :class:`Invocation` first and returns the exit code (None for 0).
    """

    def register(
        function: Callable[Concatenate[Invocation, P], int | None],
    ) -> Callable[Concatenate[Invocation, P], int | None]:
        hints = get_type_hints(function, include_extras=True)
        _, *own = inspect.signature(function).parameters.values()
        parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        for option, annotation, default in (("home", Home, None), ("as_json", AsJson, False), ("debug", Debug, False)):
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(option, kind, default=default, annotation=annotation))
        context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

        @functools.wraps(function)
        def run(ctx: typer.Context, *, home: Path | None, as_json: bool, debug: bool, **arguments: Any) -> int:
            common: Invocation = ctx.find_root().obj
            common.home = home or common.home
            common.as_json = as_json or common.as_json
            common.is_debug = debug or common.is_debug
            return function(common, **arguments) or 0  # type: ignore[call-arg]  # P.kwargs, as typer parsed them

        run.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in [context, *parameters]}
        del run.__wrapped__  # the reader of signatures must not look through this one
        app.command(name, **options)(run)
        return function

    return register
