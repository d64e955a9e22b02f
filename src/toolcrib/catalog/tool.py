"""`Tool`: one tool of one source, with the definition as its server sent it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.catalog.parts import part_name

JsonObject = dict[str, Any]
"""A JSON object as parsed: members in the order of the text, nothing dropped or renamed."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of one source.

    Attributes:
        id: `server.tool`, the only name that a model sees.
        server: Id of the source.
        name: The tool's name on the wire, as the server spells it.
        definition: The whole definition as the server sent it: never changed, never trimmed.
        owner: The principal that it is listed to alone; empty where it is not one's own.
    """

    id: str
    server: str
    name: str
    definition: JsonObject
    owner: str = ""

    @property
    def key(self) -> str:
        """What it goes by in the catalog: its id, and whose it is."""
        return part_name(self.id, self.owner)

    @property
    def title(self) -> str:
        """The display title, from `title` or else `annotations.title`; empty when there is none."""
        title = self.definition.get("title")
        if not isinstance(title, str) or not title:
            title = self.annotations.get("title")
        return title if isinstance(title, str) else ""

    @property
    def description(self) -> str:
        """The description; empty when the server sent none."""
        text = self.definition.get("description")
        return text if isinstance(text, str) else ""

    @property
    def input_schema(self) -> Any:
        """The schema of the arguments as sent, whatever it is; `{"type": "object"}` when missing or null."""
        schema = self.definition.get("inputSchema")
        return {"type": "object"} if schema is None else schema

    @property
    def output_schema(self) -> Any:
        """The schema of the structured result as sent, or None."""
        return self.definition.get("outputSchema")

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations; empty when missing or not an object."""
        return _mapping(self.definition.get("annotations"))

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` object; empty when missing or not an object."""
        return _mapping(self.definition.get("_meta"))


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
