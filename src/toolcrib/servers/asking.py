"""What a server may ask of its client, and which capability lets it."""

from collections.abc import Mapping
from typing import Any

from toolcrib.catalog import ClientSide

RELAYED: Mapping[str, str] = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""Requests of servers by method, with the client capability that each needs (specification 2025-11-25, client)."""


def declared(client: ClientSide | None) -> dict[str, Any]:
    """The capabilities that are declared to a server on a client's behalf; none without one.

    Whatever else a client can do is between it and Toolcrib.
    """
    if client is None:
        return {}
    return {name: client.capabilities[name] for name in sorted(set(RELAYED.values())) if name in client.capabilities}
