"""Names for a provider's `tools` array: `server__tool`, short, plain, unique and reversible."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from toolcrib.schema.ids import NOTHING, hashed

MAX_WIRE_NAME = 64
"""Characters that the OpenAI, Anthropic and Gemini APIs all allow in the name of a tool."""

_NOT_WIRE = re.compile(r"[^A-Za-z0-9_-]")


def wire_name(server_id: str, tool_name: str) -> str:
    """`server__tool` in at most 64 of `[A-Za-z0-9_-]`.

    A name that doesn't fit so is cut and cleaned, and gets a short hash of the whole.
    """
    full = f"{server_id}__{tool_name}"
    plain = _NOT_WIRE.sub("_", full)
    if plain == full and len(full) <= MAX_WIRE_NAME:
        return full
    return hashed(plain, f"{server_id}.{tool_name}", MAX_WIRE_NAME)


class WireNames:
    """The names of a set of tools on a provider's wire, in both directions.

    Where two ids would share a name, both get a hash; the names don't depend on the order of the ids.

    Args:
        ids: Tool ids, `server.tool`.
        prefixes: What stands before the tool's name in place of its server's id, by that id.
    """

    def __init__(self, ids: Iterable[str], prefixes: Mapping[str, str] = NOTHING) -> None:
        wanted: defaultdict[str, list[str]] = defaultdict(list)
        for tool_id in dict.fromkeys(ids):
            server, _, tool = tool_id.partition(".")
            wanted[wire_name(prefixes.get(server, server), tool)].append(tool_id)
        self._ids = {name: group[0] for name, group in wanted.items() if len(group) == 1}
        for name, group in sorted(wanted.items()):
            for tool_id in sorted(group) if len(group) > 1 else ():
                self._ids[hashed(name, tool_id, MAX_WIRE_NAME, self._ids)] = tool_id
        self._names = {tool_id: name for name, tool_id in self._ids.items()}

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    @property
    def ids(self) -> Collection[str]:
        """The tool ids."""
        return self._names.keys()

    def name_of(self, tool_id: str) -> str:
        """The name on the wire of a tool id. Raises KeyError for an id that was not given."""
        return self._names[tool_id]

    def id_of(self, name: str) -> str | None:
        """The tool id behind a name on the wire, or None."""
        return self._ids.get(name)
