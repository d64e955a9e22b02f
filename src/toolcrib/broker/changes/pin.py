"""A pin: what a tool was when it was first used or last accepted."""

from dataclasses import dataclass

from toolcrib.catalog import JsonObject

PinKey = tuple[str, str]
"""The name of a server with the hash of its configuration; and the tool's own name, with whom it is listed to where
it is one principal's own."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The definition that a tool had when it was first used or last accepted.

    Attributes:
        server: The server's id with the hash of its configuration: another command is another server.
        tool: See `PinKey`.
        digest: See `definition_hash`.
        definition: The pinned part of the definition.
        pinned_at: When, in seconds since 1970.
    """

    server: str
    tool: str
    digest: str
    definition: JsonObject
    pinned_at: float

    @property
    def key(self) -> PinKey:
        """By which it is found."""
        return self.server, self.tool
