"""Ids of servers, tools and parameters: identifiers made from names that others chose."""

import hashlib
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from toolcrib.schema.reserved import SERVER_IDS

MAX_SERVER_ID = 64
"""Characters of a server id at most."""
MAX_TOOL_NAME = 128
"""Characters of the part of a tool id after the dot, and of a parameter's identifier, at most."""
NOTHING: Mapping[str, str] = MappingProxyType({})

_SERVER_ID = re.compile(r"[a-z][a-z0-9_]*")
_NOT_SERVER = re.compile(r"[^a-z0-9]+")
_NOT_WORD = re.compile(r"\W")
_COMPARISONS = str.maketrans({"<": "_lt", ">": "_gt"})


def server_ids(keys: Iterable[str]) -> dict[str, str]:
    """The id of each configured server: its key as a lower-case identifier `[a-z][a-z0-9_]*`.

    The ids depend on the set of keys, never on their order. A key that already is an id keeps it. Where
    several others would get one id, each gets a short hash of its key, so that adding or removing a
    server never gives an id to another server, with one exception: a key added later that is exactly
    the id so far used for a key of other spelling takes that id, and the other gets a hash.

    Args:
        keys: Keys of the configuration; at most 64 characters of one are used.

    Returns:
        Each distinct key with its id, in the order given.
    """
    return _assign(dict.fromkeys(keys), _server_identifier, MAX_SERVER_ID, frozenset())


def tool_ids(server_id: str, raw_names: Iterable[str], previous: Mapping[str, str] = NOTHING) -> dict[str, str]:
    """The id of each of a server's tools: `server.tool`, with the tool's name made an identifier.

    The tool part is a Python identifier in normal form NFKC, case kept; any other character becomes `_`,
    a keyword gets a trailing `_`. On a collision the raw name that already is that identifier keeps it,
    and all others get a short hash of their raw name.

    What is promised: an id that was printed once is never the id of another tool. A tool's id may get a
    hash when a tool of similar name appears; the id without it then belongs to nobody. From the present
    names alone this holds except where a server adds a tool that is named exactly as the id of an older
    one (`a_b` beside `a-b`); with the ids handed out before in `previous` it holds there too, and ids
    don't change at all.

    Args:
        server_id: Id of the server, from `server_ids`.
        raw_names: Names on the wire; of equal ones the first counts.
        previous: Ids handed out earlier by raw name, also of tools that are gone.

    Returns:
        Each distinct raw name with its id, in the order given.
    """
    head = f"{server_id}."
    names = dict.fromkeys(raw_names)
    kept = {raw: previous[raw] for raw in names if raw in previous}
    taken = frozenset(used.removeprefix(head) for used in previous.values())
    fresh = _assign([raw for raw in names if raw not in kept], _python_identifier, MAX_TOOL_NAME, taken)
    return {raw: kept[raw] if raw in kept else head + fresh[raw] for raw in names}


def parameter_identifiers(names: Iterable[str]) -> dict[str, str]:
    """A Python identifier for each parameter name: `from` → `from_`, `auth-method` → `auth_method`.

    A name that is an identifier stays. `<` and `>` are spelled out, since APIs put them at the end of a
    name to compare (`DateCreated>` → `DateCreated_gt`). Names that would be equal get a short hash.

    Args:
        names: Parameter names on the wire.

    Returns:
        Each distinct name with its identifier, in the order given.
    """
    return _assign(dict.fromkeys(names), _parameter_identifier, MAX_TOOL_NAME, frozenset())


def short_hash(text: str, digits: int = 6) -> str:
    """The first hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def hashed(text: str, source: str, limit: int, taken: Iterable[str] = ()) -> str:
    """`text` with a short hash of `source` at its end, within `limit` characters and not in `taken`."""
    result = text
    for digits in (6, 12, 24, 48):
        result = f"{text[: limit - digits - 1].rstrip('_')}_{short_hash(source, digits)}"
        if result not in taken:
            break
    return result


def _assign(
    names: Iterable[str], identifier: Callable[[str], str], limit: int, taken: frozenset[str]
) -> dict[str, str]:
    wanted = {name: identifier(name) for name in names}
    asked = Counter(wanted.values())
    result: dict[str, str] = {}
    for name, wish in wanted.items():
        if len(wish) <= limit and wish not in taken and (asked[wish] == 1 or wish == name):
            result[name] = wish
    used = {*taken, *result.values()}
    for name in sorted(wanted.keys() - result.keys()):
        result[name] = hashed(wanted[name], name, limit, used)
        used.add(result[name])
    return {name: result[name] for name in wanted}


def _server_identifier(key: str) -> str:
    name = key
    if not _SERVER_ID.fullmatch(name):
        name = _NOT_SERVER.sub("_", name.lower()).strip("_") or "server"
        if not name[0].isalpha():
            name = f"s_{name}"
    return f"{name}_" if name in SERVER_IDS else name


def _python_identifier(name: str) -> str:
    result = _NOT_WORD.sub("_", unicodedata.normalize("NFKC", name))
    if not f"_{result}".isidentifier():
        # \w is wider than what Python allows: circled digits, some marks
        result = "".join(char if f"_{char}".isidentifier() else "_" for char in result)
    if not result.isidentifier():
        result = f"_{result}"
    if keyword.iskeyword(result) or (result.startswith("__") and result.endswith("__")):
        result = f"{result}_"
    return result


def _parameter_identifier(name: str) -> str:
    return _python_identifier(name.translate(_COMPARISONS))
