"""Who speaks to the gateway: the caller of a request, told from its connection and its `_meta`."""

import hashlib
import secrets
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from mcp.server import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolcrib.broker import Caller, Principal

CONVERSATION_META = "toolcrib/conversation"
"""Member of a request's `_meta` by which a client tells its conversations apart."""

IDLE_WINDOW = 1800.0
"""Seconds without a request after which a client that names no conversation is taken to have begun another."""

_LONGEST = 200


class Callers:
    """Tells callers apart.

    A connection of the `initialize` handshake is one conversation, unless its requests name several. Requests
    of the stateless era name theirs; those that don't belong together until the principal pauses for long.

    Args:
        clock: Seconds, of any beginning.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[int, str] = {}
        self._open: dict[Principal, tuple[str, float]] = {}

    def caller(self, ctx: ServerRequestContext[Any, Any]) -> Caller:
        """The caller of a request."""
        principal = Principal()
        meta: Mapping[str, Any] = (ctx.params or {}).get("_meta") or {}
        named = meta.get(CONVERSATION_META)
        key = _bounded(named) if isinstance(named, str) else ""
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            conversation = f"named:{key}" if key else self._within_window(principal)
        else:
            conversation = ":".join(filter(None, (self._session(ctx), key)))
        return Caller(principal, conversation, face="stdio" if ctx.request is None else "http")

    def _session(self, ctx: ServerRequestContext[Any, Any]) -> str:
        """A name for the connection, made up at its first request: what its client sent in the handshake stays
        the same object for as long as it is open."""
        greeting = ctx.session.client_params
        if greeting is None:
            return ""
        number = id(greeting)
        if number not in self._sessions:
            self._sessions[number] = secrets.token_hex(8)
            weakref.finalize(greeting, self._sessions.pop, number, None)
        return self._sessions[number]

    def _within_window(self, principal: Principal) -> str:
        now = self._clock()
        conversation, last = self._open.get(principal, ("", now))
        if not conversation or now - last > IDLE_WINDOW:
            conversation = secrets.token_hex(8)
        self._open[principal] = (conversation, now)
        return conversation


def _bounded(name: str) -> str:
    """A conversation's name at a bounded length; two that are not the same stay so."""
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
