"""OpenAI's Responses API, by OpenAI's own SDK (extra `openai`).

Nothing is stored there: every request holds the whole conversation, and every item that the API gave goes back to it
in its place. Tools that are held back are not told at first; a result of our search brings their definitions.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, cast

from openai import APIError, AsyncOpenAI

from toolcrib.catalog import JsonObject
from toolcrib.llm.messages import Kept, Message, Part, Text, ToolResult, ToolUse
from toolcrib.llm.naming import LlmConfiguration
from toolcrib.llm.provider import (
    BrokenAnswerError,
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
from toolcrib.llm.providers.openai_shared import provider_error, read_arguments, told_apart, waits
from toolcrib.llm.providers.schemas import clean_id, clean_name, itemised, rooted
from toolcrib.llm.providers.windows import window_of
from toolcrib.llm.results import Media, as_text, media_of

DEFAULT_MODEL = "gpt-5.6"

_NAME = "openai"
_FIRST_WITH_SEARCH = (5, 4)
"""The first version of the models that search for tools."""

_BINDING = ("reasoning", "tool_search_call", "tool_search_output")
"""Items that what comes after them stands on: reasoning, and a search that has put tools before the model."""

_Tools = Mapping[str, ToolSpec]


class OpenAIProvider:
    """A model of OpenAI's.

    Args:
        configuration: Model, key (else `OPENAI_API_KEY`) and address.
        max_retries: How often the SDK repeats a request that failed for a while.
    """

    def __init__(self, configuration: LlmConfiguration, *, max_retries: int = 2) -> None:
        self.name = _NAME
        self.model = configuration.model or DEFAULT_MODEL
        self.traits = Traits(window_of(self.model), references=_searches(self.model), media=True)
        self._client = AsyncOpenAI(
            api_key=configuration.api_key,
            base_url=configuration.base_url,
            max_retries=max_retries,
            timeout=waits(configuration),
        )

    def payload(self, request: Request) -> JsonObject:
        """See `Provider.payload`."""
        tools = {tool.name: tool for tool in request.tools}
        body: JsonObject = {
            "model": self.model,
            "input": [item for message in request.messages for item in _items(message, tools)],
            "store": False,
        }
        if request.system.strip():
            body["instructions"] = request.system
        told = _told(request.tools)
        if told:
            body["tools"] = told
            forced = {"type": "function", "name": request.forced}
            body["tool_choice"] = forced if request.forced else request.tool_choice
        if request.max_output is not None:
            body["max_output_tokens"] = request.max_output
        return body

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        """See `Provider.stream`."""
        searching = next((tool.name for tool in request.tools if tool.searches), "")
        answer = _Answer(searching)
        try:
            async with await self._client.responses.create(**self.payload(request), stream=True) as events:
                async for event in events:
                    delta = answer.take(event.to_dict(mode="json", warnings=False))
                    if delta is not None:
                        yield delta
        except (APIError, ValueError) as error:
            raise provider_error(_NAME, error) from error
        yield answer.turn()

    async def close(self) -> None:
        """See `Provider.close`."""
        await self._client.close()


class _Answer:
    """Puts an answer together from the events of its stream; whole items count, not their pieces."""

    def __init__(self, searching: str) -> None:
        self._searching = searching
        self._items: dict[int, JsonObject] = {}
        self._response: JsonObject | None = None

    def take(self, event: JsonObject) -> ProviderEvent | None:
        """Take an event in; what of it is to be told at once.

        Raises:
            ProviderError: It tells that the answer failed.
        """
        match event.get("type"):
            case "response.output_text.delta":
                return TextDelta(event["delta"])
            case "response.reasoning_summary_text.delta":
                return ThinkingDelta(event["delta"])
            case "response.output_item.done":
                self._items[event["output_index"]] = event["item"]
            case "response.completed" | "response.incomplete":
                self._response = event["response"]
            case "response.failed":
                error = cast("JsonObject", event["response"].get("error") or {})
                raise told_apart(_NAME, str(error.get("message") or "no reason given"), str(error.get("code") or ""))
            case "error":
                raise told_apart(_NAME, str(event.get("message") or "no reason given"), str(event.get("code") or ""))
            case _:
                pass
        return None

    def turn(self) -> Turn:
        """The whole turn.

        Raises:
            BrokenAnswerError: The stream ended before the answer did.
        """
        if self._response is None:
            raise BrokenAnswerError(_NAME, "The answer of the model broke off.", hint="Ask again.")
        parts: list[Part] = []
        refusals: list[str] = []
        for _, item in sorted(self._items.items()):
            parts += self._parts(item, refusals)
        message = Message("assistant", tuple(parts))
        stop: Stop = "tool_use" if message.uses else "end"
        incomplete = cast("JsonObject", self._response.get("incomplete_details") or {})
        if self._response.get("status") == "incomplete":
            stop = "refused" if incomplete.get("reason") == "content_filter" else "length"
        if refusals:
            stop = "refused"
        return Turn(message, stop, _usage(self._response.get("usage")), "".join(refusals))

    def _parts(self, item: JsonObject, refusals: list[str]) -> Iterable[Part]:
        """An item as a part; what the API wants back as it was is kept beside it."""
        match item.get("type"):
            case "message":
                content = cast("list[JsonObject]", item.get("content") or [])
                refusals += [str(each["refusal"]) for each in content if each.get("type") == "refusal"]
                words = "".join(each["text"] for each in content if each.get("type") == "output_text")
                if item.get("phase"):
                    yield Kept(_NAME, _bare(item))
                if words:
                    yield Text(words)
            case "function_call":
                arguments, unreadable = read_arguments(item["arguments"])
                own = {name: item[name] for name in ("id", "namespace", "caller") if item.get(name)}
                yield ToolUse(item["call_id"], item["name"], arguments, unreadable, {_NAME: own})
            case "tool_search_call" if item.get("execution") == "client":
                arguments = cast("JsonObject", item.get("arguments") or {})
                yield ToolUse(item["call_id"], self._searching, arguments, None, {_NAME: {"search": _bare(item)}})
            case kind:
                yield Kept(_NAME, _bare(item), binds=kind in _BINDING)


def _bare(item: JsonObject) -> JsonObject:
    """An item as it goes back: without the state that only answers have. A call of the API's own has no id, and says
    so."""
    kept = {"call_id"} if "call_id" in item else set[str]()
    return {name: value for name, value in item.items() if name in kept or (name != "status" and value is not None)}


def _items(message: Message, tools: _Tools) -> Iterable[JsonObject]:
    kept = {part.data.get("id"): part for part in message.parts if isinstance(part, Kept) and part.provider == _NAME}
    spoken = any(part.data.get("type") == "message" for part in kept.values())
    for part in message.parts:
        match part:
            case Text(text) if text.strip() and not spoken:
                yield _words(message.role, text)
            case ToolUse():
                yield _use(part, with_ids=bool(kept))
            case ToolResult():
                yield from _result(part, tools)
            case Kept(provider, data) if provider == _NAME:
                yield data
            case _:
                pass


def _words(role: str, text: str) -> JsonObject:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _use(use: ToolUse, *, with_ids: bool) -> JsonObject:
    own = cast("JsonObject", use.extra.get(_NAME) or {})
    if "search" in own:
        return cast("JsonObject", own["search"])
    arguments = use.unreadable
    if arguments is None:
        arguments = json.dumps(use.arguments, ensure_ascii=False, separators=(",", ":"))
    # An id of the API's goes back only beside the reasoning that it belongs to.
    beside = {name: value for name, value in own.items() if name != "id" or with_ids}
    call = {"type": "function_call", "call_id": clean_id(use.id), "name": clean_name(use.name), "arguments": arguments}
    return {**call, **beside}


def _result(result: ToolResult, tools: _Tools) -> Iterable[JsonObject]:
    if result.references or any(tool.searches and tool.name == result.name for tool in tools.values()):
        found = [_tool(tools[name]) for name in result.references if name in tools]
        yield {
            "type": "tool_search_output",
            "execution": "client",
            "call_id": clean_id(result.id),
            "status": "completed",
            "tools": found,
        }
        return
    yield {"type": "function_call_output", "call_id": clean_id(result.id), "output": _output(result)}


def _output(result: ToolResult) -> str | list[JsonObject]:
    """What a call came to: a text, or texts, images and documents. There is no member that marks an error."""
    media = [found for block in result.content if (found := media_of(block)) is not None]
    text = "\n".join(as_text(block) for block in result.content if media_of(block) is None)
    if result.is_error and not text.startswith("Error"):
        text = f"Error: {text}"
    if not media:
        return text
    return [*([{"type": "input_text", "text": text}] if text else []), *map(_input, media)]


def _input(media: Media) -> JsonObject:
    if media.kind == "image":
        return {"type": "input_image", "image_url": media.url}
    return {"type": "input_file", "filename": media.name, "file_data": media.url}


def _tool(tool: ToolSpec) -> JsonObject:
    if tool.hosted:
        return {"type": "tool_search"}
    if tool.searches:
        return {
            "type": "tool_search",
            "execution": "client",
            "description": tool.description,
            "parameters": tool.input_schema,
        }
    # Without it the API may take optional parameters for required ones.
    written: JsonObject = {
        "type": "function",
        "name": tool.name,
        "parameters": itemised(rooted(tool.input_schema)),
        "strict": False,
    }
    if tool.description:
        written["description"] = tool.description
    return {**written, "defer_loading": True} if tool.deferred else written


def _told(tools: Sequence[ToolSpec]) -> list[JsonObject]:
    """The tools as a request has them.

    Those that our own search brings are left out until it does. Where the API searches by itself, they stand in the
    namespace of their server, of which the model sees the name and the description.
    """
    hosted = any(tool.hosted for tool in tools)
    told: list[JsonObject] = []
    namespaces: dict[str, JsonObject] = {}
    for tool in tools:
        if not tool.deferred:
            told.append(_tool(tool))
        elif hosted and tool.group is not None:
            if tool.group.name not in namespaces:
                names: JsonObject = {"type": "namespace", "name": clean_name(tool.group.name)}
                namespaces[tool.group.name] = {**names, "description": tool.group.about, "tools": []}
                told.append(namespaces[tool.group.name])
            namespaces[tool.group.name]["tools"].append(_tool(tool))
        elif hosted:
            told.append(_tool(tool))
    return told


def _usage(counts: Any) -> Usage:
    if not isinstance(counts, dict):
        return Usage()
    known = cast("JsonObject", counts)
    details = cast("JsonObject", known.get("input_tokens_details") or {})
    read, written = details.get("cached_tokens") or 0, details.get("cache_write_tokens") or 0
    return Usage(known.get("input_tokens") or 0, known.get("output_tokens") or 0, read, written)


def _searches(model: str) -> bool:
    """Whether a model searches for tools that are held back."""
    family, _, version = model.rpartition("/")[2].partition("-")
    if family != "gpt":
        return False
    numbers: Sequence[str] = version.partition("-")[0].split(".")
    try:
        return tuple(int(number) for number in numbers) >= _FIRST_WITH_SEARCH
    except ValueError:
        return False
