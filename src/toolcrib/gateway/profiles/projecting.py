"""What goes into a list for a client of one revision: whatever that revision can't carry is left out of its entry
alone, so that no entry fails a list.

Clients read a list through the models of their revision, and refuse all of it where one entry does not fit.
"""

import logging
from collections.abc import Sequence
from typing import Any, cast

from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolcrib.catalog import LIST_MEMBERS, JsonObject, ListMethod

logger = logging.getLogger(__name__)

_ENVELOPE: JsonObject = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

_MOST_ROUNDS = 8
"""Members of one entry that are looked at, one after the other."""


def fitting(method: ListMethod, entries: Sequence[JsonObject], version: str) -> list[JsonObject]:
    """The entries as a client of that revision can read them; one that can't be made to fit is left out.

    Args:
        method: What is listed.
        entries: As the servers sent them; they are not changed.
        version: The client's revision.
    """
    if _problem(method, entries, version) is None:
        return list(entries)
    fitted = (_fitted(method, entry, version) for entry in entries)
    return [entry for entry in fitted if entry is not None]


def _fitted(method: ListMethod, entry: JsonObject, version: str) -> JsonObject | None:
    for _ in range(_MOST_ROUNDS):
        path = _problem(method, [entry], version)
        if path is None:
            return entry
        if not path:
            break
        if path[0] == "inputSchema":
            entry = {**entry, "inputSchema": _object_schema(entry.get("inputSchema"))}
        else:
            entry = {name: value for name, value in entry.items() if name != path[0]}
    logger.warning("An entry of %s can't be shown to a client of %s: %r", method, version, entry.get("name"))
    return None


def _object_schema(schema: Any) -> JsonObject:
    """A schema of arguments that each revision can carry: as it was, where it is an object that only says nothing
    of its type, else one that lets everything through."""
    if isinstance(schema, dict) and "type" not in schema:
        return {**cast("JsonObject", schema), "type": "object"}
    return {"type": "object"}


def _problem(method: ListMethod, entries: Sequence[JsonObject], version: str) -> list[Any] | None:
    """Where the first entry that does not fit goes wrong, member by member; None where all fit."""
    member = LIST_MEMBERS[method]
    result: JsonObject = {member: list(entries)}
    if version in MODERN_PROTOCOL_VERSIONS:
        result = {**_ENVELOPE, **result}
    try:
        methods.parse_server_result(method, version, result)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            path = list(problem["loc"])
            if member in path:
                return path[path.index(member) + 2 :]
        return []
    return None
