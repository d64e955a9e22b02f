"""A crib as tools of LangChain (extra `langchain`)."""

from collections.abc import Mapping
from typing import Any, cast

from toolcrib.adapters.crib_tools import CribTools, Told, missing_extra
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.results import as_text, media_of

try:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, ToolException
except ImportError as error:
    raise missing_extra("Tools of LangChain", "langchain", error) from None


class CribTool(BaseTool):
    """One tool of a crib. It runs in asyncio alone: use `ainvoke`.

    The message that a call comes to has images and PDF documents as content blocks, the blocks as MCP has them as its
    artifact, and the status `error` where the call failed.
    """

    response_format: Any = "content_and_artifact"
    handle_tool_error: Any = True
    tools: Any = None
    """The tools that it is one of."""

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # In one piece: parameters of a tool may be called as those of `_arun` are.
        return (tool_input if isinstance(tool_input, dict) else {"input": tool_input}, tool_call_id or ""), {}

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise ToolException("This tool runs in asyncio alone: use ainvoke.")

    async def _arun(self, arguments: JsonObject, call_id: str, config: RunnableConfig) -> Any:
        known = cast("Mapping[str, Any]", config.get("configurable") or {})
        tools = cast("CribTools", self.tools)
        answer = await tools.call(self.name, arguments, call_id=call_id, conversation=str(known.get("thread_id") or ""))
        blocks = list(answer.result.content)
        if answer.result.is_error:
            raise ToolException("\n".join(as_text(block) for block in blocks))
        return [_shown(block) for block in blocks], blocks


async def crib_tools(
    crib: Crib, told: Told = "search", *, conversation: str = "", result_budget: int | None = None
) -> list[CribTool]:
    """The tools of a crib for a model or a graph of LangChain: `model.bind_tools(await crib_tools(crib))`.

    Args:
        crib: The tools, open; it stays open.
        told: The constant tools, or every visible tool as they are now (see `CribTools`).
        conversation: Whose conversation calls belong to; empty takes the `thread_id` of each call's configuration.
        result_budget: See `CribTools`.
    """
    tools = CribTools(crib, told, conversation=conversation, result_budget=result_budget)
    return [_tool(spec, tools) for spec in await tools.specs()]


def _tool(spec: ToolSpec, tools: CribTools) -> CribTool:
    return CribTool(name=spec.name, description=spec.description, args_schema=spec.input_schema, tools=tools)


def _shown(block: JsonObject) -> JsonObject:
    media = media_of(block)
    if media is None:
        return {"type": "text", "text": as_text(block)}
    kind = "image" if media.kind == "image" else "file"
    return {"type": kind, "base64": media.data, "mime_type": media.mime}
