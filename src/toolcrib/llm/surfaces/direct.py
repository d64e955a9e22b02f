"""Surfaces on which every tool stands for itself: with its whole definition, or with name and description alone."""

from typing import ClassVar, Literal

from toolcrib.broker import Caller
from toolcrib.catalog import JsonObject, Tool
from toolcrib.crib import Crib
from toolcrib.errors import AmbiguousNameError, ToolcribError, UnknownToolError
from toolcrib.llm.messages import ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.surfaces.base import Answer, Surface, SurfaceName
from toolcrib.metatools import LIST_RESOURCES, READ_RESOURCE, READ_RESULT
from toolcrib.schema import WireNames, first_sentence

Descriptions = Literal["full", "line"]

LINE_CHARACTERS = 120
"""Characters of a description of which only a line is sent."""

_ANYTHING: JsonObject = {"type": "object"}
"""The schema of a tool whose own is held back: what every vendor takes, and any arguments fit."""


class Direct(Surface):
    """Every tool by a name that vendors take, `server__tool`."""

    def __init__(self, crib: Crib, *, budget: int | None = None) -> None:
        super().__init__(crib, budget=budget)
        self._names = WireNames(())

    async def answer(self, use: ToolUse, caller: Caller) -> Answer:
        """See `Surface.answer`."""
        if use.name in {spec.name for spec in self._beside(caller)}:
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

    def _beside(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """The constant tools beside the servers' own: what reads a result that was too large, where results have a
        budget, and what lists and reads resources, where the configuration has them."""
        wanted = {READ_RESULT} if self.budget is not None else set[str]()
        if self.crib.config.settings.resources:
            wanted |= {LIST_RESOURCES, READ_RESOURCE}
        known = [each for each in self.meta.definitions(caller) if each["name"] in wanted]
        return tuple(ToolSpec(each["name"], each["description"], each["inputSchema"]) for each in known)

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
        return (*told, *self._beside(caller))


class DeferredTools(Direct):
    """Every tool with name and description; its schema is told when a call does not fit it.

    Args:
        crib: See `Surface`.
        budget: See `Surface`.
        descriptions: `full` sends each description whole, `line` its first sentence.
    """

    name: ClassVar[SurfaceName] = "deferred"

    def __init__(self, crib: Crib, *, budget: int | None = None, descriptions: Descriptions = "full") -> None:
        super().__init__(crib, budget=budget)
        self._descriptions = descriptions

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`."""
        listed = await self._listed(caller)
        told = (ToolSpec(self._names.name_of(tool.id), self._about(tool), _ANYTHING) for tool in listed)
        return (*told, *self._beside(caller))

    def _about(self, tool: Tool) -> str:
        return tool.description if self._descriptions == "full" else first_sentence(tool.description, LINE_CHARACTERS)
