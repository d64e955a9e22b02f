"""A crib as a toolset of pydantic-ai (extra `pydantic-ai`)."""

from base64 import b64decode
from typing import Any

from toolcrib.adapters.crib_tools import CribTools, Told, missing_extra
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.llm.results import as_text, media_of

try:
    from pydantic_ai import BinaryContent, ModelRetry, RunContext, ToolDefinition
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ImportError as error:
    raise missing_extra("A toolset of pydantic-ai", "pydantic-ai", error) from None

_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Arguments are validated by the broker, against what the server sent."""


class CribToolset(AbstractToolset[Any]):
    """The tools of a crib for an agent: `Agent(model, toolsets=[CribToolset(crib)])`.

    A call that does not fit is told back as one to be tried again, with the tool's schema, within `max_retries`; what a
    tool fails with, as a failure. Images and PDF documents stay what they are. Calls belong to the conversation of the
    run, by its `conversation_id`.

    Args:
        crib: The tools, open; it stays open.
        told: The constant tools, or every visible tool (see `CribTools`).
        conversation: In place of the run's `conversation_id`.
        max_retries: How often a call may be mended.
        result_budget: See `CribTools`.
    """

    def __init__(
        self,
        crib: Crib,
        told: Told = "search",
        *,
        conversation: str = "",
        max_retries: int = 1,
        result_budget: int | None = None,
    ) -> None:
        self._tools = CribTools(crib, told, conversation=conversation, result_budget=result_budget)
        self._max_retries = max_retries

    @property
    def id(self) -> str | None:
        """One name for all of them."""
        return "toolcrib"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools as they are now."""
        specs = await self._tools.specs(ctx.conversation_id or "")
        return {
            spec.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=spec.name,
                    description=spec.description,
                    parameters_json_schema=spec.input_schema,
                    strict=False,  # schemas of servers are rarely what strict modes take
                ),
                max_retries=self._max_retries,
                args_validator=_ANY_OBJECT,
            )
            for spec in specs
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call one.

        Raises:
            ModelRetry: The call could not be made as it was written.
            ToolFailed: It failed.
        """
        answer = await self._tools.call(
            name, tool_args, call_id=ctx.tool_call_id or "", conversation=ctx.conversation_id or ""
        )
        content = answer.result.content
        if answer.result.is_error:
            text = "\n".join(as_text(block) for block in content)
            raise ModelRetry(text) if answer.kind == "mistaken" else ToolFailed(text)
        shown = [_shown(block) for block in content]
        return shown[0] if len(shown) == 1 else shown


def _shown(block: JsonObject) -> Any:
    media = media_of(block)
    return as_text(block) if media is None else BinaryContent(b64decode(media.data), media_type=media.mime)
