"""The embedding API against a scripted server: order, numbers, retries, refusals, and a key that is never shown."""

from __future__ import annotations

import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from corpus_assets.embedding.api import ApiEmbedder, EmbeddingApiError, has_api, read_retry_after
from corpus_assets.embedding.hashing import HashEmbedder
from corpus_assets.embedding.registry import load_embedder
from corpus_assets.errors import BadInputError
from corpus_assets.settings import EmbeddingApiSettings, Settings
from tests.corpus_assets.embedding_server import (
    cut_off,
    embed,
    embedding_server,
    error,
    hang,
    reply,
    rows_of,
    vectors,
)

KEY = "sk-secret-0123456789"
TEXTS = ["T790M in plasma", "MET amplification", "a lamp", "lichen on basalt", "osimertinib"]


def make(script, *, slept=None, **changes):
    settings = EmbeddingApiSettings(
        **{"base_url": script.url, "model": "m-1", "key": KEY, "timeout_seconds": 5.0, "max_retries": 2, **changes}
    )
    return ApiEmbedder(settings, sleep=(slept if slept is not None else []).append, jitter=lambda: 0.5)


def test_vectors_come_back_in_the_order_of_the_texts_and_of_length_one():
    with embedding_server(key=KEY) as script:
        embedder = make(script, batch_size=2)
        found = embedder.embed_documents(TEXTS)
    np.testing.assert_allclose(found, HashEmbedder().embed_documents(TEXTS), atol=1e-6)
    assert found.dtype == np.float32
    assert [len(body["input"]) for body in script.requests] == [1, 2, 2, 1]  # the first asks for the dimension
    assert {body["model"] for body in script.requests} == {"m-1"}
    assert "dimensions" not in script.requests[0]
    assert embedder.describe() == {
        "host": script.url.split("/")[2], "model": "m-1", "dimension": 384, "num_requests": 4, "num_tokens": 28,
    }  # fmt: skip


def test_no_texts_ask_nothing():
    with embedding_server() as script:
        embedder = make(script)
        assert embedder.embed_documents([]).shape == (0, 384)
    assert len(script.requests) == 1


def test_prompts_are_put_before_texts_and_enter_the_fingerprint():
    with embedding_server() as script:
        embedder = make(script, query_prompt="query: ", document_prompt="passage: ")
        embedder.embed_queries(["why"])
        embedder.embed_documents(["because"])
        prompted, plain, other = embedder.fingerprint, make(script).fingerprint, make(script, model="m-2").fingerprint
    assert [body["input"] for body in script.requests[1:3]] == [["query: why"], ["passage: because"]]
    assert len({prompted, plain, other}) == 3


def test_the_fingerprint_knows_host_model_and_dimension_and_not_the_key():
    with embedding_server() as script:
        first, second = make(script), make(script, key="another-key")
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint.endswith("-384")
    assert KEY not in first.fingerprint


def test_a_wanted_dimension_is_asked_for_and_checked():
    with embedding_server(vectors([3.0, 4.0])) as script:
        assert make(script, dimension=2).dimension == 2
        with pytest.raises(EmbeddingApiError, match="has 2 numbers, not 3"):
            make(script, dimension=3)
    assert [body["dimensions"] for body in script.requests] == [2, 3]


def test_a_length_that_changes_between_requests_is_refused():
    with embedding_server(vectors([3.0, 4.0]), vectors([1.0, 2.0, 3.0])) as script:
        embedder = make(script)
        with pytest.raises(EmbeddingApiError, match="has 3 numbers, not 2"):
            embedder.embed_queries(["why"])


