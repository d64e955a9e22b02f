"""What lets a web page of another origin use the server from its visitor's browser: CORS (Fetch, 3.3).

Only origins that were given count, not the server's own names: a browser asks nothing for pages of the same origin, and
that any page of this machine may speak to the server does not mean that its answers are for it. Credentials that a
browser adds by itself are never asked for; a token comes in `Authorization`.
"""

import re
from collections.abc import Iterable, Sequence

from starlette.responses import Response
from starlette.types import Message, Scope, Send

from toolcrib.gateway.origins import Names

_METHODS = b"GET, POST, DELETE"

_HEADERS = frozenset(
    {
        "accept",
        "authorization",
        "baggage",
        "content-type",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "traceparent",
        "tracestate",
    }
)
"""What clients of either era send (specification 2026-07-28 and 2025-11-25, Streamable HTTP)."""

_PARAMETER = re.compile(r"mcp-param-[a-z0-9!#$%&'*+.^_`|~-]+")
"""An argument of a tool as a header, in lower case (specification 2026-07-28, Streamable HTTP; RFC 9110, 5.6.2)."""

_EXPOSED = b"Mcp-Session-Id, WWW-Authenticate, Retry-After"
"""What pages may read beside what they always may: the session, where to get a token, when to come back."""

_KEPT_SECONDS = b"7200"
"""How long a browser may keep what it was told; none keeps it for longer."""

_ALLOW_ORIGIN = b"access-control-allow-origin"
_MOST_ASKED = 100


class CrossOrigin:
    """Answers browsers on behalf of pages of some origins.

    Args:
        origins: Those origins.
        paths: Where pages may ask; what is below belongs to it.
    """

    def __init__(self, origins: Sequence[str], paths: Iterable[str]) -> None:
        self._origins = Names(origins)
        self._paths = tuple(path.rstrip("/") for path in paths)

    def origin_of(self, scope: Scope) -> str | None:
        """The origin of the page that makes a request, if its answer is for that page too."""
        path: str = scope["path"]
        if not any(path == each or path.startswith(f"{each}/") for each in self._paths):
            return None
        found = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        return found[0] if len(found) == 1 and self._origins.have(found[0]) else None

    def preflight(self, scope: Scope, origin: str) -> Response | None:
        """The answer to a browser that asks whether a page may make a request; None for any other request."""
        headers = dict(scope["headers"])
        if scope["method"] != "OPTIONS" or b"access-control-request-method" not in headers:
            return None
        asked = headers.get(b"access-control-request-headers", b"").decode("latin-1").lower().split(",")[:_MOST_ASKED]
        named = dict.fromkeys(each.strip() for each in asked)
        allowed = [each for each in named if each in _HEADERS or _PARAMETER.fullmatch(each)]
        answer = Response(status_code=204)
        answer.raw_headers += [
            *_for_page(origin),
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-max-age", _KEPT_SECONDS),
        ]
        if allowed:
            answer.raw_headers.append((b"access-control-allow-headers", ", ".join(allowed).encode("latin-1")))
        return answer

    def readable(self, origin: str, send: Send) -> Send:
        """Sends an answer that the page may read, whatever it says."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message["headers"] if name.lower() != _ALLOW_ORIGIN]
                more = [*_for_page(origin), (b"access-control-expose-headers", _EXPOSED)]
                message = {**message, "headers": [*kept, *more]}
            await send(message)

        return sent


def _for_page(origin: str) -> list[tuple[bytes, bytes]]:
    return [(_ALLOW_ORIGIN, origin.encode("latin-1")), (b"vary", b"Origin")]
