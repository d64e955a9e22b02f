"""Logging in: the SDK's provider does the OAuth, a person what only a person can."""

import re
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    is_valid_client_metadata_url,
    union_scopes,
)
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl

from toolcrib.config import ResolvedServer
from toolcrib.errors import AuthRequiredError, ServerError, StoreError
from toolcrib.redact import redact_text
from toolcrib.servers.auth.quiet import keep_tokens_out_of_logs
from toolcrib.servers.auth.redirect import Loopback, Redirected, loopback, parse_redirect
from toolcrib.servers.auth.renewal import NoTokens, as_json
from toolcrib.servers.auth.vault import Place, StoredLogin, Vault, renewal_time

_HTTP_SECONDS = 30.0
_ERROR_CODE = re.compile(r"[a-z_]{1,40}")
_LOCAL_HOSTS = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True)
class Person:
    """What a login needs of a person.

    Attributes:
        show: Shows the address where the login takes place, in a browser or otherwise.
        pasted: Returns the next line that the person pastes; None where nothing can be pasted.
        complain: Tells that what was pasted is of no use.
        patience: Seconds that the person has.
    """

    show: Callable[[str], Coroutine[Any, Any, None]]
    pasted: Callable[[], Awaitable[str]] | None
    complain: Callable[[str], None]
    patience: float = 600.0


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """How a login ended.

    Attributes:
        issuer: The authorization server.
        scope: The scopes granted, separated by blanks; empty where nothing is said of them.
        place: Where the login is kept.
    """

    issuer: str
    scope: str
    place: Place


async def log_in(
    server: str, resolved: ResolvedServer, vault: Vault, person: Person, *, port: int | None = None
) -> LoggedIn:
    """Log in to a server, in place of the login that there may be, and keep what is granted.

    Args:
        server: The server's id.
        resolved: Its entry, variables filled in.
        vault: Where logins are kept.
        person: Who logs in.
        port: The port of the redirect address; None takes the configured one, that of the last login, or a free one.

    Raises:
        AuthRequiredError: The login failed, or the server has none.
        ServerError: The server can't be reached.
        StoreError: The login can't be kept.
    """
    assert resolved.url is not None
    url = resolved.url
    try:
        before, _ = await anyio.to_thread.run_sync(vault.load, server, url)
    except StoreError:
        before = None
    async with AsyncExitStack() as stack:
        waiting = await _listen(stack, server, resolved, before, port)
        provider = _LoginProvider(server, resolved, waiting, person, before, vault.wanted(server, url))
        await _authorize(server, resolved, provider)
        login = provider.login()
    async with vault.locked(server, url):
        place = await anyio.to_thread.run_sync(vault.save, server, url, login)
        vault.met(server, url)
    return LoggedIn(login.issuer, login.scope, place)


async def _listen(
    stack: AsyncExitStack, server: str, resolved: ResolvedServer, before: StoredLogin | None, port: int | None
) -> Loopback:
    fixed = port or (resolved.oauth.callback_port if resolved.oauth else None)
    if fixed is None:
        try:
            return await stack.enter_async_context(loopback(_last_port(before)))
        except OSError:  # taken by now; authorization servers that insist on it want a new registration
            return await stack.enter_async_context(loopback(0))
    try:
        return await stack.enter_async_context(loopback(fixed))
    except OSError as error:
        raise AuthRequiredError(
            server,
            f"Port {fixed}, to which the browser would return, can't be used: {error.strerror}.",
            hint="--port takes another one.",
        ) from error


def _last_port(before: StoredLogin | None) -> int:
    addresses: list[str] = [] if before is None else before.client.get("redirect_uris") or []
    return next((urlsplit(each).port or 0 for each in addresses), 0)


