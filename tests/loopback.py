"""A scripted HTTP server on the loopback: it plays one entry a request and keeps what was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Play = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]
Check = Callable[[str, dict[str, str], dict[str, Any]], Play | None]  # path, headers, body -> a refusal


@dataclass
class Script:
    """Plays one entry a request (the last one again when they run out) and keeps what was asked."""

    plays: Sequence[Play]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    url: str = ""

    def play(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        number = min(len(self.requests), len(self.plays)) - 1
        self.plays[number](handler, body)


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


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


@contextmanager
def loopback_server(plays: Sequence[Play], refuse: Check) -> Iterator[Script]:
    """Serve a script on a loopback port for the length of the body; what ``refuse`` returns is played instead."""
    script = Script(plays)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.requests.append(body)
            script.headers.append(headers)
            script.times.append(time.monotonic())
            play = refuse(self.path, headers, body) or script.play
            play(self, body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
