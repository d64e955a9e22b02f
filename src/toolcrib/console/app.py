"""The application: the pages, each with the role that it needs, behind the guard."""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from toolcrib.broker import UnknownHandleError
from toolcrib.console.access import Doorkeeper, Role, Visitor
from toolcrib.console.guard import FORM, VISITOR, Guard
from toolcrib.console.rendering import Renderer
from toolcrib.crib import Crib
from toolcrib.errors import DeniedError, StoreError, ToolcribError, UnknownToolError, UsageError
from toolcrib.schema import UnknownServerError

Handler = Callable[[Request], Awaitable[Response]]

PAGES = ("overview", "servers", "tools", "results", "playground", "calls", "runs", "approvals")
"""The modules of the pages, by name."""

_STATIC = Path(__file__).parent / "static"


class Desk:
    """What the pages share.

    Attributes:
        crib: What they show.
        doorkeeper: Who is let in.
        renderer: Makes pages of templates.
    """

    def __init__(self, crib: Crib, doorkeeper: Doorkeeper) -> None:
        self.crib = crib
        self.doorkeeper = doorkeeper
        self.renderer = Renderer(PAGES)

    def page(self, request: Request, template: str, section: str, status: int = 200, **values: Any) -> Response:
        """A page; see `Renderer.page`."""
        return self.renderer.page(request, template, values, section=section, status=status)

    def get(self, path: str, handler: Handler, role: Role = "viewer") -> Route:
        """A route of what is looked at."""
        return Route(path, _needing(role, handler), methods=["GET"])

    def post(self, path: str, handler: Handler, role: Role) -> Route:
        """A route of what changes something; `form` gives what was filled in."""
        return Route(path, _needing(role, handler), methods=["POST"])


def visitor_of(request: Request) -> Visitor:
    """Who makes a request that the guard let in."""
    return request.scope[VISITOR]


def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; of several with one name, the last."""
    return dict(fields_of(request))


def fields_of(request: Request) -> Sequence[tuple[str, str]]:
    """All fields of a form, in order; none where nothing was sent."""
    return request.scope.get(FORM, ())


def back_to(request: Request, path: str, notice: str = "") -> Response:
    """Send a browser on to a page when a form was taken, so that loading it anew sends nothing twice.

    Args:
        request: The form's.
        path: Below the console's own path, with its query where it has one.
        notice: What the page is to tell.
    """
    joint = "&" if "?" in path else "?"
    sealed = {"notice": notice, "seal": visitor_of(request).seal(notice)}
    told = f"{joint}{urlencode(sealed)}" if notice else ""
    return RedirectResponse(f"{request.scope.get('root_path', '')}{path}{told}", 303)


def console_app(crib: Crib, doorkeeper: Doorkeeper) -> Guard:
    """The console as an ASGI application; whoever mounts it names the path in `root_path`.

    Args:
        crib: What it shows.
        doorkeeper: Who is let in.
    """
    from toolcrib.console import entering, live

    desk = Desk(crib, doorkeeper)
    routes: list[BaseRoute] = [
        Mount("/static", StaticFiles(directory=_STATIC), name="static"),
        *entering.routes(desk),
        *live.routes(desk),
    ]
    for name in PAGES:
        routes += import_module(f"toolcrib.console.pages.{name}").routes(desk)

    async def failed(request: Request, error: Exception) -> Response:
        return _told(desk, request, error)

    handlers: Any = {ToolcribError: failed, HTTPException: failed, Exception: failed}

    def refused(request: Request, status: int, message: str, hint: str) -> Response:
        return desk.page(request, "problem.html", "", status, message=message, hint=hint)

    return Guard(Starlette(routes=routes, exception_handlers=handlers), doorkeeper, refused)


def _needing(role: Role, handler: Handler) -> Handler:
    @wraps(handler)
    async def handle(request: Request) -> Response:
        visitor = visitor_of(request)
        if not visitor.may(role):
            raise DeniedError(
                f"{visitor.name} is {visitor.role} here; this needs {role}.",
                hint="Who may what on the console is said under `principals` in the configuration.",
            )
        return await handler(request)

    return handle


def _told(desk: Desk, request: Request, error: Exception) -> Response:
    """A page that says what went wrong; of what was not foreseen, no more than that."""
    if isinstance(error, HTTPException):
        status, message, hint = error.status_code, error.detail, ""
    elif isinstance(error, ToolcribError):
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 502)
        message, hint = error.message, error.hint
    else:
        status, message, hint = 500, "Something went wrong inside Toolcrib.", "The program's log says more."
    return desk.page(request, "problem.html", "", status, message=message, hint=hint)


_STATUS: Sequence[tuple[type[ToolcribError], int]] = (
    (UnknownToolError, 404),
    (UnknownHandleError, 404),
    (UnknownServerError, 404),
    (UsageError, 400),
    (DeniedError, 403),
    (StoreError, 503),
)
