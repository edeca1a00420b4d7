"""The project's one error family. The CLI turns these into one line; assets turn them into ``dg.Failure``."""

from __future__ import annotations


class CopilotError(Exception):
    """Say what happened, to which paper or path, and what to do about it.

    ``retryable`` tells a scheduler whether running again unchanged can succeed.
    """

    retryable = False
    exit_code = 2

    def __init__(self, message: str, *, hint: str = "", retryable: bool | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if retryable is not None:
            self.retryable = retryable

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class BadInputError(CopilotError):
    """The person gave something that cannot be used: a missing folder, an empty question, an unknown mode."""


class NothingPublishedError(CopilotError):
    """No generation is published in this home yet."""

    exit_code = 3


class GateFailedError(CopilotError):
    """A gate or a verification said no; what was published before stays published."""

    exit_code = 1


class StoreError(CopilotError):
    """A file of the home is missing, damaged, locked or could not be written; the path is in the message."""

    exit_code = 1


class HomeLockedError(StoreError):
    """Another process is ingesting into this home."""

    exit_code = 2
    retryable = True


class ModelMissingError(CopilotError):
    """A model was asked for by name or path and is not on this machine."""


class ParseError(CopilotError):
    """One file could not be read as a paper. Becomes a row with a reason, never the end of a run."""
