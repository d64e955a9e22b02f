"""The surface of a few constant tools, with which the model finds, inspects and calls all others."""

from typing import ClassVar

from toolcrib.broker import Caller
from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError, UsageError
from toolcrib.llm.messages import ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.surfaces.base import RESOURCE_TOOLS, Answer, AtHand, Surface, SurfaceName, nothing_at_hand, specs
from toolcrib.metatools import CALL_TOOL, READ_TOOL, tool_call
from toolcrib.schema import WireNames


class SearchTools(Surface):
    """The meta-tools: the same few definitions however many tools there are."""

    name: ClassVar[SurfaceName] = "search"

    def __init__(
        self, crib: Crib, *, budget: int | None = None, resources: bool = True, at_hand: AtHand = nothing_at_hand
    ) -> None:
        budget = crib.config.settings.result_budget if budget is None else budget
        super().__init__(crib, budget=budget, resources=resources, at_hand=at_hand)
        self._names: WireNames | None = None

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`: the constant ones, and behind them what is at hand."""
        constant = specs(self.meta.definitions(caller))
        known = {each.name for each in constant}
        resources = (each for each in await self.resource_tools(caller) if each.name not in known)
        tools = await self.at_hand(caller)
        names = self._names = WireNames(tool.id for tool in tools)
        told = (ToolSpec(names.name_of(tool.id), tool.description, tool.input_schema) for tool in tools)
        return (*constant, *resources, *told)

    def name_of(self, tool_id: str) -> str:
        """See `Surface.name_of`."""
        return self._names.name_of(tool_id) if self._names and tool_id in self._names.ids else tool_id

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
        if self._names is None:  # a conversation that was stored
            self._names = WireNames(tool.id for tool in await self.at_hand(caller))
        try:
            tool = await self.crib.tool(self._names.id_of(use.name) or use.name, caller=caller)
        except ToolcribError as error:
            return self.failed(use, error, "mistaken", use.name, use.arguments)
        if use.unreadable is not None:
            return await self.unreadable(use, tool.id, caller)
        return await self.called(use, tool.id, use.arguments, caller)
