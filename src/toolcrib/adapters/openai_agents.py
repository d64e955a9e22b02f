"""A crib as tools of the OpenAI Agents SDK (extra `openai-agents`)."""

from typing import Any

from toolcrib.adapters.crib_tools import CribTools, Told, missing_extra
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.providers.schemas import rooted
from toolcrib.llm.results import as_text, media_of

try:
    from agents import FunctionTool
    from agents.tool import ToolOutputFileContent, ToolOutputImage, ToolOutputText
    from agents.tool_context import ToolContext

    from toolcrib.llm.providers.openai_shared import read_arguments
except ImportError as error:
    raise missing_extra("Tools of the OpenAI Agents SDK", "openai-agents", error) from None


async def crib_tools(
    crib: Crib, told: Told = "search", *, conversation: str = "", result_budget: int | None = None
) -> list[FunctionTool]:
    """The tools of a crib for an agent: `Agent(name, tools=await crib_tools(crib))`.

    Images and PDF documents stay what they are. The SDK has no mark for an output that is an error: its text says so.

    Args:
        crib: The tools, open; it stays open.
        told: The constant tools, or every visible tool as they are now (see `CribTools`).
        conversation: Whose conversation calls belong to; empty takes the `group_id` of the run's configuration.
        result_budget: See `CribTools`.
    """
    tools = CribTools(crib, told, conversation=conversation, result_budget=result_budget)
    return [_tool(spec, tools) for spec in await tools.specs()]


def _tool(spec: ToolSpec, tools: CribTools) -> FunctionTool:
    async def invoke(context: ToolContext[Any], written: str) -> Any:
        arguments, unreadable = read_arguments(written)
        config = context.run_config
        answer = await tools.call(
            spec.name,
            arguments,
            call_id=context.tool_call_id,
            conversation=(config.group_id if config else None) or "",
            unreadable=unreadable,
        )
        content = answer.result.content
        if answer.result.is_error:
            return "Error: " + "\n".join(as_text(block) for block in content)
        shown = [_shown(block) for block in content]
        return shown[0].text if len(shown) == 1 and isinstance(shown[0], ToolOutputText) else shown

    return FunctionTool(
        name=spec.name,
        description=spec.description,
        params_json_schema=rooted(spec.input_schema),
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def _shown(block: JsonObject) -> ToolOutputText | ToolOutputImage | ToolOutputFileContent:
    media = media_of(block)
    if media is None:
        return ToolOutputText(text=as_text(block))
    if media.kind == "image":
        return ToolOutputImage(image_url=media.url)
    return ToolOutputFileContent(file_data=media.url, filename=media.name)
