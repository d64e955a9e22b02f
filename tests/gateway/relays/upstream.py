"""A server on the SDK that uses all that passes between a client and a server: `python upstream.py` over stdio."""

from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]

FORM = {
    "mode": "form",
    "message": "Which colour?",
    "requestedSchema": {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]},
}
URL = {"mode": "url", "message": "Log in there.", "url": "https://example.com/login", "elicitationId": "e1"}
SAMPLING = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say a word."}}],
    "maxTokens": 5,
}
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ask_form": ("elicitation/create", FORM),
    "ask_url": ("elicitation/create", URL),
    "ask_model": ("sampling/createMessage", SAMPLING),
    "ask_roots": ("roots/list", {}),
}
MODELS: dict[str, tuple[Any, Any]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}
TOOLS = [*QUESTIONS, "ask_twice", "steps", "log", "hang", "trace", "change", "level", "link", "page", "done"]
LEVELS = ["debug", "info", "warning", "error"]


def text(value: Any) -> types.CallToolResult:
    """A result of one text."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(value))])


class Upstream:
    """The server, and what happens at it.

    Attributes:
        server: The SDK's server.
        cancelled: Set when a call of `hang` was cancelled.
        started: Set when one has begun.
        extra: Tools and the like that were added since.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.sessions: list[Any] = []
        self.cancelled = anyio.Event()
        self.started = anyio.Event()
        self.extra: list[str] = []
        self.level = "none"
        self.followed: list[str] = []
        self.refused: list[str] = []
        self.visited = False
        self.more_prompts = False
        self.lists: set[str] = set()
        self.server = _Telling(
            "upstream",
            version="1",
            on_list_tools=self._tools,
            on_call_tool=self._call,
            on_list_resources=self._resources,
            on_list_resource_templates=self._templates,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=ListenHandler(self.bus),
            on_list_prompts=self._prompts,
            on_get_prompt=self._prompt,
            on_completion=self._complete,
        )
        self.server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)

    async def _tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        names = [*TOOLS, *self.extra]
        return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in names])

    async def _call(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        if params.name in QUESTIONS or params.name == "ask_twice":
            return await self._ask(ctx, params)
        return await getattr(self, f"_{params.name}")(ctx)

    async def _ask(self, ctx: Context, params: Any) -> Any:
        names = ["ask_form", "ask_model"] if params.name == "ask_twice" else [params.name]
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            state = params.request_state or ""
            answers = [*filter(None, state.split("\n"))]
            for answer in (params.input_responses or {}).values():
                answers.append(_told(answer.model_dump(by_alias=True, exclude_none=True)))
            if len(answers) == len(names):
                return text(" ".join(answers))
            method, about = QUESTIONS[names[len(answers)]]
            request = MODELS[method][0].model_validate({"method": method, "params": about})
            state = "\n".join(answers) or None
            return types.InputRequiredResult(input_requests={"q": request}, request_state=state)
        told = []
        for name in names:
            method, about = QUESTIONS[name]
            asked, answered = MODELS[method]
            request = asked.model_validate({"method": method, "params": about})
            related = ServerMessageMetadata(related_request_id=ctx.request_id)
            result = await ctx.session.send_request(request, answered, metadata=related)
            told.append(_told(result.model_dump(by_alias=True, exclude_none=True)))
        return text(" ".join(told))

    async def _steps(self, ctx: Context) -> Any:
        for step in range(1, 4):
            await ctx.session.report_progress(step, 3, f"step {step}")
        return text("stepped")

    async def _log(self, ctx: Context) -> Any:
        for level in LEVELS:
            await ctx.session.send_log_message(level, {"said": level}, "upstream", related_request_id=ctx.request_id)
        return text("logged")

    async def _hang(self, ctx: Context) -> Any:
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()

    async def _trace(self, ctx: Context) -> Any:
        meta = dict((ctx.params or {}).get("_meta") or {})
        return text(" ".join(str(meta.get(name)) for name in ("traceparent", "tracestate", "baggage")))

    async def _level(self, ctx: Context) -> Any:
        return text(self.level)

    async def _page(self, ctx: Context) -> Any:
        """Refuse, until somebody has been to the page (specification 2025-11-25, elicitation, URL mode)."""
        if not self.visited:
            self.refused.append("page")
            raise UrlElicitationRequiredError([types.ElicitRequestURLParams.model_validate(URL)], "Log in first.")
        return text("visited")

    async def _done(self, ctx: Context) -> Any:
        """Say that somebody is done at the page, as a server of 2025-11-25 does: without a request it belongs to."""
        for name in ("e1", "e1", "unknown"):
            await ctx.session.send_elicit_complete(name)
        return text("told")

    async def _link(self, ctx: Context) -> Any:
        link = types.ResourceLink(type="resource_link", uri="up://unlisted", name="unlisted")
        return types.CallToolResult(content=[link])

    async def _change(self, ctx: Context) -> Any:
        self.extra.append(f"extra{len(self.extra)}")
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            for event in (ToolsListChanged(), ResourcesListChanged(), PromptsListChanged()):
                await self.bus.publish(event)
            await self.bus.publish(ResourceUpdated("up://fixed"))
            return text("changed")
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_resource_list_changed()
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_resource_updated("up://fixed")
        return text("changed")

    async def _resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        self.lists.add("resources")
        known = types.Resource(uri="up://fixed", name="fixed", mime_type="text/plain", size=5)
        return types.ListResourcesResult(resources=[known], ttl_ms=60_000, cache_scope="public")

    async def _templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        self.lists.add("templates")
        known = types.ResourceTemplate(uri_template="up://item/{id}", name="item")
        return types.ListResourceTemplatesResult(resource_templates=[known], cache_scope="public")

    async def _read(self, ctx: Context, params: Any) -> Any:
        uri = str(params.uri)
        if uri.startswith("up://none"):
            raise types_error(uri)
        content = types.TextResourceContents(uri=uri, text=f"content of {uri}", mime_type="text/plain")
        return types.ReadResourceResult(contents=[content])

    async def _subscribe(self, ctx: Context, params: Any) -> types.EmptyResult:
        self.followed.append(str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: Any) -> types.EmptyResult:
        self.followed.remove(str(params.uri))
        return types.EmptyResult()

    async def _prompts(self, ctx: Context, params: Any) -> types.ListPromptsResult:
        argument = types.PromptArgument(name="topic", required=True)
        self.lists.add("prompts")
        names = ["write", "read"] if self.more_prompts else ["write"]
        prompts = [types.Prompt(name=name, arguments=[argument]) for name in names]
        return types.ListPromptsResult(prompts=prompts, cache_scope="public")

    async def _prompt(self, ctx: Context, params: Any) -> Any:
        if params.arguments["topic"] == "page":
            return await self._page(ctx)
        content = types.TextContent(type="text", text=f"Write about {params.arguments['topic']}.")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def _complete(self, ctx: Context, params: Any) -> types.CompleteResult:
        about = getattr(params.ref, "name", None) or str(params.ref.uri)
        values = [f"{about}:{params.argument.name}={params.argument.value}!"]
        return types.CompleteResult(completion=types.Completion(values=values))

    async def _set_level(self, ctx: Context, params: Any) -> types.EmptyResult:
        self.level = params.level
        return types.EmptyResult()


class _Telling(Server[Any]):
    """Claims to tell of changes."""

    def create_initialization_options(self, notification_options: Any = None, *others: Any, **named: Any) -> Any:
        options = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(options, *others, **named)


def _told(answer: dict[str, Any]) -> str:
    """What was answered, in a word."""
    if "action" in answer:
        return f"{answer['action']}:{(answer.get('content') or {}).get('colour', '')}"
    if "roots" in answer:
        return ",".join(str(root["uri"]) for root in answer["roots"])
    return str(answer["content"]["text"])


def types_error(uri: str) -> Exception:
    """The error of a resource that is not there."""
    from mcp.shared.exceptions import MCPError

    return MCPError(-32602, "Resource not found", {"uri": uri})


def main() -> None:
    """Serve over stdio."""
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        upstream = Upstream()
        async with stdio_server() as (read, write):
            await upstream.server.run(read, write, upstream.server.create_initialization_options())

    anyio.run(serve)


if __name__ == "__main__":
    main()
