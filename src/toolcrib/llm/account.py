"""What a request to a model consists of, in tokens."""

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from toolcrib.catalog import JsonObject
from toolcrib.llm.messages import Message, ToolResult, message_to_json
from toolcrib.llm.provider import Request, ToolSpec
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
    """

    system: int = 0
    tools: int = 0
    messages: int = 0
    results: int = 0

    @property
    def total(self) -> int:
        """All parts together."""
        return self.system + self.tools + self.messages + self.results


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
