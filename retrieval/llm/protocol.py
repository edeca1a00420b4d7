"""What every language model offers to the stages. The default is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from pydantic import BaseModel

from corpus_assets.messages_api import Tier
from retrieval.llm.usage import UsageLedger

Reply = TypeVar("Reply", bound=BaseModel)


class LanguageModel(Protocol):
    """Complete a prompt into a validated pydantic object; token use and cost go to the model's own ledger."""

    name: str  # of the large model, which writes
    ledger: UsageLedger

    def name_of(self, tier: Tier) -> str:
        """Return the name of the model that answers in a tier."""
        ...

    def complete_structured(
        self,
        *,
        stage: str,
        system: str,
        messages: Sequence[Mapping[str, object]],
        schema: type[Reply],
        tier: Tier,
    ) -> Reply:
        """Return a ``schema`` object, or raise a ``CopilotError`` (budget, time-out, refusal, malformed reply)."""
        ...
