"""Tokens and money: every call is recorded, and one that could pass the budget is not made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from corpus_assets.errors import CopilotError
from corpus_assets.messages_api import Tier, price_uncached
from corpus_assets.settings import LlmSettings

_CHARS_PER_TOKEN = 2.5  # below what English, code and JSON have, so that an estimate is an upper bound
_CACHE_WRITE_FACTOR = 1.25  # price of writing to and reading from the prompt cache, relative to plain input
_CACHE_READ_FACTOR = 0.1


class BudgetExceededError(CopilotError):
    """A call was not made because it could have passed the budget."""


@dataclass(frozen=True)
class CallRecord:
    """One call that was answered. ``input_tokens`` does not count what was written to or read from the cache."""

    stage: str
    model: str
    input_tokens: int
    output_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    usd: float
    seconds: float
    stop_reason: str


@dataclass
class UsageLedger:
    """What one question or one ingest has spent, against its hard limit in US dollars."""

    budget_usd: float
    calls: list[CallRecord] = field(default_factory=list)

    @property
    def usd(self) -> float:
        """Return what was spent so far."""
        return sum(call.usd for call in self.calls)

    @property
    def input_tokens(self) -> int:
        """Return all input tokens, cached ones included."""
        return sum(c.input_tokens + c.cache_write_tokens + c.cache_read_tokens for c in self.calls)

    @property
    def output_tokens(self) -> int:
        """Return all output tokens."""
        return sum(call.output_tokens for call in self.calls)

    def by_stage(self) -> dict[str, float]:
        """Return US dollars by stage, in order of first use."""
        spent: dict[str, float] = {}
        for call in self.calls:
            spent[call.stage] = spent.get(call.stage, 0.0) + call.usd
        return spent

    def reserve(self, stage: str, estimate_usd: float) -> None:
        """Raise ``BudgetExceededError`` when a call of this estimated cost could pass the budget."""
        if self.usd + estimate_usd > self.budget_usd:
            raise BudgetExceededError(
                f"The {stage} call was not made: it could cost ${estimate_usd:.4f}, ${self.usd:.4f} of "
                f"${self.budget_usd:.2f} are spent.",
                hint="Raise llm.budget_usd_per_question (or per_ingest), or set llm.enabled to off.",
            )


def price_usd(settings: LlmSettings, tier: Tier, usage: Sequence[int]) -> float:
    """Return the price of (input, output, cache written, cache read) tokens at the prices in the settings."""
    fresh, output, written, read = usage
    weighted = fresh + written * _CACHE_WRITE_FACTOR + read * _CACHE_READ_FACTOR
    return price_uncached(settings, tier, weighted, output)


def estimate_usd(settings: LlmSettings, tier: Tier, num_chars: int, max_output_tokens: int) -> float:
    """Return an upper bound of a call's price: nothing cached, the longest reply allowed."""
    num_tokens = num_chars / _CHARS_PER_TOKEN * _CACHE_WRITE_FACTOR
    return price_uncached(settings, tier, num_tokens, max_output_tokens)
