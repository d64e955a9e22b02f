"""What stands behind a request to the gateway, and can be asked something on behalf of a call.

In the handshake era a server asks its client at once, in the middle of the request. In the stateless era it answers
with what it wants to know, and the client repeats the request with the answers (specification 2026-07-28,
multi-round-trip requests).
"""

import secrets
from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import LOG_LEVEL_META_KEY, METHOD_NOT_FOUND, ClientCapabilities
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.catalog import ClientSide, JsonObject
from toolcrib.errors import ProtocolError
from toolcrib.servers.asking import RELAYED
from toolcrib.servers.logs import is_lower

_Context = ServerRequestContext[Any, Any]

_ELICITATION_SINCE = "2025-06-18"
"""The first revision that knows elicitation."""


class HandshakeClient:
    """A client that is asked at once, over the stream of the request that it waits for; what a server asks when that
    request has ended, over the client's own stream, if it has opened one.

    Args:
        ctx: The request.
    """

    def __init__(self, ctx: _Context, log_level: str | None) -> None:
        self._ctx = ctx
        known = {"elicitation", "sampling", "roots"}
        if ctx.protocol_version < _ELICITATION_SINCE:
            known -= {"elicitation"}
        self.capabilities = _declared(ctx.session.client_capabilities, known)
        self.log_level = log_level

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """See `ClientSide.answer`: the client sees the server's words, and the server those of the client."""
        if method not in RELAYED:
            raise ProtocolError("client", f"{method} is not passed on", rpc_code=METHOD_NOT_FOUND)
        if params.get("mode") == "url" and "elicitationId" not in params:
            params = {**params, "elicitationId": secrets.token_hex(8)}  # it was required until 2025-11-25
        session = self._ctx.session
        # The SDK's typed requests drop members that they do not know.
        request_scoped, standing = session._request_outbound, session._connection.outbound  # pyright: ignore[reportPrivateUsage]
        try:
            try:
                return await request_scoped.send_raw_request(method, params or None)
            except NoBackChannelError:
                return await standing.send_raw_request(method, params or None)
        except MCPError as error:
            raise ProtocolError(
                "client", error.error.message, rpc_code=error.error.code, data=error.error.data
            ) from error

    async def log(self, params: JsonObject) -> None:
        """See `TakesLogs.log`."""
        await _log(self._ctx, self.log_level, params)


class ReturningClient:
    """A client that is asked by an answer, and comes back.

    Args:
        ctx: The request.
    """

    def __init__(self, ctx: _Context) -> None:
        self._ctx = ctx
        self.capabilities = _declared(ctx.session.client_capabilities, {"elicitation", "sampling", "roots"})
        level = (ctx.params or {}).get("_meta", {}).get(LOG_LEVEL_META_KEY)
        self.log_level = level if isinstance(level, str) else ""

    async def log(self, params: JsonObject) -> None:
        """See `TakesLogs.log`."""
        await _log(self._ctx, self.log_level, params)

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """Refuse: it can't be asked at once."""
        raise ProtocolError("client", f"{method} needs a client that comes back", rpc_code=METHOD_NOT_FOUND)


def client_of(ctx: _Context, log_level: str | None) -> tuple[ClientSide, bool]:
    """What stands behind a request, and whether it is asked by an answer with which it comes back.

    Args:
        ctx: The request.
        log_level: The least level of log messages that its session wants, in the handshake era.
    """
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ReturningClient(ctx), True
    return HandshakeClient(ctx, log_level), False


async def _log(ctx: _Context, least: str | None, params: JsonObject) -> None:
    """Send a log message on a request's own stream, if its client wants those of this level."""
    if not is_lower(str(params.get("level")), least) or least is None:
        await ctx.session._request_outbound.notify("notifications/message", params)  # pyright: ignore[reportPrivateUsage]


def _declared(capabilities: ClientCapabilities | None, known: set[str]) -> Mapping[str, Any]:
    if capabilities is None:
        return {}
    declared = capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {name: each for name, each in declared.items() if name in known}
