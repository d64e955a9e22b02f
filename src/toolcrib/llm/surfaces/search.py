"""The surface of a few constant tools, with which the model finds, inspects and calls all others."""

from typing import ClassVar

from toolcrib.broker import Caller, Options
from toolcrib.crib import Crib
from toolcrib.errors import ServerError, ToolcribError, UsageError, shown
from toolcrib.llm.messages import ToolResult, ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.results import blocks_for_model
from toolcrib.llm.surfaces.base import Answer, Surface, SurfaceName
from toolcrib.metatools import CALL_TOOL, MetaTools, tool_call


class SearchTools(Surface):
    """The meta-tools: the same few definitions however many tools there are."""

    name: ClassVar[SurfaceName] = "search"

    def __init__(self, crib: Crib, *, budget: int | None = None) -> None:
        super().__init__(crib, budget=budget)
        self._meta = MetaTools(crib)

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`."""
        return tuple(
            ToolSpec(each["name"], each["description"], each["inputSchema"]) for each in self._meta.definitions(caller)
        )

    async def answer(self, use: ToolUse, caller: Caller) -> Answer:
        """See `Surface.answer`."""
        if not self._meta.knows(use.name):
            return await self._unknown(use, caller)
        if use.unreadable is not None:
            error = UsageError(f"The arguments of {use.name} must be one JSON object, not {shown(use.unreadable)}.")
            return self.failed(use, error, "mistaken", use.name, {})
        if use.name == CALL_TOOL:
            try:
                name, arguments = tool_call(use.arguments)
            except UsageError as error:
                return self.failed(use, error, "mistaken", use.name, use.arguments)
            return await self.called(use, name, arguments, caller)
        return await self._looked(use, caller)

    async def _looked(self, use: ToolUse, caller: Caller) -> Answer:
        try:
            result = await self._meta.answer(use.name, use.arguments, caller, Options(budget=self.budget))
        except ServerError as error:
            return self.failed(use, error, "looked", use.name, use.arguments)
        except ToolcribError as error:
            return self.failed(use, error, "mistaken", use.name, use.arguments)
        told = ToolResult(use.id, use.name, blocks_for_model(result), result.get("isError") is True)
        return Answer("looked", told, use.name, use.arguments)

    async def _unknown(self, use: ToolUse, caller: Caller) -> Answer:
        """A model may call a tool that it found by its own name; that is as good as through `call_tool`."""
        try:
            tool = await self.crib.tool(use.name, caller=caller)
        except ToolcribError as error:
            return self.failed(use, error, "mistaken", use.name, use.arguments)
        if use.unreadable is not None:
            return await self.unreadable(use, tool.id, caller)
        return await self.called(use, tool.id, use.arguments, caller)
