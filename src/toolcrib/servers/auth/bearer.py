"""Tokens in requests: those of the stored login, renewed when they have expired or are refused.

The SDK's own provider does the same, but sends one request at a time, from the first byte sent to the headers of its
answer; with it one slow call would hold up all others of a server. So what it does for a login and for renewing is
used (`login`, `renewal`), and what a request needs is here.
"""

import re
from collections.abc import AsyncGenerator

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth

from toolcrib.servers.auth.standing import Standing

_SCOPE_CHARACTERS = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")  # RFC 6749, 3.3: scope-token
_MOST_SCOPES = 50


class StoredTokens(httpx2.Auth):
    """Puts the access token of the stored login into requests to one server, and into no others.

    Args:
        standing: The server's login.
        url: The server's address; the token goes to its origin only.
    """

    def __init__(self, standing: Standing, url: str) -> None:
        self._standing = standing
        self._origin = _origin(httpx2.URL(url))

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token; once more where it is refused and there is a newer one."""
        if _origin(request.url) != self._origin:
            yield request
            return
        login = await self._standing.current()
        if login is not None and login.due and login.renewable:
            login = await self._standing.renewed(login)
        _put(request, None if login is None else login.access_token)
        response = yield request
        if response.status_code != 401 or login is None or login.access_token is None:
            return
        newer = await self._standing.renewed(login)
        if newer is not None:
            _put(request, newer.access_token)
            yield request


def insufficient_scope(response: httpx2.Response) -> str | None:
    """The scopes that a response demands beyond those granted (RFC 6750, 3.1), as far as they are well formed; None
    when it demands none."""
    if response.status_code != 403 or extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    scopes = (extract_field_from_www_auth(response, "scope") or "").split()
    return " ".join(scope for scope in scopes[:_MOST_SCOPES] if _SCOPE_CHARACTERS.fullmatch(scope))


def _put(request: httpx2.Request, token: str | None) -> None:
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
