"""The gateway over Streamable HTTP."""

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypedDict, Unpack

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from toolcrib.broker import Quota
from toolcrib.config import Settings
from toolcrib.crib import ConfigLike, Crib
from toolcrib.errors import UsageError, shown
from toolcrib.gateway.authenticator import Authenticator
from toolcrib.gateway.cors import CrossOrigin
from toolcrib.gateway.door import METADATA_PATH, METRICS_PATH, Door, DoorState, Rules
from toolcrib.gateway.gateway import Gateway
from toolcrib.gateway.paths import PATHS, with_profiles
from toolcrib.gateway.posted import Posted
from toolcrib.gateway.signals import on_stop_signal
from toolcrib.gateway.skills import use_skills
from toolcrib.gateway.tracing import traced
from toolcrib.smallmodel import SmallModel

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8931
DEFAULT_PATH = "/mcp"

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class HttpOptions(TypedDict, total=False):
    """What `http_app` takes by name, and all that build on it take too."""

    path: str
    allowed_hosts: Sequence[str]
    allowed_origins: Sequence[str]
    max_body_bytes: int | None
    allow_unauthenticated: bool
    beside: "Mapping[str, Beside]"


Beside = Callable[[Crib, Authenticator], ASGIApp]
"""Makes an application that is served beside the gateway, and asks for itself who comes; it is given the crib, and what
tells whom a token lets in."""


def http_app(
    gateway: Gateway,
    *,
    host: str = DEFAULT_HOST,
    path: str = DEFAULT_PATH,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    max_body_bytes: int | None = None,
    allow_unauthenticated: bool = False,
    beside: Mapping[str, Beside] = MappingProxyType({}),
) -> Starlette:
    """The gateway as an ASGI application: MCP at `path`, each profile at a path of its name below, and `/healthz`,
    which answers as soon as it serves.

    The `Host` and `Origin` headers of requests are checked, so that a web page can't reach the server through
    its visitor's browser (specification 2026-07-28, transports, Streamable HTTP, security).

    Args:
        gateway: The gateway.
        host: The address that the application is going to be bound to.
        path: Where MCP is served.
        allowed_hosts: Values of the `Host` header that are let in, beside those of the configuration and of the
            loopback addresses when bound to one; a port is part of the value, and `:*` in its place stands for any.
        allowed_origins: The same for the `Origin` header that browsers send, such as `https://tools.example`;
            without any, the pages of the allowed hosts themselves. Browsers are told that such pages may use the
            server (see `toolcrib.gateway.cors`).
        max_body_bytes: Longest body of a request; None takes the configured one.
        allow_unauthenticated: Whether an address that other machines reach may be served without tokens.
        beside: Other applications, by the path at which each is served.

    Raises:
        UsageError: The host is no loopback address, and no hosts are allowed, or nobody would be asked for a token;
            or the path belongs to another application.
        StoreError: The file of tokens can't be read.
    """
    settings = gateway.crib.config.settings
    served = [path, *(f"{path.rstrip('/')}/{profile}" for profile in PATHS)]
    _refuse_shared(served, beside)
    hosts = _let_in(host, [*settings.http.allowed_hosts, *allowed_hosts])
    origins = [*settings.http.allowed_origins, *allowed_origins]
    authenticator = Authenticator(settings.http, gateway.crib.tokens, path)
    if not (allow_unauthenticated or is_loopback(host) or authenticator.asks()):
        raise UsageError(
            f"{host} can be reached from other machines, and nobody would be asked for a token.",
            hint="Make tokens with `toolcrib principals add NAME`, or say --allow-unauthenticated.",
        )
    state = DoorState(on_drain=gateway.end_subscriptions)
    routes = [Route("/healthz", _healthy), Route("/readyz", _ready_while(state)), *authenticator.routes()]
    if settings.http.metrics != "off":
        routes.append(Route(METRICS_PATH, _metrics_of(gateway.crib, state)))
    longest = max_body_bytes or settings.http.max_body_mb * 1024 * 1024
    # The door has looked at `Host` and `Origin`.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)

    def made(served: Gateway, at: str) -> Starlette:
        return served.server.streamable_http_app(
            streamable_http_path=at,
            max_request_body_size=longest,
            transport_security=security,
            host=host,
            custom_starlette_routes=routes,
        )

    app = with_profiles(gateway, path, made)
    app.router.routes += [Mount(at, make(gateway.crib, authenticator)) for at, make in beside.items()]
    app.add_middleware(Posted, paths=served)
    app.add_middleware(Door, rules=_rules(settings, hosts, origins, authenticator, path, beside), state=state)
    app.state.door = state
    return app


