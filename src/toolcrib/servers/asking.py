"""What a server may ask of its client, and which capability lets it."""

from collections.abc import Mapping
from typing import Any, cast

from toolcrib.catalog import ClientSide, JsonObject
from toolcrib.errors import ProtocolError

RELAYED: Mapping[str, str] = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""Requests of servers by method, with the client capability that each needs (specification 2025-11-25, client)."""


PAGES_NEEDED = -32042
"""The error of a server that wants its user to visit pages first (specification 2025-11-25, elicitation, URL mode)."""

_MOST_PAGES = 20


def pages_of(error: ProtocolError) -> list[JsonObject]:
    """The elicitations that such an error asks for, as sent; none for any other error, or where they can't be shown."""
    data = error.data
    if error.rpc_code != PAGES_NEEDED or not isinstance(data, Mapping):
        return []
    listed: Any = cast("Mapping[str, Any]", data).get("elicitations")
    pages: list[Any] = cast("list[Any]", listed) if isinstance(listed, list) else []
    if not 0 < len(pages) <= _MOST_PAGES or not all(_is_page(each) for each in pages):
        return []
    return [{"mode": "url", **cast("JsonObject", each)} for each in pages]


def _is_page(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    page = cast("JsonObject", value)
    named = all(isinstance(page.get(member), str) for member in ("message", "url"))
    return named and page.get("mode", "url") == "url"


def declared(client: ClientSide | None) -> dict[str, Any]:
    """The capabilities that are declared to a server on a client's behalf; none without one.

    Whatever else a client can do is between it and Toolcrib.
    """
    if client is None:
        return {}
    return {name: client.capabilities[name] for name in sorted(set(RELAYED.values())) if name in client.capabilities}


def may_ask(client: ClientSide, method: str, params: Mapping[str, Any]) -> bool:
    """Whether a client declared what it takes to be asked this (specification 2025-11-25, client): also the mode of an
    elicitation, without one that of forms, and the use of tools while sampling."""
    capability = RELAYED.get(method)
    if capability is None or capability not in client.capabilities:
        return False
    claimed: Any = client.capabilities[capability]
    modes: Mapping[str, Any] = cast("Mapping[str, Any]", claimed) if isinstance(claimed, Mapping) else {}
    if capability == "elicitation":
        mode = params.get("mode", "form")
        return "form" in modes or "url" not in modes if mode == "form" else mode in modes
    return capability != "sampling" or "tools" not in params or "tools" in modes
