"""The door: one-time links, signing in with a token, leaving."""

import sys

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolcrib.console.app import Desk, form_of
from toolcrib.console.guard import keep_session, place_in, session_name
from toolcrib.console.mount import entry_link

_NO_LINK = "This link was used already, or is too old."
_NO_TOKEN = "This token lets in nobody, or nobody who has a role on the console."

_UNSENT = "Your visit had ended, so what you sent was not taken. Sign in, and send it again."


def routes(desk: Desk) -> list[Route]:
    """The routes of whoever is not in yet, and of leaving."""

    def door(request: Request, problem: str = "", told: str = "", status: int = 200) -> Response:
        values = {
            "to": place_in(form_of(request).get("to", "") or request.query_params.get("to", "")),
            "problem": problem,
            "told": told,
            "links": desk.doorkeeper.links,
            "tokens": desk.doorkeeper.takes_tokens(),
        }
        return desk.page(request, "sign_in.html", "", status, **values)

    async def sign_in(request: Request) -> Response:
        return door(request, told=_UNSENT if "unsent" in request.query_params else "")

    async def come(request: Request) -> Response:
        """Leads to a page that a link of another site names, when somebody presses it: no other page sends a visitor
        there by itself."""
        return desk.page(request, "come.html", "", to=place_in(request.query_params.get("to", "")))

    async def enter(request: Request) -> Response:
        """The page goes on by itself: a browser that was sent here from elsewhere sends the new cookie only with a
        request that this page makes (RFC 6265bis, same-site cookies)."""
        name = desk.doorkeeper.enter_by_key(request.query_params.get("key", "")) if desk.doorkeeper.links else None
        if name is None:
            return door(request, _NO_LINK, status=403)
        response = desk.page(request, "entered.html", "")
        keep_session(request, response.headers, name)
        return response

    async def by_token(request: Request) -> Response:
        name = await desk.doorkeeper.enter_by_token(form_of(request).get("token", "").strip())
        if name is None:
            return door(request, _NO_TOKEN, status=403)
        response = RedirectResponse(f"{request.scope['root_path']}{place_in(form_of(request).get('to', ''))}", 303)
        keep_session(request, response.headers, name)
        return response

    async def new_link(request: Request) -> Response:
        if not desk.doorkeeper.links:
            return door(request, status=403)
        key = desk.doorkeeper.asked_key()
        if key is None:
            return door(request, told="A link was made a moment ago: it stands where this program was started.")
        at = f"{request.url.scheme}://{request.headers['host']}{request.scope['root_path']}"
        print(f"toolcrib: The console opens once with {entry_link(at, key)}", file=sys.stderr, flush=True)
        return door(request, told="A new link stands where this program was started.")

    async def leave(request: Request) -> Response:
        desk.doorkeeper.leave(session_name(request))
        response = RedirectResponse(f"{request.scope['root_path']}/sign-in", 303)
        keep_session(request, response.headers, "")
        return response

    return [
        Route("/sign-in", sign_in, methods=["GET"]),
        Route("/come", come, methods=["GET"]),
        Route("/sign-in/token", by_token, methods=["POST"]),
        Route("/sign-in/link", new_link, methods=["POST"]),
        Route("/enter", enter, methods=["GET"]),
        desk.post("/leave", leave, "viewer"),
    ]
