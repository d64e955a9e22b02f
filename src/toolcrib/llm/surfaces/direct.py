"""Surfaces on which every tool stands for itself: with its whole definition, or with name and description alone."""

from typing import ClassVar, Literal

from toolcrib.broker import Caller
from toolcrib.catalog import JsonObject, Tool
from toolcrib.crib import Crib
from toolcrib.errors import AmbiguousNameError, ToolcribError, UnknownToolError
from toolcrib.llm.messages import ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.surfaces.base import RESOURCE_TOOLS, Answer, AtHand, Surface, SurfaceName, nothing_at_hand, specs
from toolcrib.metatools import READ_RESULT
from toolcrib.schema import WireNames, first_sentence

Descriptions = Literal["full", "line"]

LINE_CHARACTERS = 120
"""Characters of a description of which only a line is sent."""

_ANYTHING: JsonObject = {"type": "object"}
"""The schema of a tool whose own is held back: what every vendor takes, and any arguments fit."""


class Direct(Surface):
    """Every tool by a name that vendors take, `server__tool`."""

    def __init__(
        self, crib: Crib, *, budget: int | None = None, resources: bool = True, at_hand: AtHand = nothing_at_hand
    ) -> None:
        super().__init__(crib, budget=budget, resources=resources, at_hand=at_hand)
        self._names = WireNames(())

    def name_of(self, tool_id: str) -> str:
        """See `Surface.name_of`."""
        return self._names.name_of(tool_id) if tool_id in self._names.ids else tool_id

    async def answer(self, use: ToolUse, caller: Caller) -> Answer:
        """See `Surface.answer`."""
        if use.name == READ_RESULT or use.name in RESOURCE_TOOLS:
            return await self.looked(use, caller)
        if not len(self._names):
            await self._listed(caller)
        tool_id = self._names.id_of(use.name) or use.name
        if use.unreadable is not None:
            return await self.unreadable(use, tool_id, caller)
        return await self.called(use, tool_id, use.arguments, caller)

    def worded(self, error: ToolcribError) -> str:
        """See `Surface.worded`: tools are called by their names here, so that is what is told."""
        if isinstance(error, UnknownToolError | AmbiguousNameError):
            names = {self._names.id_of(name): name for name in self._names}
            known = [names[each] for each in error.candidates if each in names]
            instead = f" Did you mean {' or '.join(known)}?" if known else ""
            return f"{error.message}{instead}"
        return super().worded(error)

    async def _beside(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """The constant tools beside the servers' own: what lists and reads resources, where there are some, and what
        reads a result that was too large, which resources may be, and results where they have a budget."""
        resources = await self.resource_tools(caller)
        kept = [each for each in self.meta.definitions(caller) if each["name"] == READ_RESULT]
        return (*specs(kept), *resources) if resources or self.budget is not None else ()

    async def _listed(self, caller: Caller) -> list[Tool]:
        tools = await self.crib.tools(caller=caller)
        self._names = WireNames(tool.id for tool in tools)
        return tools


class AllTools(Direct):
    """Every tool with its whole definition: plain tool calling."""

    name: ClassVar[SurfaceName] = "all"

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`."""
        listed = await self._listed(caller)
        told = (ToolSpec(self._names.name_of(tool.id), tool.description, tool.input_schema) for tool in listed)
        return (*told, *await self._beside(caller))


class DeferredTools(Direct):
    """Every tool with name and description; its schema is told when a call does not fit it.

    Args:
        crib: See `Surface`.
        budget: See `Surface`.
        resources: See `Surface`.
        at_hand: See `Surface`.
        descriptions: `full` sends each description whole, `line` its first sentence.
    """

    name: ClassVar[SurfaceName] = "deferred"

    def __init__(
        self,
        crib: Crib,
        *,
        budget: int | None = None,
        descriptions: Descriptions = "full",
        resources: bool = True,
        at_hand: AtHand = nothing_at_hand,
    ) -> None:
        super().__init__(crib, budget=budget, resources=resources, at_hand=at_hand)
        self._descriptions = descriptions

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`."""
        listed = await self._listed(caller)
        at_hand = {tool.id for tool in await self.at_hand(caller)}
        told = (
            ToolSpec(self._names.name_of(tool.id), tool.description, tool.input_schema)
            if tool.id in at_hand
            else ToolSpec(self._names.name_of(tool.id), self._about(tool), _ANYTHING)
            for tool in listed
        )
        return (*told, *await self._beside(caller))

    def _about(self, tool: Tool) -> str:
        return tool.description if self._descriptions == "full" else first_sentence(tool.description, LINE_CHARACTERS)