async def _authorize(server: str, resolved: ResolvedServer, provider: "_LoginProvider") -> None:
    """Make one request, which the provider logs in for."""
    assert resolved.url is not None
    headers = {name: value for name, value in resolved.headers.items() if name.lower() != "authorization"}
    try:
        with anyio.fail_after(provider.person.patience):
            async with httpx2.AsyncClient(headers=headers, timeout=_HTTP_SECONDS) as client:
                request = _first_request(client, resolved)
                response = await client.send(request, auth=provider, stream=True)
                await response.aclose()
    except ServerError:
        raise
    except TimeoutError:
        raise AuthRequiredError(
            server, f"Nobody finished the login to {server} within {provider.person.patience:g} s."
        ) from None
    except OAuthRegistrationError as error:
        raise _unregistered(server, provider) from error
    except OAuthFlowError as error:
        # Such errors quote answers of the authorization server, and those may hold anything.
        text = redact_text(str(error).partition("\n")[0])[:300]
        raise AuthRequiredError(server, f"The login to {server} failed: {text.rstrip('.')}.") from None
    except httpx2.HTTPError as error:
        raise ServerError(
            server, f"The login to {server} failed: {str(error).rstrip('.') or type(error).__name__}."
        ) from error
    if response.status_code in {401, 403}:
        raise AuthRequiredError(
            server, f"{server} does not accept what was granted (HTTP status {response.status_code})."
        )


