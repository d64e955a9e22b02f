"""Arguments of a script's call as the object that a tool takes."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from toolcrib.catalog import JsonObject, Tool
from toolcrib.sandbox import CallError
from toolcrib.schema import parameter_identifiers


def as_object(tool: Tool, args: Sequence[Any], kwargs: Mapping[str, Any]) -> JsonObject:
    """The arguments by name.

    A single object in place of arguments by name is taken for all of them, as TypeScript writes it; other
    arguments without a name take the places of the parameters in the order of the schema.

    Args:
        tool: The tool.
        args: Arguments without a name.
        kwargs: Arguments by name.

    Raises:
        CallError: There are too many, or one comes twice.
    """
    if not args:
        return dict(kwargs)
    properties = _properties(tool)
    if len(args) == 1 and not kwargs and _is_all(args[0], properties):
        return dict(cast("JsonObject", args[0]))
    if len(args) > len(properties):
        text = f"{tool.id} takes {len(properties)} arguments, not {len(args)}: {', '.join(properties) or 'none'}."
        raise CallError(text, kind="TypeError", tool=tool.id)
    placed = dict(zip(properties, args, strict=False))
    identifiers = parameter_identifiers(properties)
    twice = [name for name in placed if name in kwargs or identifiers[name] in kwargs]
    if twice:
        raise CallError(f"{tool.id} got {twice[0]} twice.", kind="TypeError", tool=tool.id)
    return {**placed, **kwargs}


def _properties(tool: Tool) -> list[str]:
    properties = tool.input_schema.get("properties")
    return list(cast("JsonObject", properties)) if isinstance(properties, dict) else []


def _is_all(value: Any, properties: Sequence[str]) -> bool:
    """Whether an object holds arguments by name, rather than being the first of them."""
    if not isinstance(value, dict):
        return False
    known = {*properties, *parameter_identifiers(properties).values()}
    return not properties or not value or any(name in known for name in cast("JsonObject", value))
