"""Names: ids that had to be told apart, names that several servers use, servers that are configured twice."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolcrib.catalog import Tool
from toolcrib.doctor.finding import Finding, counted, listed
from toolcrib.errors import shown
from toolcrib.schema.ids import short_hash

CHECK = "names"

_DIGITS = (6, 12, 24, 48)
_SHOWN = 10


def check_server_names(ids: Mapping[str, str]) -> Iterator[Finding]:
    """Keys of the configuration that look alike, so that their ids carry a hash.

    Args:
        ids: Server ids by key.
    """
    for key, server in ids.items():
        if _is_hashed(server, key):
            message = f"{shown(key)} has the id {server}, since another key is spelled nearly the same or it is long."
            yield Finding(CHECK, "note", server, message, "A key of its own gives it a readable id.")


def check_tool_names(server: str, tools: Sequence[Tool]) -> Iterator[Finding]:
    """Tools of one server whose names differ only in case or punctuation, or whose ids carry a hash."""
    hashed = [tool.id for tool in tools if _is_hashed(tool.id, tool.name)]
    if hashed:
        message = f"Ids with a hash, since the names clash as identifiers or are very long: {listed(hashed)}."
        yield Finding(CHECK, "note", server, message, details=tuple(hashed) if len(hashed) > 1 else ())
    alike = [names for names in _folded([tool.name for tool in tools]).values() if len(names) > 1]
    if alike:
        pairs = [" = ".join(names) for names in alike]
        message = f"Names that differ only in case or punctuation: {listed(pairs)}."
        yield Finding(CHECK, "note", server, message, "Models mix such names up; `toolcrib.deny` hides one.")


def check_shared_names(names: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Names that several servers use, and servers that list the same tools.

    Args:
        names: The raw names of each server's tools, by server id.
    """
    same: dict[frozenset[str], list[str]] = {}
    for server, listing in names.items():
        if listing:
            same.setdefault(frozenset(listing), []).append(server)
    twins = [servers for servers in same.values() if len(servers) > 1]
    for servers in twins:
        message = f"{' and '.join(servers)} list tools of the same names."
        yield Finding(CHECK, "warning", None, message, "If it is one server configured twice, remove one entry.")
    copies = {server for servers in twins for server in servers[1:]}
    owners: dict[str, list[tuple[str, str]]] = {}
    for server, listing in names.items():
        for folded, spelled in _folded(listing if server not in copies else ()).items():
            owners.setdefault(folded, []).append((server, spelled[0]))
    shared = sorted((each for each in owners.values() if len(each) > 1), key=lambda each: -len(each))
    if shared:
        some = [f"{each[0][1]} ({listed([server for server, _ in each])})" for each in shared]
        message = f"{counted(len(shared), 'name')} in several servers: {listed(some, 3)}."
        hint = "A call must name the server, as ids do; a description of each server helps a model to choose."
        yield Finding(CHECK, "note", None, message, hint, tuple(some[:_SHOWN]))


def _folded(names: Iterable[str]) -> dict[str, list[str]]:
    """Names by what is left of them without case and punctuation."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault("".join(char for char in name.lower() if char.isalnum()) or name, []).append(name)
    return groups


def _is_hashed(made: str, source: str) -> bool:
    return any(made.endswith(f"_{short_hash(source, digits)}") for digits in _DIGITS)