def _refuse_shared(served: Sequence[str], beside: Iterable[str]) -> None:
    """Refuse paths of other applications: nobody asks for a token there, since those ask for themselves who comes."""
    for at in beside:
        if any(f"{each}/".startswith(f"{at}/") for each in served):
            raise UsageError(
                f"The gateway can't be served at {shown(served[0])}, since {at} is served beside it.",
                hint=f"Choose a path that is not {at} nor below it, such as {DEFAULT_PATH}.",
            )


def _let_in(host: str, allowed: Sequence[str]) -> Sequence[str]:
    """All values of `Host` that are let in."""
    if is_loopback(host):
        names = (*_LOOPBACK_NAMES, _in_url(host))
        return [*allowed, *(spelling for name in names for spelling in (name, f"{name}:*"))]
    if not allowed:
        raise UsageError(
            f"{host} can be reached from other machines, so the names that this server goes by must be given.",
            hint="Say them with --allow-host, such as --allow-host tools.example:8931, or bind to 127.0.0.1.",
        )
    return allowed


def _rules(
    settings: Settings,
    hosts: Sequence[str],
    origins: Sequence[str],
    authenticator: Authenticator,
    path: str,
    beside: Iterable[str],
) -> Rules:
    """Who is let in by the door.

    Args:
        settings: The configured ones.
        hosts: Values of `Host`.
        origins: Values of `Origin`; none stands for the pages of the hosts.
        authenticator: Asks for tokens.
        path: Where MCP is served.
        beside: Where other applications are.
    """
    quota = Quota(settings.principals, "requests")
    return Rules(
        hosts,
        origins or [f"{scheme}://{each}" for each in hosts for scheme in ("http", "https")],
        settings.http.max_header_kb * 1024,
        authenticator,
        settings.http.oauth.scopes,
        settings.http.metrics,
        quota if quota.is_bound else None,
        tuple(beside),
        CrossOrigin(origins, [path, METADATA_PATH]) if origins else None,
    )


async def serve_http(
    gateway: Gateway,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    *,
    on_ready: Callable[[str], None] | None = None,
    **options: Unpack[HttpOptions],
) -> None:
    """Serve over HTTP until cancelled; requests under way are then given some seconds to end.

    Args:
        gateway: The gateway.
        host: The address to bind to.
        port: The port to bind to; 0 takes any free one.
        on_ready: Told the URL of MCP once it is served.
        options: See `http_app`.

    Raises:
        UsageError: The address can't be bound to; or see `http_app`.
    """
    from toolcrib.gateway.listening import bound, serve_app

    app = http_app(gateway, host=host, **options)
    with bound(host, port) as listener:

        def ready() -> None:
            if on_ready is not None:
                on_ready(_url(host, listener, options.get("path", DEFAULT_PATH)))

        await serve_app(app, listener, ready, app.state.door, gateway.crib.config.settings.http.drain_seconds)


def run_http(
    config: ConfigLike = None,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    *,
    on_ready: Callable[[str], None] | None = None,
    small_model: SmallModel | None = None,
    skills: Sequence[str] = (),
    **options: Unpack[HttpOptions],
) -> None:
    """Serve a configuration over HTTP until a signal says stop.

    All server processes are ended before it returns.

    Args:
        config: As for `Crib.open`.
        host: See `serve_http`.
        port: See `serve_http`.
        on_ready: See `serve_http`.
        small_model: As for `Crib.open`.
        skills: Skills that are used from the start; see `Crib.use_skill`.
        options: See `http_app`.

    Raises:
        ConfigError: The configuration can't be used as a whole.
        UsageError: The address can't be bound to; or see `http_app`.
    """
    crib = Crib.open(config, small_model=small_model)

    async def run() -> None:
        with anyio.CancelScope() as scope, on_stop_signal(scope.cancel):
            async with crib:
                use_skills(crib, skills)
                with traced(crib):
                    await serve_http(Gateway(crib), host, port, on_ready=on_ready, **options)

    anyio.run(run)  # which names the loop, so that nothing has to find out what it runs on with every await


async def _healthy(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _ready_while(state: DoorState) -> Callable[[Request], Awaitable[Response]]:
    """Answers whether new requests are let in."""

    async def ready(request: Request) -> Response:
        return JSONResponse({"status": "draining" if state.draining else "ready"}, 503 if state.draining else 200)

    return ready


def _metrics_of(crib: Crib, state: DoorState) -> Callable[[Request], Awaitable[Response]]:
    """Counts what goes by from now on, and answers with the figures."""
    from toolcrib.gateway.metrics import CONTENT_TYPE, Metrics

    metrics = state.metrics = Metrics(crib)
    crib.observers.append(metrics)

    async def tell(request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    return tell


def is_loopback(host: str) -> bool:
    """Whether an address is of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _url(host: str, listener: socket.socket, path: str) -> str:
    return f"http://{_in_url(host)}:{listener.getsockname()[1]}{path}"
