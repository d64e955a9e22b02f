"""OpenAI's chat completions, which many servers speak: Ollama, vLLM, llama.cpp, LM Studio (extra `openai`).

Servers differ: they may ignore the choice of tools, repeat ids of calls or leave them out, give arguments as an
object in place of a text, or wrap them twice. Calls are known by their place in the stream, get ids of our own where
theirs are missing, and members that only the server understands go back to it unchanged.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Literal, cast

from openai import APIError, AsyncOpenAI

from toolcrib.catalog import JsonObject
from toolcrib.llm.messages import Kept, Message, Part, Text, ToolResult, ToolUse
from toolcrib.llm.naming import LlmConfiguration
from toolcrib.llm.provider import (
    BrokenAnswerError,
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
from toolcrib.llm.providers.openai_shared import provider_error, read_arguments, waits
from toolcrib.llm.providers.schemas import clean_id, clean_name, itemised, rooted
from toolcrib.llm.providers.windows import window_of
from toolcrib.llm.providers.written_calls import WrittenCall
from toolcrib.llm.results import as_text
from toolcrib.schema.ids import short_hash

DEFAULT_MODEL = "gpt-4.1"

Constraint = Literal["json_schema", "json_object", "none"]
"""How a server is told what an answer is held to."""

_NAME = "openai-chat"
_STOPS: Mapping[str, Stop] = {"stop": "end", "tool_calls": "tool_use", "length": "length", "content_filter": "refused"}
_THINKING = ("reasoning_content", "reasoning")
"""Members of a delta in which servers give their model's reasoning."""


_NOT_HELD = (
    'If the server can\'t hold answers to a schema this way, make the provider with constraint="json_object" or "none".'
)


class ChatProvider:
    """A model behind an API that speaks chat completions.

    Args:
        configuration: Model, key (else `OPENAI_API_KEY`) and address, such as `http://localhost:11434/v1`.
        window: Tokens that the model has room for; None takes it from the model's name.
        max_retries: How often the SDK repeats a request that failed for a while.
        constraint: How the server is told what an answer is held to, as `response_format` or not at all; servers of
            one's own are told by `json_schema`, as llama.cpp, vLLM, Ollama and LM Studio take it, and OpenAI's not.
            `json_object` is the way of llama-cpp-python's server.
    """

    def __init__(
        self,
        configuration: LlmConfiguration,
        *,
        window: int | None = None,
        max_retries: int = 2,
        constraint: Constraint | None = None,
    ) -> None:
        self.name = _NAME
        self.model = configuration.model or DEFAULT_MODEL
        self._window = window or window_of(self.model)
        # Servers of one's own want no key, and the SDK wants one.
        key = configuration.api_key or ("none" if configuration.base_url else None)
        self._own = configuration.base_url is None
        self._constraint: Constraint = constraint or ("none" if self._own else "json_schema")
        self.traits = Traits(self._window, constrains=self._constraint != "none")
        self._client = AsyncOpenAI(
            api_key=key, base_url=configuration.base_url, max_retries=max_retries, timeout=waits(configuration)
        )

    def payload(self, request: Request) -> JsonObject:
        """See `Provider.payload`."""
        system = [{"role": "system", "content": request.system}] if request.system.strip() else []
        messages = [*system, *(written for message in request.messages for written in _messages(message))]
        body: JsonObject = {"model": self.model, "messages": messages, "stream_options": {"include_usage": True}}
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            forced = {"type": "function", "function": {"name": request.forced}}
            body["tool_choice"] = forced if request.forced else request.tool_choice
        if request.shape is not None and self._constraint != "none":
            body["response_format"] = _format(request.shape, self._constraint)
            body["temperature"] = 0
        if request.max_output is not None:
            body["max_completion_tokens" if self._own else "max_tokens"] = request.max_output
        return body

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """See `Provider.stream`."""
        # OpenAI's own models call tools by the API alone.
        expected = request.tool_choice != "none" and request.shape is None and not self._own
        names = frozenset(tool.name for tool in request.tools) if expected else frozenset[str]()
        answer = _Answer(str(len(request.messages)), WrittenCall(names))
        try:
            async with await self._client.chat.completions.create(**self.payload(request), stream=True) as chunks:
                async for chunk in chunks:
                    for event in answer.take(chunk.to_dict(mode="json", warnings=False)):
                        yield event
        except (APIError, ValueError) as error:
            failed = provider_error(_NAME, error)
            if request.shape is not None and type(failed) is ProviderError and not failed.hint:
                failed.hint = _NOT_HELD
            raise failed from error
        for event in answer.rest():
            yield event
        yield answer.turn()

    async def close(self) -> None:
        """See `Provider.close`."""
        await self._client.close()


