"""A language model words an idea that joins two passages; what goes beyond them is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import Field

from retrieval.claims.polarity import is_hedged
from retrieval.llm.prompts import DATA_RULES, Item, fence, user_turn
from retrieval.llm.protocol import LanguageModel
from retrieval.llm.schemas import ReplyForm
from retrieval.llm.text_guard import adds_facts, find_problem
from retrieval.writing.escape import strip_controls

STAGE = "ideas"
SPIN = f"""\
You propose one idea that joins two passages from research papers of different fields: "yes, and".

{DATA_RULES}
What to write
- idea: one sentence, a testable guess that needs both passages, worded as a possibility ("might", "could"). It holds no
  figure and no name that the passages do not hold, and claims nothing as found.
- test: one sentence that starts with a verb: how one could find out.
"""
GUESS = re.compile(r"\b(?:whether|hypothes\w+)\b", re.I)


class SpunIdea(ReplyForm):
    """One idea that joins two passages."""

    idea: str = Field(min_length=10, max_length=600)
    test: str = Field(min_length=10, max_length=400)


@dataclass(frozen=True)
class WordedIdea:
    """``problem`` says why the idea must not be shown; empty when it may."""

    idea: str
    test: str
    problem: str


def propose_with_model(model: LanguageModel, quotes: tuple[str, str]) -> WordedIdea:
    """Return a model's idea from two quotes. Raises ``CopilotError`` (budget, time-out, refusal, malformed reply)."""
    items = [Item(f"P{number}", quote) for number, quote in enumerate(quotes, start=1)]
    reply = model.complete_structured(
        stage=STAGE,
        system=SPIN,
        messages=user_turn(f"Join P1 and P2.\n\n{fence(items)}"),
        schema=SpunIdea,
        tier="large",
    )
    idea, test = strip_controls(reply.idea), strip_controls(reply.test)
    problem = find_problem(idea, SPIN) or find_problem(test, SPIN)
    problem = problem or adds_facts(idea, quotes) or adds_facts(test, quotes)
    if not problem and not (is_hedged(idea) or GUESS.search(idea)):
        problem = "it states a guess as a finding"
    return WordedIdea(idea, test, f"the model's idea: {problem}" if problem else "")
