"""`Gateway`: the MCP server that stands for all servers of a crib.

It serves both protocol eras over any of the SDK's transports. The SDK sieves every result through its typed
models, which drop what a revision does not name; a gateway has to hand on what the upstream said. So the
handlers given to the SDK are stand-ins with empty results: the SDK checks the request, keeps a handshake
connection shut until it is initialised, and shapes the envelope that the revision demands. A middleware around
it then makes the real answer and puts it into that envelope (see `toolcrib.gateway.answers`).
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from toolcrib import __version__
from toolcrib.broker import LOCAL, Options
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.errors import ProtocolError, ToolcribError, UsageError
from toolcrib.gateway.answers import enveloped, listed
from toolcrib.gateway.callers import Callers
from toolcrib.gateway.clients import client_of
from toolcrib.gateway.profiles import Asked, Surfaces

if TYPE_CHECKING:
    from toolcrib.config import Profile

logger = logging.getLogger(__name__)

_CONSTANT = CacheHint(ttl_ms=5 * 60_000, scope="private")
"""What the gateway says of itself stays the same as long as the configuration."""

_TRACE_CONTEXT = ("traceparent", "tracestate", "baggage")
"""Members of `_meta` that carry W3C trace context (specification 2026-07-28, SEP-414)."""

_ROOTS_CHANGED = "notifications/roots/list_changed"

_Context = ServerRequestContext[Any, Any]


class Gateway:
    """An MCP server that stands for all servers of a crib.

    Args:
        crib: A crib, open as long as the gateway serves.
        profile: What it shows: `discover`, the constant tools that lead to all others; `all`, every tool directly;
            `auto`, one of the two by the size of all definitions. None takes the configured one.

    Attributes:
        crib: The crib.
        server: The SDK's server, for any transport.
        profile: What it shows.
    """

    def __init__(self, crib: Crib, profile: "Profile | None" = None) -> None:
        self.crib = crib
        self.profile: Profile = profile or crib.config.settings.profile
        self._surfaces = Surfaces(crib, self.profile)
        self._callers = Callers(on_ended=crib.release)
        self._answers: Mapping[str, Callable[[_Context, JsonObject], Awaitable[JsonObject]]] = {
            "initialize": self._introduce,
            "server/discover": self._introduce,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
        }
        self.server = Server[Any](
            "toolcrib",
            version=__version__,
            title="Toolcrib",
            cache_hints={"server/discover": _CONSTANT},
            get_tool_input_schema=self._input_schema,
            on_list_tools=_stand_in_list,
            on_call_tool=_stand_in_call,
        )
        self.server.middleware.append(self._answer)

    def beside(self, profile: "Profile") -> "Gateway":
        """A gateway over the same crib that shows something else."""
        return Gateway(self.crib, profile)

    async def _answer(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Put the real answer into the envelope of the stand-in's; never let an exception out as it is."""
        envelope = await call_next(ctx)
        if ctx.method == _ROOTS_CHANGED:
            for caller in self._callers.of_session(ctx):
                await self.crib.roots_changed(caller)
        answer = self._answers.get(ctx.method)
        if answer is None or ctx.request_id is None:
            return envelope
        try:
            return await answer(ctx, cast("JsonObject", envelope))
        except MCPError:
            raise
        except ProtocolError as error:
            raise MCPError(error.rpc_code, error.rpc_message, error.data) from error
        except UsageError as error:
            raise MCPError(INVALID_PARAMS, str(error), error.to_json()) from error
        except ToolcribError as error:
            raise MCPError(INTERNAL_ERROR, str(error), error.to_json()) from error
        except Exception as error:
            raise _internal_error(ctx.method, error) from error

    async def _introduce(self, ctx: _Context, envelope: JsonObject) -> JsonObject:
        surface = await self._surfaces.of(self._callers.caller(ctx))
        return {**envelope, "instructions": surface.instructions} if surface.instructions else envelope

    async def _list_tools(self, ctx: _Context, envelope: JsonObject) -> JsonObject:
        caller = self._callers.caller(ctx)
        surface = await self._surfaces.of(caller)
        cursor = None if ctx.params is None else ctx.params.get("cursor")
        return listed(envelope, await surface.page(Asked(caller, ctx.protocol_version, cursor)), ctx.protocol_version)

    async def _call_tool(self, ctx: _Context, envelope: JsonObject) -> JsonObject:
        params = ctx.params or {}
        meta: Mapping[str, Any] = params.get("_meta") or {}
        # Progress is asked for whether or not this client wants any: it also restarts the time limit of the
        # call upstream. The SDK hands it on only to a client that asked too.
        client, returns = client_of(ctx)
        token = params.get("requestState") if returns else None
        options = Options(
            on_progress=ctx.session.report_progress,
            meta={name: meta[name] for name in _TRACE_CONTEXT if name in meta},
            token=token,
            input_responses=None if token is None else params.get("inputResponses"),
            client=client,
            returns=returns,
        )
        caller = self._callers.caller(ctx)
        surface = await self._surfaces.of(caller)
        answer = await surface.call(params["name"], params.get("arguments") or {}, caller, options)
        return enveloped(answer, envelope, ctx.protocol_version)

    def _input_schema(self, name: str) -> JsonObject | None:
        """The schema of a tool, against which the SDK checks `Mcp-Param-*` headers before it is known who calls."""
        return self._surfaces.known(LOCAL).input_schema(name)


async def _stand_in_list(ctx: _Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[])


async def _stand_in_call(ctx: _Context, params: CallToolRequestParams) -> CallToolResult:
    return CallToolResult(content=[])


def _internal_error(method: str, error: Exception) -> MCPError:
    """An error that tells a client nothing but where the log tells more."""
    error_id = secrets.token_hex(4)
    logger.error("Error %s while answering %s", error_id, method, exc_info=error)
    return MCPError(
        INTERNAL_ERROR,
        f"Toolcrib failed inside while answering {method}. Its log on standard error says more under {error_id}.",
        {"code": "internal", "id": error_id},
    )