class _Answer:
    """Puts an answer together from the chunks of its stream."""

    def __init__(self, place: str, written: WrittenCall) -> None:
        self._place = place
        self._written = written
        self._text: list[str] = []
        self._extra: JsonObject = {}
        self._calls: dict[int, JsonObject] = {}
        self._finish: str | None = None
        self._usage = Usage()
        self._refusal: list[str] = []

    def take(self, chunk: JsonObject) -> Iterable[ProviderEvent]:
        """Take a chunk in; what of it is to be told at once."""
        if isinstance(chunk.get("usage"), dict):
            self._usage = _usage(chunk["usage"])
        for choice in chunk.get("choices") or ():
            delta = cast("JsonObject", choice.get("delta") or {})
            self._finish = choice.get("finish_reason") or self._finish
            yield from self._delta(delta)

    def rest(self) -> Iterable[ProviderEvent]:
        """What was held back of words that might have been a call, once the stream is at its end."""
        call, words = self._written.end(may_be=self._finish == "stop" and not self._calls)
        if call is not None:
            self._calls[0] = {"id": "", "name": call["name"], "arguments": json.dumps(call["arguments"]), "extra": {}}
        elif words:
            self._text.append(words)
            yield TextDelta(words)

    def turn(self) -> Turn:
        """The whole turn.

        Raises:
            BrokenAnswerError: The stream ended before the answer did.
        """
        if self._finish is None:
            raise BrokenAnswerError(_NAME, "The answer of the model broke off.", hint="Ask again.")
        words = "".join(self._text)
        parts: list[Part] = [Kept(_NAME, self._extra)] if self._extra else []
        parts += [Text(words)] if words else []
        parts += [self._use(index, call) for index, call in sorted(self._calls.items())]
        stop = _STOPS.get(self._finish, "end")
        # Some servers say `stop` although they gave calls.
        if self._calls and stop == "end":
            stop = "tool_use"
        refusal = "".join(self._refusal)
        return Turn(Message("assistant", tuple(parts)), "refused" if refusal else stop, self._usage, refusal)

    def _delta(self, delta: JsonObject) -> Iterable[ProviderEvent]:
        if delta.get("content"):
            words = self._written.take(delta["content"])
            if words:
                self._text.append(words)
                yield TextDelta(words)
        if delta.get("refusal"):
            self._refusal.append(delta["refusal"])
        for name, value in delta.items():
            if name in _THINKING and isinstance(value, str) and value:
                self._extra[name] = self._extra.get(name, "") + value
                yield ThinkingDelta(value)
            elif name not in ("role", "content", "refusal", "tool_calls", "function_call", "audio"):
                self._extra[name] = value
        for call in cast("list[JsonObject]", delta.get("tool_calls") or []):
            self._call(call)

    def _call(self, delta: JsonObject) -> None:
        index = delta.get("index")
        if index is None:
            index = len(self._calls)
        known = self._calls.setdefault(index, {"id": "", "name": "", "arguments": "", "extra": {}})
        function = cast("JsonObject", delta.get("function") or {})
        known["id"] = delta.get("id") or known["id"]
        known["name"] += function.get("name") or ""
        arguments = function.get("arguments")
        known["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        known["extra"] |= {
            name: value for name, value in delta.items() if name not in ("index", "id", "type", "function")
        }

    def _use(self, index: int, call: JsonObject) -> ToolUse:
        # Servers were seen to give the same id in every turn; ours is made of where the call stands.
        own = "call_" + short_hash(f"{self._place}:{index}:{call['id']}", 16)
        arguments, unreadable = read_arguments(call["arguments"])
        extra = {_NAME: call["extra"]} if call["extra"] else {}
        return ToolUse(own, call["name"].removeprefix("functions."), arguments, unreadable, extra)


def _usage(counts: JsonObject) -> Usage:
    details = cast("JsonObject", counts.get("prompt_tokens_details") or {})
    read = details.get("cached_tokens") or 0
    return Usage(counts.get("prompt_tokens") or 0, counts.get("completion_tokens") or 0, cache_read=read)


def _format(shape: JsonObject, constraint: Constraint) -> JsonObject:
    if constraint == "json_object":
        return {"type": "json_object", "schema": shape}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": shape}}


def _tool(tool: ToolSpec) -> JsonObject:
    function: JsonObject = {"name": tool.name, "parameters": itemised(rooted(tool.input_schema))}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _messages(message: Message) -> Iterable[JsonObject]:
    """A message as those of the API: each result is one of its own."""
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield _result(part)
    if message.role == "user":
        if message.text.strip():
            yield {"role": "user", "content": message.text}
        return
    # Null is what OpenAI's own answers have here, and llama-cpp-python's server fails on it.
    written: JsonObject = {"role": "assistant", "content": message.text}
    for part in message.parts:
        if isinstance(part, Kept) and part.provider == _NAME:
            written |= part.data
    if message.uses:
        written["tool_calls"] = [_call(use) for use in message.uses]
    if message.text or message.uses:
        yield written


def _call(use: ToolUse) -> JsonObject:
    arguments = json.dumps(use.arguments, ensure_ascii=False, separators=(",", ":"))
    function = {"name": clean_name(use.name), "arguments": arguments}
    return {"id": clean_id(use.id), "type": "function", "function": function, **use.extra.get(_NAME, {})}


def _result(result: ToolResult) -> JsonObject:
    text = "\n".join(as_text(block) for block in result.content)
    # There is no member that marks an error.
    words = f"Error: {text}" if result.is_error and not text.startswith("Error") else text
    return {"role": "tool", "tool_call_id": clean_id(result.id), "content": words}
