"""How tools reach a model: the base of the surfaces."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import anyio.to_thread

from toolcrib.broker import Caller, InvalidArgumentsError, Options, Principal
from toolcrib.catalog import JsonObject, Tool
from toolcrib.crib import Crib
from toolcrib.errors import AmbiguousNameError, ServerError, ToolcribError, UnknownToolError, UsageError, shown
from toolcrib.llm.account import tool_tokens
from toolcrib.llm.messages import ToolResult, ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.results import blocks_for_model, text_block
from toolcrib.metatools import (
    GET_TOOL_DETAILS,
    LIST_RESOURCES,
    READ_RESOURCE,
    SEARCH_TOOLS,
    MetaTools,
    error_text,
    resource_tools,
)
from toolcrib.schema import ValidationResult, WireNames

SurfaceName = Literal["all", "deferred", "search", "native"]

Kind = Literal["called", "looked", "mistaken"]
"""What a call came to: a tool was called, or the call was refused for good; something was looked up; it could not
be made as it was written, and may be mended."""


FINDING = (SEARCH_TOOLS, GET_TOOL_DETAILS)
"""What finds tools, and would not be called if all were told of."""

RESOURCE_TOOLS = (LIST_RESOURCES, READ_RESOURCE)

_NOT_DONE = "It waits, and has not been done."


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of a call that a model wants made.

    Attributes:
        kind: See `Kind`.
        result: What the model is told.
        tool_id: The tool that was meant; the name as written where none was found.
        arguments: What it was called with.
    """

    kind: Kind
    result: ToolResult
    tool_id: str
    arguments: JsonObject


def specs(definitions: Iterable[JsonObject]) -> tuple[ToolSpec, ...]:
    """Constant tools as a model is told of them."""
    return tuple(ToolSpec(each["name"], each["description"], each["inputSchema"]) for each in definitions)


AtHand = Callable[[Caller], Awaitable[Sequence[Tool]]]


async def nothing_at_hand(caller: Caller) -> Sequence[Tool]:
    """No tool that the model has from the start."""
    return ()


class Surface(ABC):
    """Tells a model of tools, and makes the calls that it then wants.

    Args:
        crib: The tools.
        budget: Most bytes of JSON in one result; a larger one becomes a handle. None takes everything.
        resources: Whether what the servers offer to read is there by two tools of its own.
        at_hand: Gives the tools whose definitions the model has from the start, whatever the surface holds back.
    """

    name: ClassVar[SurfaceName]

    def __init__(
        self, crib: Crib, *, budget: int | None = None, resources: bool = True, at_hand: AtHand = nothing_at_hand
    ) -> None:
        self.crib = crib
        self.budget = budget
        self.meta = MetaTools(crib)
        self.at_hand = at_hand
        self._resources = resources
        self._whole: dict[Principal, tuple[int, int]] = {}

    @abstractmethod
    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """What the model is told of, asked for once a conversation."""

    @abstractmethod
    async def answer(self, use: ToolUse, caller: Caller) -> Answer:
        """Make a call, whatever is wrong with it: never raises for what a model has written, or a server done."""

    def name_of(self, tool_id: str) -> str:
        """What the model calls a tool by."""
        return tool_id

    async def whole(self, caller: Caller) -> int:
        """Tokens of the definitions of all tools that the caller may know of, as the surface `all` tells of them."""
        version = self.crib.registry.version
        if self._whole.get(caller.principal, (-1, 0))[0] != version:
            tools = await self.crib.tools(caller=caller)
            names = WireNames(tool.id for tool in tools)

            def count() -> int:
                told = (ToolSpec(names.name_of(tool.id), tool.description, tool.input_schema) for tool in tools)
                return sum(map(tool_tokens, told))

            self._whole[caller.principal] = (version, await anyio.to_thread.run_sync(count))
        return self._whole[caller.principal][1]

    async def resource_tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """What lists and reads resources, where a server that the caller may know of claims to have some."""
        configured = self.crib.config.settings.resources
        if configured or (self._resources and await self.crib.offers_resources(caller=caller)):
            return specs(resource_tools())
        return ()

    async def looked(self, use: ToolUse, caller: Caller) -> Answer:
        """Answer a call of a constant tool that calls no other."""
        if use.unreadable is not None:
            error = UsageError(f"The arguments of {use.name} must be one JSON object, not {shown(use.unreadable)}.")
            return self.failed(use, error, "mistaken", use.name, {})
        try:
            result = await self.meta.answer(use.name, use.arguments, caller, Options(budget=self.budget))
        except ServerError as error:
            return self.failed(use, error, "looked", use.name, use.arguments)
        except ToolcribError as error:
            return self.failed(use, error, "mistaken", use.name, use.arguments)
        told = ToolResult(use.id, use.name, blocks_for_model(result), result.get("isError") is True)
        return Answer("looked", told, use.name, use.arguments)

    async def called(
        self, use: ToolUse, name: str, arguments: JsonObject, caller: Caller, *, only_reads: bool = False
    ) -> Answer:
        """Call a tool, and put whatever comes of it into an answer.

        Args:
            use: What the model wrote.
            name: The tool's id, or another spelling of it.
            arguments: What it is called with.
            caller: Who calls.
            only_reads: Whether only a call that is known to read may be made.
        """
        options = Options(budget=self.budget, only_reads=only_reads)
        try:
            outcome = await self.crib.request("tools/call", name, arguments, caller, options)
        except (InvalidArgumentsError, UnknownToolError, AmbiguousNameError, UsageError) as error:
            return self.failed(use, error, "mistaken", name, arguments)
        except ToolcribError as error:
            return self.failed(use, error, "called", name, arguments)
        if outcome.kind == "input_required":
            content = (text_block(f"{outcome.call.target} asks for an input that can't be given here. {_NOT_DONE}"),)
            result = ToolResult(use.id, use.name, content, True)
        else:
            result = ToolResult(use.id, use.name, blocks_for_model(outcome.result), outcome.is_error)
        return Answer("called", result, outcome.call.target, outcome.call.arguments)

    async def unreadable(self, use: ToolUse, name: str, caller: Caller) -> Answer:
        """Tell that the arguments of a call are no JSON object, as it is told of arguments that don't fit."""
        written = f"the arguments must be one JSON object; what was written is {shown(use.unreadable or '')}"
        try:
            tool = await self.crib.tool(name, caller=caller)
        except ToolcribError as error:
            return self.failed(use, error, "mistaken", name, {})
        return self.failed(use, InvalidArgumentsError(tool, ValidationResult.invalid(written)), "mistaken", tool.id, {})

    def failed(self, use: ToolUse, error: ToolcribError, kind: Kind, tool_id: str, arguments: JsonObject) -> Answer:
        """An answer that tells what is wrong, with the whole schema where arguments are."""
        if isinstance(error, InvalidArgumentsError):
            tool_id = error.tool.id
        text = self.worded(error)
        return Answer(kind, ToolResult(use.id, use.name, (text_block(text),), True), tool_id, arguments)

    def worded(self, error: ToolcribError) -> str:
        """An error in the words of this surface, whose names may not be the ids."""
        return error_text(error, longest=None)
