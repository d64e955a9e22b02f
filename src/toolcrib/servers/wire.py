"""Requests on an SDK session whose results stay the JSON that the server sent.

The SDK parses results into typed models, which drop members that they don't know and refuse what a revision
does not allow. Toolcrib keeps both (definitions and results are relayed whole), so it sends through the
session's own dispatcher and stamp and reads the result before the models do. This is the one place that
reaches into the session.
"""

import copy
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions, OnNotifyIntercept, run_notify_intercept
from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp_types import CLIENT_CAPABILITIES_META_KEY, ListToolsResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolcrib.catalog import JsonObject, OnProgress

NO_ANSWER = "what it sent is neither a result nor an error that the protocol allows"
"""Said in place of an answer that can't be read."""

_HEADER_KEYWORD = "x-mcp-header"


async def raw_request(
    session: ClientSession,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    on_progress: OnProgress | None = None,
    capabilities: Mapping[str, Any] | None = None,
) -> JsonObject:
    """Send a request on a connected session and return its result as parsed JSON.

    Args:
        session: Connected.
        method: The request.
        params: Of it; None sends none.
        on_progress: Receives progress; None asks for none.
        capabilities: What whoever asks can do, where each request says so for itself (from 2026-07-28 on); None
            leaves it at what the session declares.

    Raises:
        MCPError: The server answered with an error, or the connection closed.
    """
    data: dict[str, Any] = {"method": method, "params": _own(params)}
    options: CallOptions = {}
    session._stamp(data, options)  # pyright: ignore[reportPrivateUsage]
    if capabilities is not None and session.protocol_version in MODERN_PROTOCOL_VERSIONS:
        data["params"]["_meta"][CLIENT_CAPABILITIES_META_KEY] = dict(capabilities)
    if on_progress is not None:
        options["on_progress"] = on_progress
    dispatcher = session._dispatcher  # pyright: ignore[reportPrivateUsage]
    return await dispatcher.send_raw_request(method, data["params"] or None, options)


async def raw_notification(session: ClientSession, method: str) -> None:
    """Send a notification without params on a connected session."""
    data: dict[str, Any] = {"method": method, "params": {}}
    options: CallOptions = {}
    session._stamp(data, options)  # pyright: ignore[reportPrivateUsage]
    dispatcher = session._dispatcher  # pyright: ignore[reportPrivateUsage]
    await dispatcher.notify(method, data["params"] or None, options)


@contextmanager
def overheard(session: ClientSession, hear: Callable[[str, Mapping[str, Any]], None]) -> Generator[None]:
    """Hear all that a session is told of while the block runs, as it was sent and before whoever made it does.

    A session takes what listens only when it is made, and this one is somebody else's.
    """
    dispatcher: Any = session._dispatcher  # pyright: ignore[reportPrivateUsage]
    previous: OnNotifyIntercept | None = dispatcher._on_notify_intercept

    def both(method: str, params: Mapping[str, Any] | None) -> bool:
        hear(method, params or {})
        return run_notify_intercept(previous, method, params)

    dispatcher._on_notify_intercept = both
    try:
        yield
    finally:
        dispatcher._on_notify_intercept = previous


def accepted_tools(session: ClientSession, tools: Iterable[Any]) -> tuple[list[JsonObject], list[str]]:
    """The listed tools that a client may use, and why others may not be.

    On 2026-07-28 a client must drop a tool whose `x-mcp-header` annotations are invalid, and must mirror the
    arguments that valid ones name into headers (specification, transports, Streamable HTTP), for which the
    session has to have seen the listing.
    """
    accepted: list[JsonObject] = []
    refused: list[str] = []
    modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
    annotated: list[JsonObject] = []
    for tool in tools:
        if not isinstance(tool, dict) or not isinstance(cast("JsonObject", tool).get("name"), str):
            refused.append("an entry without a name")
            continue
        definition = cast("JsonObject", tool)
        if modern and _HEADER_KEYWORD in repr(definition.get("inputSchema")):
            reason = find_invalid_x_mcp_header(cast("dict[str, Any]", definition["inputSchema"]))
            if reason is not None:
                refused.append(f"{definition['name']}: invalid {_HEADER_KEYWORD}: {reason}")
                continue
            annotated.append(definition)
        accepted.append(definition)
    if annotated:
        _absorb(session, annotated)
    return accepted, refused


def _absorb(session: ClientSession, tools: list[JsonObject]) -> None:
    for tool in tools:
        try:
            listing = ListToolsResult.model_validate({"tools": [copy.deepcopy(tool)]})
        except ValidationError:
            continue  # the model refuses the definition; it is called without the mirrored headers
        session._absorb_tool_listing(listing, complete=False)  # pyright: ignore[reportPrivateUsage]


def _own(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy that the stamp may write its `_meta` into."""
    own = dict(params) if params else {}
    if isinstance(meta := own.get("_meta"), dict):
        own["_meta"] = dict(cast("dict[str, Any]", meta))
    return own
