"""Typed functions for scripts: the text of a `.pyi` or a `.d.ts` file for the tools that a script names."""

import json
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from toolcrib.schema.ids import parameter_identifiers
from toolcrib.schema.jsonvalues import is_object
from toolcrib.schema.shapes import (
    Either,
    Listed,
    Mapped,
    Members,
    Named,
    Options,
    Plain,
    Shapes,
    Type,
)
from toolcrib.schema.text import first_sentence

MOST_PARAMETERS = 300
"""Parameters of a tool that are written out."""
_PYTHON = {
    "any": "Any",
    "never": "Never",
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
_TYPESCRIPT = {
    "any": "any",
    "never": "never",
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
# A name is only there for a script that imports it, which Monty can't, if a stub has it under a name of its own.
_PYTHON_HEAD = (
    "from typing import Any, Literal, Never, NotRequired as NotRequired, overload as overload\n"
    "from typing_extensions import TypedDict as TypedDict\n"
)
_TYPESCRIPT_HEAD = """\
declare class ToolError extends Error { tool: string; data: any; }
declare function print(...values: any[]): void;
"""


@dataclass(frozen=True, slots=True)
class StubTool:
    """A tool as a stub needs it.

    Attributes:
        id: `server.tool`.
        input_schema: The schema of its arguments, whatever it is.
        output_schema: The schema of its structured result; None when there is none.
        description: What it does; its first sentence is shown.
        seen: The shape of earlier results, for a tool without an output schema.
    """

    id: str
    input_schema: object
    output_schema: object = None
    description: str = ""
    seen: str = ""

    @property
    def server(self) -> str:
        """The id of its server."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """Its own part of its id."""
        return self.id.partition(".")[2]


def python_stubs(tools: Iterable[StubTool], flat: Mapping[str, str] | None = None) -> str:
    """The text of a `.pyi` file: for each server an object, for each tool a method with keyword-only parameters.

    Names of types begin with `_`, so that no script sees them.

    Args:
        tools: The tools that a script names.
        flat: Functions without a namespace, each with the id of the tool behind it; they take one object too.
    """
    return _Python().text(list(tools), flat or {})


def typescript_stubs(tools: Iterable[StubTool], flat: Mapping[str, str] | None = None) -> str:
    """The text of a `.d.ts` file: for each server an object, for each tool a method with one object.

    Args:
        tools: The tools that a script names.
        flat: Functions without a namespace, each with the id of the tool behind it.
    """
    return _TypeScript().text(list(tools), flat or {})


class _Python:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._types: list[str] = []

    def text(self, tools: list[StubTool], flat: Mapping[str, str]) -> str:
        methods = {tool.id: self._method(tool) for tool in tools}
        lines: list[str] = []
        for server in dict.fromkeys(tool.server for tool in tools):
            own = [line for tool in tools if tool.server == server for line in methods[tool.id].lines("self")]
            lines += [f"class _{server}:", *(f"    {line}" for line in own), f"{server}: _{server}"]
        for name, tool_id in flat.items():
            if tool_id in methods:
                lines += methods[tool_id].flat(name)
        return "\n".join([_PYTHON_HEAD, *self._types, *lines, ""])

    def _method(self, tool: StubTool) -> "_Method":
        prefix = f"_{tool.server}__{tool.name}"
        shapes = Shapes(tool.input_schema, prefix, self._taken)
        members = shapes.members(tool.input_schema)
        renamed = parameter_identifiers([member.name for member in members.members])
        parameters: list[str] = []
        for member in sorted(members.members[:MOST_PARAMETERS], key=lambda member: not member.required):
            default = "" if member.required else " = ..."
            parameters.append(f"{renamed[member.name]}: {self._type(member.type)}{default}")
        schema = tool.input_schema
        # A schema that names no parameters at all allows all, and some servers write no more than that.
        is_open = (
            not members.members and is_object(schema) and not {"properties", "additionalProperties"} & schema.keys()
        )
        if members.rest is not None or is_open or len(members.members) > MOST_PARAMETERS:
            parameters.append("**more: Any")
        self._declare(shapes)
        result = "Any"
        if tool.output_schema is not None:
            shapes = Shapes(tool.output_schema, f"{prefix}__result", self._taken)
            result = self._type(shapes.of(tool.output_schema))
            self._declare(shapes)
        return _Method(tool, parameters, result)

    def _declare(self, shapes: Shapes) -> None:
        for name, shape in shapes.named.items():
            if isinstance(shape, Members):
                self._types += self._object(name, shape)
            else:
                self._types.append(f"type {name} = {self._type(shape)}")

    def _object(self, name: str, shape: Members) -> list[str]:
        members = {
            member.name: self._type(member.type) if member.required else f"NotRequired[{self._type(member.type)}]"
            for member in shape.members
        }
        extra = "" if shape.rest is None else f", extra_items={self._type(shape.rest)}"
        if all(_is_attribute(key) for key in members):
            body = [f"    {key}: {kind}" for key, kind in members.items()] or ["    pass"]
            return [f"class {name}(TypedDict{extra}):", *body]
        pairs = ", ".join(f"{_quoted(key)}: {kind}" for key, kind in members.items())
        return [f"{name} = TypedDict({_quoted(name)}, {{{pairs}}}{extra})"]

    def _type(self, shape: Type) -> str:
        match shape:
            case Plain(name):
                return _PYTHON[name]
            case Options(values):
                return f"Literal[{', '.join(_quoted(v) if isinstance(v, str) else repr(v) for v in values)}]"
            case Listed(item):
                return f"list[{self._type(item)}]"
            case Mapped(value):
                return f"dict[str, {self._type(value)}]"
            case Either(forms):
                return " | ".join(self._type(form) for form in forms)
            case Named(name):
                return name


@dataclass(frozen=True, slots=True)
class _Method:
    """A tool as a method of Python."""

    tool: StubTool
    parameters: list[str]
    result: str

    def lines(self, first: str) -> list[str]:
        """The method, with a docstring of one line."""
        head = f"async def {self.tool.name}({self._parameters(first)}) -> {self.result}:"
        doc = _docstring(first_sentence(self.tool.description))
        seen = [f"# seen before: {_one_line(self.tool.seen)}"] if self.tool.seen and self.result == "Any" else []
        return [*seen, head, f'    """{doc}"""'] if doc else [*seen, f"{head} ..."]

    def flat(self, name: str) -> list[str]:
        """The same as a function, which takes one object too."""
        return [
            "@overload",
            f"async def {name}({self._parameters('')}) -> {self.result}: ...",
            "@overload",
            f"async def {name}(arguments: dict[str, Any], /) -> {self.result}: ...",
        ]

    def _parameters(self, first: str) -> str:
        keywords = [part for part in self.parameters if not part.startswith("**")]
        star = ["*"] if keywords else []
        return ", ".join([*([first] if first else []), *star, *self.parameters])


class _TypeScript:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._types: list[str] = []

    def text(self, tools: list[StubTool], flat: Mapping[str, str]) -> str:
        methods = {tool.id: self._method(tool) for tool in tools}
        lines: list[str] = []
        for server in dict.fromkeys(tool.server for tool in tools):
            lines.append(f"interface _{server} {{")
            for tool in tools:
                if tool.server == server:
                    lines += [*_comment(tool), f"  {tool.name}{methods[tool.id]};"]
            lines += ["}", f"declare const {server}: _{server};"]
        lines += [f"declare function {name}{methods[own]};" for name, own in flat.items() if own in methods]
        return "\n".join([_TYPESCRIPT_HEAD, *self._types, *lines, ""])

    def _method(self, tool: StubTool) -> str:
        prefix = f"_{tool.server}__{tool.name}"
        shapes = Shapes(tool.input_schema, prefix, self._taken)
        members = shapes.members(tool.input_schema)
        optional = "" if any(member.required for member in members.members) else "?"
        arguments = self._members(members)
        self._declare(shapes)
        result = "any"
        if tool.output_schema is not None:
            shapes = Shapes(tool.output_schema, f"{prefix}__result", self._taken)
            result = self._type(shapes.of(tool.output_schema))
            self._declare(shapes)
        return f"(args{optional}: {arguments}): Promise<{result}>"

    def _declare(self, shapes: Shapes) -> None:
        for name, shape in shapes.named.items():
            text = self._members(shape) if isinstance(shape, Members) else self._type(shape)
            self._types.append(f"type {name} = {text};")

    def _members(self, shape: Members) -> str:
        parts = [
            f"{member.name if _is_attribute(member.name) and member.name.isascii() else _quoted(member.name)}"
            f"{'' if member.required else '?'}: {self._type(member.type)}"
            for member in shape.members
        ]
        if shape.rest is not None:
            # an index signature must allow what every member is
            parts.append("[key: string]: any")
        return f"{{ {'; '.join(parts)} }}" if parts else "{}"

    def _type(self, shape: Type) -> str:
        match shape:
            case Plain(name):
                return _TYPESCRIPT[name]
            case Options(values):
                return " | ".join(json.dumps(value) for value in values)
            case Listed(item):
                return f"Array<{self._type(item)}>"
            case Mapped(value):
                return f"Record<string, {self._type(value)}>"
            case Either(forms):
                return " | ".join(self._type(form) for form in forms)
            case Named(name):
                return name


def _comment(tool: StubTool) -> list[str]:
    text = _one_line(first_sentence(tool.description)).replace("*/", "* /")
    if tool.seen and tool.output_schema is None:
        text = f"{text} Seen before: {_one_line(tool.seen)}".replace("*/", "* /").strip()
    return [f"  /** {text} */"] if text else []


def _docstring(text: str) -> str:
    """A text that may stand between three quotes, on one line."""
    plain = _one_line(text).replace("\\", "\\\\").replace('"""', "'''")
    return f"{plain} " if plain.endswith('"') else plain


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _quoted(text: str) -> str:
    return json.dumps(text)


def _is_attribute(key: str) -> bool:
    """Whether a key can stand in the body of a class as it is; Python changes those that begin with `__`."""
    return key.isidentifier() and not keyword.iskeyword(key) and not key.startswith("__")
