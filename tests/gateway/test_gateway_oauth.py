"""Tokens of an authorization server, by an issuer of the test's own over loopback.

Rules: RFC 6750 (bearer tokens), RFC 8414 (issuer metadata), RFC 9068 and RFC 8725 (JSON Web Tokens), RFC 9728
(protected resource metadata), and the authorization chapter of the MCP specification of 2026-07-28.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from toolcrib import Crib
from toolcrib.config import OAuthSettings, TokenSettings, digest_of, new_token
from toolcrib.gateway import Gateway
from toolcrib.gateway.listening import bound, serve_app
from toolcrib.gateway.oauth import FETCH_PAUSE, KEYS_SECONDS, LEEWAY, STALE_SECONDS, IssuerTokens

pytestmark = pytest.mark.anyio

LIMIT = 20.0
AUDIENCE = "https://tools.example/mcp"

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
NEW_KEY = ec.generate_private_key(ec.SECP256R1())


def public(key: Any, key_id: str, **more: Any) -> dict[str, Any]:
    """A key as the issuer publishes it."""
    algorithm: Any = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "use": "sig", **more}


def pem(key: Any) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


@dataclass(frozen=True)
class AfterNow:
    """A time by the clock of when the test runs, so that a test is called the same in each process."""

    seconds: float


@dataclass
class Issuer:
    """An authorization server: its metadata and its keys."""

    url: str = ""
    keys: list[dict[str, Any]] = field(default_factory=lambda: [public(RSA_KEY, "rsa"), public(EC_KEY, "ec")])
    asked: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    answers: bool = True

    async def _metadata(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        return JSONResponse({"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.metadata})

    async def _keys(self, request: Request) -> Response:
        self.asked.append("/keys")
        return JSONResponse({"keys": self.keys}) if self.answers else Response(status_code=500)

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self._metadata),
                Route("/keys", self._keys),
                Route("/moved", lambda request: RedirectResponse("/keys")),
                Route("/large", lambda request: Response(b'{"keys": [' + b" " * 600_000 + b"]}")),
                Route("/odd", lambda request: JSONResponse({"keys": "none"})),
            ]
        )

    def token(self, key: Any = EC_KEY, key_id: str | None = "ec", algorithm: str = "ES256", **claims: Any) -> str:
        now = int(time.time())
        whole: dict[str, Any] = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ann@example",
            "iat": now,
            "exp": now + 60,
            **claims,
        }
        headers = {} if key_id is None else {"kid": key_id}
        given = json.dumps({name: each for name, each in whole.items() if each is not None}).encode()
        # Not jwt.encode, which refuses to make some of the tokens that have to be refused.
        return jwt.api_jws.encode(given, key, algorithm, headers=headers)

    def settings(self, **more: Any) -> OAuthSettings:
        return OAuthSettings.model_validate({"issuer": self.url, "audience": [AUDIENCE], **more})


@asynccontextmanager
async def issuing() -> AsyncIterator[Issuer]:
    issuer = Issuer()
    ready = anyio.Event()
    with bound("127.0.0.1", 0) as listener:
        async with anyio.create_task_group() as tasks:
            issuer.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            tasks.start_soon(serve_app, issuer.app, listener, ready.set)
            await ready.wait()
            yield issuer
            tasks.cancel_scope.cancel()


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    with anyio.fail_after(LIMIT):
        async with issuing() as made:
            yield made


async def test_a_valid_token_names_its_principal(issuer: Issuer) -> None:
    tokens = IssuerTokens(issuer.settings())
    for key, key_id, algorithm in ((EC_KEY, "ec", "ES256"), (RSA_KEY, "rsa", "RS256"), (RSA_KEY, "rsa", "PS256")):
        holder = await tokens.holder(issuer.token(key, key_id, algorithm))
        assert holder is not None
        assert holder.principal.name == "ann@example"
    # RFC 8414 is asked first; keys are fetched once
    assert issuer.asked == ["/.well-known/oauth-authorization-server", "/keys"]


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://other.example/mcp"},
        {"aud": None},
        {"aud": ["https://other.example/mcp"]},
        {"iss": "https://other.example"},
        {"iss": None},
        {"exp": AfterNow(-LEEWAY - 1)},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"nbf": AfterNow(1000)},
        {"iat": AfterNow(1000)},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "local"},
        {"sub": "*"},
        {"sub": "a\u0000b"},
        {"sub": " ann"},
        {"sub": "x" * 201},
    ],
    ids=str,
)
async def test_a_token_with_wrong_claims_lets_in_nobody(issuer: Issuer, claims: dict[str, Any]) -> None:
    tokens = IssuerTokens(issuer.settings())
    assert await tokens.holder(issuer.token()) is not None
    now = int(time.time())
    told = {name: now + value.seconds if isinstance(value, AfterNow) else value for name, value in claims.items()}
    assert await tokens.holder(issuer.token(**told)) is None


async def test_signatures_that_are_none_or_by_a_shared_secret_are_refused(issuer: Issuer) -> None:
    tokens = IssuerTokens(issuer.settings())
    unsigned = jwt.encode({"sub": "ann", "aud": AUDIENCE, "iss": issuer.url, "exp": time.time() + 60}, None, "none")
    # RFC 8725, 2.1: an HMAC with the public key, as text, for its secret. PyJWT makes no such token, so by hand.
    confused = _by_hmac(issuer, pem(RSA_KEY), "rsa")
    issuer.keys.append({"kty": "oct", "k": "c2VjcmV0", "kid": "shared", "alg": "HS256"})
    shared = _by_hmac(issuer, b"secret", "shared")

    for wrong in (unsigned, confused, shared):
        assert await tokens.holder(wrong) is None


def _by_hmac(issuer: Issuer, secret: bytes, key_id: str) -> str:
    def part(value: Any) -> bytes:
        return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b"=")

    claims = {"sub": "ann", "aud": AUDIENCE, "iss": issuer.url, "exp": time.time() + 60}
    signed = part({"alg": "HS256", "typ": "JWT", "kid": key_id}) + b"." + part(claims)
    return (signed + b"." + part(hmac.digest(secret, signed, hashlib.sha256))).decode()


async def test_other_keys_and_altered_tokens_are_refused(issuer: Issuer) -> None:
    tokens = IssuerTokens(issuer.settings())
    good = issuer.token()
    head, claims, signature = good.split(".")
    other = issuer.token(sub="eve").split(".")[1]
    for wrong in (
        issuer.token(NEW_KEY),  # signed by a key that the issuer does not have, under the name of one that it has
        issuer.token(EC_KEY, "unknown"),
        issuer.token(EC_KEY, "rsa"),  # the named key is of another kind
        f"{head}.{other}.{signature}",
        f"{head}.{claims}.",
        f"{head}.{claims}",
        "..",
        "a.b.c",
        good + "x" * 20_000,
        jwt.encode({"sub": "ann"}, EC_KEY, "ES256", headers={"kid": "ec", "crit": ["b64"], "b64": False}),
        jwt.encode(
            {"sub": "ann", "iss": issuer.url, "aud": AUDIENCE, "exp": time.time() + 60},
            EC_KEY,
            "ES256",
            headers={"kid": "ec", "typ": "logout+jwt"},
        ),
    ):
        assert await tokens.holder(wrong) is None


async def test_an_algorithm_that_is_not_allowed_is_refused(issuer: Issuer) -> None:
    tokens = IssuerTokens(issuer.settings(algorithms=["RS256"]))
    assert await tokens.holder(issuer.token(RSA_KEY, "rsa", "RS256")) is not None
    assert await tokens.holder(issuer.token(RSA_KEY, "rsa", "PS256")) is None
    assert await tokens.holder(issuer.token()) is None


async def test_without_a_key_id_the_only_key_of_its_kind_is_taken(issuer: Issuer) -> None:
    tokens = IssuerTokens(issuer.settings())
    assert await tokens.holder(issuer.token(key_id=None)) is not None


async def test_keys_are_rotated_within_seconds_and_fetched_no_more_often(issuer: Issuer) -> None:
    now = time.time()
    tokens = IssuerTokens(issuer.settings(jwks_url=f"{issuer.url}/keys"), clock=lambda: now)
    old = issuer.token(exp=int(now) + 10_000)
    assert await tokens.holder(old) is not None
    issuer.keys = [public(NEW_KEY, "new")]
    fresh = issuer.token(NEW_KEY, "new", exp=int(now) + 10_000)
    for _ in range(20):
        assert await tokens.holder(fresh) is None
    assert issuer.asked == ["/keys"]

    now += FETCH_PAUSE
    assert await tokens.holder(fresh) is not None
    assert await tokens.holder(old) is None  # its key is gone, and what was found out with it
    assert issuer.asked == ["/keys"] * 2


async def test_keys_of_an_issuer_that_is_away_are_used_for_a_while(issuer: Issuer) -> None:
    now = time.time()
    tokens = IssuerTokens(issuer.settings(jwks_url=f"{issuer.url}/keys"), clock=lambda: now)
    token = issuer.token(exp=int(now) + 100_000)
    assert await tokens.holder(token) is not None
    issuer.answers = False
    now += KEYS_SECONDS + 1
    assert await tokens.holder(token) is not None
    now += STALE_SECONDS
    assert await tokens.holder(token) is None
    issuer.answers = True
    now += FETCH_PAUSE
    assert await tokens.holder(token) is not None


@pytest.mark.parametrize("place", ["/moved", "/large", "/odd", "/nothing"])
async def test_an_odd_set_of_keys_lets_in_nobody(issuer: Issuer, place: str) -> None:
    tokens = IssuerTokens(issuer.settings(jwks_url=issuer.url + place))
    assert await tokens.holder(issuer.token()) is None


@pytest.mark.parametrize("metadata", [{"issuer": "https://other.example"}, {"jwks_uri": 7}, {"jwks_uri": None}])
async def test_odd_metadata_of_an_issuer_lets_in_nobody(issuer: Issuer, metadata: dict[str, Any]) -> None:
    issuer.metadata = metadata
    assert await IssuerTokens(issuer.settings()).holder(issuer.token()) is None
    assert "/keys" not in issuer.asked


async def test_an_expired_token_is_not_let_in_because_it_was_before(issuer: Issuer) -> None:
    now = time.time()
    tokens = IssuerTokens(issuer.settings(), clock=lambda: now)
    token = issuer.token(exp=int(now) + 10)
    assert await tokens.holder(token) is not None
    now += 10 + LEEWAY
    assert await tokens.holder(token) is None


def ping() -> str:
    """Answer."""
    return "pong"


@pytest.fixture
async def url(issuer: Issuer, tmp_path: Path, over_http: Callable[..., Any]) -> AsyncIterator[str]:
    oauth = {"issuer": issuer.url, "audience": [AUDIENCE], "scopes": ["mcp"], "roles": {"notes": ["reader"]}}
    settings = {
        "http": {"oauth": oauth},
        "principals": {"*": {"allow": []}},
        "roles": {"reader": {"allow": ["notes.*"]}},
    }
    async with Crib.open({"mcpServers": {}, "toolcrib": settings}, state_dir=tmp_path) as crib:
        crib.add_functions(ping, server="notes")
        async with over_http(Gateway(crib)) as address:
            yield address


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client


async def test_a_client_without_a_token_is_told_where_to_get_one(
    talking: Any, issuer: Issuer, url: str, web: httpx2.AsyncClient
) -> None:
    answer = await talking.ask(web, url)
    challenge = answer.headers["www-authenticate"]
    at = "https://tools.example/.well-known/oauth-protected-resource/mcp"
    assert (answer.status_code, challenge) == (401, f'Bearer resource_metadata="{at}", scope="mcp"')

    here = url.removesuffix("/mcp")
    for place in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
        metadata = (await web.get(here + place)).json()
        assert metadata == {
            "resource": AUDIENCE,
            "authorization_servers": [issuer.url],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["mcp", "notes"],
        }


async def test_a_token_is_let_in_and_its_scopes_say_to_what(
    talking: Any, issuer: Issuer, url: str, web: httpx2.AsyncClient
) -> None:
    told = await talking.call(web, url, "notes.ping", token=issuer.token(scope="mcp notes"))
    less = await talking.call(web, url, "notes.ping", token=issuer.token(scope="mcp"))
    assert talking.text_of(told) == "pong"
    assert "There is no tool 'notes.ping'" in talking.text_of(less)


async def test_a_token_without_the_scope_is_told_which_one_it_needs(
    talking: Any, issuer: Issuer, url: str, web: httpx2.AsyncClient
) -> None:
    answer = await talking.ask(web, url, token=issuer.token(scope="notes"))

    # MCP 2026-07-28, authorization, scope challenge handling: 403 with insufficient_scope, scope and resource_metadata
    assert answer.status_code == 403
    challenge = answer.headers["www-authenticate"]
    assert challenge.startswith('Bearer error="insufficient_scope"')
    assert 'scope="mcp"' in challenge
    assert "resource_metadata=" in challenge


async def test_a_wrong_token_is_refused_with_its_error(
    talking: Any, issuer: Issuer, url: str, web: httpx2.AsyncClient
) -> None:
    answer = await talking.ask(web, url, token=issuer.token(aud="https://other.example/mcp", scope="mcp"))
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


async def test_a_principal_with_a_token_made_here_is_nobody_whom_an_issuer_can_name(
    talking: Any, tmp_path: Path, issuer: Issuer, over_http: Any, web: httpx2.AsyncClient, caplog: Any
) -> None:
    configured, expired, made = new_token(), new_token(), new_token()
    tokens: list[dict[str, Any]] = [
        {"name": "ci", "principal": "build", "sha256": digest_of(configured)},
        {"name": "old", "principal": "gone", "sha256": digest_of(expired), "expires": "2020-01-01T00:00:00Z"},
    ]
    http = {"oauth": {"issuer": issuer.url, "audience": [AUDIENCE]}, "tokens": tokens}
    opened = Crib.open({"mcpServers": {}, "toolcrib": {"http": http}}, state_dir=tmp_path)
    async with opened as crib, over_http(Gateway(crib)) as url:

        async def status(token: str) -> int:
            return (await talking.ask(web, url, token=token)).status_code

        assert await status(configured) == 200
        assert await status(issuer.token(sub="ann")) == 200
        assert [await status(issuer.token(sub=name)) for name in ("build", "gone")] == [401, 401]
        assert "names 'build' in a token" in caplog.text
        # As soon as one is made, also for somebody who was let in a moment ago.
        crib.tokens.add(TokenSettings(name="laptop", principal="ann", sha256=digest_of(made)))
        assert await status(issuer.token(sub="ann")) == 401
        assert await status(made) == 200


async def test_the_metadata_names_the_server_as_it_was_asked_where_nothing_is_configured(
    tmp_path: Path, issuer: Issuer, over_http: Any, web: httpx2.AsyncClient
) -> None:
    settings = {"http": {"oauth": {"issuer": issuer.url, "audience": ["crib"]}}}
    opened = Crib.open({"mcpServers": {}, "toolcrib": settings}, state_dir=tmp_path)
    async with opened as crib, over_http(Gateway(crib)) as url:
        place = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        metadata = (await web.get(place)).json()
        foreign = await web.get(place, headers={"host": "evil.example"})

    assert metadata == {
        "resource": url,
        "authorization_servers": [issuer.url],
        "bearer_methods_supported": ["header"],
    }
    assert foreign.status_code == 421
