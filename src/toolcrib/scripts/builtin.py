"""The functions that every script has beside the tools, and their types for the checker of each language."""

from collections.abc import Container

from toolcrib.sandbox import Language

_PYTHON = {
    "search_tools": "async def search_tools(query: str | dict[str, Any], limit: int = 8) -> list[dict[str, Any]]: ...",
    "get_tool_details": "async def get_tool_details(name: str | dict[str, Any]) -> dict[str, Any]: ...",
    "call_tool": "async def call_tool(name: str | dict[str, Any], arguments: dict[str, Any] | None = None) -> Any: ...",
    "mcp_list_resources": (
        "async def mcp_list_resources(server: str | dict[str, Any] | None = None) -> list[dict[str, Any]]: ..."
    ),
    "mcp_read_resource": (
        "async def mcp_read_resource(uri: str | dict[str, Any], server: str | None = None) -> list[dict[str, Any]]: ..."
    ),
    "show": "async def show(*blocks: Any) -> None: ...",
}
_TYPESCRIPT = {
    "search_tools": (
        "declare function search_tools(query: string | { query: string; limit?: number }, limit?: number):"
        " Promise<Array<{ id: string; signature: string; description: string }>>;"
    ),
    "get_tool_details": "declare function get_tool_details(name: string | { name: string }): Promise<any>;",
    "call_tool": (
        "declare function call_tool(name: string | { name: string; arguments?: object }, args?: object): Promise<any>;"
    ),
    "mcp_list_resources": (
        "declare function mcp_list_resources(server?: string | { server?: string }): Promise<Array<any>>;"
    ),
    "mcp_read_resource": (
        "declare function mcp_read_resource(uri: string | { uri: string; server?: string }, server?: string):"
        " Promise<Array<any>>;"
    ),
    "show": "declare function show(...blocks: any[]): Promise<void>;",
}

BUILT_IN = tuple(_PYTHON)
"""Functions that every script has beside the tools."""


def built_in_stubs(words: Container[str], language: Language) -> str:
    """The types of the functions among these words.

    Args:
        words: The words of a script.
        language: What it is written in.
    """
    declared = _PYTHON if language == "python" else _TYPESCRIPT
    return "".join(f"{text}\n" for name, text in declared.items() if name in words)