def _first_request(client: httpx2.AsyncClient, resolved: ResolvedServer) -> httpx2.Request:
    assert resolved.url is not None
    version = {"MCP-Protocol-Version": LATEST_PROTOCOL_VERSION}
    if resolved.transport == "sse":
        return client.build_request("GET", resolved.url, headers={"Accept": "text/event-stream", **version})
    return client.build_request(
        "POST",
        resolved.url,
        json={"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}},
        headers={"Accept": "application/json, text/event-stream", "Mcp-Method": "server/discover", **version},
    )


def _unregistered(server: str, provider: "_LoginProvider") -> AuthRequiredError:
    issuer = provider.context.auth_server_url
    if provider.context.oauth_metadata is None and issuer is None:
        return AuthRequiredError(
            server,
            f"{server} says nothing of how to log in.",
            hint="If it takes a key, put it into its `headers`, such as an Authorization header.",
        )
    return AuthRequiredError(
        server,
        f"{issuer or server} does not let Toolcrib register itself as a client.",
        hint="Register one there by hand, and put its id into `oauth.clientId` of the server's entry.",
    )


class _LoginProvider(OAuthClientProvider):
    """The SDK's provider for one login."""

    def __init__(
        self,
        server: str,
        resolved: ResolvedServer,
        waiting: Loopback,
        person: Person,
        before: StoredLogin | None,
        wanted: str,
    ) -> None:
        keep_tokens_out_of_logs()
        assert resolved.url is not None
        client = resolved.oauth
        client_id = client.client_id if client else None
        document = client_id if is_valid_client_metadata_url(client_id) else None
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(waiting.redirect_uri)], client_name="Toolcrib", token_endpoint_auth_method="none"
        )
        super().__init__(resolved.url, metadata, NoTokens(), self._show, self._answer, document)
        self.person = person
        self._server = server
        self._waiting = waiting
        self._wanted = union_scopes(before.scope if before and wanted else None, wanted or None)
        self._page = self._state = ""
        self._client = _client(waiting, client_id, client.client_secret if client else None, document, before)

    async def _initialize(self) -> None:
        self.context.client_info = self._client
        self._initialized = True

    def login(self) -> StoredLogin:
        """What was granted."""
        context = self.context
        assert context.current_tokens is not None
        return StoredLogin(
            issuer=self._expected_issuer(),
            client=as_json(context.client_info),
            tokens=as_json(context.current_tokens),
            renew_at=renewal_time(context.current_tokens.expires_in),
            metadata=as_json(context.oauth_metadata),
            resource=as_json(context.protected_resource_metadata),
        )

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        challenged = False
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                if not challenged:
                    response, challenged = self._challenge(response), True
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _challenge(self, response: httpx2.Response) -> httpx2.Response:
        """The server's first answer as one that asks for a login: some answer a first request without one, and none
        knows what scopes a later one will need."""
        if response.status_code >= 500 or response.status_code == 429:
            raise ServerError(self._server, f"{self._server} can't be reached: HTTP status {response.status_code}.")
        if response.status_code == 401 and not self._wanted:
            return response
        scope = union_scopes(self._wanted, extract_scope_from_www_auth(response))
        place = extract_resource_metadata_from_www_auth(response)
        parts = [*([f'scope="{scope}"'] if scope else []), *([f'resource_metadata="{place}"'] if place else [])]
        challenge = f"Bearer {', '.join(parts)}".strip()
        return httpx2.Response(401, headers={"WWW-Authenticate": challenge}, request=response.request)

    async def _show(self, url: str) -> None:
        self._check_server()
        self._page = url
        self._state = parse_qs(urlsplit(url).query)["state"][0]

    def _check_server(self) -> None:
        """Refuse a server that could not keep a code or token to those whom it is meant for (specification
        2025-11-25, authorization: security considerations)."""
        metadata = self.context.oauth_metadata
        endpoints = [self._get_token_endpoint()]
        if metadata is not None:
            endpoints.append(str(metadata.authorization_endpoint))
            if "S256" not in (metadata.code_challenge_methods_supported or []):
                raise OAuthFlowError(f"{metadata.issuer} does not support PKCE with S256, which the protocol demands")
        for endpoint in endpoints:
            parts = urlsplit(endpoint)
            if parts.scheme != "https" and parts.hostname not in _LOCAL_HOSTS:
                raise OAuthFlowError(f"{parts.scheme}://{parts.netloc} would get codes and tokens unencrypted")

    async def _answer(self) -> AuthorizationCodeResult:
        found: list[Redirected] = []
        async with anyio.create_task_group() as tasks:

            async def take(wait: Callable[[], Awaitable[Redirected]]) -> None:
                found.append(await wait())
                tasks.cancel_scope.cancel()

            tasks.start_soon(take, self._redirected)
            tasks.start_soon(self.person.show, self._page)  # some browsers end only when they are closed
            if self.person.pasted is not None:
                tasks.start_soon(take, self._pasted)
        answer = found[0]
        if answer.code is None:
            code = answer.error if answer.error and _ERROR_CODE.fullmatch(answer.error) else "no code"
            raise OAuthFlowError(f"the authorization server refused it ({code})")
        return AuthorizationCodeResult(code=answer.code, state=answer.state or self._state, iss=answer.issuer)

    async def _redirected(self) -> Redirected:
        return await self._waiting.wait(self._state)

    async def _pasted(self) -> Redirected:
        assert self.person.pasted is not None
        while True:
            line = await self.person.pasted()
            found = parse_redirect(line)
            if found is None:
                if line.strip():
                    self.person.complain("That is neither the address that the browser ended at nor its code.")
            elif found.state is not None and not _same(found.state, self._state):
                self.person.complain("That address belongs to another login.")
            else:
                return found


def _same(state: str, own: str) -> bool:
    return secrets.compare_digest(state.encode("utf-8", "surrogatepass"), own.encode())


def _client(
    waiting: Loopback, client_id: str | None, secret: str | None, document: str | None, before: StoredLogin | None
) -> OAuthClientInformationFull | None:
    """The client that was registered by hand or for the last login; None has one registered."""
    if document is not None:
        return None
    if client_id is not None:
        return OAuthClientInformationFull(
            client_id=client_id,
            client_secret=secret,
            redirect_uris=[AnyUrl(waiting.redirect_uri)],
            token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
        )
    if before is None or waiting.redirect_uri not in (before.client.get("redirect_uris") or []):
        return None
    found = OAuthClientInformationFull.model_validate(before.client)
    expires = found.client_secret_expires_at
    return None if expires and expires < time.time() else found
