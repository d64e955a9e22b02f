"""What every profile answers."""

from dataclasses import dataclass
from typing import Protocol

from toolcrib.broker import Caller, Options
from toolcrib.catalog import JsonObject


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a list.

    Attributes:
        caller: Who asks.
        version: The revision that the client speaks.
        cursor: From the page before; None for the first one.
    """

    caller: Caller
    version: str
    cursor: str | None = None


class Surface(Protocol):
    """The tools of one profile."""

    @property
    def instructions(self) -> str:
        """What a client is told of the server as a whole; empty for nothing."""
        ...

    async def page(self, asked: Asked) -> JsonObject:
        """One page of the list: `tools`, `nextCursor` where there is more, and how long and for whom it may be kept.

        Raises:
            UsageError: There is no such page.
        """
        ...

    async def call(self, name: str, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        """The result of a call; what the tool's server or Toolcrib refuses is a result marked as an error.

        Raises:
            UsageError: There is no such tool.
            ProtocolError: The tool's server answered with an error of the protocol that is to be passed on.
        """
        ...

    def shown(self, caller: Caller) -> frozenset[str]:
        """The ids of the servers' tools that the caller sees in the list."""
        ...

    def input_schema(self, name: str, caller: Caller) -> JsonObject | None:
        """The schema of a tool's arguments, against which the SDK checks `Mcp-Param-*` headers; None leaves that."""
        ...
