"""What a tool is taken for: the part of its definition that is pinned, and how two of them differ."""

import difflib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from toolcrib.catalog import JsonObject, Tool
from toolcrib.hidden import visible

PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""The members that say what a tool is and does; icons and `_meta` say how it is shown or found."""

_MOST_DEPTH = 60
_MOST_DIFFERENCES = 200
_LONGEST = 400
_MOST_KEPT = 2_000

_Missing = Literal["missing"]
_MISSING: _Missing = "missing"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two definitions differ.

    Attributes:
        path: Where, as a JSON Pointer into the definition.
        kind: What happened to it.
        before: The value before; None where there was none.
        after: The value after; None where there is none.
    """

    path: str
    kind: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None

    def to_json(self) -> dict[str, object]:
        """Path and kind, and the values that there are."""
        body: dict[str, object] = {"path": self.path, "kind": self.kind}
        if self.kind != "added":
            body["before"] = self.before
        if self.kind != "removed":
            body["after"] = self.after
        return body

    def lines(self) -> list[str]:
        """The difference as a person reads it: the place, then what went behind `-` and what came behind `+`.

        Hidden text is shown, and what is very long is cut.
        """
        head = f"{self.path} {self.kind}:"
        if self.kind == "changed" and isinstance(self.before, str) and isinstance(self.after, str):
            before, after = visible(self.before).splitlines(), visible(self.after).splitlines()
            if before != after:
                changed = difflib.unified_diff(before, after, n=1, lineterm="")
                return [head, *(_cut(f"  {line}") for line in changed if line[:3] not in {"---", "+++", "@@ "})]
        lines = [head]
        if self.kind != "added":
            lines.append(_cut(f"  -{_compact(self.before)}"))
        if self.kind != "removed":
            lines.append(_cut(f"  +{_compact(self.after)}"))
        return lines


def pinned_part(definition: Mapping[str, Any]) -> JsonObject:
    """The members of a definition that are pinned."""
    return {member: definition[member] for member in PINNED if member in definition}


def definition_hash(definition: Mapping[str, Any]) -> str:
    """32 hex digits over the pinned part, whatever the order of members.

    A member that is nested too deeply for Python to write counts as such, whatever it holds.
    """
    part = pinned_part(definition)
    try:
        text = _canonical(part)
    except RecursionError:
        text = _canonical({member: _shallow(value) for member, value in part.items()})
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """In what the pinned parts of two definitions differ, member by member; at most some hundred."""
    found: list[Difference] = []
    for difference in _between(pinned_part(before), pinned_part(after), "", 0):
        found.append(difference)
        if len(found) == _MOST_DIFFERENCES:
            break
    return found


class Hashes:
    """The hash of each tool's definition, worked out once for each object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Tool, str]] = {}

    def of(self, tool: Tool) -> str:
        """See `definition_hash`."""
        known = self._known.get(tool.key)
        if known is not None and known[0] is tool:
            return known[1]
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        found = definition_hash(tool.definition)
        self._known[tool.key] = (tool, found)
        return found


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _shallow(value: object) -> object:
    try:
        _canonical(value)
    except RecursionError:
        return "nested too deeply"
    return value


def _between(before: Any, after: Any, path: str, depth: int) -> Iterator[Difference]:
    if before is _MISSING:
        yield Difference(path, "added", None, after)
    elif after is _MISSING:
        yield Difference(path, "removed", before)
    elif depth < _MOST_DEPTH and isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("JsonObject", before), cast("JsonObject", after)
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            yield from _between(old.get(key, _MISSING), new.get(key, _MISSING), place, depth + 1)
    elif not _same(cast("object", before), cast("object", after)):
        yield Difference(path, "changed", before, after)


def _same(before: object, after: object) -> bool:
    try:
        return _canonical(before) == _canonical(after)
    except RecursionError:
        return False


def _compact(value: object) -> str:
    try:
        return visible(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return "(nested too deeply)"


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
