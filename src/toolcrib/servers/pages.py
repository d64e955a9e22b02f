"""Whom a server sent to a page, to tell them when it says that they are done there.

A server of 2025-11-25 says so by a notification that names the elicitation alone (specification, elicitation, URL mode,
completion notifications), on the connection on which it asked.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from toolcrib.catalog import ClientSide, TakesCompletions

DONE = "notifications/elicitation/complete"

_MOST = 1_000


class Pages:
    """The elicitations of one connection that are open, by what the server calls them."""

    def __init__(self) -> None:
        self._open: dict[str, TakesCompletions] = {}

    def sent(self, client: ClientSide | None, page: Mapping[str, Any]) -> None:
        """Remember who is sent to a page; whoever could not be told is left out.

        Args:
            client: Who is sent there.
            page: The params of the elicitation.
        """
        name = page.get("elicitationId")
        if page.get("mode") != "url" or not isinstance(name, str) or not isinstance(client, TakesCompletions):
            return
        self._open.pop(name, None)
        if len(self._open) >= _MOST:
            del self._open[next(iter(self._open))]
        self._open[name] = client

    def done(self, params: Mapping[str, Any]) -> Callable[[], Awaitable[None]] | None:
        """What tells the client of an elicitation that it is done; None where nobody has to be told."""
        name = params.get("elicitationId")
        client = self._open.pop(name, None) if isinstance(name, str) else None
        return None if client is None else partial(client.completed, dict(params))
