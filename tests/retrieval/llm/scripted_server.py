"""A loopback server that speaks the Messages wire format: it checks each request and plays a script."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Play = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class Script:
    """Plays one entry a request (the last one again when they run out) and keeps what was asked."""

    plays: list[Play]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    url: str = ""

    def play(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        number = min(len(self.requests), len(self.plays)) - 1
        self.plays[number](handler, body)


def send(handler: BaseHTTPRequestHandler, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
    data = json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(data)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


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


def hang(seconds: float) -> Play:
    """Say nothing for longer than the client waits."""

    def play(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        time.sleep(seconds)

    return play


def cut_off(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """Promise a long body and close in the middle of it."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"id": "msg_1", "type": "mess')
    handler.wfile.flush()
    handler.connection.close()


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
    script = Script(list(plays))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.requests.append(body)
            script.headers.append(headers)
            script.times.append(time.monotonic())
            faults = find_faults(headers, body)
            if self.path != "/v1/messages":
                error(404, "not_found_error", self.path)(self, body)
            elif faults:
                error(400, "invalid_request_error", "; ".join(faults))(self, body)
            else:
                script.play(self, body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
