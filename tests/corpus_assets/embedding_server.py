"""A loopback server that speaks the OpenAI embeddings wire format and plays a script, one entry a request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from corpus_assets.embedding.hashing import HashEmbedder
from tests.loopback import Play, Script, cut_off, hang, loopback_server, send

__all__ = ["Script", "cut_off", "embed", "embedding_server", "error", "hang", "reply", "rows_of", "vectors"]


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


@contextmanager
def embedding_server(*plays: Play, key: str = "") -> Iterator[Script]:
    """Serve a script on a loopback port under /v1; ``key``: what requests without it are refused for."""

    def refuse(path: str, headers: dict[str, str], body: dict[str, Any]) -> Play | None:
        given = headers.get("authorization", "")
        if path != "/v1/embeddings":
            return error(404, f"no such path {path}")
        if key and given != f"Bearer {key}":
            return error(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}")
        return None

    with loopback_server(plays or (embed,), refuse) as script:
        script.url += "/v1"
        yield script
