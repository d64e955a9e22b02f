"""Connections of the handshake era, which are told of changes over a channel of their own."""

from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext

from toolcrib.broker import Caller
from toolcrib.crib import Crib
from toolcrib.gateway.callers import Callers
from toolcrib.gateway.channels import connection_of
from toolcrib.gateway.telling.telling import Telling, Wanted


@dataclass(eq=False)
class Session:
    """One connection.

    Attributes:
        connection: The SDK's.
        wanted: What its client wants to be told of.
        log_level: The least level of log messages that its client wants; None while it has not said.
        scope: What tells its client runs in it.
    """

    connection: Connection
    wanted: Wanted = field(default_factory=Wanted)
    log_level: str | None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class Sessions:
    """The connections that are open.

    Args:
        crib: An open crib.
        callers: Tells who speaks.
        telling: Tells of changes.
    """

    def __init__(self, crib: Crib, callers: Callers, telling: Telling) -> None:
        self._crib = crib
        self._callers = callers
        self._telling = telling
        self._open: dict[int, Session] = {}

    def of(self, ctx: ServerRequestContext[Any, Any]) -> Session:
        """The connection of a message; its client is told of changes from here on."""
        connection = connection_of(ctx)
        number = id(connection)
        session = self._open.get(number)
        if session is None:
            session = self._open[number] = Session(connection)
            connection.exit_stack.callback(self._end, number)
            self._begin(session, self._callers.caller(ctx))
        return session

    async def follow(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """Let the client be told when a resource changes; see `Telling.follow`."""
        await self._telling.follow(uri, self._callers.caller(ctx), self.of(ctx).wanted)

    def leave(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """Let it be told of that no longer."""
        self.of(ctx).wanted.leave(uri)

    def _begin(self, session: Session, caller: Caller) -> None:
        heard = self._crib.events.subscribe()

        async def tell() -> None:
            with session.scope, heard as changes:
                await self._telling.tell(changes, caller, session.wanted, session.connection.outbound.notify)

        self._crib.spawn(tell)

    def _end(self, number: int) -> None:
        session = self._open.pop(number)
        session.scope.cancel()
        session.wanted.leave_all()
