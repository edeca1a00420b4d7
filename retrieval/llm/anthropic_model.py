"""The language model behind the ``anthropic`` SDK: Anthropic's API, or any server ``ANTHROPIC_BASE_URL`` names."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from corpus_assets.errors import CopilotError
from corpus_assets.messages_api import Tier, has_model, make_client
from corpus_assets.settings import LlmSettings
from retrieval.llm.replies import MalformedReplyError, RefusedReplyError, explain, parse_reply
from retrieval.llm.usage import CallRecord, UsageLedger, estimate_usd, price_usd

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message

logger = logging.getLogger(__name__)

Reply = TypeVar("Reply", bound=BaseModel)

_TOOL = "give_answer"
_PAUSE_SECONDS = 60.0  # after a model could not be reached: the next stages fail at once instead of waiting too
_MAX_OUTPUT_TOKENS = {"small": 2048, "large": 4096}


class ModelCallError(CopilotError):
    """The model could not be reached or answered with an error; the stage goes on without it and says so."""


class AnthropicModel:
    """Asks for structured replies through one forced tool; a server that ignores tools is read as text.

    Retries (429, 5xx, 529, broken connections) with jitter and ``retry-after`` are the SDK's own, bounded by the
    settings. Every answered call is in ``ledger``, the failed repair included. After a time-out or a broken connection
    no call is made for a minute, so that a question without a network waits once and not at every stage.
    """

    def __init__(self, settings: LlmSettings, ledger: UsageLedger, client: anthropic.Anthropic | None = None) -> None:
        self._settings = settings
        self.ledger = ledger
        self._client = client or make_client(settings)
        self.name = settings.large_model
        self._unreachable_since: float | None = None

    def name_of(self, tier: Tier) -> str:
        """Return the name of the model that answers in a tier."""
        return self._settings.small_model if tier == "small" else self._settings.large_model

    def complete_structured(
        self,
        *,
        stage: str,
        system: str,
        messages: Sequence[Mapping[str, object]],
        schema: type[Reply],
        tier: Tier,
    ) -> Reply:
        """Return a validated ``schema`` object; a malformed reply is sent back once with what is wrong with it.

        ``system`` is the long stable part and is marked for the prompt cache. Raises ``BudgetExceededError``,
        ``ModelCallError``, ``RefusedReplyError`` or ``MalformedReplyError``.
        """
        conversation: list[dict[str, object]] = [dict(message) for message in messages]
        reason = ""
        for _ in range(2):
            message = self._call(stage, system, conversation, schema, tier)
            try:
                return _read(message, schema)
            except MalformedReplyError as error:
                reason = error.message
                logger.info("%s: %s", stage, reason)
                conversation = [*conversation, *_repair(message, reason)]
        raise MalformedReplyError(f"{stage}: {reason}", hint="The stage went on without the model.")

    def _call(
        self, stage: str, system: str, conversation: list[dict[str, object]], schema: type[BaseModel], tier: Tier
    ) -> Message:
        import anthropic

        model = self.name_of(tier)
        max_tokens = _MAX_OUTPUT_TOKENS[tier]
        tool_schema = schema.model_json_schema()
        num_chars = len(system) + len(str(conversation)) + len(str(tool_schema))
        self.ledger.reserve(stage, estimate_usd(self._settings, tier, num_chars, max_tokens))
        request: dict[str, Any] = {
            "model": model,
            "max_tokens": max_tokens,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
            "messages": conversation,
            "tools": [{"name": _TOOL, "description": "Give the answer in this form.", "input_schema": tool_schema}],
            "tool_choice": {"type": "tool", "name": _TOOL},
        }
        started = time.monotonic()
        if self._unreachable_since is not None and started - self._unreachable_since < _PAUSE_SECONDS:
            raise ModelCallError(
                f"{stage}: {model} was not asked: it could not be reached just before.", retryable=True
            )
        try:
            message: Message = self._client.messages.create(**request)
        except anthropic.APITimeoutError as error:
            self._unreachable_since = time.monotonic()
            raise ModelCallError(
                f"{stage}: {model} did not answer in {self._settings.timeout_seconds:g} s.", retryable=True
            ) from error
        except anthropic.APIConnectionError as error:
            self._unreachable_since = time.monotonic()
            raise ModelCallError(f"{stage}: {model} could not be reached: {error}.", retryable=True) from error
        except anthropic.APIStatusError as error:
            is_passing = error.status_code in {408, 409, 429} or error.status_code >= 500
            raise ModelCallError(
                f"{stage}: {model} answered with error {error.status_code}: {_api_message(error)}.",
                retryable=is_passing,
            ) from error
        except anthropic.AnthropicError as error:
            raise ModelCallError(f"{stage}: {model}: {error}") from error
        self._record(stage, model, tier, message, time.monotonic() - started)
        return message

    def _record(self, stage: str, model: str, tier: Tier, message: Message, seconds: float) -> None:
        usage = message.usage
        written, read = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
        counts = (usage.input_tokens, usage.output_tokens, written, read)
        usd = price_usd(self._settings, tier, counts)
        self.ledger.calls.append(
            CallRecord(stage, model, *counts, usd=usd, seconds=seconds, stop_reason=str(message.stop_reason))
        )


def load_language_model(settings: LlmSettings, budget_usd: float) -> AnthropicModel | None:
    """Return the model that is configured, or ``None``: when switched off or without a key nothing is imported."""
    if not has_model(settings):
        return None
    return AnthropicModel(settings, UsageLedger(budget_usd))


def _read(message: Message, schema: type[Reply]) -> Reply:
    if message.stop_reason == "refusal":
        raise RefusedReplyError(f"The model declined to answer ({schema.__name__}).")
    if message.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
        raise RefusedReplyError(f"The model's reply was cut off ({message.stop_reason}, {schema.__name__}).")
    for block in message.content:
        if block.type == "tool_use":
            try:
                return schema.model_validate(block.input)
            except ValidationError as error:
                raise MalformedReplyError(
                    f"The tool input does not fit {schema.__name__}: {explain(error)}."
                ) from error
    return parse_reply("\n".join(block.text for block in message.content if block.type == "text"), schema)


def _repair(message: Message, reason: str) -> list[dict[str, object]]:
    """Return the turns that hand a malformed reply back with what is wrong with it."""
    text = "\n".join(block.text for block in message.content if block.type == "text")
    for block in message.content:
        if block.type == "tool_use":
            text = f"{text}\n{block.input}".strip()
    return [
        {"role": "assistant", "content": text or "(no reply)"},
        {"role": "user", "content": f"{reason} Give the whole answer again, in the form asked for and nothing else."},
    ]


def _api_message(error: anthropic.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error")
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            return str(inner["message"]).rstrip(".")[:300]
    return (str(error).splitlines() or ["no message"])[0].rstrip(".")[:300]
