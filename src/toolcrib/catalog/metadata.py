"""`ToolMetadata`: the name and description of a tool, without its schema."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolcrib.errors import UsageError


class NamedTool(Protocol):
    """What has a name and perhaps a description: the SDK's `Tool`, or ours."""

    @property
    def name(self) -> str:
        """The name on the wire."""
        ...

    @property
    def description(self) -> str | None:
        """The description, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """The name and description of a tool: all that a model sees before it asks for more.

    Equal and hashed by both fields.
    """

    name: str
    description: str = ""

    @classmethod
    def from_tool(cls, tool: NamedTool) -> "ToolMetadata":
        """The metadata of a tool object; a missing description becomes the empty string."""
        return cls(tool.name, tool.description or "")

    @classmethod
    def from_map(cls, mapping: Mapping[str, Any]) -> "ToolMetadata":
        """The metadata of a definition as parsed from JSON.

        Raises:
            UsageError: `name` is missing or no string.
        """
        name = mapping.get("name")
        if not isinstance(name, str):
            raise UsageError(f"A tool definition needs a string as its name, not {type(name).__name__}.")
        description = mapping.get("description")
        return cls(name, description if isinstance(description, str) else "")

    def to_json(self) -> dict[str, str]:
        """A new dict of exactly two members, `name` and `description`."""
        return {"name": self.name, "description": self.description}
