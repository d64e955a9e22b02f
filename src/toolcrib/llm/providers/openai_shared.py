"""What both of OpenAI's APIs have in common: how arguments are written, and how failures are told."""

import json
from typing import Any, cast

from openai import NOT_GIVEN, APIConnectionError, APIError, APIStatusError, APITimeoutError, NotGiven

from toolcrib.catalog import JsonObject
from toolcrib.llm.naming import LlmConfiguration
from toolcrib.llm.provider import ContextTooLongError, ProviderAuthError, ProviderBusyError, ProviderError

_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size_error",
    "maximum context length",
    "exceeds the context window",
)


LATE = "Try again, or allow more time."


def waits(configuration: LlmConfiguration) -> float | NotGiven:
    """How long the SDK waits for the API's next word."""
    return NOT_GIVEN if configuration.timeout is None else configuration.timeout


def provider_error(provider: str, error: Exception) -> ProviderError:
    """An error of the SDK as one of ours.

    Args:
        provider: The provider's name.
        error: What the SDK raised.
    """
    if isinstance(error, APITimeoutError):
        return ProviderError(provider, "The API did not answer in time.", hint=LATE)
    if isinstance(error, APIConnectionError):
        return ProviderError(provider, f"The API can't be reached: {error}", hint="Check the address.")
    if not isinstance(error, APIError):
        return ProviderError(provider, f"The API failed: {error}")
    body: Any = error.body
    told = cast("JsonObject", body) if isinstance(body, dict) else {}
    message, code = str(told.get("message") or error.message), str(told.get("code") or error.code or "")
    status = error.status_code if isinstance(error, APIStatusError) else 0
    wait = _retry_after(error) if isinstance(error, APIStatusError) else None
    return told_apart(provider, message, code, status, wait)


def told_apart(
    provider: str, message: str, code: str, status: int = 0, retry_after: float | None = None
) -> ProviderError:
    """An error by what the API says of it.

    Args:
        provider: The provider's name.
        message: The API's words.
        code: Its code; empty when it gives none.
        status: The HTTP status; 0 inside a stream.
        retry_after: Seconds that it asks to wait.
    """
    if status in (401, 403) or code == "invalid_api_key":
        return ProviderAuthError(provider, f"The API refused the key: {message}", hint="Check the key.")
    if code == "insufficient_quota":
        return ProviderError(provider, f"The API refused the request: {message}", hint="Check plan and billing.")
    if any(sign in message or sign == code for sign in _TOO_LONG):
        return ContextTooLongError(provider, message, hint="Begin another conversation.")
    if status in (408, 429) or status >= 500 or code in ("rate_limit_exceeded", "server_error", "slow_down"):
        text = f"The API is busy: {message}"
        return ProviderBusyError(provider, text, hint="Try again later.", retry_after=retry_after)
    return ProviderError(provider, f"The API refused the request: {message}")


def read_arguments(written: str) -> tuple[JsonObject, str | None]:
    """Arguments as a model wrote them; with what it wrote where that is no JSON object."""
    if not written.strip():
        return {}, None
    try:
        value = json.loads(written)
        if isinstance(value, str):  # wrapped twice
            value = json.loads(value)
    except ValueError:
        return {}, written
    if value is None:
        return {}, None
    return (cast("JsonObject", value), None) if isinstance(value, dict) else ({}, written)


def _retry_after(error: APIStatusError) -> float | None:
    headers: Any = error.response.headers
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
    return None