SWAPPED = {"data": [{"index": 1, "embedding": [1.0, 0.0]}]}
MALFORMED = {
    "nan": (vectors([1.0, float("nan")]), "not a number"),
    "infinite": (vectors([1.0, float("inf")]), "not a number"),
    "huge": (vectors([1e300, 1e300]), "not a number"),
    "zeros": (vectors([0.0, 0.0]), "all zeros"),
    "empty vector": (vectors([]), "no list of numbers|all zeros"),
    "text for numbers": (vectors(["0.1", "0.2"]), "no list of numbers"),
    "base64": (vectors("AAAA"), "no list of numbers"),
    "null": (vectors([None, 1.0]), "no list of numbers"),
    "too many": (vectors([1.0], [1.0]), "2 embeddings came for 1"),
    "none": (reply({"data": []}), "0 embeddings came for 1"),
    "no data": (reply({"object": "list"}), "no embeddings came"),
    "wrong number": (reply(SWAPPED), "not numbered"),
    "true for 0": (reply({"data": [{"index": False, "embedding": [1.0]}]}), "not numbered"),
    "no index": (reply({"data": [{"embedding": [1.0]}]}), "not numbered"),
    "a list": (reply([1.0]), "no JSON object"),
    "html": (reply(b"<html>welcome</html>"), "no JSON"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_are_no_embeddings_is_refused_and_not_asked_again(kind):
    play, problem = MALFORMED[kind]
    with embedding_server(play) as script, pytest.raises(EmbeddingApiError, match=problem) as raised:
        make(script)
    assert len(script.requests) == 1
    assert "MODEL" in raised.value.hint
    assert not raised.value.retryable


def test_a_number_given_twice_is_refused():
    twice = {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]}
    with embedding_server(vectors([1.0]), reply(twice)) as script:
        embedder = make(script)
        with pytest.raises(EmbeddingApiError, match="not numbered 0 to 1"):
            embedder.embed_documents(["a", "b"])


def test_lengths_that_differ_within_a_reply_are_refused():
    with embedding_server(vectors([1.0, 2.0]), vectors([1.0, 2.0], [1.0])) as script:
        embedder = make(script)
        with pytest.raises(EmbeddingApiError, match="differ in length"):
            embedder.embed_documents(["a", "b"])


def test_a_blank_text_is_refused_before_anything_is_sent():
    with embedding_server() as script:
        embedder = make(script)
        with pytest.raises(EmbeddingApiError, match="Text 2 of 2 is blank"):
            embedder.embed_documents(["a", " \n"])
    assert len(script.requests) == 1


@pytest.mark.parametrize("play", [error(429), error(500), error(503), cut_off], ids=["429", "500", "503", "cut off"])
def test_passing_trouble_is_asked_again_with_back_off(play):
    slept: list[float] = []
    with embedding_server(play, play, embed) as script:
        assert make(script, slept=slept).dimension == 384
    assert len(script.requests) == 3
    assert slept == [0.375, 0.75]  # 0.5 and 1 s, spread


def test_retry_after_wins_over_the_back_off():
    slept: list[float] = []
    with embedding_server(error(429, retry_after="7"), embed) as script:
        make(script, slept=slept)
    assert slept == [pytest.approx(7.35)]


def test_a_retry_after_beyond_a_minute_is_not_waited_for():
    slept: list[float] = []
    with (
        embedding_server(error(429, retry_after="3600")) as script,
        pytest.raises(EmbeddingApiError, match="HTTP 429") as raised,
    ):
        make(script, slept=slept)
    assert slept == []
    assert "3780 s of patience" in raised.value.hint
    assert raised.value.retryable


def test_a_retry_after_is_a_number_or_a_date_and_never_negative():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=20), usegmt=True)
    assert read_retry_after("1.5") == 1.5
    assert 15 < (read_retry_after(soon) or 0) <= 20
    assert read_retry_after(past) == 0
    for text in ("", "soon", "-4", "nan", "1e9"):
        assert read_retry_after(text) is None


def test_retries_are_bounded():
    slept: list[float] = []
    with (
        embedding_server(error(503, "overloaded")) as script,
        pytest.raises(EmbeddingApiError, match="HTTP 503 for m-1: overloaded") as raised,
    ):
        make(script, slept=slept)
    assert len(script.requests) == 3
    assert len(slept) == 2
    assert raised.value.retryable


@pytest.mark.parametrize("status", [400, 404, 422, 301])
def test_a_refusal_is_not_asked_again(status):
    headers = {"location": "http://127.0.0.1:9/v1/embeddings"} if status == 301 else {}
    with (
        embedding_server(error(status, "no such model", **headers)) as script,
        pytest.raises(EmbeddingApiError, match=f"HTTP {status}.*no such model") as raised,
    ):
        make(script)
    assert len(script.requests) == 1
    assert raised.value.exit_code == 2
    if status in (404, 301):
        assert "EMBEDDING_API__BASE_URL" in raised.value.hint


def test_a_server_that_says_nothing_is_given_up():
    with embedding_server(hang(0.6)) as script, pytest.raises(EmbeddingApiError, match="could not be reached"):
        make(script, timeout_seconds=0.1, max_retries=1)
    assert len(script.requests) == 2


def test_a_server_that_is_not_there_is_named():
    settings = EmbeddingApiSettings(base_url="http://127.0.0.1:9/v1", model="m", key=KEY, max_retries=1)
    with pytest.raises(EmbeddingApiError, match=r"127\.0\.0\.1:9 could not be reached") as raised:
        ApiEmbedder(settings, sleep=lambda _: None)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_the_setting_and_never_the_key(status, caplog):
    caplog.set_level(logging.DEBUG)
    with embedding_server(error(status, f"bad key {KEY}")) as script, pytest.raises(EmbeddingApiError) as raised:
        make(script)
    assert "RESEARCH_COPILOT_EMBEDDING_API__KEY" in str(raised.value)
    assert KEY not in str(raised.value) + caplog.text
    assert len(script.requests) == 1


