"""The answers of the gateway, method by method."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.broker import LOCAL, Caller, Options, Outcome
from toolcrib.catalog import JsonObject, ListMethod
from toolcrib.crib import Crib
from toolcrib.crib.resources import NoResourceError
from toolcrib.gateway.answers import enveloped, listed, relayed
from toolcrib.gateway.callers import ADMITTED, Callers
from toolcrib.gateway.clients import ClientProgress, ReturningClient, client_of
from toolcrib.gateway.passthrough import PassedCompletion, PassedPrompts, PassedResources
from toolcrib.gateway.profiles import Asked, Surfaces
from toolcrib.gateway.telling import Sessions, Subscriptions, Telling
from toolcrib.gateway.tracing import trace_context

if TYPE_CHECKING:
    from toolcrib.config import Profile

Context = ServerRequestContext[Any, Any]

Answer = Callable[[Context, JsonObject], Awaitable[JsonObject]]
"""Makes the answer to a request, out of the envelope that the SDK shaped for it."""

_RESOURCE_NOT_FOUND = -32002
"""The code of the handshake era (specification 2025-11-25, server/resources, error handling)."""


class Answering:
    """Answers requests of all clients.

    Args:
        crib: An open crib.
        profile: What is shown of its tools; None leaves it to the configuration, by principal.
        callers: Tells who asks.

    Attributes:
        by_method: The answers to those requests that have another one than the SDK's own.
        sessions: The connections of the handshake era.
        subscriptions: What clients subscribed to after it.
    """

    def __init__(self, crib: Crib, profile: "Profile | None", callers: Callers) -> None:
        self._crib = crib
        self._callers = callers
        self._surfaces = Surfaces(crib, profile)
        self._telling = Telling(crib, self._surfaces)
        self.sessions = Sessions(crib, callers, self._telling)
        self.subscriptions = Subscriptions(crib, callers, self._telling)
        self._resources = PassedResources(crib)
        self._prompts = PassedPrompts(crib)
        self._completion = PassedCompletion(crib, self._prompts)
        self.by_method: Mapping[str, Answer] = {
            "initialize": self._introduce,
            "server/discover": self._introduce,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_resources,
            "resources/read": self._read_resource,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "completion/complete": self._complete,
            "logging/setLevel": self._set_level,
        }

    def input_schema(self, name: str) -> JsonObject | None:
        """The schema of a tool, against which the SDK checks `Mcp-Param-*` headers before it hands the request on."""
        caller = Caller(principal=ADMITTED.get())
        return self._surfaces.known(caller).input_schema(name, caller)

    async def _introduce(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        surface = await self._surfaces.of(self._callers.caller(ctx))
        return {**envelope, "instructions": surface.instructions} if surface.instructions else envelope

    async def _list_tools(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        asked = self._asked(ctx)
        surface = await self._surfaces.of(asked.caller)
        return listed(envelope, await surface.page(asked), ctx.protocol_version)

    async def _call_tool(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        params = ctx.params or {}
        caller = self._callers.caller(ctx)
        surface = await self._surfaces.of(caller)
        answer = await surface.call(params["name"], params.get("arguments") or {}, caller, self._options(ctx))
        return enveloped(answer, envelope, ctx.protocol_version)

    async def _list_resources(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        found = await self._resources.page(cast("ListMethod", ctx.method), self._asked(ctx))
        return listed(envelope, found, ctx.protocol_version)

    async def _read_resource(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        caller = self._callers.caller(ctx)
        uri = str((ctx.params or {})["uri"])
        try:
            outcome = await self._resources.read(uri, caller, self._options(ctx))
        except NoResourceError as error:
            code = INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else _RESOURCE_NOT_FOUND
            raise MCPError(code, str(error), {**error.to_json(), "uri": uri}) from error
        return _relayed(outcome, envelope, ctx, caller)

    async def _subscribe(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        await self.sessions.follow(ctx, str((ctx.params or {})["uri"]))
        return envelope

    async def _unsubscribe(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        self.sessions.leave(ctx, str((ctx.params or {})["uri"]))
        return envelope

    async def _list_prompts(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        return listed(envelope, await self._prompts.page(self._asked(ctx)), ctx.protocol_version)

    async def _get_prompt(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        caller = self._callers.caller(ctx)
        params = _own_params(ctx)
        outcome = await self._prompts.get(str(params["name"]), params, caller, self._options(ctx))
        return _relayed(outcome, envelope, ctx, caller)

    async def _complete(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        caller = self._callers.caller(ctx)
        outcome = await self._completion.complete(_own_params(ctx), caller, self._options(ctx))
        return _relayed(outcome, envelope, ctx, caller)

    def _options(self, ctx: Context) -> Options:
        """What goes with a request to the server that answers it."""
        params = ctx.params or {}
        meta: Mapping[str, Any] = params.get("_meta") or {}
        client = client_of(ctx, self._log_level(ctx))
        returns = isinstance(client, ReturningClient)
        token = params.get("requestState") if returns else None
        return Options(
            # Progress is asked for whether or not this client wants any: it also restarts the time limit of the
            # call upstream. The SDK hands it on only to a client that asked too.
            on_progress=ClientProgress(ctx),
            meta=trace_context(ctx, meta),
            token=token,
            input_responses=params.get("inputResponses") if returns else None,
            client=client,
            returns=returns,
            relays_errors=client.relays_errors,
        )

    def _log_level(self, ctx: Context) -> str | None:
        return None if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else self.sessions.of(ctx).log_level

    async def _set_level(self, ctx: Context, envelope: JsonObject) -> JsonObject:
        self.sessions.of(ctx).log_level = str((ctx.params or {})["level"])
        return envelope

    def _asked(self, ctx: Context) -> Asked:
        cursor = None if ctx.params is None else ctx.params.get("cursor")
        return Asked(self._callers.caller(ctx), ctx.protocol_version, cursor)


def _relayed(outcome: Outcome, envelope: JsonObject, ctx: Context, caller: Caller) -> JsonObject:
    answer = outcome.result
    if outcome.kind == "input_required":
        answer = {**answer, "requestState": outcome.token}
    return relayed(answer, envelope, ctx.protocol_version, shared=caller.principal == LOCAL.principal)


def _own_params(ctx: Context) -> JsonObject:
    """The params of a request as its server gets them: without what belongs to this hop."""
    hop = {"_meta", "requestState", "inputResponses"}
    return {name: value for name, value in (ctx.params or {}).items() if name not in hop}
