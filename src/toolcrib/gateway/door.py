"""The door of the HTTP server: what is refused before anything of a request is read, and whose the rest is."""

import ipaddress
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.broker import Principal, Quota, RateLimitedError, whole_seconds
from toolcrib.errors import StoreError
from toolcrib.gateway.bearer import Holder
from toolcrib.gateway.callers import ADMITTED, PRINCIPAL_SCOPE
from toolcrib.gateway.cors import CrossOrigin
from toolcrib.gateway.origins import Names
from toolcrib.gateway.streams import is_stream, until_cut

if TYPE_CHECKING:
    from toolcrib.gateway.metrics import Metrics

PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that tell a supervisor whether the server lives; they say nothing else, and are for everybody."""

METADATA_PATH = "/.well-known/oauth-protected-resource"
"""Where clients look up who gives tokens (RFC 9728, 3); the path of the resource may follow."""

METRICS_PATH = "/metrics"

LOOK_AGAIN_SECONDS = 10.0
"""After which it is asked again whether the holder of a stream that stays open is still let in."""

_LISTING = frozenset(
    {b"server/discover", b"tools/list", b"resources/list", b"prompts/list", b"notifications/cancelled"}
)
_OF_PROXIES = frozenset({b"forwarded", b"via", b"x-real-ip"})
"""Headers that say that a request was passed on (RFC 7239; RFC 9110, 7.6.3; nginx's own), beside `X-Forwarded-…`."""

_MOST_HEADERS = 200
_BEARER = "bearer "
_MOST_USERS = 1_000


class Teller(Protocol):
    """Tells whom a token lets in; see `Authenticator`."""

    def asks(self) -> bool:
        """Whether a token is needed."""
        ...

    async def holder(self, token: str) -> Holder | None:
        """Whom a token lets in."""
        ...

    def challenge(self, scope: Scope) -> Mapping[str, str]:
        """What tells a client where to get one."""
        ...


@dataclass(frozen=True)
class Rules:
    """What a request has to be to be let in.

    Attributes:
        hosts: What `Host` may be; `NAME:*` is any port.
        origins: What `Origin` may be, where a browser sends one.
        max_header_bytes: Of all headers together.
        authenticator: Tells whom a token lets in.
        scopes: Scopes that tokens need.
        metrics: Who gets the metrics.
        quota: How many requests a principal may make; None sets no bound.
        apart: Paths whose application asks for itself who comes, and from which page: with all below them, they are
            let in by `Host` alone.
        cross_origin: Answers browsers whose page is of another origin; None answers none.
    """

    hosts: Sequence[str]
    origins: Sequence[str]
    max_header_bytes: int
    authenticator: Teller
    scopes: Sequence[str] = ()
    metrics: Literal["off", "local", "token", "open"] = "local"
    quota: Quota | None = None
    apart: Sequence[str] = ()
    cross_origin: CrossOrigin | None = None


@dataclass(slots=True)
class DoorState:
    """What the door is told while it serves.

    Attributes:
        draining: Whether the server is about to end: nobody new is let in.
        metrics: Counts requests; None where nobody does.
        on_drain: Called when that begins.
    """

    draining: bool = False
    metrics: "Metrics | None" = None
    on_drain: Callable[[], None] | None = None

    def drain(self) -> None:
        """Let nobody new in."""
        self.draining = True
        if self.on_drain is not None:
            self.on_drain()


class Door:
    """An ASGI application behind checks, in this order: size of headers, `Host`, `Origin`, whether the server is
    about to end, token, and how often its holder asks. The body of a request that is refused is not read.

    Args:
        app: The application.
        rules: See `Rules`.
        state: See `DoorState`.
    """

    def __init__(self, app: ASGIApp, rules: Rules, state: DoorState) -> None:
        self._app = app
        self._rules = rules
        self._state = state
        self._hosts = Names(rules.hosts)
        self._origins = Names(rules.origins)
        self._users: dict[Principal, AuthenticatedUser] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self._app(scope, receive, send)
        elif self._state.metrics is None:
            await self._let_in(scope, receive, send)
        else:
            await self._counted(self._state.metrics, scope, receive, send)

    async def _counted(self, metrics: "Metrics", scope: Scope, receive: Receive, send: Send) -> None:
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        metrics.opened()
        try:
            await self._let_in(scope, receive, watched)
        finally:
            metrics.closed(status)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._strange(scope)
        if refusal is None and (cross_origin := self._rules.cross_origin) is not None:
            origin = cross_origin.origin_of(scope)
            if origin is not None:
                refusal = cross_origin.preflight(scope, origin)  # before the token, which a browser does not show yet
                send = send if refusal else cross_origin.readable(origin, send)
        if refusal is None:
            refusal = await self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
        elif is_stream(scope) and self._is_of_gateway(scope):
            await self._while_let_in(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _while_let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A stream, for as long as whoever opened it would be let in again."""
        cut = anyio.CancelScope()
        principal = scope.get(PRINCIPAL_SCOPE, Principal())

        async def watch() -> None:
            while True:
                await anyio.sleep(LOOK_AGAIN_SECONDS)
                with suppress(StoreError):
                    if await self._principal(scope) != principal:
                        cut.cancel()
                        return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await until_cut(self._app, scope, receive, send, cut, self._challenge(scope, 401))
            tasks.cancel_scope.cancel()

    def _strange(self, scope: Scope) -> Response | None:
        """A refusal of what is too large, or comes by a name or from a page that is not let in."""
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        size = sum(len(name) + len(value) + 4 for name, value in headers)
        if size > self._rules.max_header_bytes or len(headers) > _MOST_HEADERS:
            return _refused(431, "The headers of this request are too large.")
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._hosts.have(hosts[0]):
            return _refused(421, "This server does not go by that name.")
        if self._is_apart(scope):
            return None
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if any(not self._origins.have(each) for each in origins):
            return _refused(403, "Pages of this origin are not let in.")
        return None

    async def _refusal(self, scope: Scope) -> Response | None:
        """A refusal of whoever is not known, or comes too late or too often."""
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        if self._is_apart(scope) or scope["path"].startswith(METADATA_PATH):
            return None
        is_metrics = scope["path"] == METRICS_PATH
        if not is_metrics and self._state.draining and not _ends_something(headers):
            return _refused(503, "This server is about to end.", {"Retry-After": "5"})
        try:
            return await (self._no_metrics(scope) if is_metrics else self._unknown(scope))
        except StoreError:
            return _refused(503, "Who is let in can't be told just now.")

    def _is_apart(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return any(path == each or path.startswith(f"{each}/") for each in self._rules.apart)

    def _is_of_gateway(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return not (self._is_apart(scope) or path.startswith(METADATA_PATH) or path == METRICS_PATH)

    async def _no_metrics(self, scope: Scope) -> Response | None:
        """A refusal of whoever is not to see the metrics."""
        if self._rules.metrics == "open":
            return None
        if self._rules.metrics == "token" and self._rules.authenticator.asks():
            principal = await self._principal(scope)
            return principal if isinstance(principal, Response) else None
        return None if _is_local(scope) else _refused(403, "Metrics are for this machine alone.")

    async def _unknown(self, scope: Scope) -> Response | None:
        """A refusal of whoever does not say who it is, or asks too often."""
        principal = await self._principal(scope)
        if isinstance(principal, Response):
            return principal
        if self._rules.quota is not None:
            try:
                self._rules.quota.take(principal)
            except RateLimitedError as error:
                return _refused(429, str(error), {"Retry-After": str(whole_seconds(error.wait))})
        return None

    async def _principal(self, scope: Scope) -> Principal | Response:
        """Who is let in, or a refusal."""
        teller = self._rules.authenticator
        if not teller.asks():
            return Principal()
        token = token_of(scope)
        if token is None:
            return self._challenge(scope, 401)
        holder = await teller.holder(token)
        if holder is None:
            return self._challenge(scope, 401, "invalid_token", "The token is not, or no longer, valid.")
        if holder.missing:
            missing = " ".join(holder.missing)
            return self._challenge(scope, 403, "insufficient_scope", f"The token lacks scopes: {missing}.")
        scope[PRINCIPAL_SCOPE] = holder.principal
        ADMITTED.set(holder.principal)
        scope["user"] = self._user(holder.principal)
        return holder.principal

    def _user(self, principal: Principal) -> AuthenticatedUser:
        """Whom the SDK takes for the owner of a session: nobody else may use it."""
        user = self._users.get(principal)
        if user is None:
            if len(self._users) >= _MOST_USERS:
                self._users.clear()
            user = AuthenticatedUser(AccessToken(token="", client_id=principal.name, scopes=[]))
            self._users[principal] = user
        return user

    def _challenge(self, scope: Scope, status: int, error: str = "", why: str = "") -> Response:
        """A refusal that says how to get a token (RFC 6750, 3; RFC 9728, 5.1)."""
        members = {"error": error, "error_description": why} if error else {}
        members |= self._rules.authenticator.challenge(scope)
        if self._rules.scopes:
            members["scope"] = " ".join(self._rules.scopes)
        told = ", ".join(f'{name}="{value}"' for name, value in (members or {"realm": "toolcrib"}).items())
        return _refused(status, why or "A bearer token is needed.", {"WWW-Authenticate": f"Bearer {told}"}, error)


def _ends_something(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request belongs to what is under way: it is of a session, or only lists, as clients do to check an
    answer that they got."""
    return any(name == b"mcp-session-id" or (name == b"mcp-method" and value in _LISTING) for name, value in headers)


def token_of(scope: Scope) -> str | None:
    """The token of a request; None where it has none, or several."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return None
    text = given[0].decode("latin-1")
    return text[len(_BEARER) :].strip() or None if text[: len(_BEARER)].lower() == _BEARER else None


def _is_local(scope: Scope) -> bool:
    """Whether a request comes from this machine, and for no other: nothing says that a proxy here has passed it on, and
    it asks for no name that other machines know."""
    client = scope.get("client")
    passed_on = any(name in _OF_PROXIES or name.startswith(b"x-forwarded-") for name, _ in scope["headers"])
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    return bool(client) and _is_loopback(client[0]) and not passed_on and _is_loopback(_without_port(host))


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(address: str) -> bool:
    if address.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _refused(status: int, why: str, headers: Mapping[str, str] | None = None, error: str = "") -> Response:
    body: dict[str, Any] = {"error": error, "error_description": why} if error else {"error": why}
    return Response(json.dumps(body), status, dict(headers or {}), media_type="application/json")
