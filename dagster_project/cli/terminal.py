"""What goes to a person's terminal or to a pipe: text made safe, JSON, tables, progress. Logs never go to stdout."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

from corpus_assets.errors import CopilotError


class OutputError(CopilotError):
    """Standard output cannot be written: a full disk, for one."""

    exit_code = 1


# Control codes of C0 and C1 (tab and newline aside), and the marks that reorder what is shown: text from a paper or a
# file name could use them to rewrite the reader's terminal.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def make_safe(text: str) -> str:
    """Return text whose control codes are shown (``\\x1b``) instead of obeyed."""
    return _UNSAFE.sub(_show_code, text)


def _show_code(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def make_safe_line(text: str) -> str:
    """Return :func:`make_safe` text on one line."""
    return " ".join(make_safe(text).split())


def is_plain(stream: TextIO) -> bool:
    """Tell whether a stream must get no colour, cursor movement or carriage return."""
    if not stream.isatty():
        return True
    # NO_COLOR and TERM are the terminal's conventions (no-color.org), not settings of this project.
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "dumb") in ("dumb", "unknown", "")


def to_plain_data(value: Any) -> Any:
    """Return a value as what JSON can hold; NaN and infinities become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):
        return to_plain_data(value.model_dump(mode="json"))
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain_data(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [to_plain_data(item) for item in sorted(value, key=str)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    return value


def write_out(text: str) -> None:
    """Write to stdout. Raises ``OutputError`` when it cannot be written, ``BrokenPipeError`` when nobody reads it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"Standard output cannot be written: {error.strerror}.") from error


def print_json(document: Any, *, is_compact: bool = False) -> None:
    """Write one JSON document to stdout, in ASCII, so that no control code of a paper gets through.

    ``is_compact`` writes it on one line.
    """
    indent = None if is_compact else 2
    write_out(json.dumps(to_plain_data(document), indent=indent, ensure_ascii=True, allow_nan=False) + "\n")


def print_text(text: str = "") -> None:
    """Write a paragraph of safe text to stdout."""
    write_out(make_safe(text) + "\n")


def print_note(text: str) -> None:
    """Write one line to stderr."""
    sys.stderr.write(make_safe_line(text) + "\n")
    sys.stderr.flush()


def print_markdown(text: str) -> None:
    """Write Markdown to stdout: rendered on a terminal, as it is elsewhere."""
    safe = make_safe(text)
    if is_plain(sys.stdout):
        write_out(safe.rstrip("\n") + "\n")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(file=sys.stdout, width=None).print(Markdown(safe, hyperlinks=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]], *, max_width: int = 72) -> None:
    """Write columns of text to stdout; a cell longer than ``max_width`` is cut with an ellipsis."""
    cells = [[_cut(make_safe_line(str(cell)), max_width) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    write_out("\n".join(lines) + "\n")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


class Progress:
    """Show how far a long step is: a bar on a terminal, a line now and then elsewhere. Always on stderr."""

    def __init__(self, *, is_quiet: bool = False, seconds_between_lines: float = 5.0) -> None:
        self._is_quiet = is_quiet
        self._seconds_between_lines = seconds_between_lines
        self._last_line = -math.inf
        self._step = ""
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, step: str, done: int, total: int, detail: str = "") -> None:
        """Report that ``done`` of ``total`` items of a step are finished."""
        if self._is_quiet or total == 0:
            return
        if is_plain(sys.stderr):
            self._print_line(step, done, total, detail)
        else:
            self._draw_bar(step, done, total, detail)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _print_line(self, step: str, done: int, total: int, detail: str) -> None:
        now = time.monotonic()
        is_due = step != self._step or done >= total or now - self._last_line >= self._seconds_between_lines
        if is_due:
            self._step, self._last_line = step, now
            print_note(f"{step}: {done} of {total} {detail}".rstrip())

    def _draw_bar(self, step: str, done: int, total: int, detail: str) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        if self._bar is None:
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[detail]}"),
                console=Console(file=sys.stderr),
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.start()
        if step != self._step:
            self._step = step
            self._task = self._bar.add_task(escape(step), total=total, detail="")
        self._bar.update(self._task, completed=done, total=total, detail=escape(_cut(make_safe_line(detail), 40)))
