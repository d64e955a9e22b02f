"""The tools of one demo server: each a small function and its explicit definition."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import jsonschema_rs
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from toolcrib.demo.faults import DemoError
from toolcrib.demo.shapes import Schema, arguments

StoreT = TypeVar("StoreT")

Arguments = dict[str, Any]
"""The arguments of a call, already valid against the tool's schema."""

Answer = dict[str, Any] | str | CallToolResult
"""What a tool returns: structured content, plain text, or a result of its own making."""

Report = Callable[[float, float | None, str | None], Awaitable[None]]
"""Tells the caller progress, total and a message."""

ToolFunction = Callable[[StoreT, Arguments], Answer]
JobFunction = Callable[[StoreT, Arguments, Report], Awaitable[Answer]]

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
ADDS_ONCE = ADDS.model_copy(update={"idempotent_hint": True})
OVERWRITES = ADDS.model_copy(update={"destructive_hint": True, "idempotent_hint": True})


@dataclass(frozen=True)
class DemoTool(Generic[StoreT]):
    """One tool: what is listed, and what runs."""

    definition: Tool
    run: JobFunction[StoreT]

    @cached_property
    def _validator(self) -> jsonschema_rs.Draft202012Validator:
        return jsonschema_rs.Draft202012Validator(self.definition.input_schema, validate_formats=True)

    def problems(self, given: Arguments) -> list[str]:
        """Why the arguments don't fit the input schema, one line a problem; empty when they do."""
        return [
            f"{'.'.join(str(step) for step in error.instance_path) or 'arguments'}: {error.message}"
            for error in self._validator.iter_errors(given)
        ]


class Toolbox(Generic[StoreT]):
    """The tools of one server, in the order of their definition; `parts` are taken in first."""

    def __init__(self, *parts: "Toolbox[StoreT]") -> None:
        self._tools: dict[str, DemoTool[StoreT]] = {}
        for part in parts:
            self._tools.update(part.tools)

    @property
    def tools(self) -> Mapping[str, DemoTool[StoreT]]:
        """All tools by name."""
        return self._tools

    def tool(
        self,
        title: str,
        hints: ToolAnnotations,
        takes: Schema | None = None,
        gives: Schema | None = None,
    ) -> Callable[[ToolFunction[StoreT]], ToolFunction[StoreT]]:
        """Make a function a tool: its name is the tool's name, its docstring the tool's description.

        Args:
            title: The display name.
            hints: The annotations.
            takes: The input schema; None takes nothing.
            gives: The output schema, when the function returns structured content of a fixed shape.
        """

        def add(function: ToolFunction[StoreT]) -> ToolFunction[StoreT]:
            async def run(store: StoreT, given: Arguments, report: Report) -> Answer:
                return function(store, given)

            self._add(function, title, hints, takes, gives, run)
            return function

        return add

    def job(
        self,
        title: str,
        hints: ToolAnnotations,
        takes: Schema | None = None,
        gives: Schema | None = None,
    ) -> Callable[[JobFunction[StoreT]], JobFunction[StoreT]]:
        """As `tool`, for a coroutine function that takes its time and reports progress."""

        def add(function: JobFunction[StoreT]) -> JobFunction[StoreT]:
            self._add(function, title, hints, takes, gives, function)
            return function

        return add

    def _add(
        self,
        function: Callable[..., object],
        title: str,
        hints: ToolAnnotations,
        takes: Schema | None,
        gives: Schema | None,
        run: JobFunction[StoreT],
    ) -> None:
        definition = Tool(
            name=function.__name__,
            title=title,
            description=" ".join((inspect.getdoc(function) or "").split()),
            input_schema=takes or arguments({}),
            output_schema=gives,
            annotations=hints,
        )
        self._tools[definition.name] = DemoTool(definition, run)

    async def call(self, store: StoreT, name: str, given: Arguments, report: Report) -> CallToolResult:
        """Validate the arguments, run the tool and wrap its answer.

        Invalid arguments and refusals are results with `isError`, so that a model can correct itself
        (protocol revision 2026-07-28, server/tools, "Error handling").

        Raises:
            KeyError: There is no tool of that name.
        """
        tool = self._tools[name]
        if problems := tool.problems(given):
            return _failed(f"The arguments of {name} don't fit its schema.\n" + "\n".join(problems))
        try:
            answer = await tool.run(store, given, report)
        except DemoError as error:
            return _failed(str(error))
        if isinstance(answer, CallToolResult):
            return answer
        if isinstance(answer, str):
            return CallToolResult(content=[TextContent(text=answer)])
        return structured(answer)


def structured(value: dict[str, Any]) -> CallToolResult:
    """Structured content, with the same JSON as text for clients that read no other."""
    return CallToolResult(content=[TextContent(text=json.dumps(value, ensure_ascii=False))], structured_content=value)


def _failed(reason: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=reason)], is_error=True)
