"""A loopback server that speaks the OpenAI embeddings wire format and plays a script, one entry a request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from corpus_assets.embedding.hashing import HashEmbedder

Play = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class Script:
    """Plays one entry a request (the last one again when they run out) and keeps what was asked."""

    plays: Sequence[Play]
    key: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def rows_of(vectors: Sequence[Any]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 7, "total_tokens": 7}}


def embed(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """Answer truly, with the hash embedder's vectors three times too long, last text first."""
    vectors = HashEmbedder().embed_documents(body["input"]) * 3.0
    reply = rows_of([[float(value) for value in vector] for vector in vectors])
    reply["data"].reverse()
    send(handler, 200, json.dumps(reply).encode())


def reply(value: Any, status: int = 200, **headers: str) -> Play:
    """Answer with any JSON value (NaN included, as careless servers do) or, given bytes, with those."""

    def play(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        send(handler, status, data, {name.replace("_", "-"): text for name, text in headers.items()})

    return play


def vectors(*rows: Any) -> Play:
    return reply(rows_of(rows))


def error(status: int, message: str = "no", **headers: str) -> Play:
    return reply({"error": {"message": message, "type": "x"}}, status, **headers)


def hang(seconds: float) -> Play:
    def play(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        time.sleep(seconds)

    return play


def cut_off(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """Promise a long body and close in the middle of it."""
    handler.send_response(200)
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.wfile.flush()
    handler.connection.close()


@contextmanager
def embedding_server(*plays: Play, key: str = "") -> Iterator[Script]:
    """Serve a script on a loopback port under /v1; ``key``: what requests without it are refused for."""
    script = Script(plays or (embed,), key)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            script.requests.append(body)
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            given = self.headers.get("authorization", "")
            if self.path != "/v1/embeddings":
                error(404, f"no such path {self.path}")(self, body)
            elif script.key and given != f"Bearer {script.key}":
                error(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}")(self, body)
            else:
                script.plays[min(len(script.requests), len(script.plays)) - 1](self, body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
