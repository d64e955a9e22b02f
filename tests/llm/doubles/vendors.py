"""The four vendors' doubles in one form, for what must hold over each of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from doubles import anthropic_api, gemini_api, openai_chat_api, openai_responses_api, openai_rules
from doubles.serving import Double, Refusal, served

from toolcrib import Crib
from toolcrib.llm import LlmClient, LlmConfiguration
from toolcrib.llm.providers.anthropic import AnthropicProvider
from toolcrib.llm.providers.gemini import GeminiProvider
from toolcrib.llm.providers.openai_chat import ChatProvider
from toolcrib.llm.providers.openai_responses import OpenAIProvider

Call = tuple[str, Any, str]
"""A call as a model writes it: name, arguments (a text for those that are no object), id."""


@dataclass(frozen=True)
class Vendor:
    """One vendor's API.

    Attributes:
        name: The provider's name.
        api: The module of its double.
        path: Where it serves models.
        model: A model of it.
    """

    name: str
    api: Any
    path: str
    model: str

    def answer(self, words: str, *calls: Call) -> list[Any]:
        """The events of an answer of words and calls."""
        match self.name:
            case "anthropic":
                blocks = [anthropic_api.text(words)] if words else []
                blocks += [self._block(*call) for call in calls]
                return anthropic_api.answer(*blocks, stop="tool_use" if calls else "end_turn")
            case "openai":
                spoken = [openai_responses_api.words(words)] if words else []
                return openai_responses_api.answer(*spoken, *(openai_responses_api.call(*call) for call in calls))
            case "openai-chat":
                return openai_chat_api.answer(words, *calls)
            case _:
                parts = [{"text": words}] if words else []
                signed = (gemini_api.call(*call, None if place else "c2ln") for place, call in enumerate(calls))
                return gemini_api.answer(*parts, *signed)

    def refused(self, status: int, **headers: str) -> Refusal:
        """A refusal with that status."""
        match self.name:
            case "anthropic":
                kinds = {401: "authentication_error", 429: "rate_limit_error", 500: "api_error"}
                return anthropic_api.refuse("no", kinds[status], status, **headers)
            case "gemini":
                statuses = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
                return gemini_api.refuse("no", status, statuses[status])
            case _:
                codes = {401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error"}
                return openai_rules.refuse("no", codes[status], status=status, **headers)

    @asynccontextmanager
    async def client(
        self, crib: Crib, *script: Any, timeout: float | None = None, **options: Any
    ) -> AsyncIterator[tuple[LlmClient, Double]]:
        """A client whose model is the double."""
        double = Double(self.api.check, list(script))
        async with served(double, self.path):
            base = double.url if self.name in ("anthropic", "gemini") else f"{double.url}/v1"
            provider = self._provider(LlmConfiguration(self.model, "key", base, timeout))
            async with LlmClient(provider, crib, **options) as client:
                yield client, double

    def _provider(self, configuration: LlmConfiguration) -> Any:
        match self.name:
            case "anthropic":
                return AnthropicProvider(configuration, max_retries=0)
            case "openai":
                return OpenAIProvider(configuration, max_retries=0)
            case "openai-chat":
                return ChatProvider(configuration, max_retries=0)
            case _:
                return GeminiProvider(configuration)

    def _block(self, name: str, arguments: Any, call_id: str) -> dict[str, Any]:
        if isinstance(arguments, str):
            return anthropic_api.call(name, {}, call_id, raw=arguments)
        return anthropic_api.call(name, arguments, call_id)


VENDORS = (
    Vendor("anthropic", anthropic_api, "/v1/messages", "claude-sonnet-5"),
    Vendor("openai", openai_responses_api, "/v1/responses", "gpt-5.6"),
    Vendor("openai-chat", openai_chat_api, "/v1/chat/completions", "gpt-4.1"),
    Vendor("gemini", gemini_api, "/{version}/models/{model}:streamGenerateContent", "gemini-3.7-flash"),
)
