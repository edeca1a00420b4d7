"""Hash, a local model and an embedding API on the same cases, through the command line and the library."""

from __future__ import annotations

import json
import socket

import pytest

from corpus_assets.embedding.api import EmbeddingApiError
from corpus_assets.settings import EmbeddingApiSettings
from corpus_assets.store.generation import open_published
from dagster_project.cli.main import main
from evaluation.embedders import name_embedders
from evaluation.tiers import bench_tiers, compare_tiers
from tests.corpus_assets.embedding_server import embed, embedding_server, error
from tests.integration.metals import Workshop, build_workshop

KEY = "sk-secret-0123456789"
SETTING = "RESEARCH_COPILOT_EMBEDDING_API__"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return build_workshop(tmp_path_factory.mktemp("tiers"))


@pytest.fixture
def set_up(monkeypatch):
    """Set the API's address, model and key in the environment, as a person does."""

    def run(script, key=KEY):
        for name, value in (("BASE_URL", script.url), ("MODEL", "m-1"), ("KEY", key)):
            monkeypatch.setenv(f"{SETTING}{name}", value)

    return run


def bench(workshop, *options):
    golden = str(workshop.settings.gates.golden_path)
    return main(["bench", golden, "--home", str(workshop.settings.home), *options])


def test_an_api_stands_beside_hash_on_the_same_cases(workshop, set_up, tmp_path, capsys):
    """The scripted API serves the hash embedder's vectors: it must score what hash scores, to the last digit shown."""
    with embedding_server(key=KEY) as script:
        set_up(script)
        output, page = tmp_path / "report.json", tmp_path / "report.html"
        code = bench(workshop, "--embedder", "hash,api", "--output", str(output), "--html", str(page), "--json")
    printed = capsys.readouterr()
    assert code == 0, printed.err
    report = json.loads(printed.out)
    assert report["embedder"] == "hash"  # the first named is the report's own
    rows = {(row["mode"], row["metric"]): row for row in report["tiers"]["rows"]}
    for mode in ("embedding_only", "hybrid"):
        assert rows[mode, "ndcg@10"]["api"] == pytest.approx(rows[mode, "ndcg@10"]["hash"], abs=1e-9)
    api = report["tiers"]["tiers"]["api"]["api"]
    assert api["model"] == "m-1"
    assert api["num_requests"] == len(script.requests)
    compared = {(row["a"], row["b"], row["mode"]) for row in report["tiers"]["comparisons"]}
    assert compared == {("api", "hash", "embedding_only"), ("api", "hash", "hybrid")}
    assert "Tiers side by side" in page.read_text()
    assert "api − hash" in page.read_text()
    assert KEY not in output.read_text() + page.read_text() + printed.out + printed.err


def test_a_refused_key_is_one_line_and_exit_code_2(workshop, set_up, capsys):
    with embedding_server(key=KEY) as script:
        set_up(script, key="sk-wrong-key")
        assert bench(workshop, "--embedder", "api") == 2
    printed = capsys.readouterr()
    (line,) = printed.err.strip().splitlines()
    assert f"{SETTING}KEY" in line
    assert "sk-wrong-key" not in line
    assert printed.out == ""


def test_an_api_that_is_not_set_up_is_one_line_and_never_another_model(workshop, monkeypatch, capsys):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "chat-key")  # the chat model's settings stand in for nothing
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert bench(workshop, "--embedder", "hash,api") == 2
    printed = capsys.readouterr()
    assert f"{SETTING}BASE_URL and {SETTING}MODEL not set" in printed.err
    assert printed.out == ""


def test_an_api_that_fails_half_way_fails_the_bench(workshop):
    plays = [embed] * 3 + [error(400, "context length")]
    with embedding_server(*plays) as script, open_published(workshop.settings.home) as generation:
        api = EmbeddingApiSettings(base_url=script.url, model="m-1", batch_size=10, max_retries=0)
        settings = workshop.settings.model_copy(update={"embedding_api": api})
        with pytest.raises(EmbeddingApiError, match="context length"):
            bench_tiers(settings.gates.golden_path, generation, settings=settings, embedders=["api"])


def test_live_is_the_real_model_hash_and_the_api_if_set_up(workshop):
    settings = workshop.settings
    set_up = settings.model_copy(update={"embedding_api": EmbeddingApiSettings(base_url="https://a.org/v1", model="m")})
    assert name_embedders("live", settings, "bge-small") == ("bge-small", "hash")
    assert name_embedders("live", settings, "hash") == ("default", "hash")
    assert name_embedders("live", set_up, "default") == ("default", "hash", "api")
    assert name_embedders("hash, api,hash", settings, "default") == ("hash", "api")


@pytest.mark.parametrize("names", [",", " , "])
def test_no_embedder_named_is_refused(workshop, names, capsys):
    assert bench(workshop, "--embedder", names) == 2
    assert "No embedder is named" in capsys.readouterr().err


@pytest.mark.parametrize("modes", ["hybird", "", "fts_only,nonsense"])
def test_an_unknown_mode_is_refused_before_anything_is_embedded(workshop, set_up, modes, capsys):
    with embedding_server(key=KEY) as script:
        set_up(script)
        assert bench(workshop, "--embedder", "api", "--retrieval", modes) == 2
    assert "Use one or more of fts_only" in capsys.readouterr().err
    assert script.requests == []


@pytest.mark.parametrize("option", ["--output", "--html"])
@pytest.mark.parametrize("target", ["/proc/nowhere/report", "/dev/null/report", "."])
def test_a_report_that_cannot_be_written_is_said_in_one_line_before_the_work(workshop, option, target, capsys):
    assert bench(workshop, option, target) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.strip().splitlines()
    assert "report" in line
    assert printed.out == ""


def test_the_offline_tier_opens_no_socket(workshop, monkeypatch):
    def refuse(*args: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with open_published(workshop.settings.home) as generation:
        reports = bench_tiers(
            workshop.settings.gates.golden_path, generation, settings=workshop.settings, embedders=["hash"]
        )
    assert reports["hash"]["num_cases"] == 24
    assert compare_tiers(reports)["comparisons"] == []


def test_the_shortlist_of_another_model_is_measured_with_its_own_card_vectors(workshop):
    """Small corpora skip the shortlist, so its floor is lowered here; hash and an API that serves hash must agree."""
    retrieval = workshop.settings.retrieval.model_copy(update={"shortlist_min_papers": 1, "shortlist_size": 2})
    with embedding_server() as script, open_published(workshop.settings.home) as generation:
        api = EmbeddingApiSettings(base_url=script.url, model="m-1")
        settings = workshop.settings.model_copy(update={"embedding_api": api, "retrieval": retrieval})
        reports = bench_tiers(
            settings.gates.golden_path, generation, settings=settings, embedders=["hash", "api"], modes=["fts_only"]
        )
    assert reports["hash"]["filter_recall"]["num_skipped"] == 0
    assert 0.4 < reports["hash"]["filter_recall"]["mean"] < 1.0
    assert reports["api"]["filter_recall"] == reports["hash"]["filter_recall"]
