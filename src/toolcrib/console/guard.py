"""What stands before every page: who comes, whether a form is really theirs, and what the browser may do with a page.

Changes are made by forms alone. A form counts where it comes from a page of this console: its `Origin` is the host
that it goes to, and it carries what only the session's own pages know (OWASP, Cross-Site Request Forgery Prevention,
synchronizer token).
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit

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
_OPEN = ("/static/", "/come", "/enter", "/sign-in")
"""What is there for whoever has not come in yet."""


class Guard:
    """An ASGI application behind these checks.

    Args:
        app: The pages.
        doorkeeper: Knows visitors.
        refused: Makes a page of a status, of what was wrong, and of what to do.
    """

    def __init__(
        self, app: ASGIApp, doorkeeper: Doorkeeper, refused: Callable[[Request, int, str, str], Response]
    ) -> None:
        self._app = app
        self._doorkeeper = doorkeeper
        self._refused = refused

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
                if renewed and "set-cookie" not in headers:
                    keep_session(request, headers, session)
            await send(message)

        request = Request(scope, receive)
        session = session_name(request)
        visitor = await self._doorkeeper.visitor(session)
        renewed = visitor is not None and _is_visit(request) and self._doorkeeper.renew(session)
        if visitor is not None:
            scope[VISITOR] = visitor
        refusal = await self._refusal(request, visitor)
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
            return self._refused(request, 403, "This form comes from another place.", "")
        if visitor is None and not is_open:
            return _to_the_door(request)
        fields = await read_form(request)
        if fields is None:
            return self._refused(request, 413, "This form is too long, so nothing was done.", "")
        request.scope[FORM] = fields
        if visitor is None or is_open:  # whoever has no session yet has nothing that another page could use
            return None
        given = dict(fields).get(CSRF_FIELD, "")
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), visitor.csrf.encode()):
            return self._refused(
                request,
                403,
                "This form is of an earlier visit, so nothing was done.",
                "Go back, and load its page anew before you send it again.",
            )
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


def keep_session(request: Request, headers: MutableHeaders, name: str) -> None:
    """Have the browser send a session's name with further requests; an empty one ends that."""
    secure = request.url.scheme == "https"
    response = Response()
    response.set_cookie(
        cookie_name(request),
        name,
        max_age=int(IDLE_SECONDS) if name else 0,
        path=(not secure and request.scope.get("root_path", "")) or "/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )
    headers.append("set-cookie", response.headers["set-cookie"])


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


def _is_visit(request: Request) -> bool:
    """Whether somebody opens a page, or sends a form; not a page that a script fetches."""
    return request.headers.get("sec-fetch-mode", "navigate") == "navigate"


def _to_the_door(request: Request) -> Response:
    """Where to sign in, and what for; what a script of a page asks for learns only that it is needed."""
    if not _is_visit(request):
        return Response("Not signed in.", 401)
    root = request.scope.get("root_path", "")
    if request.method == "POST":
        return RedirectResponse(f"{root}/sign-in?unsent=1", 303)
    place = place_in(f"{_place(request)}?{request.url.query}" if request.url.query else _place(request))
    wanted = f"?{urlencode({'to': place})}" if place != "/" else ""
    # Whoever follows a link of another site comes without the cookie, and with it from a page of this one (RFC
    # 6265bis, same-site cookies).
    is_led = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    return RedirectResponse(f"{root}/{'come' if is_led else 'sign-in'}{wanted}", 303)


def place_in(text: str) -> str:
    """A path below the console's own, with its query, that a form or an address names; `/` for what is none."""
    is_path = text.isprintable() and text.startswith("/") and "\\" not in text
    return text if is_path and not text.startswith(("//", "/live", "/ping", "/enter", "/come")) else "/"
