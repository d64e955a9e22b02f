"""Whether a request begins as the last one did: what precedes the newest turn is what vendors cache."""

import json
from collections.abc import Mapping
from typing import Any, cast

from toolcrib.catalog import JsonObject

_MESSAGES = ("messages", "input", "contents")
"""Under which name each vendor's requests have the conversation."""

_CHOICES = ("tool_choice", "toolConfig")
"""Whether tools may be called: asked anew with each request, and no part of what is told."""

_MODEL_ROLES = ("assistant", "model")


def first_difference(earlier: JsonObject, later: JsonObject, *, mended: int = 0) -> str | None:
    """Where a request of a conversation first differs from what the last one had; None where it goes on from it.

    Texts count by their bytes, members by their order too. Marks that say what a vendor is to cache move from request
    to request, and don't count; neither does the choice of tools.

    Args:
        earlier: The payload of a request (`Provider.payload`).
        later: The payload of the next one.
        mended: How many turns at the end of the earlier one held nothing but calls that were mended since, and stay
            out of the conversation.

    Returns:
        A JSON pointer into the payloads, such as `/messages/2/content/0/text`.
    """
    before, after = cast("JsonObject", _unmarked(earlier)), cast("JsonObject", _unmarked(later))
    for name in _CHOICES:
        before.pop(name, None)
        after.pop(name, None)
    for name in _MESSAGES:
        if isinstance(before.get(name), list) and isinstance(after.get(name), list):
            before[name] = _settled(before[name], mended)
            after[name] = after[name][: len(before[name])]
    return _difference(before, after, "")


def _settled(items: list[Any], turns: int) -> list[Any]:
    """The items without the last turns of the model's and what answers them."""
    end = len(items)
    for _ in range(turns):
        while end and not _is_of_model(items[end - 1]):
            end -= 1
        while end and _is_of_model(items[end - 1]):
            end -= 1
    return items[:end]


def _is_of_model(item: Mapping[str, Any]) -> bool:
    if "role" in item:
        return item["role"] in _MODEL_ROLES
    return not str(item.get("type", "")).endswith("_output")


def _unmarked(value: Any) -> Any:
    """A copy without the marks of Anthropic's cache; a tool's parameter may have their name, but not their value."""
    if isinstance(value, dict):
        members = cast("JsonObject", value)
        return {name: _unmarked(each) for name, each in members.items() if not _is_mark(name, each)}
    return [_unmarked(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def _is_mark(name: str, value: Any) -> bool:
    return name == "cache_control" and isinstance(value, dict) and cast("JsonObject", value).get("type") == "ephemeral"


def _difference(before: Any, after: Any, path: str) -> str | None:
    if json.dumps(before) == json.dumps(after):
        return None
    if isinstance(before, dict) and isinstance(after, dict):
        ours, theirs = cast("JsonObject", before), cast("JsonObject", after)
        for name in ours:
            here = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in theirs:
                return here
            if (found := _difference(ours[name], theirs[name], here)) is not None:
                return found
        added = next((name for name in theirs if name not in ours), None)
        return path if added is None else f"{path}/{added}"  # the same members in another order
    if isinstance(before, list) and isinstance(after, list):
        mine, others = cast("list[Any]", before), cast("list[Any]", after)
        for place, (one, other) in enumerate(zip(mine, others, strict=False)):
            if (found := _difference(one, other, f"{path}/{place}")) is not None:
                return found
        return f"{path}/{min(len(mine), len(others))}"
    return path
