"""The names under which tools and prompts of all servers stand in one list."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from toolcrib.catalog import public_name
from toolcrib.schema import WireNames


class DirectNames:
    """The names of a set of tools, or of prompts, in a settled order: server by server as configured, then by name.

    A name is `server__tool` (see `wire_name`), or what the server calls it where its prefix is empty.

    Args:
        entries: Key, id of the server, the part of the name after the server's, and the server's own name of each.
        order: The servers' ids in their order.
        prefixes: What stands in place of the server's id; the empty one only where there is no other server.
    """

    def __init__(
        self,
        entries: Iterable[tuple[str, str, str, str]],
        order: Sequence[str],
        prefixes: Mapping[str, str],
    ) -> None:
        listed = list(entries)
        bare = {server for server, prefix in prefixes.items() if not prefix}
        wire = WireNames((f"{server}.{part}" for _, server, part, _ in listed if server not in bare), prefixes)
        rank = {server: place for place, server in enumerate(order)}
        self._rows = sorted(
            (rank.get(server, len(rank)), server, raw if server in bare else wire.name_of(f"{server}.{part}"), key)
            for key, server, part, raw in listed
        )
        self._keys = {name: key for _, _, name, key in self._rows}

    def __iter__(self) -> Iterator[tuple[int, str, str, str]]:
        """Rank and id of the server, name and key of each, in order."""
        return iter(self._rows)

    @cached_property
    def ids(self) -> frozenset[str]:
        """The public ids of all of them; one set, however many sessions remember it."""
        return frozenset(public_name(key) for _, _, _, key in self._rows)

    def key_of(self, name: str) -> str | None:
        """The key behind a name, or None."""
        return self._keys.get(name)
