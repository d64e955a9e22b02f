"""Who speaks to the gateway: the caller of a request, told from its connection and its `_meta`."""

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mcp.server import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.broker import Caller, Principal
from toolcrib.gateway.channels import connection_of

CONVERSATION_META = "toolcrib/conversation"
"""Member of a request's `_meta` by which a client tells its conversations apart."""

PRINCIPAL_SCOPE = "toolcrib.principal"
"""Member of an HTTP request's ASGI scope that holds who was let in."""

IDLE_WINDOW = 1800.0
"""Seconds without a request after which a client that names no conversation is taken to have begun another."""

_LOCAL = Principal()

ADMITTED: ContextVar[Principal] = ContextVar("admitted", default=_LOCAL)
"""Who was let in with the HTTP request that is being answered, for what the SDK asks before it hands the request on."""

_LONGEST = 200
_MOST_CONVERSATIONS = 1_000


@dataclass
class _Session:
    """A connection of the handshake era.

    Attributes:
        name: Made up at its first request.
        callers: Who has spoken over it, by conversation.
    """

    name: str = field(default_factory=lambda: secrets.token_hex(8))
    callers: dict[str, Caller] = field(default_factory=dict[str, Caller])


class Callers:
    """Tells callers apart.

    A connection of the `initialize` handshake is one conversation, unless its requests name several. Requests
    of the stateless era name theirs; those that don't belong together until the principal pauses for long.

    Args:
        clock: Seconds, of any beginning.
        on_ended: Told of each caller whose connection has ended.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, on_ended: Callable[[Caller], None] = lambda _: None
    ) -> None:
        self._clock = clock
        self._on_ended = on_ended
        self._sessions: dict[int, _Session] = {}
        self._open: dict[str, tuple[str, float]] = {}

    def caller(self, ctx: ServerRequestContext[Any, Any]) -> Caller:
        """The caller of a request."""
        principal = _principal_of(ctx)
        meta: Mapping[str, Any] = (ctx.params or {}).get("_meta") or {}
        named = meta.get(CONVERSATION_META)
        key = _bounded(named) if isinstance(named, str) else ""
        face = "stdio" if ctx.request is None else "http"
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            conversation = f"named:{key}" if key else self._within_window(principal)
            return Caller(principal, conversation, face=face)
        session = self._session(ctx)
        if session is None:
            return Caller(principal, key, face=face)
        caller = Caller(principal, ":".join(filter(None, (session.name, key))), face=face)
        if caller.conversation not in session.callers and len(session.callers) >= _MOST_CONVERSATIONS:
            self._on_ended(session.callers.pop(next(iter(session.callers))))
        session.callers[caller.conversation] = caller
        return caller

    def of_session(self, ctx: ServerRequestContext[Any, Any]) -> Sequence[Caller]:
        """Who has spoken over the connection of a message; nobody where it is none of the handshake era."""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or ctx.session.client_params is None:
            return ()
        session = self._sessions.get(id(ctx.session.client_params))
        return () if session is None else tuple(session.callers.values())

    def _session(self, ctx: ServerRequestContext[Any, Any]) -> _Session | None:
        """The connection: what its client sent in the handshake stays the same object for as long as it is open."""
        greeting = ctx.session.client_params
        if greeting is None:
            return None
        number = id(greeting)
        session = self._sessions.get(number)
        if session is None:
            session = self._sessions[number] = _Session()
            connection_of(ctx).exit_stack.callback(self._end, number, greeting)
        return session

    def _end(self, number: int, greeting: object) -> None:
        """Forget a connection that has ended; its greeting lives until then, so that its number is no other's."""
        for caller in self._sessions.pop(number).callers.values():
            self._on_ended(caller)

    def _within_window(self, principal: Principal) -> str:
        now = self._clock()
        conversation, last = self._open.pop(principal.name, ("", now))
        if not conversation or now - last > IDLE_WINDOW:
            conversation = secrets.token_hex(8)
        if len(self._open) >= _MOST_CONVERSATIONS:
            del self._open[next(iter(self._open))]  # of whoever has been silent longest
        self._open[principal.name] = (conversation, now)
        return conversation


def _principal_of(ctx: ServerRequestContext[Any, Any]) -> Principal:
    """Who was let in with a request; where nobody was asked, the local user."""
    return _LOCAL if ctx.request is None else ctx.request.scope.get(PRINCIPAL_SCOPE, _LOCAL)


def _bounded(name: str) -> str:
    """A conversation's name at a bounded length; two that are not the same stay so."""
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
