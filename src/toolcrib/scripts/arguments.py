"""Arguments of a script's call as the object that a tool takes."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolcrib.catalog import JsonObject, Tool
from toolcrib.sandbox import CallError


def as_object(tool: Tool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> JsonObject:
    """The arguments by name: given so, as Python writes it, or as one object, as TypeScript does.

    Args:
        tool: The tool.
        args: Arguments without a name.
        kwargs: Arguments by name.

    Raises:
        CallError: There are others without a name.
    """
    if not args:
        return dict(kwargs)
    if len(args) == 1 and not kwargs and isinstance(args[0], dict):
        return dict(cast("JsonObject", args[0]))
    properties = tool.input_schema.get("properties")
    names = ", ".join(cast("JsonObject", properties)) if isinstance(properties, dict) else ""
    raise CallError(f"{tool.id} takes its arguments by name: {names or 'none'}.", kind="TypeError", tool=tool.id)