def test_a_missing_key_is_told_apart_from_a_wrong_one():
    with embedding_server(key=KEY) as script:
        with pytest.raises(EmbeddingApiError, match="without a key"):
            make(script, key="")
        with pytest.raises(EmbeddingApiError, match="refused the key in"):
            make(script, key="sk-wrong")
    assert "authorization" not in script.headers[0]


def test_a_server_that_repeats_the_key_is_not_quoted_with_it(caplog):
    caplog.set_level(logging.DEBUG)
    with (
        embedding_server(error(503, f"overloaded, dear {KEY}")) as script,
        pytest.raises(EmbeddingApiError, match=r"dear \[key\]") as raised,
    ):
        make(script)
    assert KEY not in str(raised.value) + caplog.text


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_what_cannot_be_a_key_is_refused_without_showing_it(key):
    settings = EmbeddingApiSettings(base_url="http://127.0.0.1:9/v1", model="m", key=key)
    with pytest.raises(BadInputError, match="EMBEDDING_API__KEY") as raised:
        ApiEmbedder(settings)
    assert key not in str(raised.value)


def test_a_line_break_after_the_key_is_no_part_of_it():
    with embedding_server(key=KEY) as script:
        assert make(script, key=f"{KEY}\n").dimension == 384


def test_what_is_missing_is_named():
    with pytest.raises(BadInputError, match=r"BASE_URL and .*MODEL not set"):
        ApiEmbedder(EmbeddingApiSettings(key=KEY))
    with pytest.raises(BadInputError, match="EMBEDDING_API__MODEL not set"):
        ApiEmbedder(EmbeddingApiSettings(base_url="http://127.0.0.1:9/v1"))


@pytest.mark.parametrize(
    "address",
    ["api.example.org/v1", "ftp://api.example.org", "https://", "https://u:pw@a.org/v1", "https://a.org/v1?key=pw"],
)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(address, monkeypatch):
    monkeypatch.setenv("RESEARCH_COPILOT_EMBEDDING_API__BASE_URL", address)
    with pytest.raises(ValidationError) as raised:
        Settings()
    assert "pw" not in str(raised.value)


def test_the_key_comes_from_the_environment_and_is_in_no_dump_nor_fingerprint(monkeypatch):
    plain = Settings()
    monkeypatch.setenv("RESEARCH_COPILOT_EMBEDDING_API__KEY", KEY)
    monkeypatch.setenv("RESEARCH_COPILOT_EMBEDDING_API__BASE_URL", "https://api.example.org/v1/")
    settings = Settings()
    assert settings.embedding_api.key.get_secret_value() == KEY
    assert settings.embedding_api.base_url == "https://api.example.org/v1"
    assert has_api(settings.embedding_api)
    assert not has_api(plain.embedding_api)
    assert KEY not in repr(settings) + settings.model_dump_json() + str(settings.model_dump())
    assert "key" not in settings.model_dump()["embedding_api"]
    assert settings.corpus_fingerprint() == plain.corpus_fingerprint()


def test_a_key_under_a_misspelt_name_is_not_shown(monkeypatch):
    monkeypatch.setenv("RESEARCH_COPILOT_EMBEDDING_API__API_KEY", KEY)
    with pytest.raises(ValidationError) as raised:
        Settings()
    assert KEY not in str(raised.value)
    assert "embedding_api" in str(raised.value)


def test_the_chat_models_key_and_address_are_not_read(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "chat-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "other-key")
    monkeypatch.setenv("RESEARCH_COPILOT_LLM__ENABLED", "off")
    with embedding_server(key=KEY) as script:
        assert make(script).dimension == 384
    assert "chat-key" not in str(script.headers)
    assert "other-key" not in str(script.headers)


def test_a_corpus_is_never_built_with_the_api(tmp_path):
    with pytest.raises(BadInputError, match="a tier of the benchmark"):
        load_embedder("api", tmp_path)


def test_nothing_heavy_is_imported_for_the_module():
    code = "import sys, corpus_assets.embedding.api; print({'httpx2', 'numpy', 'anthropic'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout.strip() == "set()"


def test_the_server_itself_answers_in_another_order():
    """The test of order above means something only if the rows do come reversed."""
    assert [row["index"] for row in rows_of([[1.0], [2.0]])["data"]] == [0, 1]
    with embedding_server() as script:
        import httpx2

        answer = httpx2.post(f"{script.url}/embeddings", json={"input": ["a", "b"]}).json()
    assert [row["index"] for row in answer["data"]] == [1, 0]
