"""Anthropic's Messages API, by Anthropic's own SDK (extra `anthropic`).

The rules of the wire are those of the API's reference and of its refusals; the tests hold a server that refuses
what the API refuses.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, cast

from anthropic import NOT_GIVEN, APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncAnthropic

from toolcrib.catalog import JsonObject
from toolcrib.errors import UsageError
from toolcrib.llm.messages import Kept, Message, Part, Text, ToolResult, ToolUse
from toolcrib.llm.naming import LlmConfiguration
from toolcrib.llm.provider import (
    BrokenAnswerError,
    ContextTooLongError,
    ProviderAuthError,
    ProviderBusyError,
    ProviderError,
    ProviderEvent,
    Request,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
    Traits,
    Turn,
    Usage,
)
from toolcrib.llm.providers.schemas import clean_id, clean_name, rooted
from toolcrib.llm.providers.windows import window_of
from toolcrib.llm.results import as_text, media_of

DEFAULT_MODEL = "claude-sonnet-5"
DEFAULT_OUTPUT = 16_000
"""Tokens of an answer; the API wants a number."""

_NAME = "anthropic"
_SEARCH_VERSION = "20251119"
_CACHED: JsonObject = {"type": "ephemeral"}
_CHOICES: Mapping[str, JsonObject] = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
_STOPS: Mapping[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "paused",
    "refusal": "refused",
}
_BINDING = ("thinking", "redacted_thinking", "tool_search_tool_result")
"""Blocks that what comes after them stands on: signed reasoning, and a search that has put tools before the model."""
_BUSY = ("overloaded_error", "rate_limit_error", "api_error", "timeout_error")


class AnthropicProvider:
    """A Claude model.

    Args:
        configuration: Model, key (else `ANTHROPIC_API_KEY`) and address.
        thinking: The API's `thinking` member; None leaves it out.
        tool_search: How the API searches, where it does so itself: by words, or by regular expressions.
        max_retries: How often the SDK repeats a request that failed for a while.

    Raises:
        UsageError: There is no key.
    """

    def __init__(
        self,
        configuration: LlmConfiguration,
        *,
        thinking: JsonObject | None = None,
        tool_search: Literal["bm25", "regex"] = "bm25",
        max_retries: int = 2,
    ) -> None:
        self.name = _NAME
        self.model = configuration.model or DEFAULT_MODEL
        self.traits = Traits(window_of(self.model), references=True, media=True)
        self._thinking = thinking
        name = f"tool_search_tool_{tool_search}"
        self._hosted: JsonObject = {"type": f"{name}_{_SEARCH_VERSION}", "name": name}
        waits = NOT_GIVEN if configuration.timeout is None else configuration.timeout
        self._client = AsyncAnthropic(
            api_key=configuration.api_key, base_url=configuration.base_url, max_retries=max_retries, timeout=waits
        )
        if not (self._client.api_key or self._client.auth_token or self._client.credentials):
            raise UsageError("There is no key for Anthropic's API.", hint="Set ANTHROPIC_API_KEY.")

    def payload(self, request: Request) -> JsonObject:
        """See `Provider.payload`.

        The cache is marked behind the standing part and behind the newest message.
        """
        messages = [written for message in request.messages if (written := _message(message))["content"]]
        body: JsonObject = {
            "model": self.model,
            "max_tokens": request.max_output or DEFAULT_OUTPUT,
            "messages": messages,
        }
        if request.system.strip():
            body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
        if request.tools:
            body["tools"] = [self._hosted if tool.hosted else _tool(tool) for tool in request.tools]
            body["tool_choice"] = self._choice(request)
            if "system" not in body:
                _mark_last(body["tools"])
        if messages:
            _mark_last(messages[-1]["content"])
        if self._thinking is not None:
            body["thinking"] = self._thinking
        return body

    def _choice(self, request: Request) -> JsonObject:
        """Whether tools may be called, or must; while it thinks, the API lets no call be demanded."""
        thinks = (self._thinking or {}).get("type") in ("enabled", "adaptive")
        if thinks and (request.forced or request.tool_choice == "required"):
            return _CHOICES["auto"]
        return {"type": "tool", "name": request.forced} if request.forced else _CHOICES[request.tool_choice]

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """See `Provider.stream`."""
        answer = _Answer()
        try:
            async with await self._client.messages.create(**self.payload(request), stream=True) as events:
                async for event in events:
                    delta = answer.take(event.to_dict(mode="json", warnings=False))
                    if delta is not None:
                        yield delta
        except (APIError, ValueError) as error:
            raise _provider_error(error) from error
        yield answer.turn()

    async def close(self) -> None:
        """See `Provider.close`."""
        await self._client.close()


class _Answer:
    """Puts an answer together from the events of its stream."""

    def __init__(self) -> None:
        self._blocks: dict[int, JsonObject] = {}
        self._json: dict[int, list[str]] = {}
        self._usage: JsonObject = {}
        self._stop: str | None = None
        self._detail = ""

    def take(self, event: JsonObject) -> ProviderEvent | None:
        """Take an event in; what of it is to be told at once."""
        match event.get("type"):
            case "message_start":
                self._usage |= _given(event["message"].get("usage"))
            case "content_block_start":
                self._blocks[event["index"]] = dict(event["content_block"])
                self._json[event["index"]] = []
            case "content_block_delta":
                return self._extend(event["index"], event["delta"])
            case "message_delta":
                self._usage |= _given(event.get("usage"))
                self._stop = event["delta"].get("stop_reason") or self._stop
                details = cast("JsonObject", event["delta"].get("stop_details") or {})
                self._detail = str(details.get("explanation") or self._detail)
            case _:  # pings, and what later revisions add
                pass
        return None

    def turn(self) -> Turn:
        """The whole turn.

        Raises:
            BrokenAnswerError: The stream ended before the answer did.
        """
        if self._stop is None:
            raise BrokenAnswerError(_NAME, "The answer of the model broke off.", hint="Ask again.")
        parts = tuple(self._part(index, block) for index, block in sorted(self._blocks.items()))
        used = self._usage
        read, written = used.get("cache_read_input_tokens") or 0, used.get("cache_creation_input_tokens") or 0
        taken = (used.get("input_tokens") or 0) + read + written
        usage = Usage(taken, used.get("output_tokens") or 0, read, written)
        return Turn(Message("assistant", parts), _STOPS.get(self._stop, "end"), usage, self._detail)

    def _extend(self, index: int, delta: JsonObject) -> ProviderEvent | None:
        block = self._blocks[index]
        match delta.get("type"):
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
                return TextDelta(delta["text"])
            case "input_json_delta":
                self._json[index].append(delta["partial_json"])
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
                return ThinkingDelta(delta["thinking"])
            case "signature_delta":
                block["signature"] = block.get("signature", "") + delta["signature"]
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta["citation"]]
            case _:
                pass
        return None

    def _part(self, index: int, block: JsonObject) -> Part:
        written = "".join(self._json[index])
        match block.get("type"):
            case "text" if not block.get("citations"):
                return Text(block.get("text", ""))
            case "tool_use":
                return _use(block, written)
            case kind:
                if written:
                    block = {**block, "input": _read(written)}
                return Kept(_NAME, block, binds=kind in _BINDING or kind == "server_tool_use")


def _use(block: JsonObject, written: str) -> ToolUse:
    arguments: Any = block.get("input") or {}
    if written.strip():
        try:
            arguments = json.loads(written)
        except ValueError:
            return ToolUse(block["id"], block["name"], {}, unreadable=written)
    if not isinstance(arguments, dict):
        return ToolUse(block["id"], block["name"], {}, unreadable=written)
    return ToolUse(block["id"], block["name"], cast("JsonObject", arguments))


def _read(written: str) -> Any:
    """The arguments of a tool of the vendor's own.

    Raises:
        BrokenAnswerError: They can't be read, so that they can't go back as they were.
    """
    try:
        return json.loads(written)
    except ValueError:
        raise BrokenAnswerError(_NAME, "The model wrote a call that can't be read.", hint="Ask again.") from None


def _given(usage: Any) -> JsonObject:
    """The counts that an event holds: later ones stand for the whole answer so far."""
    counts = cast("JsonObject", usage) if isinstance(usage, dict) else {}
    return {name: value for name, value in counts.items() if value is not None}


def _tool(tool: ToolSpec) -> JsonObject:
    written: JsonObject = {"name": tool.name, "input_schema": rooted(tool.input_schema)}
    if tool.description:
        written["description"] = tool.description
    return {**written, "defer_loading": True} if tool.deferred else written


def _message(message: Message) -> JsonObject:
    return {"role": message.role, "content": [block for part in message.parts for block in _blocks(part)]}


def _blocks(part: Part) -> list[JsonObject]:
    match part:
        case Text(text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case ToolUse(id, name, arguments, unreadable):
            given = arguments if unreadable is None else {"INVALID_JSON": unreadable}
            return [{"type": "tool_use", "id": clean_id(id), "name": clean_name(name), "input": given}]
        case ToolResult(id):
            return [_result(part, id)]
        case Kept(provider, data):
            return [data] if provider == _NAME else []


def _result(result: ToolResult, call_id: str) -> JsonObject:
    content = [block for each in result.content if (block := _result_block(each)) is not None]
    content += [{"type": "tool_reference", "tool_name": name} for name in result.references]
    written: JsonObject = {"type": "tool_result", "tool_use_id": clean_id(call_id)}
    if content:
        written["content"] = content
    return {**written, "is_error": True} if result.is_error else written


def _result_block(block: JsonObject) -> JsonObject | None:
    media = media_of(block)
    if media is not None:
        return {"type": media.kind, "source": {"type": "base64", "media_type": media.mime, "data": media.data}}
    text = as_text(block)
    return {"type": "text", "text": text} if text.strip() else None


def _mark_last(blocks: list[JsonObject]) -> None:
    """Mark the last block that may be marked."""
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if not block.get("defer_loading") and block.get("type") not in ("thinking", "redacted_thinking"):
            blocks[place] = {**block, "cache_control": _CACHED}
            return


def _provider_error(error: Exception) -> ProviderError:
    """What went wrong, told by the error's type rather than its status: in a stream, the status is 200."""
    message = str(getattr(error, "message", "") or error)
    if isinstance(error, APITimeoutError):
        return ProviderError(_NAME, "Anthropic's API did not answer in time.", hint="Try again, or allow more time.")
    if isinstance(error, APIConnectionError):
        return ProviderError(_NAME, f"Anthropic's API can't be reached: {message}", hint="Check the address.")
    if not isinstance(error, APIStatusError):
        return ProviderError(_NAME, f"Anthropic's API failed: {message}")
    body: Any = error.body
    told = cast("JsonObject", cast("JsonObject", body).get("error") or {}) if isinstance(body, dict) else {}
    kind, message = str(told.get("type") or ""), str(told.get("message") or message)
    if kind in ("authentication_error", "permission_error") or error.status_code in (401, 403):
        return ProviderAuthError(_NAME, f"Anthropic's API refused the key: {message}", hint="Check ANTHROPIC_API_KEY.")
    if kind in _BUSY or error.status_code in (429, 500, 503, 504, 529):
        wait = _seconds(error.response.headers.get("retry-after"))
        return ProviderBusyError(
            _NAME, f"Anthropic's API is busy: {message}", hint="Try again later.", retry_after=wait
        )
    if "prompt is too long" in message or kind == "request_too_large":
        return ContextTooLongError(_NAME, message, hint="Begin another conversation.")
    return ProviderError(_NAME, f"Anthropic's API refused the request: {message}")


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header is not None else None
    except ValueError:
        return None
