"""What a script may call: the tools that its caller may know of, by namespace and as flat functions."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from toolcrib.catalog import Tool
from toolcrib.sandbox import Language, Names
from toolcrib.schema import Aliases
from toolcrib.scripts.builtin import BUILT_IN, built_in_stubs

Stubs = Callable[[Sequence[Tool], Mapping[str, Tool], Language], str]
"""The types of tools for a language: those in namespaces, and those that are called by a flat name."""

NO_FUNCTIONS: Mapping[str, str] = MappingProxyType({})

_DOTTED = re.compile(r"\b([A-Za-z_]\w*)\s*\.\s*([A-Za-z_]\w*)")
_WORD = re.compile(r"\w+")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_NEAR = 3


@dataclass(frozen=True, slots=True)
class Named:
    """What one script names.

    Attributes:
        names: What it may call, for the sandbox.
        flat: Tool id by each flat name in it.
    """

    names: Names
    flat: Mapping[str, str] = field(default_factory=dict[str, str])


class Naming:
    """Finds the names of scripts, over one set of tools.

    A tool is `server.tool(...)`, by the id that search prints, and `server_tool(...)` where that is clear; the
    second is how the protocol's guide for clients writes its example.

    Args:
        tools: Id and the server's own name of each tool, by server.
    """

    def __init__(self, tools: Mapping[str, Mapping[str, str]]) -> None:
        self._tools = tools
        self._namespaces = {server: frozenset(_names(server, ids)) for server, ids in tools.items()}
        self._flat = _flat(self._namespaces)
        self._aliases: Aliases | None = None

    def named(
        self,
        code: str,
        read: Callable[[str], Tool],
        stubs: Stubs,
        language: Language,
        more: Mapping[str, str] = NO_FUNCTIONS,
    ) -> Named:
        """What a script names.

        Args:
            code: The script.
            read: Gives a tool by its id.
            stubs: Makes the types; only of what the script names.
            language: What it is written in.
            more: Functions that this script has beside, each with its type; empty for one that is not checked.
        """
        flat = {name: self._flat[name] for name in _CALLED.findall(code) if name in self._flat}
        dotted = {
            f"{server}.{tool}"
            for server, tool in _DOTTED.findall(code)
            if tool in self._namespaces.get(server, frozenset())
        }
        typed = stubs(
            [read(each) for each in sorted(dotted)], {name: read(each) for name, each in flat.items()}, language
        )
        words = set(_WORD.findall(code))
        typed += built_in_stubs(words, language)
        named = {server: tools for server, tools in self._namespaces.items() if server in words}
        typed = "\n".join([typed, *more.values()]) if typed else typed
        return Named(Names(named, frozenset((*BUILT_IN, *flat, *more)), typed, self._hint), flat)

    def _hint(self, name: str) -> str:
        if self._aliases is None:
            self._aliases = Aliases(
                (each, server, raw) for server, ids in self._tools.items() for each, raw in ids.items()
            )
        near = self._aliases.near(name, limit=_NEAR)
        return f"Did you mean {' or '.join(near)}?" if near else "search_tools finds what there is."


def _names(server: str, ids: Iterable[str]) -> Iterable[str]:
    return (each.removeprefix(f"{server}.") for each in ids)


def _flat(namespaces: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Tool ids by their flat names, without those that could mean two tools or something built in."""
    found: dict[str, str] = {}
    doubtful: set[str] = set(BUILT_IN)
    for server, tools in namespaces.items():
        for tool in tools:
            name = f"{server}_{tool}"
            if name in found:
                doubtful.add(name)
            found[name] = f"{server}.{tool}"
    return {name: each for name, each in found.items() if name not in doubtful}
