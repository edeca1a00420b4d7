"""The real client in front of a scripted server, and plays that answer by the form a request asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from corpus_assets.settings import LlmSettings
from retrieval.llm.anthropic_model import AnthropicModel
from retrieval.llm.usage import UsageLedger
from tests.retrieval.llm.scripted_server import Play, Script, error, tool_use

FENCED = re.compile(r'<data-([0-9a-f]{12}) id="([^"]*)">\n(.*?)\n</data-\1>', re.DOTALL)


def make_model(script: Script, *, budget: float = 1.0, **settings: Any) -> AnthropicModel:
    """Return the real model, pointed at the script."""
    import anthropic

    made = LlmSettings(**{"timeout_seconds": 5.0, "max_retries": 0, **settings})
    client = anthropic.Anthropic(
        api_key="k", base_url=script.url, timeout=made.timeout_seconds, max_retries=made.max_retries
    )
    return AnthropicModel(made, UsageLedger(budget), client)


def by_form(**answers: Any) -> Play:
    """Answer each request by the form its tool asks for: with a value, a function of the request, or a play."""

    def play(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        name = form_of(body)
        if name not in answers:
            error(400, "invalid_request_error", f"the script has no {name}")(handler, body)
            return
        answer = answers[name]
        if isinstance(answer, Playing):
            answer.play(handler, body)
            return
        tool_use(answer(body) if callable(answer) else answer)(handler, body)

    return play


class Playing:
    """A play, told apart from a function that makes an answer."""

    def __init__(self, play: Play) -> None:
        self.play = play


def form_of(body: dict[str, Any]) -> str:
    return str(body["tools"][0]["input_schema"]["title"])


def forms(script: Script) -> list[str]:
    """Return the forms that were asked for, in order."""
    return [form_of(body) for body in script.requests]


def prompt(body: dict[str, Any]) -> str:
    """Return all text of a request."""
    return "\n".join([body["system"][0]["text"], *(str(turn["content"]) for turn in body["messages"])])


def fenced(body: dict[str, Any]) -> dict[str, str]:
    """Return id -> text of the material in a request, without the facts put before it."""
    found = {}
    for _, key, text in FENCED.findall(prompt(body)):
        before, mark, after = text.partition("text:\n")
        found[key] = after if mark else before
    return found


def find_passage(body: dict[str, Any], words: str) -> str:
    """Return the id of the first passage that holds some words."""
    return next(key for key, text in fenced(body).items() if words in text and key.startswith("P"))


def claim(text: str, passage: str, quote: str) -> dict[str, Any]:
    return {"text": text, "support": [{"passage": passage, "quote": quote}]}


def answer_reply(*claims: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"answer": list(claims), "evidence": [], "practice": [], "next_steps": [], **more}


def plan_reply(*texts: str, **more: Any) -> dict[str, Any]:
    queries = [{"text": text, "label": text.rstrip("?")[:100], "rewordings": []} for text in texts]
    return {
        "intent": "understand",
        "is_claim": False,
        "is_comparison": False,
        "sub_queries": queries,
        "counter_queries": [],
        **more,
    }


def judge_all(verdict: str = "supported", **others: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return an answer that gives every claim one verdict, and those whose text holds a word another."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        verdicts = []
        for key, text in fenced(body).items():
            if key.startswith("claim "):
                own = next((label for word, label in others.items() if word in text), verdict)
                verdicts.append({"claim": key.removeprefix("claim "), "verdict": own, "reason": "as the quote says"})
        return {"verdicts": verdicts}

    return answer
