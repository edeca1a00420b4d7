"""How an error that ends a command, or one question of several, is told: one line, and its JSON document."""

from __future__ import annotations

import time
import traceback

from corpus_assets.errors import CopilotError
from dagster_project.cli.invocation import Invocation
from dagster_project.cli.terminal import make_safe_line, print_json, print_note

MAX_SUMMARY = 300


def tell_error(error: Exception, call: Invocation, *, is_compact: bool = False) -> int:
    """Print an error as one line (and as a JSON document, if that was asked for) and return its exit code.

    The traceback of one that is not ours goes to the home's log. ``is_compact`` puts the document on one line.
    """
    if call.is_debug:
        traceback.print_exception(error)
    if isinstance(error, CopilotError):
        message, hint, code = error.message, error.hint, error.exit_code
        print_note(f"Error: {error}")
    else:
        message, code = make_safe_line(f"{type(error).__name__}: {error}")[:MAX_SUMMARY], 1
        hint = "" if call.is_debug else _keep_traceback(error, call)
        print_note(f"Unexpected error: {message}. {hint}")
    if call.as_json:
        print_json({"error": message, "hint": hint, "exit_code": code}, is_compact=is_compact)
    return code


def _keep_traceback(error: Exception, call: Invocation) -> str:
    """Append the traceback to the home's log and say where it is; when that cannot be written, say how to see it."""
    try:
        path = call.settings().home / "logs" / "errors.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(time.strftime("%Y-%m-%d %H:%M:%S ") + "".join(traceback.format_exception(error)) + "\n")
    except (OSError, CopilotError):
        return "Run it again with --debug to see the traceback."
    return f"The traceback is in {path}."
