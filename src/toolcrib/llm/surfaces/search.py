"""The surface of a few constant tools, with which the model finds, inspects and calls all others."""

from typing import ClassVar

from toolcrib.broker import Caller
from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError, UsageError
from toolcrib.llm.messages import ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.surfaces.base import RESOURCE_TOOLS, Answer, Surface, SurfaceName, specs
from toolcrib.metatools import CALL_TOOL, READ_TOOL, tool_call


class SearchTools(Surface):
    """The meta-tools: the same few definitions however many tools there are."""

    name: ClassVar[SurfaceName] = "search"

    def __init__(self, crib: Crib, *, budget: int | None = None, resources: bool = True) -> None:
        budget = crib.config.settings.result_budget if budget is None else budget
        super().__init__(crib, budget=budget, resources=resources)

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`."""
        constant = specs(self.meta.definitions(caller))
        known = {each.name for each in constant}
        return (*constant, *(each for each in await self.resource_tools(caller) if each.name not in known))

    async def answer(self, use: ToolUse, caller: Caller) -> Answer:
        """See `Surface.answer`."""
        if use.name not in RESOURCE_TOOLS and not self.meta.knows(use.name):
            return await self._by_its_own_name(use, caller)
        if use.name not in (CALL_TOOL, READ_TOOL) or use.unreadable is not None:
            return await self.looked(use, caller)
        try:
            name, arguments = tool_call(use.name, use.arguments)
        except UsageError as error:
            return self.failed(use, error, "mistaken", use.name, use.arguments)
        return await self.called(use, name, arguments, caller, only_reads=use.name == READ_TOOL)

    async def _by_its_own_name(self, use: ToolUse, caller: Caller) -> Answer:
        """A model may call a tool that it found by its own name; that is as good as through `call_tool`."""
        try:
            tool = await self.crib.tool(use.name, caller=caller)
        except ToolcribError as error:
            return self.failed(use, error, "mistaken", use.name, use.arguments)
        if use.unreadable is not None:
            return await self.unreadable(use, tool.id, caller)
        return await self.called(use, tool.id, use.arguments, caller)
