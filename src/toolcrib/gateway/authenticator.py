"""Whom the HTTP server lets in: holders of bearer tokens, and of tokens of an authorization server."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from toolcrib.config import HttpSettings, OAuthSettings, TokenFile
from toolcrib.errors import shown
from toolcrib.gateway.bearer import Holder, Tokens
from toolcrib.gateway.door import METADATA_PATH

if TYPE_CHECKING:
    from toolcrib.gateway import oauth

logger = logging.getLogger(__name__)


class Authenticator:
    """Tells whom a token lets in.

    Args:
        settings: Which tokens are let in.
        file: Those that `toolcrib principals add` has made.
        path: Where MCP is served.
    """

    def __init__(self, settings: HttpSettings, file: TokenFile, path: str) -> None:
        self._tokens = Tokens(settings.tokens, file)
        self._settings = settings.oauth
        self._path = path
        self._issuer: oauth.IssuerTokens | None = None
        self._has_asked = bool(settings.oauth.issuer)
        if self._has_asked:
            # Cryptography is loaded by those alone who need it.
            from toolcrib.gateway.oauth import IssuerTokens

            self._issuer = IssuerTokens(settings.oauth)

    def asks(self) -> bool:
        """Whether a token is needed: as soon as there is one, and from then on, also when all were taken away.

        Raises:
            StoreError: The file of tokens can't be read.
        """
        self._has_asked = self._has_asked or self._tokens.any()
        return self._has_asked

    async def holder(self, token: str) -> Holder | None:
        """Whom a token lets in; None for one that lets in nobody.

        A name is known by one kind of token: what an authorization server calls somebody may be that one's own choice,
        and must not lead to what belongs to the holder of a token that was made here.

        Raises:
            StoreError: The file of tokens can't be read.
        """
        found = self._tokens.holder(token)
        if found is not None or self._issuer is None:
            return found
        found = await self._issuer.holder(token)
        if found is None or not self._tokens.have(found.principal.name):
            return found
        logger.warning(
            "%s names %s in a token, but there are tokens for that principal here, so it is refused.",
            self._settings.issuer,
            shown(found.principal.name),
        )
        return None

    def challenge(self, scope: Scope) -> Mapping[str, str]:
        """What tells a client without a token where to get one (RFC 9728, 5.1)."""
        if not self._settings.issuer:
            return {}
        return {"resource_metadata": _metadata_url(self._resource(scope))}

    def routes(self) -> list[Route]:
        """The protected resource's metadata, at the root and at the place that belongs to the resource's path."""
        if not self._settings.issuer:
            return []
        return [Route(METADATA_PATH, self._metadata), Route(METADATA_PATH + "/{rest:path}", self._metadata)]

    async def _metadata(self, request: Request) -> Response:
        """RFC 9728, 2. A page of any origin may read it; it is for everybody."""
        document = {
            "resource": self._resource(request.scope),
            "authorization_servers": [self._settings.issuer],
            "bearer_methods_supported": ["header"],
            **({"scopes_supported": scopes} if (scopes := _scopes(self._settings)) else {}),
        }
        return JSONResponse(document, headers={"Access-Control-Allow-Origin": "*", "Cache-Control": "max-age=3600"})

    def _resource(self, scope: Scope) -> str:
        """The URL of this server, as clients know it; the door has looked at the `Host` that it may be made of."""
        named = self._settings.resource or next((each for each in self._settings.audience if "://" in each), "")
        if named:
            return named
        host = next(value.decode("latin-1") for name, value in scope["headers"] if name == b"host")
        return f"{scope['scheme']}://{host}{self._path}"


def _scopes(settings: OAuthSettings) -> list[str]:
    return list(dict.fromkeys([*settings.scopes, *settings.roles]))


def _metadata_url(resource: str) -> str:
    """Where the metadata of a resource is: the well-known path between its host and its path (RFC 9728, 3.1)."""
    scheme, _, rest = resource.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}{METADATA_PATH}{slash + path if path else ''}"
