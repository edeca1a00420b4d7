"""The MCP server as an agent meets it: a process of its own, spoken to over stdio with the SDK's client."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path

import pytest

from corpus_assets.errors import ModelMissingError
from corpus_assets.settings import EmbeddingSettings, Settings
from dagster_project.agent_desk import AgentDesk
from tests.integration.cli_corpus import PROGRAM, run_program

needs_sdk = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("mcp") is None, reason="the package mcp is not installed"
)
QUESTION = "How fast did lichen grow on basalt?"


def fingerprint_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


async def talk(home: Path, *calls: tuple[str, dict], arguments: tuple[str, ...] = ()):
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=str(PROGRAM),
        args=["mcp", "--home", str(home), *arguments],
        env={"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "RESEARCH_COPILOT_LLM__ENABLED": "off"},
    )
    async with Client(stdio_client(parameters)) as client:
        tools = (await client.list_tools()).tools
        results = []
        for name, values in calls:
            if callable(values):
                values = values(results)
            results.append(await client.call_tool(name, values))
        return tools, results


@needs_sdk
def test_an_agent_searches_asks_shows_and_verifies_and_writes_nothing(corpus):
    home, _ = corpus
    before = fingerprint_of(home)
    tools, results = asyncio.run(
        talk(
            home,
            ("search", {"query": "vernal moth eggs", "k": 3}),
            ("ask", {"question": QUESTION, "mode": "brief"}),
            ("show_paper", lambda done: {"paper_id": done[0].structured_content["hits"][0]["paper_id"]}),
            ("verify", lambda done: {"answer_id": done[1].structured_content["answer_id"]}),
            ("show_paper", {"paper_id": "no-such-paper"}),
            ("verify", {"answer_id": "/etc/passwd"}),
        )
    )
    assert {tool.name for tool in tools} == {"search", "ask", "show_paper", "verify"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    found, answered, shown, verified, unknown, not_an_id = results
    assert found.structured_content["hits"][0]["title"] == "Vernal moth eggs"
    answer = answered.structured_content
    assert not answer["abstained"] and answer["citations"] and "[1]" in answer["answer"]
    assert json.loads(answered.content[0].text)["answer_id"] == answer["answer_id"]
    assert shown.structured_content["title"] == "Vernal moth eggs" and shown.structured_content["pages"]
    assert verified.structured_content["num_ok"] == len(answer["citations"]) and verified.structured_content["passed"]
    assert unknown.is_error and "no-such-paper" in unknown.content[0].text
    assert not_an_id.is_error
    assert fingerprint_of(home) == before


@needs_sdk
def test_a_home_without_a_corpus_says_so(tmp_path):
    _, (found,) = asyncio.run(talk(tmp_path / "none", ("search", {"query": "anything"})))
    assert found.is_error and "ingest" in found.content[0].text.lower()


def test_without_the_sdk_the_command_says_what_to_install(corpus, monkeypatch):
    from dagster_project.mcp_server import make_server

    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(ModelMissingError, match="package mcp") as caught:
        make_server(AgentDesk(Settings(home=corpus[0])))
    assert "research-copilot[mcp]" in caught.value.hint


def test_the_desk_takes_up_a_newly_published_corpus(tmp_path):
    papers = tmp_path / "papers"
    papers.mkdir()
    home = tmp_path / "home"
    desk = AgentDesk(Settings(home=home, papers_dir=papers, embedding=EmbeddingSettings(model="hash")))
    for name, fact in (("zinc", "Zinc melts at 693 kelvin."), ("tin", "Tin melts at 505 kelvin.")):
        (papers / f"{name}.md").write_text(f"# On {name}\n\n## Results\n\n{fact} It was heated slowly under argon.\n")
        done = run_program("ingest", str(papers), "--embedder", "hash", "--home", str(home))
        assert done.returncode == 0, done.stderr
        assert name in desk.search(f"{name} melts")["hits"][0]["text"].lower()
    desk.close()
