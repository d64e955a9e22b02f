"""Providers by name: those that come with Toolcrib, and those that a program registers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from toolcrib.errors import UsageError, shown
from toolcrib.llm.provider import Provider


@dataclass(frozen=True, slots=True)
class LlmConfiguration:
    """How to reach a model.

    Attributes:
        model: Its name as the vendor has it; empty for the provider's own default.
        api_key: The key; None takes the vendor's environment variable.
        base_url: Where the API is; None for the vendor's own.
        timeout: Seconds to wait for the API's next word; None leaves it to the vendor's SDK, mostly ten minutes.
    """

    model: str = ""
    api_key: str | None = None
    base_url: str | None = None
    timeout: float | None = None

    def __repr__(self) -> str:
        key = "None" if self.api_key is None else "'***'"
        return f"LlmConfiguration(model={self.model!r}, api_key={key}, base_url={self.base_url!r})"


ProviderFactory = Callable[[LlmConfiguration], Provider]

_OWN = {
    "anthropic": ("toolcrib.llm.providers.anthropic", "AnthropicProvider", "anthropic"),
    "openai": ("toolcrib.llm.providers.openai_responses", "OpenAIProvider", "openai"),
    "openai-chat": ("toolcrib.llm.providers.openai_chat", "ChatProvider", "openai"),
    "script": ("toolcrib.llm.scripted", "script_of", ""),
    "gemini": ("toolcrib.llm.providers.gemini", "GeminiProvider", "gemini"),
}
"""Module, class and extra by the provider's name."""

_registered: dict[str, ProviderFactory] = {}


def register_provider(name: str, factory: ProviderFactory) -> None:
    """Make a provider known by a name, in place of one that had it.

    Args:
        name: What stands before the colon in `name:model`.
        factory: Makes the provider from an `LlmConfiguration`.
    """
    _registered[name] = factory


def check_provider(name: str) -> None:
    """Refuse a name, or `name:model`, of which there is no provider. Nothing is loaded.

    Raises:
        UsageError: There is none of that name.
    """
    kind = name.partition(":")[0]
    if kind not in _OWN and kind not in _registered:
        known = ", ".join(sorted({*_OWN, *_registered}))
        raise UsageError(f"There is no provider {shown(kind)}.", hint=f"Known ones are {known}.")


def provider_by_name(name: str, configuration: LlmConfiguration | None = None) -> Provider:
    """A provider by its name, or by `name:model`.

    Raises:
        UsageError: There is none of that name, or what it needs is not installed.
    """
    kind, _, model = name.partition(":")
    given = configuration or LlmConfiguration()
    if model:
        given = replace(given, model=model)
    check_provider(name)
    if kind in _registered:
        return _registered[kind](given)
    module, made, extra = _OWN[kind]
    try:
        factory: Any = getattr(import_module(module), made)
    except ImportError as error:
        raise UsageError(
            f"The provider {kind} needs {error.name}, which is not installed.",
            hint=f"Install it with: pip install 'toolcrib[{extra}]'",
        ) from None
    return factory(given)
