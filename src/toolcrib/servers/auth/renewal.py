"""New tokens for old ones, without a person, as the SDK's provider asks for them."""

import re
from dataclasses import replace
from typing import cast

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl, BaseModel, ValidationError

from toolcrib.catalog import JsonObject
from toolcrib.servers.auth.quiet import keep_tokens_out_of_logs
from toolcrib.servers.auth.vault import StoredLogin, renewal_time

_LIMIT = 10.0
"""Seconds; a crib that is closed waits for it."""

_ERROR_CODE = re.compile(r"[a-z_]{1,40}")

_NOWHERE = AnyUrl("http://127.0.0.1/callback")
"""The SDK wants a redirect address of every client; renewing needs none."""


class RenewalRefusedError(Exception):
    """The authorization server gives no new tokens for the old ones.

    Args:
        why: Its error code, or the HTTP status.
        login: The login that it refused.
    """

    def __init__(self, why: str, login: StoredLogin) -> None:
        super().__init__(why)
        self.without_tokens = replace(login, tokens={}, renew_at=None)


class NoTokens:
    """A storage that holds nothing: what the SDK's provider works on is given to it, and read from it."""

    async def get_tokens(self) -> OAuthToken | None:
        """None."""
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Do nothing."""

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """None."""
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Do nothing."""


async def renew(url: str, login: StoredLogin) -> StoredLogin:
    """The login with new tokens.

    Raises:
        RenewalRefusedError: There are none to be had.
        httpx2.HTTPError: The authorization server can't be reached, or is out of order.
    """
    provider = _Renewing(url, login)
    try:
        with anyio.fail_after(_LIMIT):
            async with httpx2.AsyncClient() as client:
                tokens = await provider.renew(client)
    except TimeoutError:
        raise httpx2.ReadTimeout(f"{login.issuer} did not renew the login within {_LIMIT:g} s") from None
    except _Refused as refusal:
        raise RenewalRefusedError(str(refusal), login) from None
    return replace(login, tokens=as_json(tokens), renew_at=renewal_time(tokens.expires_in))


def as_json(model: BaseModel | None) -> JsonObject:
    """A model of the SDK's as it is stored; nothing where there is none."""
    return {} if model is None else model.model_dump(mode="json", by_alias=True, exclude_none=True)


class _Refused(Exception):  # noqa: N818 - a signal between two functions, never an error to a user
    pass


class _Renewing(OAuthClientProvider):
    """The SDK's provider over a stored login."""

    def __init__(self, url: str, login: StoredLogin) -> None:
        keep_tokens_out_of_logs()
        super().__init__(url, OAuthClientMetadata(redirect_uris=[_NOWHERE]), NoTokens())
        context = self.context
        context.client_info = OAuthClientInformationFull.model_validate(login.client)
        context.current_tokens = OAuthToken.model_validate(login.tokens)
        context.auth_server_url = login.issuer
        context.protocol_version = LATEST_PROTOCOL_VERSION
        if login.metadata:
            context.oauth_metadata = OAuthMetadata.model_validate(login.metadata)
        if login.resource:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(login.resource)

    async def renew(self, client: httpx2.AsyncClient) -> OAuthToken:
        response = await client.send(await self._refresh_token())
        if response.status_code >= 500 or response.status_code == 429:
            reason = f"the login could not be renewed: HTTP status {response.status_code}"
            raise httpx2.HTTPStatusError(reason, request=response.request, response=response)
        if response.status_code != 200:
            raise _Refused(_error_code(response))
        try:
            OAuthToken.model_validate_json(response.content)
        except ValidationError:
            raise _Refused("an answer without tokens") from None
        await self._handle_refresh_response(response)
        assert self.context.current_tokens is not None
        return self.context.current_tokens


def _error_code(response: httpx2.Response) -> str:
    """The error code of RFC 6749, 5.2, else the HTTP status."""
    try:
        body = response.json()
    except ValueError:
        body = None
    code = cast("JsonObject", body).get("error") if isinstance(body, dict) else None
    if isinstance(code, str) and _ERROR_CODE.fullmatch(code):
        return code
    return f"HTTP status {response.status_code}"
