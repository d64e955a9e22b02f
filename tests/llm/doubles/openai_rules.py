"""What both of OpenAI's APIs refuse of tools, in the words of their refusals."""

import re
from collections.abc import Iterator
from typing import Any

from doubles.serving import Refusal

NAME = re.compile(r"[a-zA-Z0-9_-]+")
AT_ROOT = {"oneOf", "anyOf", "allOf", "enum", "const", "not"}


def refuse(
    message: str, code: str | None = None, param: str | None = None, status: int = 400, **headers: str
) -> Refusal:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Refusal(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})


def key(headers: dict[str, str]) -> None:
    if headers.get("authorization") != "Bearer key":
        raise refuse("Incorrect API key provided", "invalid_api_key", status=401)


def function(where: str, tool: dict[str, Any]) -> None:
    """The rules for one function."""
    name, schema = tool["name"], tool.get("parameters") or {}
    if not NAME.fullmatch(name):
        raise refuse(
            f"Invalid '{where}.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            "invalid_value",
        )
    if len(name) > 64:
        raise refuse(f"Invalid '{where}.name': string too long.", "string_above_max_length")
    if schema.get("type") != "object":
        raise refuse(
            f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: "
            f'"{schema.get("type")}"\'.',
            "invalid_function_parameters",
        )
    if AT_ROOT & set(schema):
        raise refuse(
            f"Invalid schema for function '{name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'"
            "/'enum'/'const'/'not' at the top level.",
            "invalid_function_parameters",
        )
    if any(each.get("type") == "array" and "items" not in each for each in _inner(schema)):
        raise refuse(
            f"Invalid schema for function '{name}': array schema missing items.", "invalid_function_parameters"
        )
    unknown = set(schema.get("required", [])) - set(schema.get("properties", {}))
    if unknown:
        raise refuse(
            f"Invalid schema for function '{name}': Extra required key {unknown}.", "invalid_function_parameters"
        )


def _inner(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and those in its properties, items and alternatives."""
    if isinstance(schema, dict):
        yield schema
        inner = [*schema.get("properties", {}).values(), schema.get("items"), *schema.get("anyOf", [])]
        for each in inner:
            yield from _inner(each)


def unique(names: list[str]) -> None:
    if len(set(names)) != len(names):
        raise refuse("Tool names must be unique.", "invalid_value")


def forced(choice: Any, names: list[str]) -> None:
    """The rules for a tool that has to be called: it must be one of those that are told of."""
    if isinstance(choice, dict):
        name = choice.get("name") or choice["function"]["name"]
        if choice["type"] != "function" or name not in names:
            raise refuse(f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice")
