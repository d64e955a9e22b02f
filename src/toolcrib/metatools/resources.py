"""`mcp_list_resources` and `mcp_read_resource`: resources of all servers as tools."""

from typing import TYPE_CHECKING

from toolcrib.catalog import JsonObject
from toolcrib.metatools.formatting import BRIEF_CHARACTERS
from toolcrib.schema import first_sentence

if TYPE_CHECKING:
    from toolcrib.crib.resources import Resource, Resources

LIST_RESOURCES = "mcp_list_resources"
READ_RESOURCE = "mcp_read_resource"

PAGE = 50
"""Resources in one answer."""


def resource_tools() -> list[JsonObject]:
    """The definitions of both."""
    server: JsonObject = {"type": "string", "description": "Only of this server"}
    marks = {"readOnlyHint": True, "openWorldHint": True}
    return [
        {
            "name": LIST_RESOURCES,
            "description": "List what the servers offer to read: documents, records, templates of their addresses.",
            "inputSchema": {
                "type": "object",
                "properties": {"server": server, "offset": {"type": "integer", "minimum": 0}},
            },
            "annotations": {"title": "List resources", **marks},
        },
        {
            "name": READ_RESOURCE,
            "description": "Read a resource, by its URI or by its name.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "uri": {"type": "string", "description": "Its URI; of a template, with the variables filled in"},
                    "name": {"type": "string", "description": "Or its name"},
                    "server": server,
                },
            },
            "annotations": {"title": "Read a resource", **marks},
        },
    ]


def resources_text(resources: "Resources", offset: int) -> str:
    """A page of resources, one on a line, with what is left."""
    page = resources.found[offset : offset + PAGE]
    lines = [_line(each) for each in page] or ["No server offers anything to read."]
    left = len(resources.found) - offset - len(page)
    if left > 0:
        lines.append(f"{left} more from offset {offset + len(page)} on.")
    if resources.failed:
        lines.append(f"Could not be asked: {', '.join(resources.failed)}.")
    return "\n".join(lines)


def _line(resource: "Resource") -> str:
    about = first_sentence(str(resource.definition.get("description") or ""), BRIEF_CHARACTERS)
    kind = resource.definition.get("mimeType")
    head = f"{resource.server}: {resource.uri}"
    name = f" ({resource.name}{f', {kind}' if kind else ''})" if resource.name else f" ({kind})" if kind else ""
    return f"{head}{name}{f': {about}' if about else ''}"
