"""What an examination has before it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from toolcrib.catalog import Tool
from toolcrib.config import ServerConfig, Variables
from toolcrib.crib import Crib
from toolcrib.redact import Secrets


@dataclass(frozen=True, slots=True)
class Case:
    """What an examination has before it.

    Attributes:
        servers: The entries to look at, by server id.
        crib: An open crib over that configuration.
        variables: Resolves `${…}`.
        secrets: What must not be shown; entries that are resolved add theirs.
    """

    servers: Mapping[str, ServerConfig]
    crib: Crib
    variables: Variables
    secrets: Secrets = field(default_factory=Secrets)

    def usable(self) -> Iterator[tuple[str, ServerConfig]]:
        """The entries that are neither faulty nor switched off, by server id."""
        for server, entry in self.servers.items():
            if entry.error is None and not entry.disabled:
                yield server, entry

    def tools(self, server: str) -> list[Tool]:
        """What one server listed last; empty when it never was listed.

        Raises:
            StoreError: Its snapshot can't be read.
        """
        return list(self.crib.registry.tools(server))

    def description(self, server: str) -> str:
        """What is said of a server, by the configuration or else by itself."""
        return next((each.description for each in self.crib.servers if each.id == server), "")

    def is_listed(self, server: str) -> bool:
        """Whether it is known what a server lists."""
        return self.crib.registry.has(server)
