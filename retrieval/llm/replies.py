"""From a model's reply to a validated object; models wrap, fence and cut their JSON, and none of that is trusted."""

from __future__ import annotations

import json
import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from corpus_assets.errors import CopilotError

Reply = TypeVar("Reply", bound=BaseModel)

_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)


class MalformedReplyError(CopilotError):
    """The model's reply is not of the form asked for, also after asking again."""


class RefusedReplyError(CopilotError):
    """The model declined, or its reply was cut off."""


def parse_reply(text: str, schema: type[Reply]) -> Reply:
    """Return the first JSON object in a text that fits the schema: bare, fenced, or among prose.

    Raises ``MalformedReplyError`` with the validation errors, short enough to send back to the model.
    """
    reason = "no JSON object in the reply"
    for candidate in _candidates(text):
        try:
            return schema.model_validate(json.loads(candidate))
        except json.JSONDecodeError as error:
            reason = f"not JSON: {error}"
        except ValidationError as error:
            reason = explain(error)
    raise MalformedReplyError(f"The model's reply does not fit {schema.__name__}: {reason}.")


def explain(error: ValidationError) -> str:
    """Return a validation error in one line a model or a person can act on."""
    parts = [f"{'.'.join(str(p) for p in item['loc']) or 'reply'}: {item['msg']}" for item in error.errors()[:5]]
    return "; ".join(parts)


def _candidates(text: str) -> list[str]:
    found = [match.group(1).strip() for match in _FENCE.finditer(text)]
    found.append(text.strip())
    start = text.find("{")
    while start != -1:
        end = _matching_brace(text, start)
        if end == -1:
            break
        found.append(text[start : end + 1])
        start = text.find("{", end + 1)
    return [candidate for candidate in found if candidate.startswith("{")]


def _matching_brace(text: str, start: int) -> int:
    depth, in_string, is_escaped = 0, False, False
    for at in range(start, len(text)):
        char = text[at]
        if in_string:
            if is_escaped:
                is_escaped = False
            elif char == "\\":
                is_escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at
    return -1
