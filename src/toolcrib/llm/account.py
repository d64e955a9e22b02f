"""What a request to a model consists of, in tokens."""

import json
from collections import OrderedDict
from collections.abc import Callable, Set
from dataclasses import dataclass
from operator import mul

from toolcrib.catalog import JsonObject
from toolcrib.llm.messages import Message, Part, Role, ToolResult, ToolUse, message_to_json
from toolcrib.llm.provider import NO_USAGE, Request, ToolSpec, Usage
from toolcrib.llm.results import as_text, media_of, text_block
from toolcrib.tokens import BYTES_PER_TOKEN, count_tokens

MEDIA_TOKENS = 1_600
"""Tokens that an image or a page counts: a model pays for it by its area, not by its bytes."""

_REMEMBERED = 2_000


@dataclass(frozen=True, slots=True)
class Account:
    """Tokens of one request by part, by the counter of `toolcrib.tokens`; vendors add a little of their own.

    Attributes:
        system: The standing instructions.
        tools: The tools that the model was told of.
        messages: Words and calls of the conversation.
        results: Results of calls in it.
        saved: What the surface saved in this request against telling of all tools with their whole definitions, what
            searching and mending took counted in: a request that only answers a search or a mistake saves nothing,
            and costs all of itself. Negative where the surface cost more.
    """

    system: int = 0
    tools: int = 0
    messages: int = 0
    results: int = 0
    saved: int = 0

    @property
    def total(self) -> int:
        """All parts together."""
        return self.system + self.tools + self.messages + self.results


@dataclass(frozen=True, slots=True)
class Price:
    """What a model's tokens cost, in any one currency, by the million.

    Attributes:
        input: Of the request.
        output: Of the answer, reasoning included.
        cached_input: Of the request, what came out of the vendor's cache; None where that is not cheaper.
        cache_write: Of the request, what went into the cache; None where that costs nothing more.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float:
        """What a vendor's count comes to."""
        read = self.input if self.cached_input is None else self.cached_input
        write = self.input if self.cache_write is None else self.cache_write
        plain = usage.input - usage.cache_read - usage.cache_write
        tokens = (plain, usage.cache_read, usage.cache_write, usage.output)
        return sum(map(mul, tokens, (self.input, read, write, self.output))) / 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What a conversation took so far.

    Attributes:
        requests: Requests to the model.
        usage: Tokens as the vendor counted.
        saved: See `Account.saved`, of all requests together.
        cost: Of those requests whose model has a price; None while there is none.
    """

    requests: int = 0
    usage: Usage = NO_USAGE
    saved: int = 0
    cost: float | None = None

    def and_of(self, usage: Usage, saved: int, cost: float | None) -> "Spent":
        """With one request more."""
        both = [each for each in (self.cost, cost) if each is not None]
        return Spent(self.requests + 1, self.usage + usage, self.saved + saved, sum(both) if both else None)


class Accountant:
    """Counts requests; what did not change since the last one is not counted again.

    Args:
        media: Whether the model is shown images.
    """

    def __init__(self, *, media: bool = False) -> None:
        self._media = media
        self._known: OrderedDict[int, tuple[object, tuple[int, int]]] = OrderedDict()

    def account(self, request: Request) -> Account:
        """Count a request."""
        counts = [
            self._once(message, lambda message=message: _message_tokens(message, media=self._media))
            for message in request.messages
        ]
        tools = self._once(request.tools, lambda: (tools_tokens(request.tools), 0))[0]
        system = count_tokens(request.system) if request.system else 0
        return Account(system, tools, sum(words for words, _ in counts), sum(results for _, results in counts))

    def tokens_of(self, request: Request, calls: Set[str]) -> int:
        """Tokens of some calls in a request, with their results.

        Args:
            request: The request.
            calls: Their ids.
        """
        spent = 0
        for message in request.messages:
            for part in message.parts:
                if isinstance(part, ToolUse | ToolResult) and part.id in calls:
                    spent += sum(self._once(part, lambda part=part, role=message.role: self._part(role, part)))
        return spent

    def _part(self, role: Role, part: Part) -> tuple[int, int]:
        return _message_tokens(Message(role, (part,)), media=self._media)

    def _once(self, thing: object, count: Callable[[], tuple[int, int]]) -> tuple[int, int]:
        """What was counted of this very object; it is held, so that no other gets its id."""
        key = id(thing)
        if key not in self._known:
            self._known[key] = (thing, count())
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key][1]


def tools_tokens(tools: tuple[ToolSpec, ...]) -> int:
    """Tokens of what a model is told of tools from the start; those that are held back cost nothing yet."""
    return sum(tool_tokens(tool) for tool in tools if not tool.deferred)


def tool_tokens(tool: ToolSpec) -> int:
    """Tokens of one tool's name, description and schema."""
    told = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return count_tokens(json.dumps(told, ensure_ascii=False, separators=(",", ":")))


def _message_tokens(message: Message, *, media: bool) -> tuple[int, int]:
    words = results = 0
    for part in message.parts:
        shown = 0
        if isinstance(part, ToolResult):
            seen = [block for block in part.content if media and media_of(block) is not None]
            shown = len(seen) * MEDIA_TOKENS
            left = tuple(text_block(as_text(block)) for block in part.content if block not in seen)
            part = ToolResult(part.id, part.name, left, part.is_error, part.references)
        text = json.dumps(message_to_json(Message(message.role, (part,)))["parts"][0], ensure_ascii=False)
        if isinstance(part, ToolResult):
            results += count_tokens(text) + shown
        else:
            words += count_tokens(text)
    return words, results


def roughly(block: JsonObject, *, media: bool) -> float:
    """Tokens of a block of a result, quickly and about.

    Args:
        block: The block.
        media: Whether the model is shown images.
    """
    if media and media_of(block) is not None:
        return MEDIA_TOKENS
    return len(as_text(block).encode("utf-8", "replace")) / BYTES_PER_TOKEN
