"""What every caller of the Messages API shares: whether there is a model, its client, its prices, its errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from corpus_assets.settings import LlmSettings

if TYPE_CHECKING:
    import anthropic

Tier = Literal["small", "large"]


def has_model(settings: LlmSettings) -> bool:
    """Tell whether a language model may be asked: a key is set and ``llm.enabled`` is not against it."""
    has_key = bool(os.environ.get("ANTHROPIC_API_KEY") or os.environ.get("ANTHROPIC_AUTH_TOKEN"))
    return has_key and settings.enabled != "off"


def make_client(settings: LlmSettings) -> anthropic.Anthropic:
    """Return the SDK's client with the time-out and the bounded retries of the settings."""
    import anthropic

    return anthropic.Anthropic(timeout=settings.timeout_seconds, max_retries=settings.max_retries)


def list_prices(settings: LlmSettings, tier: Tier) -> tuple[float, float]:
    """Return US dollars a million input and output tokens."""
    if tier == "small":
        return settings.small_usd_per_million_input, settings.small_usd_per_million_output
    return settings.large_usd_per_million_input, settings.large_usd_per_million_output


def price_uncached(settings: LlmSettings, tier: Tier, input_tokens: float, output_tokens: float) -> float:
    """Return the price of a call in US dollars, no token of it cached."""
    per_input, per_output = list_prices(settings, tier)
    return (input_tokens * per_input + output_tokens * per_output) / 1_000_000


def count_input(usage: anthropic.types.Usage) -> int:
    """Return all input tokens of a reply, those written to and read from the prompt cache included."""
    return usage.input_tokens + (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)


def describe_error(error: Exception) -> str:
    """Return the first line of an SDK error, at most 200 characters, without a full stop."""
    return " ".join((str(error).splitlines() or [type(error).__name__])[0].split())[:200].rstrip(".")
