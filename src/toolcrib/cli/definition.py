"""A tool's definition as a person reads it."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.cli.streams import print_text
from toolcrib.cli.tables import print_styled, print_table

if TYPE_CHECKING:
    from toolcrib.broker import Effect
    from toolcrib.catalog import Tool

ABOUT_CHARACTERS = 120
_HINTS = {
    ("readOnlyHint", True): "it only reads",
    ("readOnlyHint", False): "it may change things",
    ("destructiveHint", True): "it may destroy things",
    ("destructiveHint", False): "it only adds",
    ("idempotentHint", True): "a repeated call changes nothing more",
    ("idempotentHint", False): "each call has its effect",
    ("openWorldHint", True): "it reaches the outside world",
    ("openWorldHint", False): "it stays in its own world",
}
"""The annotations of the protocol (2026-07-28, schema, ToolAnnotations) in words."""


def about(tool: "Tool") -> str:
    """What a tool does, in one sentence."""
    from toolcrib.schema import first_sentence

    return first_sentence(tool.description, ABOUT_CHARACTERS) or tool.title


def print_definition(tool: "Tool", effect: "Effect", why: str = "", *, schema: bool = False) -> None:
    """Print what one needs to know to call a tool.

    Args:
        tool: The tool.
        effect: What a call of it may do.
        why: What tells so.
        schema: Also print its schemas, as they were sent.
    """
    from toolcrib.metatools import tool_remarks, tool_signature

    remarks = tool_remarks(tool, changed=False)

    print_styled((tool.id, "bold"), f"  {tool.title}" if tool.title else "")
    print_text()
    print_styled((tool_signature(tool), "cyan"), indent=2)
    for remark in remarks:
        print_styled((remark, "bold red"), indent=2)
    if tool.description:
        print_text()
        print_styled(tool.description.strip("\n"), indent=2)
    rows = list(_parameters(tool.input_schema))
    if rows:
        print_text()
        print_table(("parameter", "type", "", "about"), rows, prose=(3,))
    if annotations := ", ".join(_annotations(tool.annotations)):
        print_text()
        print_styled(("The server says: ", "bold"), annotations)
    print_text()
    print_styled(("Effect: ", "bold"), f"{effect} ({why})" if why else effect)
    print_text()
    print_styled(("Example:", "bold"))
    print_text(f"  {example_line(tool)}")  # left to the terminal to wrap, so that it can be copied
    if schema:
        _print_schema("Input schema", tool.input_schema)
        if tool.output_schema is not None:
            _print_schema("Output schema", tool.output_schema)


def example_line(tool: "Tool") -> str:
    """A command line that calls the tool, with made-up values."""
    import shlex

    from toolcrib.schema import example_call

    words = ["toolcrib", "call", tool.id]
    for name, value in example_call(tool.input_schema).items():
        if "=" in name or name.endswith(":") or name.startswith(("-", "{")):
            return shlex.join([*words[:3], "--args", json.dumps(example_call(tool.input_schema))])
        if isinstance(value, str):
            words.append(f"{name}={value}")
        else:
            words.append(f"{name}:={json.dumps(value, ensure_ascii=False)}")
    return shlex.join(words)


def _parameters(schema: object) -> Iterator[tuple[str, str, str, str]]:
    """Name, type, whether it is required, and description of each declared parameter."""
    from toolcrib.schema import type_name
    from toolcrib.schema.jsonvalues import is_object
    from toolcrib.schema.refs import declared

    if not is_object(schema):
        return
    required: Any = schema.get("required")
    for name, parameter in declared(schema, schema).items():
        description = parameter.get("description") if is_object(parameter) else None
        needed = isinstance(required, list) and name in required
        about = description if isinstance(description, str) else ""
        yield name, type_name(parameter, schema), "required" if needed else "", about


def _annotations(annotations: Mapping[str, Any]) -> Iterator[str]:
    reads = annotations.get("readOnlyHint") is True
    for name, value in annotations.items():
        # The protocol gives these two a meaning for tools that change something.
        if name == "title" or (reads and name in {"destructiveHint", "idempotentHint"}):
            continue
        known = _HINTS.get((name, value)) if isinstance(value, bool) else None
        yield known or f"{name} {json.dumps(value, ensure_ascii=False)}"


def _print_schema(title: str, schema: object) -> None:
    print_text()
    print_styled((title, "bold"))
    print_styled(json.dumps(schema, ensure_ascii=False, indent=2), indent=2)
