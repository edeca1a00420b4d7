"""`ask --interactive`: one question a line, answered by models, connections and indexes that stay loaded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dagster_project.cli.failures import tell_error
from dagster_project.cli.invocation import Invocation
from dagster_project.cli.terminal import OutputError
from dagster_project.interrupts import remember_interrupts

if TYPE_CHECKING:
    from retrieval.answer import AnswerRecord

PROMPT = "? "
LAST_WORDS = frozenset({"exit", "quit"})


def answer_lines(call: Invocation, answer: Callable[[str], AnswerRecord], show: Callable[[AnswerRecord], None]) -> None:
    """Answer each line of stdin until it ends or says ``exit`` or ``quit``; blank lines are passed over.

    An error is told and the next line is read. Raises ``KeyboardInterrupt`` for Ctrl-C, whatever error it was told as.
    """
    with remember_interrupts() as is_interrupted:
        for question in read_questions():
            try:
                show(answer(question))
            except (BrokenPipeError, OutputError):
                raise
            except Exception as error:
                if is_interrupted():
                    raise KeyboardInterrupt from None
                tell_error(error, call, is_compact=True)
            if is_interrupted():
                raise KeyboardInterrupt


def read_questions() -> Iterator[str]:
    """Yield the questions on stdin; a person at a terminal is prompted on stderr."""
    if sys.stdin is None:  # closed by the caller (`<&-`)
        return
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    is_typed = sys.stdin.isatty()
    while True:
        if is_typed:
            sys.stderr.write(PROMPT)
            sys.stderr.flush()
        line = sys.stdin.readline()
        question = line.strip()
        if not line or question.casefold() in LAST_WORDS:
            return
        if question:
            yield question
