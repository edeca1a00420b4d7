"""The ``research-copilot`` program: exit codes, errors and pipes. Commands live in the files beside this one."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from typing import Annotated

import typer

from corpus_assets.errors import CopilotError
from dagster_project.cli import corpus, doctor, evaluation, golden, ideas, mcp, papers, questions
from dagster_project.cli.invocation import AsJson, Debug, Home, Invocation
from dagster_project.cli.terminal import OutputError, make_safe_line, print_json, print_note, print_text
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
                return _report(error, common) if isinstance(error, CopilotError) else _report_unexpected(error, common)
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


def _report(error: CopilotError, common: Invocation) -> int:
    """Print one of our own errors as one line (and as the JSON document, if that was asked for)."""
    if common.is_debug:
        traceback.print_exception(error)
    print_note(f"Error: {error}")
    if common.as_json:
        print_json({"error": error.message, "hint": error.hint, "exit_code": error.exit_code})
    return error.exit_code


def _report_unexpected(error: Exception, common: Invocation) -> int:
    """Print one line for an error that is not ours, and keep its traceback in a file."""
    summary = make_safe_line(f"{type(error).__name__}: {error}")[:300]
    if common.is_debug:
        traceback.print_exception(error)
        where = ""
    else:
        where = _keep_traceback(error, common)
    print_note(f"Unexpected error: {summary}. {where}")
    if common.as_json:
        print_json({"error": summary, "hint": where, "exit_code": 1})
    return 1


def _keep_traceback(error: Exception, common: Invocation) -> str:
    """Append the traceback to the home's log and say where it is; when that cannot be written, say how to see it."""
    try:
        path = common.settings().home / "logs" / "errors.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(time.strftime("%Y-%m-%d %H:%M:%S ") + "".join(traceback.format_exception(error)) + "\n")
    except (OSError, CopilotError):
        return "Run it again with --debug to see the traceback."
    return f"The traceback is in {path}."
