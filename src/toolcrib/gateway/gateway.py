"""`Gateway`: the MCP server that stands for all servers of a crib.

It serves both protocol eras over any of the SDK's transports. The SDK sieves every result through its typed
models, which drop what a revision does not name; a gateway has to hand on what the upstream said. So the
handlers given to the SDK are stand-ins with empty results: the SDK checks the request, keeps a handshake
connection shut until it is initialised, and shapes the envelope that the revision demands. A middleware around
it then makes the real answer and puts it into that envelope (see `toolcrib.gateway.answers`).
"""

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    SetLevelRequestParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib import __version__
from toolcrib.broker import PageNeededError
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.errors import ProtocolError, ToolcribError, UsageError
from toolcrib.gateway.answering import Answering, Context
from toolcrib.gateway.callers import Callers

if TYPE_CHECKING:
    from toolcrib.config import Profile

logger = logging.getLogger(__name__)

_CONSTANT = CacheHint(ttl_ms=5 * 60_000, scope="private")
"""What the gateway says of itself stays the same as long as the configuration."""

_INITIALIZED = "notifications/initialized"
_ROOTS_CHANGED = "notifications/roots/list_changed"

_Result = TypeVar("_Result")


class Gateway:
    """An MCP server that stands for all servers of a crib.

    Args:
        crib: A crib, open as long as the gateway serves.
        profile: What it shows: `discover`, the constant tools that lead to all others; `all`, every tool directly;
            `auto`, one of the two by the size of all definitions. None takes the configured one of each principal.

    Attributes:
        crib: The crib.
        server: The SDK's server, for any transport.
        profile: What it shows to whoever has no profile of its own.
    """

    def __init__(self, crib: Crib, profile: "Profile | None" = None) -> None:
        self.crib = crib
        self.profile: Profile = profile or crib.config.settings.profile
        self._beside: list[Gateway] = []
        self._callers = Callers(on_ended=crib.release)
        self._answering = Answering(crib, profile, self._callers)
        self.server = _Server(
            "toolcrib",
            version=__version__,
            title="Toolcrib",
            cache_hints={"server/discover": _CONSTANT},
            get_tool_input_schema=self._answering.input_schema,
            on_list_tools=_stand_in(ListToolsResult(tools=[])),
            on_call_tool=_stand_in(CallToolResult(content=[])),
            on_list_resources=_stand_in(ListResourcesResult(resources=[])),
            on_list_resource_templates=_stand_in(ListResourceTemplatesResult(resource_templates=[])),
            on_read_resource=_stand_in(ReadResourceResult(contents=[])),
            on_subscribe_resource=_stand_in(EmptyResult()),
            on_unsubscribe_resource=_stand_in(EmptyResult()),
            on_subscriptions_listen=self._answering.subscriptions.listen,
            on_list_prompts=_stand_in(ListPromptsResult(prompts=[])),
            on_get_prompt=_stand_in(GetPromptResult(messages=[])),
            on_completion=_stand_in(CompleteResult(completion=Completion(values=[]))),
        )
        # By this way, since the argument for it is deprecated with the revision that no longer has it.
        self.server.add_request_handler("logging/setLevel", SetLevelRequestParams, _stand_in(EmptyResult()))
        self.server.middleware.append(self._answer)

    def beside(self, profile: "Profile") -> "Gateway":
        """A gateway over the same crib that shows something else, and ends with this one."""
        gateway = Gateway(self.crib, profile)
        self._beside.append(gateway)
        return gateway

    def end_subscriptions(self) -> None:
        """Answer all subscriptions, before the server ends."""
        for each in (self, *self._beside):
            each._answering.subscriptions.end()

    async def _answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Put the real answer into the envelope of the stand-in's; never let an exception out as it is."""
        envelope = await call_next(ctx)
        if ctx.method == _INITIALIZED and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._answering.sessions.of(ctx)
        if ctx.method == _ROOTS_CHANGED:
            for caller in self._callers.of_session(ctx):
                await self.crib.roots_changed(caller)
        answer = self._answering.by_method.get(ctx.method)
        if answer is None or ctx.request_id is None:
            return envelope
        try:
            return await answer(ctx, cast("JsonObject", envelope))
        except MCPError:
            raise
        except PageNeededError as error:
            if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:  # whose revision knows the error no more
                needed: JsonObject = {"requiredCapabilities": {"elicitation": {"url": {}}}}
                raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, str(error), needed) from error
            raise MCPError(error.rpc_code, error.rpc_message, error.data) from error
        except ProtocolError as error:
            raise MCPError(error.rpc_code, error.rpc_message, error.data) from error
        except UsageError as error:
            raise MCPError(INVALID_PARAMS, str(error), error.to_json()) from error
        except ToolcribError as error:
            raise MCPError(INTERNAL_ERROR, str(error), error.to_json()) from error
        except Exception as error:
            raise _internal_error(ctx.method, error) from error


class _Server(Server[Any]):
    """Tells clients of the handshake era too that it tells of changes."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *others: Any, **named: Any
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(options, *others, **named)


def _stand_in(result: _Result) -> Callable[[Context, Any], Awaitable[_Result]]:
    async def answer(ctx: Context, params: Any) -> _Result:
        return result

    return answer


def _internal_error(method: str, error: Exception) -> MCPError:
    """An error that tells a client nothing but where the log tells more."""
    error_id = secrets.token_hex(4)
    logger.error("Error %s while answering %s", error_id, method, exc_info=error)
    return MCPError(
        INTERNAL_ERROR,
        f"Toolcrib failed inside while answering {method}. Its log on standard error says more under {error_id}.",
        {"code": "internal", "id": error_id},
    )
