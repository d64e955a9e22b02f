"""Tokens of an authorization server: JSON Web Tokens, checked with the issuer's public keys (RFC 9068, RFC 8725).

The issuer and its keys are asked over HTTP, never at an address that a token names.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import anyio
import httpx2
import jwt

from toolcrib.broker import Principal
from toolcrib.config import OAuthSettings, principal_name
from toolcrib.config.http import LOCAL
from toolcrib.gateway.bearer import Holder

logger = logging.getLogger(__name__)

LEEWAY = 30
"""Seconds by which clocks may differ."""

KEYS_SECONDS = 600.0
"""How long keys are used before they are fetched anew."""

STALE_SECONDS = 3_600.0
"""How long keys are used that can't be fetched anew."""

FETCH_PAUSE = 10.0
"""Seconds between two fetches, whatever tokens come in."""

_CHECKED_SECONDS = 60.0
_MOST_CHECKED = 2_000
_MOST_KEYS = 100
_MOST_BYTES = 512 * 1024
_MOST_TOKEN = 16 * 1024
_FETCH_SECONDS = 10.0
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt", "application/jwt"})
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class IssuerTokens:
    """Checks the tokens of one issuer.

    Args:
        settings: What is let in.
        client: Asks the issuer; None makes one.
        clock: Seconds since 1970.
    """

    def __init__(
        self, settings: OAuthSettings, client: httpx2.AsyncClient | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._keys = IssuerKeys(settings, client, clock)
        self._clock = clock
        self._checked: dict[bytes, tuple[Holder, float, int]] = {}

    async def holder(self, token: str) -> Holder | None:
        """Whom a token lets in; None for one that is not valid here. The log says why at debug level."""
        if len(token) > _MOST_TOKEN:
            return None
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        checked = self._checked.get(digest)
        if checked is not None and checked[1] > self._clock() and checked[2] == self._keys.version:
            return checked[0]
        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(header)
            claims = self._claims(token, key, header["alg"])
            holder = self._holder(claims)
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            logger.debug("A token is not let in: %s", error)
            return None
        if len(self._checked) >= _MOST_CHECKED:
            self._checked.clear()
        ends = min(self._clock() + _CHECKED_SECONDS, float(claims["exp"]) + LEEWAY)
        self._checked[digest] = (holder, ends, self._keys.version)
        return holder

    async def _key(self, header: Mapping[str, Any]) -> jwt.PyJWK:
        algorithm, kind, key_id = header.get("alg"), header.get("typ"), header.get("kid")
        if algorithm not in self._settings.algorithms:
            raise jwt.InvalidAlgorithmError("its algorithm is not allowed")
        if "crit" in header:
            raise jwt.InvalidTokenError("it needs extensions that are not known here")
        if kind is not None and str(kind).lower() not in _TYPES:
            raise jwt.InvalidTokenError("it is another kind of token")
        found = await self._keys.find(key_id if isinstance(key_id, str) else None, cast("str", algorithm))
        if found is None:
            raise jwt.InvalidKeyError("the issuer has no such key")
        return found

    def _claims(self, token: str, key: jwt.PyJWK, algorithm: str) -> Mapping[str, Any]:
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=[algorithm],
            audience=list(self._settings.audience),
            issuer=self._settings.issuer,
            options={"require": ["exp", "iss", "aud"], "verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )
        now = self._clock()
        # Times are compared here, by the same clock as everything else.
        if now >= _time(claims, "exp") + LEEWAY:
            raise jwt.ExpiredSignatureError("it has expired")
        for name in ("nbf", "iat"):
            if name in claims and now < _time(claims, name) - LEEWAY:
                raise jwt.ImmatureSignatureError("it is not valid yet")
        return claims

    def _holder(self, claims: Mapping[str, Any]) -> Holder:
        name = claims.get(self._settings.principal_claim)
        if not isinstance(name, str) or name == LOCAL:
            raise jwt.InvalidTokenError("it names no principal that may come from outside")
        name = principal_name(name)
        scopes = _scopes(claims)
        roles = {role for scope in scopes for role in self._settings.roles.get(scope, ())}
        missing = tuple(each for each in self._settings.scopes if each not in scopes)
        return Holder(Principal(name, tuple(sorted(roles))), missing)


class IssuerKeys:
    """An issuer's public keys, fetched when they are needed and again when a token names an unknown one.

    Args:
        settings: Where they are.
        client: Fetches them; None makes one.
        clock: Seconds since 1970.

    Attributes:
        version: Grows with each fetch that brought other keys.
    """

    def __init__(self, settings: OAuthSettings, client: httpx2.AsyncClient | None, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._keys: list[Mapping[str, Any]] = []
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._lock = anyio.Lock()
        self.version = 0

    async def find(self, key_id: str | None, algorithm: str) -> jwt.PyJWK | None:
        """The key that a token was signed with; None where the issuer has none such, or can't be asked."""
        now = self._clock()
        found = self._known(key_id, algorithm)
        if found is None or now - self._fetched_at > KEYS_SECONDS:
            await self._fetch()
            found = self._known(key_id, algorithm)
        if found is None or self._clock() - self._fetched_at > STALE_SECONDS:
            return None
        return jwt.PyJWK(dict(found), algorithm)

    def _known(self, key_id: str | None, algorithm: str) -> Mapping[str, Any] | None:
        fitting = [each for each in self._keys if _fits(each, algorithm)]
        if key_id is not None:
            fitting = [each for each in fitting if each.get("kid") == key_id]
        return fitting[0] if len(fitting) == 1 else None

    async def _fetch(self) -> None:
        async with self._lock:
            if self._clock() - self._tried_at < FETCH_PAUSE:
                return
            self._tried_at = self._clock()
            try:
                with anyio.fail_after(_FETCH_SECONDS):
                    keys = await self._ask()
            except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError) as error:
                logger.warning("The keys of %s can't be fetched: %s", self._settings.issuer, error)
                return
            self._fetched_at = self._clock()
            if keys != self._keys:
                self._keys = keys
                self.version += 1

    async def _ask(self) -> list[Mapping[str, Any]]:
        if self._client is not None:
            return await self._ask_by(self._client)
        async with httpx2.AsyncClient(timeout=_FETCH_SECONDS, follow_redirects=False) as client:
            return await self._ask_by(client)

    async def _ask_by(self, client: httpx2.AsyncClient) -> list[Mapping[str, Any]]:
        url = self._settings.jwks_url or await self._discovered(client)
        keys = (await _document(client, url)).get("keys")
        if not isinstance(keys, list):
            raise ValueError("it is no set of keys")
        return [
            cast("Mapping[str, Any]", each) for each in cast("list[Any]", keys)[:_MOST_KEYS] if isinstance(each, dict)
        ]

    async def _discovered(self, client: httpx2.AsyncClient) -> str:
        """Where the keys are, by the issuer's metadata (RFC 8414, 3; OpenID Connect Discovery, 4)."""
        issuer = self._settings.issuer
        base = httpx2.URL(issuer)
        path = base.path.rstrip("/")
        places = [
            str(base.copy_with(path=f"/.well-known/oauth-authorization-server{path}")),
            str(base.copy_with(path=f"/.well-known/openid-configuration{path}")),
            str(base.copy_with(path=f"{path}/.well-known/openid-configuration")),
        ]
        problem: Exception = ValueError("it has no metadata")
        for place in places:
            try:
                metadata = await _document(client, place)
            except (httpx2.HTTPError, ValueError) as error:
                problem = error
                continue
            url = metadata.get("jwks_uri")
            if metadata.get("issuer") != issuer:
                raise ValueError("its metadata is that of another issuer")
            if isinstance(url, str) and (httpx2.URL(url).scheme == "https" or base.scheme == "http"):
                return url
            raise ValueError("its metadata names no address of keys")
        raise problem


async def _document(client: httpx2.AsyncClient, url: str) -> Mapping[str, Any]:
    """A JSON object of bounded size."""
    async with client.stream("GET", url, headers={"Accept": "application/json"}) as response:
        if response.status_code != 200:
            raise ValueError(f"{url} answered with status {response.status_code}")
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > _MOST_BYTES:
                raise ValueError(f"{url} is too large")
    document: Any = json.loads(bytes(content))
    if not isinstance(document, dict):
        raise ValueError(f"{url} is no object")
    return cast("Mapping[str, Any]", document)


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    """Whether a public key is one for signatures of an algorithm; shared secrets never are."""
    return (
        key.get("kty") == _KINDS[algorithm[:2]]
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
    )


def _time(claims: Mapping[str, Any], name: str) -> float:
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise jwt.DecodeError(f"its {name} is no number")
    return float(value)


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """The scopes of a token: a text (RFC 8693, 4.2), or a list as some servers write it."""
    found: set[str] = set()
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            found.update(value.split())
        elif isinstance(value, list):
            found.update(each for each in cast("list[Any]", value) if isinstance(each, str))
    return frozenset(found)
