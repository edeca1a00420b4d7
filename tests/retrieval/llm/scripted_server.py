"""A loopback server that speaks the Messages wire format: it checks each request and plays a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests import loopback
from tests.loopback import Play, Script, cut_off, hang, loopback_server

__all__ = ["Play", "Script", "cut_off", "error", "find_faults", "hang", "message", "scripted_server", "send", "text",
           "tool_use"]  # fmt: skip


def send(handler: BaseHTTPRequestHandler, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
    loopback.send(handler, status, json.dumps(body).encode(), headers)


def message(content: list[dict[str, Any]], stop_reason: str, model: str, **usage: int) -> dict[str, Any]:
    counts = {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        **usage,
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": counts,
    }


def tool_use(value: Any, **usage: int) -> Play:
    """Answer with the forced tool's input."""

    def play(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        block = {"type": "tool_use", "id": "toolu_1", "name": body["tools"][0]["name"], "input": value}
        send(handler, 200, message([block], "tool_use", body["model"], **usage))

    return play


def text(value: str, stop_reason: str = "end_turn") -> Play:
    """Answer with text, as a server does that ignores tools."""

    def play(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        send(handler, 200, message([{"type": "text", "text": value}], stop_reason, body["model"]))

    return play


def error(status: int, kind: str, detail: str = "no", headers: dict[str, str] | None = None) -> Play:
    """Answer with an API error."""

    def play(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        send(handler, status, {"type": "error", "error": {"type": kind, "message": detail}}, headers)

    return play


def find_faults(headers: dict[str, str], body: dict[str, Any]) -> list[str]:
    """Return what the real API would refuse in a request."""
    faults = []
    allowed = {"model", "max_tokens", "system", "messages", "tools", "tool_choice", "stream", "metadata"}
    faults += [f"unknown field {name}" for name in body if name not in allowed]
    faults += [f"missing {name}" for name in ("model", "max_tokens", "messages") if name not in body]
    faults += [] if headers.get("x-api-key") or headers.get("authorization") else ["no key"]
    faults += [] if headers.get("anthropic-version") else ["no version"]
    roles = [turn.get("role") for turn in body.get("messages", [])]
    faults += [] if roles and roles[0] == "user" and roles[-1] == "user" else [f"roles {roles}"]
    faults += [f"role {role}" for role in roles if role not in {"user", "assistant"}]
    faults += ["empty content" for turn in body.get("messages", []) if not turn.get("content")]
    for tool in body.get("tools", []):
        faults += [] if tool.get("input_schema", {}).get("type") == "object" else ["input_schema is no object"]
    return faults


@contextmanager
def scripted_server(*plays: Play) -> Iterator[Script]:
    """Serve a script on a loopback port for the length of the body."""

    def refuse(path: str, headers: dict[str, str], body: dict[str, Any]) -> Play | None:
        faults = find_faults(headers, body)
        if path != "/v1/messages":
            return error(404, "not_found_error", path)
        return error(400, "invalid_request_error", "; ".join(faults)) if faults else None

    with loopback_server(plays, refuse) as script:
        yield script
