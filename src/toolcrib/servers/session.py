"""An SDK session on which one caller's client is declared and asked, or nobody's."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, ClientCapabilities

from toolcrib.catalog import ClientSide, JsonObject
from toolcrib.errors import ProtocolError, ToolcribError
from toolcrib.servers.asking import RELAYED, declared, may_ask
from toolcrib.servers.limits import Limits
from toolcrib.servers.pages import Pages

WhoIsAsked = Callable[[Collection[ClientSide]], ClientSide | None]
"""Tells who may be asked, given those who are being asked already."""


class CallerSession(ClientSession):
    """A session that declares what a caller's client can do, and hands on to it what the server asks.

    The SDK declares what it has callbacks for, all of it, and reads questions and answers through its models; here
    a server sees what the client declared, and the two see each other's words.

    Args:
        client: Who may be asked, as it is when it is asked; without one the session refuses.
        declares: Whose capabilities are declared; None declares none.
        limits: The time limits of the connection's requests: they stand still while somebody is asked.
        pages: Whom the server sent to which page.
        catch_up: Hands on what the server has said before it asks.
        options: See the base class.
    """

    def __init__(
        self,
        client: WhoIsAsked,
        declares: ClientSide | None,
        limits: Limits,
        pages: Pages,
        catch_up: Callable[[], Awaitable[None]],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._client = client
        self._limits = limits
        self._pages = pages
        self._catch_up = catch_up
        self._declared = declared(declares)
        self._asked: list[ClientSide] = []

    def _build_capabilities(self, version: str) -> ClientCapabilities:
        return ClientCapabilities.model_validate(self._declared)

    async def _on_request(self, dctx: Any, method: str, params: Mapping[str, Any] | None) -> JsonObject:
        client = self._client(self._asked) if method in RELAYED else None
        if client is None or not may_ask(client, method, params or {}):
            return await super()._on_request(dctx, method, params)
        self._asked.append(client)
        self._pages.sent(client, params or {})
        try:
            with self._limits.held():
                await self._catch_up()
                return await client.answer(method, dict(params or {}))
        except ProtocolError as error:
            raise MCPError(error.rpc_code, error.rpc_message, error.data) from error
        except ToolcribError as error:
            raise MCPError(INTERNAL_ERROR, error.message) from error
        finally:
            self._asked.remove(client)
