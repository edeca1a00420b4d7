"""Embed through an OpenAI-compatible ``/embeddings`` endpoint: the bench's shadow tier beside the local models.

The client is httpx2, the transport the anthropic SDK brings anyway. One POST of texts needs no vendor's SDK, and the
checks that matter here (order, length, numbers, the key kept out of messages) would be the project's own with one too.
Retries are a loop and not a library's, because a ``retry-after`` must win over the back-off and has an upper bound.

Everything comes from ``settings.embedding_api``; no chat model's key, address or switch is read. Nothing stands in for
an API that fails: the bench fails.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from corpus_assets.errors import BadInputError, CopilotError
from corpus_assets.settings import EmbeddingApiSettings, fingerprint

if TYPE_CHECKING:
    import httpx2
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

API = "api"  # how the bench's --embedder calls it
KEY_SETTING = "RESEARCH_COPILOT_EMBEDDING_API__KEY"
URL_SETTING = "RESEARCH_COPILOT_EMBEDDING_API__BASE_URL"
MODEL_SETTING = "RESEARCH_COPILOT_EMBEDDING_API__MODEL"
MAX_WAIT_SECONDS = 60.0  # a server that asks for more is not waited for
FIRST_WAIT_SECONDS = 0.5
LONGEST_BACK_OFF_SECONDS = 8.0
MAX_TOKENS = 8191  # no passage of the project comes near; the server refuses what is too long for its model
_PROBE = "What is the melting point of gallium?"
_PIECE = re.compile(r"\w{1,4}|[^\w\s]")
_WORTH_A_RETRY = frozenset({408, 409, 425, 429})


class EmbeddingApiError(CopilotError):
    """The embedding API could not be reached, refused, or answered with what are no embeddings."""


def has_api(settings: EmbeddingApiSettings) -> bool:
    """Tell whether an embedding API is set up. Reads the settings only."""
    return bool(settings.base_url)


class ApiEmbedder:
    """Embed with a remote model. Making one asks for one embedding, so that a bad key or address shows at once.

    ``fingerprint`` holds the API's host, the model, its dimension and the prompts; never the key. ``num_requests`` and
    ``num_tokens`` (as the API counts them, 0 where it does not) say what was spent.
    """

    name = API
    max_tokens = MAX_TOKENS
    num_special_tokens = 0
    degraded = ""

    def __init__(
        self,
        settings: EmbeddingApiSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        missing = [
            name for name, value in ((URL_SETTING, settings.base_url), (MODEL_SETTING, settings.model)) if not value
        ]
        if missing:
            raise BadInputError(
                f"The embedding API is not set up: {' and '.join(missing)} not set.",
                hint="Set the address (up to /v1), the model and, where the server asks for one, the key.",
            )
        self._settings = settings
        self._key = _read_key(settings)
        self._sleep, self._jitter = sleep, jitter
        self._url = f"{settings.base_url}/embeddings"
        self.host = urlsplit(settings.base_url).netloc
        self.model = settings.model
        self.num_requests = 0
        self.num_tokens = 0
        self._client = _make_client(self._key, settings.timeout_seconds)
        self.dimension = settings.dimension or 0
        self.dimension = int(self._embed([settings.query_prompt + _PROBE]).shape[1])
        shaping = [self.host, self.model, self.dimension, settings.query_prompt, settings.document_prompt]
        self.fingerprint = f"api-{fingerprint(shaping)}-{self.dimension}"

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors in the order of ``texts``. Raises EmbeddingApiError."""
        return self._embed([self._settings.document_prompt + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the same for questions."""
        return self._embed([self._settings.query_prompt + text for text in texts])

    def token_starts(self, text: str) -> list[int]:
        """Return where pieces of at most four letters start: the API's tokeniser is not known, this counts high."""
        return [piece.start() for piece in _PIECE.finditer(text)]

    def describe(self) -> dict[str, Any]:
        """Return what a report says about the API: host, model and what was spent."""
        return {
            "host": self.host,
            "model": self.model,
            "dimension": self.dimension,
            "num_requests": self.num_requests,
            "num_tokens": self.num_tokens,
        }

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        blank = next((number for number, text in enumerate(texts, start=1) if not text.strip()), None)
        if blank is not None:
            raise EmbeddingApiError(f"Text {blank} of {len(texts)} is blank: an embedding API refuses such a text.")
        size = self._settings.batch_size
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        if not batches:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.concatenate([self._embed_batch(batch) for batch in batches])

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body: dict[str, object] = {"model": self.model, "input": list(texts)}
        if self._settings.dimension:
            body["dimensions"] = self._settings.dimension
        reply = self._ask(body)
        vectors = self._read_vectors(reply, len(texts))
        usage = reply.get("usage")
        counted = (usage.get("total_tokens") or usage.get("prompt_tokens")) if isinstance(usage, Mapping) else 0
        self.num_tokens += counted if isinstance(counted, int) else 0
        return vectors

    def _ask(self, body: Mapping[str, object]) -> Mapping[str, Any]:
        """Post one request, again where that can help; return the reply's JSON object."""
        import httpx2

        for attempt in range(self._settings.max_retries + 1):
            asked_wait: float | None = None
            try:
                self.num_requests += 1
                response = self._client.post(self._url, json=body)
            except httpx2.RequestError as error:
                problem = EmbeddingApiError(
                    f"The embedding API at {self.host} could not be reached ({type(error).__name__}, "
                    f"{self._settings.timeout_seconds:g} s a request).",
                    hint=f"Is {URL_SETTING} right, and the server up?",
                    retryable=True,
                )
            else:
                if response.status_code == 200:
                    return self._read_object(response)
                problem = self._describe_refusal(response)
                if not problem.retryable:
                    raise problem
                asked_wait = read_retry_after(response.headers.get("retry-after", ""))
            if attempt == self._settings.max_retries:
                break
            wait = self._choose_wait(attempt, asked_wait)
            if wait > MAX_WAIT_SECONDS:
                problem.hint = f"It asks for {wait:.0f} s of patience; at most {MAX_WAIT_SECONDS:g} s are waited."
                break
            logger.info("embedding API: %s Asked again in %.1f s.", problem.message, wait)
            self._sleep(wait)
        raise problem

    def _choose_wait(self, attempt: int, asked_wait: float | None) -> float:
        """Return seconds to wait: what the server asked for or the back-off, spread so that clients do not march."""
        if asked_wait is not None:
            return asked_wait * (1 + 0.1 * self._jitter())
        return float(min(FIRST_WAIT_SECONDS * 2**attempt, LONGEST_BACK_OFF_SECONDS)) * (0.5 + 0.5 * self._jitter())

    def _describe_refusal(self, response: httpx2.Response) -> EmbeddingApiError:
        status = response.status_code
        if status in (401, 403):  # its text is not repeated: it may quote the key
            state = f"the key in {KEY_SETTING}" if self._key else f"a request without a key ({KEY_SETTING} is not set)"
            return EmbeddingApiError(
                f"The embedding API at {self.host} refused {state} (HTTP {status}).",
                hint=f"Set {KEY_SETTING} to a key of this API that may use {self.model}.",
            )
        is_passing = status in _WORTH_A_RETRY or status >= 500
        hint = ""
        if status == 404:
            hint = f"Check {URL_SETTING} (up to and with /v1) and {MODEL_SETTING}."
        elif 300 <= status < 400:
            hint = f"It points elsewhere, which is not followed: set {URL_SETTING} to the final address."
        return EmbeddingApiError(
            f"The embedding API at {self.host} answered HTTP {status} for {self.model}{self._quote(response)}.",
            hint=hint,
            retryable=is_passing,
        )

    def _quote(self, response: httpx2.Response) -> str:
        """Return the server's own words, short, in one line and without the key."""
        try:
            found = response.json()
        except ValueError:
            return ""
        inner = found.get("error", found) if isinstance(found, Mapping) else ""
        text = inner.get("message", "") if isinstance(inner, Mapping) else inner
        if not isinstance(text, str) or not text.strip():
            return ""
        if self._key:
            text = text.replace(self._key, "[key]")
        return f": {' '.join(text.split())[:200].rstrip('.')}"

    def _read_object(self, response: httpx2.Response) -> Mapping[str, Any]:
        try:
            found = response.json()
        except ValueError as error:
            raise self._malformed("the reply is no JSON") from error
        if not isinstance(found, dict):
            raise self._malformed("the reply is no JSON object")
        return found

    def _read_vectors(self, reply: Mapping[str, Any], num: int) -> NDArray[np.float32]:
        """Return ``(num, dimension)`` unit vectors, by the reply's own index and not by its order."""
        import numpy as np

        rows = reply.get("data")
        if not isinstance(rows, list) or len(rows) != num:
            found = len(rows) if isinstance(rows, list) else "no"
            raise self._malformed(f"{found} embeddings came for {num} texts")
        numbered = [row for row in rows if isinstance(row, dict) and type(row.get("index")) is int]
        by_index = {int(row["index"]): row.get("embedding") for row in numbered}
        if sorted(by_index) != list(range(num)):
            raise self._malformed(f"the embeddings are not numbered 0 to {num - 1}")
        try:
            matrix = np.asarray([by_index[index] for index in range(num)])
        except ValueError as error:
            raise self._malformed("the embeddings differ in length") from error
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
            raise self._malformed("an embedding is no list of numbers of one length")
        if self.dimension and matrix.shape[1] != self.dimension:
            raise self._malformed(f"an embedding has {matrix.shape[1]} numbers, not {self.dimension}")
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = matrix.astype(np.float64)
            lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise self._malformed("an embedding holds a value that is not a number")
        if matrix.shape[1] == 0 or not (lengths > 0).all():
            raise self._malformed("an embedding is all zeros")
        unit: NDArray[np.float32] = (matrix / lengths).astype(np.float32)
        return unit

    def _malformed(self, problem: str) -> EmbeddingApiError:
        return EmbeddingApiError(
            f"The embedding API at {self.host} ({self.model}) gave no usable embeddings: {problem}.",
            hint=f"Check that {MODEL_SETTING} names an embedding model and {URL_SETTING} an OpenAI-compatible API.",
        )


def read_retry_after(value: str) -> float | None:
    """Return the seconds a ``retry-after`` header asks for (a number or a date), or None when it says nothing."""
    text = value.strip()
    if not text:
        return None
    if re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _read_key(settings: EmbeddingApiSettings) -> str:
    key = settings.key.get_secret_value().strip()
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        raise BadInputError(
            f"{KEY_SETTING} holds a space, a line break or a letter that no key has.",
            hint="Set it to the key alone.",
        )
    return key


def _make_client(key: str, timeout_seconds: float) -> httpx2.Client:
    import httpx2

    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx2.Client(headers=headers, timeout=timeout_seconds, follow_redirects=False)
