"""The search surface for small models: the host fixes the order of steps, and says what each is held to."""

from collections.abc import Mapping
from typing import Any, cast

from toolcrib.broker import Caller
from toolcrib.catalog import JsonObject, Tool
from toolcrib.errors import ServerError, ToolcribError
from toolcrib.hidden import visible
from toolcrib.llm.messages import ToolResult, ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.results import text_block
from toolcrib.llm.shapes import takes_nothing
from toolcrib.llm.surfaces.base import Answer, Kind
from toolcrib.llm.surfaces.search import SearchTools
from toolcrib.metatools import CALL_TOOL, GET_TOOL_DETAILS, SEARCH_TOOLS
from toolcrib.metatools.formatting import compact
from toolcrib.schema import first_sentence

GUIDE = "guide"
"""Member of a call's `extra`: what the model `said` in its place, and what a search takes `beside` its words."""

NONE = "none"
"""What a model writes in place of a tool's name where no tool fits."""

STEP_META = "toolcrib/step"
"""Member of a result's `_meta` that says what the next step is held to: `names` to choose from, or a `tool` with the
`schema` of its arguments, or `next`, which is `decide` or `answer`. A result without it repeats the step before."""

_HITS = 5
_LINE_CHARACTERS = 160
_ABOUT_CHARACTERS = 600
_QUESTION_CHARACTERS = 300
_CONSTANT = (SEARCH_TOOLS, GET_TOOL_DETAILS, CALL_TOOL)


class GuidedTools(SearchTools):
    """Search, choose, write arguments, call: what each step came to says what the next one may be.

    The calls are those of the constant tools, so that a conversation goes on with any other model as one of the
    surface `search`.
    """

    async def tools(self, caller: Caller) -> tuple[ToolSpec, ...]:
        """See `Surface.tools`: those that the steps stand for."""
        return tuple(spec for spec in await super().tools(caller) if spec.name in _CONSTANT)

    async def answer(self, use: ToolUse, caller: Caller) -> Answer:
        """See `Surface.answer`."""
        if use.unreadable is not None and use.name == CALL_TOOL and isinstance(use.arguments.get("name"), str):
            return await self.unreadable(use, str(use.arguments["name"]), caller)
        if use.unreadable is None and use.name == SEARCH_TOOLS:
            return await self._found(use, caller)
        if use.unreadable is None and use.name == GET_TOOL_DETAILS:
            return await self._chosen(use, caller)
        answer = await super().answer(use, caller)
        return answer if answer.kind == "mistaken" else _leading(answer, next="decide")

    async def _found(self, use: ToolUse, caller: Caller) -> Answer:
        """Search with the model's words; at the first search for a question, with the user's too."""
        known = cast("JsonObject", use.extra.get(GUIDE) or {})
        beside = str(known.get("beside") or "")[:_QUESTION_CHARACTERS]
        query = f"{use.arguments.get('query') or ''} {beside}".replace("\n", " ")
        try:
            found = (await self.crib.search(query, limit=_HITS, caller=caller)).found
        except ToolcribError as error:
            return self._stopped(use, error)
        if not found:
            return _leading(self._looked(use, "No tool was found."), next="decide")
        lines = [f"- {hit.tool.id}: {first_sentence(hit.tool.description, _LINE_CHARACTERS)}" for hit in found]
        answer = self._looked(use, "\n".join(("Tools found:", *lines)))
        return _leading(answer, names=[hit.tool.id for hit in found])

    async def _chosen(self, use: ToolUse, caller: Caller) -> Answer:
        """Show the definition of the tool that was chosen; one that takes no arguments is called at once."""
        name = str(use.arguments.get("name") or "")
        if name == NONE:
            return _leading(self._looked(use, "None of these tools is used."), next="answer")
        try:
            tool = await self.crib.tool(name, caller=caller)
        except ToolcribError as error:
            return self._stopped(use, error)
        if takes_nothing(tool.input_schema):
            called = await self.called(use, tool.id, {}, caller)
            return _leading(called, next="decide")
        return _leading(self._looked(use, _definition(tool)), tool=tool.id, schema=tool.input_schema)

    def _looked(self, use: ToolUse, text: str) -> Answer:
        return Answer("looked", ToolResult(use.id, use.name, (text_block(visible(text)),)), use.name, use.arguments)

    def _stopped(self, use: ToolUse, error: ToolcribError) -> Answer:
        """An error that writing something else may mend repeats the step; a server's does not."""
        kind: Kind = "looked" if isinstance(error, ServerError) else "mistaken"
        answer = self.failed(use, error, kind, use.name, use.arguments)
        return answer if kind == "mistaken" else _leading(answer, next="decide")


def step_of(result: ToolResult) -> JsonObject | None:
    """What a result says of the next step; None when it says nothing."""
    for block in result.content:
        meta: Any = block.get("_meta")
        if isinstance(meta, Mapping) and STEP_META in meta:
            return cast("JsonObject", meta[STEP_META])
    return None


def _leading(answer: Answer, **step: Any) -> Answer:
    """The answer with what the next step is held to."""
    result = answer.result
    first, *others = result.content or (text_block(""),)
    meta = {**cast("JsonObject", first.get("_meta") or {}), STEP_META: step}
    content = ({**first, "_meta": meta}, *others)
    told = ToolResult(result.id, result.name, content, result.is_error, result.references)
    return Answer(answer.kind, told, answer.tool_id, answer.arguments)


def _definition(tool: Tool) -> str:
    about = first_sentence(tool.description, _ABOUT_CHARACTERS)
    return f"{tool.id}: {about}\nSchema of its arguments: {compact(tool.input_schema)}"
