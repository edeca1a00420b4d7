"""A stage's model branch: tried when there is a model, given up for the rules' branch with the reason named."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from corpus_assets.errors import CopilotError

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


def attempt(what: str, call: Callable[[], Result], instead: str) -> tuple[Result | None, tuple[str, ...]]:
    """Return what ``call`` returns, or None and, for the stage's record, why not and what was done instead.

    Only this project's own errors are caught: a budget that would be passed, a time-out, a refusal, a malformed reply.
    """
    try:
        return call(), ()
    except CopilotError as error:
        logger.info("%s: %s", what, error)
        return None, (f"{what}: {error.message} {instead}",)
