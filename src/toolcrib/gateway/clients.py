"""What stands behind a request to the gateway, and can be asked something on behalf of a call.

In the handshake era a server asks its client at once, in the middle of the request. In the stateless era it answers
with what it wants to know, and the client repeats the request with the answers (specification 2026-07-28,
multi-round-trip requests).
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp_types import LOG_LEVEL_META_KEY, METHOD_NOT_FOUND, ClientCapabilities
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.catalog import JsonObject
from toolcrib.errors import ProtocolError
from toolcrib.gateway.channels import connection_of, own_channel
from toolcrib.servers.asking import RELAYED, may_ask
from toolcrib.servers.logs import is_lower

_Context = ServerRequestContext[Any, Any]

_ELICITATION_SINCE = "2025-06-18"
"""The first revision that knows elicitation."""

_PAGES_SINCE = "2025-11-25"
"""The first revision that knows the visiting of pages, an error that asks for it, and the word that it is done."""


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

    @property
    def relays_errors(self) -> bool:
        """Whether the client takes an error that asks for the visit of pages (see `Options.relays_errors`)."""
        return self._ctx.protocol_version >= _PAGES_SINCE and may_ask(self, "elicitation/create", {"mode": "url"})

    async def completed(self, params: JsonObject) -> None:
        """See `TakesCompletions.completed`: the client is told over its own stream, if it has opened one."""
        if self._ctx.protocol_version >= _PAGES_SINCE:
            with suppress(Exception):  # it may have gone
                await connection_of(self._ctx).outbound.notify("notifications/elicitation/complete", params)

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """See `ClientSide.answer`: the client sees the server's words, and the server those of the client."""
        if method not in RELAYED:
            raise ProtocolError("client", f"{method} is not passed on", rpc_code=METHOD_NOT_FOUND)
        if params.get("mode") == "url" and "elicitationId" not in params:
            params = {**params, "elicitationId": secrets.token_hex(8)}  # it was required until 2025-11-25
        try:
            try:
                return await own_channel(self._ctx).send_raw_request(method, params or None)
            except NoBackChannelError:
                return await connection_of(self._ctx).outbound.send_raw_request(method, params or None)
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

    relays_errors = False

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


def client_of(ctx: _Context, log_level: str | None) -> HandshakeClient | ReturningClient:
    """What stands behind a request.

    Args:
        ctx: The request.
        log_level: The least level of log messages that its session wants, in the handshake era.
    """
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ReturningClient(ctx)
    return HandshakeClient(ctx, log_level)


class ClientProgress:
    """Tells the client of a request of its progress, if it wants to know.

    Args:
        ctx: The request.
    """

    def __init__(self, ctx: _Context) -> None:
        self._ctx = ctx

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """See `OnProgress`."""
        await self._ctx.session.report_progress(progress, total, message)

    async def report(self, params: JsonObject) -> None:
        """See `TakesReports.report`: the client sees the server's words, under its own token."""
        token = progress_token_from_params(self._ctx.params)
        if token is None:  # in this process the SDK calls the client without one
            await self(params["progress"], params.get("total"), params.get("message"))
        else:
            own = {"progressToken": token, **params}
            await own_channel(self._ctx).notify("notifications/progress", own)


async def _log(ctx: _Context, least: str | None, params: JsonObject) -> None:
    """Send a log message on a request's own stream, if its client wants those of this level."""
    if not is_lower(str(params.get("level")), least) or least is None:
        await own_channel(ctx).notify("notifications/message", params)


def _declared(capabilities: ClientCapabilities | None, known: set[str]) -> Mapping[str, Any]:
    if capabilities is None:
        return {}
    declared = capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {name: each for name, each in declared.items() if name in known}
