"""What stands behind a request to the gateway, and can be asked something on behalf of a call.

In the handshake era a server asks its client at once, in the middle of the request. In the stateless era it answers
with what it wants to know, and the client repeats the request with the answers (specification 2026-07-28,
multi-round-trip requests).
"""

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    METHOD_NOT_FOUND,
    ClientCapabilities,
    ElicitRequest,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolcrib.catalog import ClientSide, JsonObject
from toolcrib.errors import ProtocolError

_Context = ServerRequestContext[Any, Any]

_ELICITATION_SINCE = "2025-06-18"
"""The first revision that knows elicitation."""

_ASKED: Mapping[str, tuple[type[ElicitRequest | ListRootsRequest], type[ElicitResult | ListRootsResult]]] = {
    "elicitation/create": (ElicitRequest, ElicitResult),
    "roots/list": (ListRootsRequest, ListRootsResult),
}
"""What is passed on to a client of the handshake era."""


class HandshakeClient:
    """A client that is asked at once, over the stream of the request that it waits for; what a server asks when that
    request has ended, over the client's own stream, if it has opened one.

    Args:
        ctx: The request.
    """

    def __init__(self, ctx: _Context) -> None:
        self._ctx = ctx
        known = {"elicitation", "roots"} if ctx.protocol_version >= _ELICITATION_SINCE else {"roots"}
        self.capabilities = _declared(ctx.session.client_capabilities, known)

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """See `ClientSide.answer`."""
        if method not in _ASKED:
            raise ProtocolError("client", f"{method} is not passed on", rpc_code=METHOD_NOT_FOUND)
        asks, answers = _ASKED[method]
        try:
            request = asks.model_validate({"method": method, "params": params}, by_name=False)
            result = await self._send(request, answers)
        except MCPError as error:
            raise ProtocolError(
                "client", error.error.message, rpc_code=error.error.code, data=error.error.data
            ) from error
        except ValidationError as error:
            raise ProtocolError("client", "the question or its answer is malformed", rpc_code=-32602) from error
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def _send(
        self, request: ElicitRequest | ListRootsRequest, answers: type[ElicitResult | ListRootsResult]
    ) -> ElicitResult | ListRootsResult:
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        try:
            return await self._ctx.session.send_request(request, answers, metadata=related)
        except NoBackChannelError:
            return await self._ctx.session.send_request(request, answers)


class ReturningClient:
    """A client that is asked by an answer, and comes back.

    Args:
        capabilities: What it declared with this request.
    """

    def __init__(self, capabilities: ClientCapabilities | None) -> None:
        self.capabilities = _declared(capabilities, {"elicitation", "sampling", "roots"})

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """Refuse: it can't be asked at once."""
        raise ProtocolError("client", f"{method} needs a client that comes back", rpc_code=METHOD_NOT_FOUND)


def client_of(ctx: _Context) -> tuple[ClientSide, bool]:
    """What stands behind a request, and whether it is asked by an answer with which it comes back."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return ReturningClient(ctx.session.client_capabilities), True
    return HandshakeClient(ctx), False


def _declared(capabilities: ClientCapabilities | None, known: set[str]) -> Mapping[str, Any]:
    if capabilities is None:
        return {}
    declared = capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {name: each for name, each in declared.items() if name in known}
