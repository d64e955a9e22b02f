"""All registries of a configuration, read and searched together."""

from collections.abc import Sequence
from pathlib import Path

import anyio

from toolcrib.crib.ranking import Ranking, ServerWords
from toolcrib.servers.registries import Listing, Registry, ServerDescription, open_registries, shown_place


class Directory:
    """All registries of a configuration; of two that know the same name, the first one counts.

    Args:
        places: URLs and paths, as configured.
        state_dir: Where answers are kept.
    """

    def __init__(self, places: Sequence[str], state_dir: Path) -> None:
        self._registries: list[Registry] = open_registries(places, state_dir)
        self._listings: dict[str, Listing] = {}
        self._ranking = Ranking()
        self._words: tuple[ServerWords, ...] = ()
        self._worded: list[Listing] = []

    def __len__(self) -> int:
        return len(self._registries)

    async def read(self) -> None:
        """Bring what is known up to date; a registry that fails is its own problem."""

        async def one(registry: Registry) -> None:
            self._listings[registry.place] = await registry.read()

        async with anyio.create_task_group() as tasks:
            for registry in self._registries:
                tasks.start_soon(one, registry)

    @property
    def listings(self) -> list[Listing]:
        """What is known of each registry that was read, in the order of the configuration."""
        places = [registry.place for registry in self._registries]
        return [self._listings[place] for place in places if place in self._listings]

    @property
    def unread(self) -> list[str]:
        """The registries that were not read yet."""
        return [shown_place(each.place) for each in self._registries if each.place not in self._listings]

    @property
    def problems(self) -> list[str]:
        """What is wrong with registries, a sentence or more each."""
        return [listing.problem for listing in self.listings if listing.problem]

    def servers(self) -> dict[str, ServerDescription]:
        """All descriptions by name."""
        found: dict[str, ServerDescription] = {}
        for listing in self.listings:
            for server in listing.servers:
                found.setdefault(server.name, server)
        return found

    async def search(self, query: str, limit: int) -> list[ServerDescription]:
        """The servers that fit, best first, by the words of their names, titles and descriptions."""
        servers = self.servers()
        if self._worded != self.listings:
            self._worded = self.listings
            self._words = tuple(ServerWords(each.name, each.title, each.description) for each in servers.values())
        return [servers[name] for name in await self._ranking.search(query, self._words, limit)]
