"""Which protocol era a server speaks: 2026-07-28 (stateless), or the `initialize` handshake before it.

What real servers do with the probe (`server/discover`): answer it, refuse it and then take `initialize` on
the same connection, die of it, or never answer. The first two are settled on the spot; for the others the
connection is opened anew with the handshake (`RestartInEra`).
"""

from dataclasses import dataclass
from typing import Any, Literal, cast

import anyio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, UNSUPPORTED_PROTOCOL_VERSION, DiscoverResult
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

Protocol = Literal["auto", "modern", "legacy"]


class RestartInEra(Exception):  # noqa: N818 - a signal between two functions, never an error to a user
    """This connection is of no more use: open a new one, in the era given."""

    def __init__(self, era: Protocol) -> None:
        super().__init__(era)
        self.era: Protocol = era


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What was agreed on.

    Attributes:
        protocol_version: The revision.
        discovered: The result of `server/discover` or `initialize`.
    """

    protocol_version: str
    discovered: dict[str, Any]

    @property
    def modern(self) -> bool:
        """Whether requests carry their own revision, without a handshake (2026-07-28 and later)."""
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS


async def negotiate(session: ClientSession, protocol: Protocol, *, probe_timeout: float) -> Negotiated:
    """Settle the era on a new connection.

    Args:
        session: Entered, and not yet initialised.
        protocol: `modern` and `legacy` pin an era; `auto` probes.
        probe_timeout: Seconds that the probe of `auto` waits for an answer; the others wait until cancelled.

    Raises:
        RestartInEra: Only with `auto`: the probe killed the server, or was not answered.
        MCPError: The server refused both eras.
        ValidationError: Its answer is not one of the protocol's.
        RuntimeError: No revision is shared.
    """
    if protocol == "legacy":
        return await _handshake(session)
    version = LATEST_MODERN_VERSION
    corrected = False
    while True:
        try:
            with anyio.fail_after(probe_timeout if protocol == "auto" else None):
                raw = await session.send_discover(version)
        except TimeoutError:
            raise RestartInEra("legacy") from None
        except MCPError as error:
            if protocol == "modern" and error.error.code == REQUEST_TIMEOUT:
                continue  # the SDK's own limit, which slow starts exceed
            shared = _shared_version(error)
            if shared is not None and not corrected:
                version, corrected = shared, True
                continue
            if protocol == "modern":
                raise
            if error.error.code in {CONNECTION_CLOSED, REQUEST_TIMEOUT}:
                raise RestartInEra("legacy") from error
            return await _handshake(session)
        return await _adopt(session, raw, protocol)


async def _adopt(session: ClientSession, raw: dict[str, Any], protocol: Protocol) -> Negotiated:
    try:
        result = DiscoverResult.model_validate(raw)
    except ValidationError:
        if protocol == "modern":
            raise
        return await _handshake(session)
    if protocol == "auto" and not any(known in result.supported_versions for known in MODERN_PROTOCOL_VERSIONS):
        return await _handshake(session)
    session.adopt(result)
    assert session.protocol_version is not None
    return Negotiated(session.protocol_version, raw)


async def _handshake(session: ClientSession) -> Negotiated:
    result = await session.initialize()
    raw = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return Negotiated(result.protocol_version, raw)


def _shared_version(error: MCPError) -> str | None:
    """The newest revision that both sides speak, from an error -32022; None from any other error."""
    if error.error.code != UNSUPPORTED_PROTOCOL_VERSION or not isinstance(data := error.error.data, dict):
        return None
    supported = cast("dict[str, Any]", data).get("supported")
    if not isinstance(supported, list):
        return None
    shared = [known for known in MODERN_PROTOCOL_VERSIONS if known in supported]
    return shared[-1] if shared else None
