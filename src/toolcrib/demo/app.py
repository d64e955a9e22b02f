"""A demo server as an MCP server object, and its life as a stdio process."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from toolcrib import __version__
from toolcrib.demo.config import DESCRIPTIONS
from toolcrib.demo.faults import DemoError
from toolcrib.demo.toolbox import StoreT, Toolbox

_LISTS_KEEP = CacheHint(ttl_ms=3_600_000, scope="public")


@dataclass(frozen=True, slots=True)
class Resources(Generic[StoreT]):
    """What a demo server offers to read.

    Attributes:
        every: All resources of a store.
        templates: The templates of their URIs.
        read: The contents of one URI; None when there is nothing.
    """

    every: Callable[[StoreT], list[types.Resource]]
    templates: Sequence[types.ResourceTemplate]
    read: Callable[[StoreT, str], types.TextResourceContents | types.BlobResourceContents | None]


@dataclass(frozen=True, slots=True)
class DemoPrompt(Generic[StoreT]):
    """One prompt: what is listed, and what writes its messages from the arguments.

    `render` raises `DemoError` for arguments that name nothing.
    """

    definition: types.Prompt
    render: Callable[[StoreT, dict[str, str]], list[types.PromptMessage]]


@dataclass(frozen=True, slots=True)
class DemoApp(Generic[StoreT]):
    """A whole demo server.

    Attributes:
        name: Its name in the configuration, a key of `DESCRIPTIONS`.
        title: Its display name.
        instructions: What a model should know before it uses the tools.
        tools: Its tools.
        open_store: Opens the data in a directory, or private data in memory.
        resources: What it offers to read, if anything.
        prompts: Its prompts.
        complete: The values that an argument (by name) of a prompt or template may have, given its beginning.
    """

    name: str
    title: str
    instructions: str
    tools: Toolbox[StoreT]
    open_store: Callable[[Path | None], AbstractContextManager[StoreT]]
    resources: Resources[StoreT] | None = None
    prompts: Sequence[DemoPrompt[StoreT]] = ()
    complete: Callable[[StoreT, str, str], list[str]] | None = None

    def server(self, directory: Path | None = None) -> Server[StoreT]:
        """The MCP server. Its data is opened for each connection and closed with it.

        Args:
            directory: Where the data lives; None gives each connection its own, in memory.
        """

        @asynccontextmanager
        async def lifespan(_: Server[StoreT]) -> AsyncGenerator[StoreT]:
            with self.open_store(directory) as store:
                yield store

        tools = _ToolHandlers(self.tools)
        resources = _ResourceHandlers(self.resources) if self.resources else None
        prompts = _PromptHandlers(self.prompts) if self.prompts else None
        return Server(
            f"toolcrib-demo-{self.name}",
            version=__version__,
            title=self.title,
            description=DESCRIPTIONS[self.name],
            instructions=self.instructions,
            cache_hints={"tools/list": _LISTS_KEEP, "prompts/list": _LISTS_KEEP},
            lifespan=lifespan,
            on_list_tools=tools.every,
            on_call_tool=tools.call,
            on_list_resources=resources.every if resources else None,
            on_list_resource_templates=resources.templates if resources else None,
            on_read_resource=resources.read if resources else None,
            on_list_prompts=prompts.every if prompts else None,
            on_get_prompt=prompts.get if prompts else None,
            on_completion=_completion(self.complete) if self.complete else None,
        )

    def serve(self) -> None:
        """Be a stdio server until stdin closes. The data lives in `TOOLCRIB_DEMO_DIR`, if that is set."""
        place = os.environ.get("TOOLCRIB_DEMO_DIR")
        directory = Path(place) if place else None
        try:
            # Unusable data is one plain line on stderr, before the protocol begins.
            with self.open_store(directory):
                pass
        except DemoError as error:
            sys.exit(f"toolcrib demo server {self.name}: {error}")
        with suppress(KeyboardInterrupt):
            anyio.run(_serve, self.server(directory))


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _ToolHandlers(Generic[StoreT]):
    def __init__(self, toolbox: Toolbox[StoreT]) -> None:
        self._toolbox = toolbox

    async def every(
        self, ctx: ServerRequestContext[StoreT], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.definition for tool in self._toolbox.tools.values()])

    async def call(
        self, ctx: ServerRequestContext[StoreT], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in self._toolbox.tools:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await self._toolbox.call(
            ctx.lifespan_context, params.name, params.arguments or {}, ctx.session.report_progress
        )


class _ResourceHandlers(Generic[StoreT]):
    def __init__(self, resources: Resources[StoreT]) -> None:
        self._resources = resources

    async def every(
        self, ctx: ServerRequestContext[StoreT], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=self._resources.every(ctx.lifespan_context))

    async def templates(
        self, ctx: ServerRequestContext[StoreT], params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=list(self._resources.templates))

    async def read(
        self, ctx: ServerRequestContext[StoreT], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        contents = self._resources.read(ctx.lifespan_context, uri)
        if contents is None:
            raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
        return types.ReadResourceResult(contents=[contents])


class _PromptHandlers(Generic[StoreT]):
    def __init__(self, prompts: Sequence[DemoPrompt[StoreT]]) -> None:
        self._prompts = {prompt.definition.name: prompt for prompt in prompts}

    async def every(
        self, ctx: ServerRequestContext[StoreT], params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[prompt.definition for prompt in self._prompts.values()])

    async def get(
        self, ctx: ServerRequestContext[StoreT], params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        prompt = self._prompts.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        given = params.arguments or {}
        for argument in prompt.definition.arguments or ():
            if argument.required and not given.get(argument.name):
                raise MCPError(types.INVALID_PARAMS, f"Prompt {params.name} needs {argument.name}")
        try:
            messages = prompt.render(ctx.lifespan_context, given)
        except DemoError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        return types.GetPromptResult(description=prompt.definition.description, messages=messages)


def _completion(
    complete: Callable[[StoreT, str, str], list[str]],
) -> Callable[[ServerRequestContext[StoreT], types.CompleteRequestParams], Awaitable[types.CompleteResult]]:
    async def handler(ctx: ServerRequestContext[StoreT], params: types.CompleteRequestParams) -> types.CompleteResult:
        found = complete(ctx.lifespan_context, params.argument.name, params.argument.value)
        # At most 100 values an answer (protocol revision 2026-07-28, server/utilities/completion).
        completion = types.Completion(values=found[:100], total=len(found), has_more=len(found) > 100)
        return types.CompleteResult(completion=completion)

    return handler
