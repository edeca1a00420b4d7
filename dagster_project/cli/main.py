"""The ``research-copilot`` program: exit codes, errors and pipes. Commands live in the files beside this one."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated

import typer

from dagster_project.cli import corpus, doctor, evaluation, golden, ideas, mcp, papers, questions
from dagster_project.cli.failures import tell_error
from dagster_project.cli.invocation import AsJson, Debug, Home, Invocation
from dagster_project.cli.terminal import OutputError, print_json, print_note, print_text
from dagster_project.interrupts import remember_interrupts

app = typer.Typer(
    name="research-copilot",
    help="Turn a folder of papers into a searchable corpus, and ask it questions whose citations can be checked.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: it starts in half the time and suits every terminal
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


@app.callback()
def set_common_options(
    ctx: typer.Context,
    home: Home = None,
    as_json: AsJson = False,
    debug: Debug = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed_version

        print_text(f"research-copilot {installed_version('research-copilot')}")
        raise typer.Exit
    common: Invocation = ctx.obj
    common.home, common.as_json, common.is_debug = home, as_json, debug


for group in (corpus, questions, papers, ideas, evaluation, golden, doctor, mcp):
    group.add_to(app)


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code: 0 done, 1 a gate or check failed, 2 bad input, 3 nothing published."""
    _prepare_streams()
    common = Invocation()
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments, common)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has what it wanted (`| head`). Python would complain once more when it flushes at exit.
        _silence(1)
        _silence(2)
        return 128 + signal.SIGPIPE
    except OutputError as error:
        _silence(1)  # what is still buffered would fail once more at exit
        print_note(f"Error: {error}")
        return error.exit_code
    return code


def _run(arguments: list[str], common: Invocation) -> int:
    with remember_interrupts() as is_interrupted:
        try:
            code = app(arguments, prog_name="research-copilot", standalone_mode=False, obj=common)
        except typer.TyperException as error:
            if "--json" in arguments:
                print_json({"error": error.format_message(), "hint": "See --help.", "exit_code": 2})
            if hasattr(error, "show"):
                error.show()
            else:
                print_note(f"Error: {error.format_message()}")
            return 2
        except OutputError:
            raise
        except SystemExit:  # typer's own way out of a broken pipe
            raise BrokenPipeError from None
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except Exception as error:
            if not is_interrupted():  # else it is what became of Ctrl-C
                return tell_error(error, common)
            code = 130
    if code == 130:
        print_note("Interrupted. What was published before still answers.")
    return code if isinstance(code, int) else 0


def _prepare_streams() -> None:
    """Make sure that there are streams, and that they take any text a paper may hold."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # closed by the caller (`>&-`)
            _silence(descriptor)
            setattr(sys, name, os.fdopen(descriptor, "w"))
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _silence(descriptor: int) -> None:
    """Point a descriptor nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
