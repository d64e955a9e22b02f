"""The constant tools that a model sees, built from configured text only.

The same configuration and principal give the same bytes, whatever the servers say or do: a changed definition
would cost every conversation its prompt cache, and a server's own words have no place in a description that
the model trusts.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from toolcrib.catalog import JsonObject
from toolcrib.metatools.code import run_code_tool
from toolcrib.metatools.resources import resource_tools
from toolcrib.tokens import counter

SEARCH_TOOLS = "search_tools"
GET_TOOL_DETAILS = "get_tool_details"
CALL_TOOL = "call_tool"
READ_RESULT = "read_result"
READ_TOOL = "read_tool"
SEARCH_SERVERS = "search_available_servers"
ENABLE_SERVER = "enable_server"
DISABLE_SERVER = "disable_server"

DETAILS = ("name", "brief", "signature", "full")
"""How much a search says of each hit."""

MOST_HITS = 50

_CALL: JsonObject = {
    "name": {"type": "string", "description": "The tool's id"},
    "arguments": {
        "type": "object",
        "additionalProperties": True,
        "description": "The tool's arguments by name",
    },
}

_count = counter("estimate").count
"""An estimate, so that the definitions don't depend on which counter is installed, and because the vocabulary of
an exact one takes 0.6 s and 64 MB to load, more than all else that a first `tools/list` needs."""


def meta_tools(
    servers: Iterable[tuple[str, str]],
    *,
    token_budget: int,
    dynamic: bool = False,
    split: bool = False,
    languages: Sequence[str] = (),
    extract: bool = False,
    resources: bool = False,
) -> list[JsonObject]:
    """The definitions of the meta-tools.

    Args:
        servers: Id and configured description of each visible server, in the order of the configuration.
        token_budget: Most tokens that the servers' names and descriptions may take.
        dynamic: Whether those for servers that are off are among them.
        split: Whether there is one for calls that only read, beside the one for all calls.
        languages: What scripts may be written in, the default first; without any, there is none that runs them.
        extract: Whether scripts may extract by a small model.
        resources: Whether those that list and read resources are among them.
    """
    return [
        _search_tool(servers, token_budget),
        _details_tool(),
        _call_tool(),
        _result_tool(),
        *([run_code_tool(languages, extract=extract)] if languages else []),
        *([_read_tool()] if split else []),
        *(resource_tools() if resources else []),
        *(_server_tools() if dynamic else []),
    ]


def _search_tool(servers: Iterable[tuple[str, str]], token_budget: int) -> JsonObject:
    return _tool(
        SEARCH_TOOLS,
        "Find tools by what they do. Search before you say that something can't be done. One action a line: "
        'each line is searched for itself, such as "create an issue". `select:id,id` shows tools whose ids '
        "you know; an empty query lists the servers. Found ids are used as they are in call_tool and "
        f"{GET_TOOL_DETAILS}.{_servers_line(servers, token_budget)}",
        {
            "query": {"type": "string", "description": "What to do, in words; one action a line"},
            "server": {"type": "string", "description": "Only tools of this server"},
            "tag": {"type": "string", "description": "Only tools with this tag"},
            "read_only": {"type": "boolean", "description": "Only tools that change nothing"},
            "detail": {
                "type": "string",
                "enum": list(DETAILS),
                "description": "How much to say of each tool; signature unless set",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_HITS,
                "description": "8 unless set",
            },
            "cursor": {"type": "string", "description": "From an earlier answer, for the next hits"},
        },
        [],
        {"title": "Search tools", "readOnlyHint": True, "openWorldHint": False},
    )


def _details_tool() -> JsonObject:
    return _tool(
        GET_TOOL_DETAILS,
        "The full definition of a tool: description, input and output schema, annotations and an example "
        "call. Read it before you call a tool whose signature leaves questions open.",
        {"name": {"type": "string", "description": "A tool id, or several with commas between"}},
        ["name"],
        {"title": "Get tool details", "readOnlyHint": True, "openWorldHint": False},
    )


def _call_tool() -> JsonObject:
    return _tool(
        CALL_TOOL,
        "Call a tool by its id. Arguments are checked against the tool's schema first; if they don't fit, "
        "nothing is called and the answer shows the schema.",
        _CALL,
        ["name"],
        {"title": "Call a tool", "readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    )


def _result_tool() -> JsonObject:
    return _tool(
        READ_RESULT,
        "Read a result that was too large to be shown whole, by pages of lines or items.",
        {
            "handle": {"type": "string"},
            "offset": {"type": "integer", "minimum": 0},
            "limit": {"type": "integer", "minimum": 1},
            "select": {"type": "string", "description": "JMESPath, such as items[*].name"},
            "grep": {"type": "string", "description": "Only lines or items that this regular expression matches"},
        },
        ["handle"],
        {"title": "Read a stored result", "readOnlyHint": True, "openWorldHint": False},
    )


def _read_tool() -> JsonObject:
    """The definition of the tool that a client which approves by name can let pass."""
    return _tool(
        READ_TOOL,
        "Call a tool that only reads, as call_tool does: one that search marks [read]. Others are refused.",
        _CALL,
        ["name"],
        {"title": "Call a tool that only reads", "readOnlyHint": True, "openWorldHint": True},
    )


def _server_tools() -> list[JsonObject]:
    """The definitions of the tools that find, enable and disable servers."""
    name: JsonObject = {"name": {"type": "string", "description": "The server's name, as found"}}
    switches = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True}
    return [
        _tool(
            SEARCH_SERVERS,
            "Find servers whose tools are not there yet. Look here when no tool does what is needed.",
            {"query": {"type": "string", "description": "What for, in words; empty lists the configured servers"}},
            [],
            {"title": "Search available servers", "readOnlyHint": True, "openWorldHint": True},
        ),
        _tool(
            ENABLE_SERVER,
            f"Turn a server on; {SEARCH_TOOLS} finds its tools from then on.",
            name,
            ["name"],
            {"title": "Enable a server", **switches, "openWorldHint": True},
        ),
        _tool(
            DISABLE_SERVER,
            "Turn a server off that is no longer needed.",
            name,
            ["name"],
            {"title": "Disable a server", **switches, "openWorldHint": False},
        ),
    ]


def _tool(
    name: str, description: str, properties: JsonObject, required: list[str], annotations: JsonObject
) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {"name": name, "description": description, "inputSchema": schema, "annotations": annotations}


def _servers_line(servers: Iterable[tuple[str, str]], token_budget: int) -> str:
    """The servers' names, with their descriptions while those fit, and with a count of the rest when not even
    the names do."""
    rows = [(server, _one_line(description)) for server, description in servers]
    if not rows:
        return ""
    full = ", ".join(f"{server} ({text})" if text else server for server, text in rows)
    if _count(full) <= token_budget:
        return f" Servers: {full}."
    shown: list[str] = []
    spent = 0
    for server, _ in rows:
        spent += _count(f"{server}, ")
        if spent > token_budget:
            return f" Servers: {', '.join(shown)} and {len(rows) - len(shown)} more."
        shown.append(server)
    return f" Servers: {', '.join(_with_descriptions(rows, token_budget - spent))}."


def _with_descriptions(rows: list[tuple[str, str]], left: int) -> list[str]:
    """The names, the first ones with their description while tokens are left."""
    texts: list[str] = []
    for server, description in rows:
        cost = _count(f" ({description})") if description else 0
        if description and cost <= left:
            texts.append(f"{server} ({description})")
            left -= cost
        else:
            texts.append(server)
    return texts


def _one_line(text: Any) -> str:
    # Half of a surrogate pair, which JSON can carry as \ud83d, has no UTF-8 form and would end a connection.
    return " ".join(str(text).split())[:120].encode("utf-8", "replace").decode()
