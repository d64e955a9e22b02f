"""The surface of vendors that hold definitions back until a search result refers to them."""

from dataclasses import replace
from typing import ClassVar, Literal

from toolcrib.broker import Caller
from toolcrib.crib import Crib, SearchAnswer
from toolcrib.errors import ToolcribError
from toolcrib.llm.messages import ToolResult, ToolUse
from toolcrib.llm.provider import ToolGroup, ToolSpec
from toolcrib.llm.results import text_block
from toolcrib.llm.surfaces.base import Answer, AtHand, SurfaceName, nothing_at_hand
from toolcrib.llm.surfaces.direct import AllTools
from toolcrib.metatools import READ_RESOURCE, SEARCH_TOOLS, search_text

_HITS = 8
_LONGEST_NAME = 64
_SKILL_HINT = f"{READ_RESOURCE} reads a skill, as skill://NAME/SKILL.md."
_HOSTED = ToolSpec("tool_search", "", {"type": "object"}, searches=True, hosted=True)


NativeSearch = Literal["ours", "platform"]


class NativeTools(AllTools):
    """Every tool with its whole definition, of which the vendor shows the model only what a search found.

    What a result of the search refers to, the vendor puts before the model. The ranking is ours, or the vendor
    searches by itself.

    Args:
        crib: See `Surface`.
        budget: See `Surface`.
        resources: See `Surface`.
        at_hand: See `Surface`.
        search: Whose search it is.
    """

    name: ClassVar[SurfaceName] = "native"

    def __init__(
        self,
        crib: Crib,
        *,
        budget: int | None = None,
        resources: bool = True,
        at_hand: AtHand = nothing_at_hand,
        search: NativeSearch = "ours",
    ) -> None:
        super().__init__(crib, budget=budget, resources=resources, at_hand=at_hand)
        self._search = search

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`; the search tool comes first, and is never held back."""
        told = await super().tools(caller)
        names = set(self._names) - {self.name_of(tool.id) for tool in await self.at_hand(caller)}
        # The search finds tools of servers alone, so that a constant tool which is held back would never be seen.
        held = tuple(replace(each, deferred=each.name in names) for each in told)
        if self._search == "ours":
            return (await self._search_tool(caller), *held)
        return (_HOSTED, *self._grouped(held, caller))

    async def answer(self, use: ToolUse, caller: Caller) -> Answer:
        """See `Surface.answer`."""
        if use.name != SEARCH_TOOLS:
            return await super().answer(use, caller)
        if not len(self._names):
            await self._listed(caller)
        query = use.arguments.get("query", "")
        try:
            found = await self.crib.search(query if isinstance(query, str) else str(query), limit=_HITS, caller=caller)
        except ToolcribError as error:
            return self.failed(use, error, "mistaken", use.name, use.arguments)
        references = self._references(found)
        told = search_text(found, "brief", None, skill_hint=_SKILL_HINT)
        result = ToolResult(use.id, use.name, (text_block(told),), references=references)
        return Answer("looked", result, use.name, use.arguments)

    def _references(self, found: SearchAnswer) -> tuple[str, ...]:
        """The names of what was found, as the vendor was told of them; a tool that came later is not among them."""
        names = {self._names.id_of(name): name for name in self._names}
        return tuple(names[each.tool.id] for each in found.found if each.tool.id in names)

    def _grouped(self, tools: tuple[ToolSpec, ...], caller: Caller) -> tuple[ToolSpec, ...]:
        """The tools with the servers that they belong to."""
        about = dict(self.crib.configured(caller))

        def group(name: str) -> ToolGroup | None:
            server = (self._names.id_of(name) or "").partition(".")[0]
            return ToolGroup(server[:_LONGEST_NAME], about.get(server) or f"Tools of {server}.") if server else None

        return tuple(replace(each, group=group(each.name)) if each.deferred else each for each in tools)

    async def _search_tool(self, caller: Caller) -> ToolSpec:
        definition = next(each for each in self.meta.definitions(caller) if each["name"] == SEARCH_TOOLS)
        query = definition["inputSchema"]["properties"]["query"]
        schema = {"type": "object", "properties": {"query": query}, "required": ["query"]}
        about = "Find tools by what they do, one action a line; the tools found can then be called."
        return ToolSpec(SEARCH_TOOLS, about, schema, searches=True)
