"""Who is let in to the console, and what they may do there.

The local user comes by a link that works once; principals come with their bearer token, where the configuration gives
them a role on the console. Whoever is in has a session, named by a cookie.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Protocol

import anyio

from toolcrib.broker import Caller, Principal
from toolcrib.config import ConsoleRole, Settings, entry_of
from toolcrib.config.http import LOCAL
from toolcrib.console.remembered import Remembered, Sessions
from toolcrib.errors import StoreError

Role = ConsoleRole
"""What a visitor may do: `viewer` looks, `approver` also decides what waits, `admin` also changes things. Each may what
those before it may."""

ROLES: tuple[Role, ...] = ("viewer", "approver", "admin")

LINK_SECONDS = 900.0
"""How long a one-time link can be used."""

LINK_PAUSE = 10.0
"""Seconds between two links: whoever can ask for one can neither flood what tells them nor use up those that are
good."""

IDLE_SECONDS = 12 * 3600.0
"""How long a session lasts without a request."""

_RENEW_SECONDS = 3600.0
"""How long a session goes on before a visit is noted where it outlives the program, and in its browser."""

_MOST_SESSIONS = 1_000
_BYTES = 32


class Holder(Protocol):
    """Whom a token lets in."""

    @property
    def principal(self) -> Principal:
        """Who."""
        ...

    @property
    def missing(self) -> tuple[str, ...]:
        """Scopes that the token would need and does not have."""
        ...


class Teller(Protocol):
    """Tells whom a bearer token lets in."""

    def asks(self) -> bool:
        """Whether tokens are asked for."""
        ...

    async def holder(self, token: str) -> Holder | None:
        """Whom a token lets in."""
        ...


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who makes a request.

    Attributes:
        caller: Whose calls those of the console are.
        role: What they may do.
        csrf: What each of their forms must carry.
    """

    caller: Caller
    role: Role
    csrf: str

    @property
    def name(self) -> str:
        """The principal's name."""
        return self.caller.principal.name

    def seal(self, text: str) -> str:
        """What shows that a text of a page's address was put there by the console, in this session."""
        return hmac.new(self.csrf.encode(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]

    def may(self, role: Role) -> bool:
        """Whether what needs a role is theirs to do."""
        return ROLES.index(self.role) >= ROLES.index(role)


@dataclass(slots=True)
class _Session:
    visitor: Visitor
    last_used: float
    renewed: float
    token: str = field(default="", repr=False)
    """The token that it began with; it must still let in the same principal."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """Set when it is ended."""


class Doorkeeper:
    """Lets visitors in, and knows them again.

    Args:
        settings: Says which principal has which role.
        state_dir: Where it stands whom one-time links have let in, so that they stay in when the program is restarted.
        teller: See `Console`.
        links: See `Console`.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        settings: Settings,
        state_dir: Path,
        teller: Teller | None,
        *,
        links: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.links = links
        self._settings = settings
        self._teller = teller
        self._clock = clock
        self._sessions: dict[str, _Session] = {}
        self._remembered = Sessions(state_dir)
        self._keys: dict[str, float] = {}
        self._last_key_at = -inf

    def takes_tokens(self) -> bool:
        """Whether a principal can come in with a token.

        Raises:
            StoreError: The tokens can't be read.
        """
        return self._teller is not None and self._teller.asks()

    def new_key(self) -> str:
        """What makes a one-time link. Those before it stay good for their time: anybody on this machine can ask for
        another one, and must not shut out whoever reads them."""
        now = self._last_key_at = self._clock()
        self._keys = {key: until for key, until in self._keys.items() if now < until}
        key = secrets.token_urlsafe(_BYTES)
        self._keys[key] = now + LINK_SECONDS
        return key

    def asked_key(self) -> str | None:
        """`new_key` for whoever asks for one at the door; None where one was made a moment ago."""
        return None if 0 <= self._clock() - self._last_key_at < LINK_PAUSE else self.new_key()

    def enter_by_key(self, key: str) -> str | None:
        """The name of a new session of the local user; None where the key is not, or no longer, good. With the one
        that lets in, all others end."""
        given = key.encode("utf-8", "surrogatepass")
        now = self._clock()
        if not any(hmac.compare_digest(each.encode(), given) for each, until in self._keys.items() if now < until):
            return None
        self._keys.clear()
        name = self._begin(Principal(), "admin")
        self._remember(name)
        return name

    async def enter_by_token(self, token: str) -> str | None:
        """The name of a new session of a token's holder; None where it lets in nobody, or nobody with a role here.

        Raises:
            StoreError: The tokens can't be read.
        """
        principal = await self._principal(token)
        role = None if principal is None else self.role_of(principal)
        if principal is None or role is None:
            return None
        return self._begin(principal, role, token)

    async def visitor(self, name: str) -> Visitor | None:
        """Whose session has a name; None where it has ended, or its token or role was taken away.

        Raises:
            StoreError: The tokens can't be read.
        """
        session = self._sessions.get(name) or self._resumed(name)
        if session is None:
            return None
        now = self._clock()
        if now - session.last_used > IDLE_SECONDS or not await self._still(session):
            self._sessions.pop(name, None)  # another request may have found that out meanwhile
            return None
        session.last_used = now
        return session.visitor

    def renew(self, name: str) -> bool:
        """Have a session last from now on; whether its browser is to keep it for longer, too. Only a page that somebody
        opens does this, not one that keeps itself as things are."""
        session = self._sessions.get(name)
        if session is None or self._clock() - session.renewed < _RENEW_SECONDS:
            return False
        session.renewed = self._clock()
        if not session.token:
            self._remember(name)
        return True

    async def is_in(self, name: str) -> bool:
        """Whether a session has not ended; asking does not make it last longer.

        Raises:
            StoreError: The tokens can't be read.
        """
        session = self._sessions.get(name)
        return session is not None and self._clock() - session.last_used <= IDLE_SECONDS and await self._still(session)

    async def left(self, name: str) -> None:
        """Wait until a session is ended."""
        session = self._sessions.get(name)
        if session is not None:
            await session.over.wait()

    def leave(self, name: str) -> None:
        """End a session."""
        session = self._sessions.pop(name, None)
        if session is not None:
            session.over.set()
        self._remembered.remove(_digest(name))

    def role_of(self, principal: Principal) -> Role | None:
        """The greatest of the roles that the configuration gives a principal and the roles that it has."""
        if principal.name == LOCAL:
            return "admin"
        entry = entry_of(self._settings.principals, principal.name)
        names = [*principal.roles, *(entry.roles if entry else ())]
        given = [
            entry.console if entry else None,
            *(self._settings.roles[each].console for each in names if each in self._settings.roles),
        ]
        return next((role for role in reversed(ROLES) if role in given), None)

    async def _principal(self, token: str) -> Principal | None:
        if self._teller is None or not self._teller.asks():
            return None
        holder = await self._teller.holder(token)
        return None if holder is None or holder.missing else holder.principal

    async def _still(self, session: _Session) -> bool:
        if not session.token:
            return True
        try:
            principal = await self._principal(session.token)
        except StoreError:
            return False
        visitor = session.visitor
        return (
            principal is not None and principal == visitor.caller.principal and self.role_of(principal) == visitor.role
        )

    def _remember(self, name: str) -> None:
        self._remembered.add(Remembered(_digest(name), self._clock() + IDLE_SECONDS))

    def _begin(self, principal: Principal, role: Role, token: str = "") -> str:
        name = secrets.token_urlsafe(_BYTES)
        self._put(name, principal, role, token)
        return name

    def _put(self, name: str, principal: Principal, role: Role, token: str) -> _Session:
        if len(self._sessions) >= _MOST_SESSIONS:
            oldest = min(self._sessions, key=lambda each: self._sessions[each].last_used)
            del self._sessions[oldest]
        digest = _digest(name)
        caller = Caller(principal, f"console:{digest[:16]}", origin="console", face="http")
        csrf = hmac.new(name.encode(), b"form", hashlib.sha256).hexdigest()
        now = self._clock()
        session = self._sessions[name] = _Session(Visitor(caller, role, csrf), now, now, token)
        return session

    def _resumed(self, name: str) -> _Session | None:
        """A session of the local user that began in an earlier run of this program."""
        if not (self.links and name and self._remembered.has(_digest(name), self._clock())):
            return None
        return self._put(name, Principal(), "admin", "")


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
