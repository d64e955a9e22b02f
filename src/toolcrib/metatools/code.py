"""`run_code`: what a model reads of the tool that runs scripts."""

from collections.abc import Iterable

from toolcrib.catalog import JsonObject

RUN_CODE = "run_code"

_ABOUT = (
    "Run a script over the tools, in place of many calls: what it loops over, filters and joins stays out of the "
    "conversation; what it prints and its last expression come back. A tool is an async function by its id: await "
    "tickets.get_ticket(ticket='WEB-1'); several at once with asyncio.gather. A result is its structured content, else "
    "parsed JSON or text; a failed call raises ToolError (.message .tool .data). Async too: search_tools(query), "
    "get_tool_details(id), call_tool(id, arguments), show(block). No files, network, packages, yield or inheritance."
)
_LAST = "show(block)"
_EXTRACT = "extract(value, shape) (a small model reads data out; shape: TypedDict, type or JSON Schema)"


def run_code_tool(languages: Iterable[str], *, extract: bool = False) -> JsonObject:
    """The definition of the tool that runs scripts.

    Args:
        languages: What scripts may be written in, the default first.
        extract: Whether scripts have the function `extract`.
    """
    known = list(languages)
    properties: JsonObject = {"code": {"type": "string", "description": f"The script, in {known[0].capitalize()}"}}
    if len(known) > 1:
        properties["code"] = {"type": "string"}
        properties["language"] = {"type": "string", "enum": known, "description": f"{known[0]} unless set"}
    properties["retry_of"] = {
        "type": "string",
        "description": "A failed run's id: calls with effects that it made are not made again",
    }
    return {
        "name": RUN_CODE,
        "description": _ABOUT.replace(_LAST, f"{_LAST}, {_EXTRACT}") if extract else _ABOUT,
        "inputSchema": {"type": "object", "properties": properties, "required": ["code"]},
        "annotations": {"title": "Run a script", "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    }
