"""What stands before every page: who comes, whether a form is really theirs, and what the browser may do with a page.

Changes are made by forms alone. A form counts where it comes from a page of this console: its `Origin` is the host
that it goes to, and it carries what only the session's own pages know (OWASP, Cross-Site Request Forgery Prevention,
synchronizer token).
"""

import hmac
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolcrib.console.access import IDLE_SECONDS, Doorkeeper, Visitor

VISITOR = "toolcrib.visitor"
"""Member of a request's ASGI scope that holds who makes it."""

FORM = "toolcrib.form"
"""Member of a request's ASGI scope that holds the fields of its form, in order."""

CSRF_FIELD = "csrf"
"""The field of every form by which it is known to be of this session's page."""

MOST_FORM_BYTES = 2 * 1024 * 1024
"""Longest form."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What pages may load: nothing but the console's own files."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # With `no-referrer`, browsers send forms with the origin `null` (Fetch, append a request `Origin` header).
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_USUAL_PORTS = {"http": 80, "https": 443}
_MOST_FIELDS = 2_000
_OPEN = ("/static/", "/enter", "/sign-in")
"""What is there for whoever has not come in yet."""


class Guard:
    """An ASGI application behind these checks.

    Args:
        app: The pages.
        doorkeeper: Knows visitors.
    """

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper) -> None:
        self._app = app
        self._doorkeeper = doorkeeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, send its maker to the door, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        request = Request(scope, receive)
        visitor = await self._doorkeeper.visitor(session_name(request))
        refusal = await self._refusal(request, visitor)
        if refusal is None and visitor is not None:
            scope[VISITOR] = visitor
        await (self._app if refusal is None else refusal)(scope, receive, safely)

    async def _refusal(self, request: Request, visitor: Visitor | None) -> Response | None:
        is_open = _place(request).startswith(_OPEN)
        if request.method in ("GET", "HEAD"):
            if visitor is None and not is_open:
                return _to_the_door(request)
            return None
        if request.method != "POST":
            return Response("The console has no such request.", 405)
        if not _is_of_this_host(request):
            return Response("This form comes from another place.", 403)
        if visitor is None and not is_open:
            return _to_the_door(request)
        fields = await read_form(request)
        if fields is None:
            return Response("This form is too long.", 413)
        request.scope[FORM] = fields
        if visitor is None or is_open:  # whoever has no session yet has nothing that another page could use
            return None
        given = dict(fields).get(CSRF_FIELD, "")
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), visitor.csrf.encode()):
            return Response("This form is of an earlier visit: load its page anew.", 403)
        return None


async def read_form(request: Request) -> Sequence[tuple[str, str]] | None:
    """The fields of a URL-encoded form, in order; None where it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_FORM_BYTES:
            return None
    try:
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None


def session_name(request: Request) -> str:
    """The name of the session that a request belongs to; empty where it names none.

    Whatever else runs on this host shares its cookies, which may be written in any way, and may have the same name: of
    several, the one of the longest path comes first (RFC 6265, 5.4).
    """
    wanted = cookie_name(request)
    for each in request.headers.get("cookie", "").split(";"):
        name, _, value = each.partition("=")
        if name.strip() == wanted:
            return value.strip()
    return ""


def cookie_name(request: Request) -> str:
    """The cookie's name. Browsers share cookies among the ports of a host, so each port has one of its own; over
    https they keep those of this prefix from being set by other hosts of the same domain (RFC 6265bis, 4.1.3.2)."""
    prefix = "__Host-" if request.url.scheme == "https" else ""
    return f"{prefix}toolcrib_{urlsplit(f'//{_host(request.headers)}').port or request.url.port or 0}"


def keep_session(request: Request, response: Response, name: str) -> None:
    """Have the browser send a session's name with further requests; an empty one ends that."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        cookie_name(request),
        name,
        max_age=int(IDLE_SECONDS) if name else 0,
        path=(not secure and request.scope.get("root_path", "")) or "/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def _place(request: Request) -> str:
    """A request's path below the console's own."""
    root = request.scope.get("root_path", "")
    return request.scope["path"].removeprefix(root)


def _is_of_this_host(request: Request) -> bool:
    """Whether a form comes from a page of the host that it is sent to. Browsers name the page's origin with every
    form (Fetch, 3.2), without the usual port of its scheme, which proxies may add to `Host`; where a proxy has taken
    it away, they say in another header whether it is the same."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    try:
        page, here = urlsplit(origin), urlsplit(f"//{_host(request.headers)}")
        usual = _USUAL_PORTS[page.scheme]
        same_port = (page.port or usual) == (here.port or usual)
    except (KeyError, ValueError):
        return False
    return same_port and page.hostname is not None and page.hostname == here.hostname and page.username is None


def _host(headers: Headers | Mapping[str, str]) -> str:
    return headers.get("host") or ""


def _to_the_door(request: Request) -> Response:
    """Where to sign in; what a script of a page asks for learns only that it is needed."""
    if request.headers.get("sec-fetch-mode", "navigate") != "navigate":
        return Response("Not signed in.", 401)
    return RedirectResponse(f"{request.scope.get('root_path', '')}/sign-in", 303)
