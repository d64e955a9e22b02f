"""The policy through the gateway: what is denied does not exist, what only reads can be let pass, effects are told."""

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from toolcrib import Crib
from toolcrib.gateway import Gateway
from toolcrib.servers.wire import raw_request

pytestmark = pytest.mark.anyio

REPLAY = Path(__file__).resolve().parent.parent / "stubs" / "replay.py"
LIMIT = 60.0
READS = {"readOnlyHint": True}
NEW = {"readOnlyHint": False, "destructiveHint": False}


def tool(name: str, annotations: Any = None, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    hints = {} if annotations is None else {"annotations": annotations}
    return {"name": name, "description": f"{name.replace('_', ' ')}, at once.", "inputSchema": schema, **hints}


ID = {"type": "integer"}
NOTES = [tool("create_note", NEW, body={"type": "string"}), tool("search_notes", READS, query={"type": "string"})]
SECRET = [tool("delete_note", None, id=ID), tool("export_secrets", READS, id=ID)]
PEOPLE = [tool("list_salaries", READS, id=ID)]


def entry(folder: Path, name: str, tools: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    catalog = folder / f"{name}-{len(tools)}.json"
    catalog.write_text(json.dumps({"server": name, "tools": tools}))
    command = {"command": sys.executable, "args": ["-S", str(REPLAY), str(catalog)]}
    return {**command, "toolcrib": {"protocol": "legacy", "description": f"all about {name}", **options}}


def config(servers: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {"mcpServers": servers, "toolcrib": {"first_listing_wait": 60, **settings}}


@asynccontextmanager
async def client(
    configuration: dict[str, Any], state: Path, over_http: Callable[..., Any] | None = None, era: str = "modern"
) -> AsyncIterator[Client]:
    mode: Any = {"handshake": "legacy", "modern": "auto"}[era]
    with anyio.fail_after(LIMIT):
        async with AsyncExitStack() as stack:
            gateway = Gateway(await stack.enter_async_context(Crib.open(configuration, state_dir=state)))
            target: Any = gateway.server
            if over_http is not None:
                target = streamable_http_client(await stack.enter_async_context(over_http(gateway)))
            yield await stack.enter_async_context(Client(target, mode=mode))


async def ask(asked: Client, name: str, arguments: Any) -> tuple[str, bool]:
    result = await raw_request(asked.session, "tools/call", {"name": name, "arguments": arguments})
    return "\n".join(block.get("text", "") for block in result["content"]), bool(result.get("isError"))


HIDDEN = ("notes.delete_note", "notes.export_secrets", "hr.list_salaries")
SPELLINGS = (
    *HIDDEN, "delete_note", "notes__delete_note", "notes/export_secrets", "notes_delete_note", "notes.Delete_Note",
    "notes.delete_nte", "hr.list_salary", "hr", "hr__list_salaries", "hr.nothing", "list_salaries", "crm.find",
)  # fmt: skip
QUERIES = (
    "delete note", "export secrets", "salaries", "hr", "note", "", "list\nnote", "/secret|salar/", "/./",
    f"select:{','.join(HIDDEN)}", "select:notes.create_note,hr.list_salaries",
)  # fmt: skip
PROBES: list[tuple[str, dict[str, Any]]] = [
    *(("search_tools", {"query": query}) for query in QUERIES),
    *(("search_tools", {"query": "note", "server": server}) for server in ("notes", "hr", "HR", "crm", "nobody")),
    *(("read_result", {"handle": handle}) for handle in ("hr.list_salaries", "r_0123456789abcdef")),
    ("search_tools", {"query": "note", "tag": "people"}),
    ("search_tools", {"query": "", "read_only": True, "detail": "full"}),
    ("search_tools", {"query": "note", "cursor": "bm90aGluZw"}),
    *(("get_tool_details", {"name": name}) for name in SPELLINGS),
    ("get_tool_details", {"name": ", ".join(("notes.create_note", *HIDDEN))}),
    *(("call_tool", {"name": name, "arguments": {"id": 1}}) for name in SPELLINGS),
    *(("call_tool", {"name": name, "arguments": {"id": "no number", "more": []}}) for name in SPELLINGS),
    *(("call_tool", {"name": name}) for name in SPELLINGS),
    *(("call_tool", {"name": name, "arguments": "{"}) for name in HIDDEN),
    *(("read_tool", {"name": name, "arguments": {"id": 1}}) for name in SPELLINGS),
    *(("search_available_servers", {"query": query}) for query in ("", "hr", "salaries", "people", "crm")),
    *((turn, {"name": name}) for turn in ("enable_server", "disable_server") for name in ("hr", "crm", "nobody")),
    *(("call_tool", {"name": name, "arguments": {"id": 1}}) for name in ("hr.list_salaries", "crm.find")),
]  # fmt: skip

RULES = [
    {"tools": ["*.export_*"], "then": "deny"},
    {"effects": ["destructive"], "then": "deny"},
    {"servers": ["HR", "crm"], "then": "deny"},
]


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_what_is_denied_is_answered_as_if_it_were_not_there(
    tmp_path: Path, over_http: Callable[..., Any], transport: str
) -> None:
    """Two gateways, one that denies and one whose servers have nothing to deny, answer alike whatever is asked."""
    people = entry(tmp_path, "hr", PEOPLE, tags=["people"])
    off = entry(tmp_path, "crm", [tool("find", READS)], start="on_request")
    more: dict[str, Any] = {"split_by_effect": True, "dynamic": {"enabled": True}}
    denies = config(
        {"notes": entry(tmp_path, "notes", [*NOTES, *SECRET]), "HR": people, "crm": off},
        policy={"rules": RULES},
        **more,
    )
    lacks = config({"notes": entry(tmp_path, "notes", NOTES)}, **more)
    http = over_http if transport == "http" else None
    async with (
        client(denies, tmp_path / "a", http) as one,
        client(lacks, tmp_path / "b", http) as other,
    ):
        listed = [(await raw_request(each.session, "tools/list", {}))["tools"] for each in (one, other)]
        assert listed[0] == listed[1]
        for name, arguments in PROBES:
            answers = [await ask(each, name, arguments) for each in (one, other)]
            assert answers[0] == answers[1], (name, arguments)
        assert (await ask(one, "call_tool", {"name": "notes.create_note", "arguments": {"body": "x"}}))[1] is False


async def test_a_denied_server_is_not_even_started_to_see_what_it_has(tmp_path: Path) -> None:
    configuration = config(
        {"hr": entry(tmp_path, "hr", PEOPLE)}, policy={"rules": [{"tools": ["hr.*"], "then": "deny"}]}
    )
    async with Crib.open(configuration, state_dir=tmp_path, lists_first=False) as crib:
        asked = Gateway(crib)
        async with Client(asked.server) as session:
            answer, failed = await ask(session, "call_tool", {"name": "hr.list_salaries", "arguments": {"id": 1}})
            assert failed
            assert answer.startswith("There is no tool 'hr.list_salaries'.")
        assert [each.state for each in crib.servers] == ["dormant"]


async def test_principals_see_what_they_may(tmp_path: Path) -> None:
    from toolcrib.broker import Caller, Principal
    from toolcrib.metatools import MetaTools

    rules = [{"principals": ["guest"], "servers": ["hr"], "then": "deny"}]
    servers = {"notes": entry(tmp_path, "notes", NOTES), "hr": entry(tmp_path, "hr", PEOPLE)}
    async with Crib.open(config(servers, policy={"rules": rules}), state_dir=tmp_path) as crib:
        doors = MetaTools(crib)
        guest, owner = Caller(Principal("guest")), Caller(Principal("owner"))
        for caller, sees in ((owner, True), (guest, False), (owner, True)):
            assert ("hr (all about hr)" in doors.definitions(caller)[0]["description"]) is sees
            answer = await doors.call("search_tools", {"query": "salaries", "detail": "name"}, caller)
            assert ("hr.list_salaries" in answer["content"][0]["text"]) is sees
            called = await doors.call("call_tool", {"name": "hr.list_salaries", "arguments": {"id": 1}}, caller)
            assert called["isError"] is not sees


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_read_tool_calls_what_is_known_to_read_and_nothing_else(tmp_path: Path, era: str) -> None:
    servers = {
        "notes": entry(tmp_path, "notes", [*NOTES, *SECRET], trust="trusted"),
        "hr": entry(tmp_path, "hr", PEOPLE),
    }
    async with client(config(servers, split_by_effect=True), tmp_path, era=era) as asked:
        listed = (await raw_request(asked.session, "tools/list", {}))["tools"]
        names = [each["name"] for each in listed]
        assert names == ["search_tools", "get_tool_details", "call_tool", "read_result", "run_code", "read_tool"]
        hints = {each["name"]: each["annotations"] for each in listed}
        assert hints["read_tool"]["readOnlyHint"] is True
        assert hints["call_tool"]["destructiveHint"] is True
        answer, failed = await ask(asked, "read_tool", {"name": "notes.search_notes", "arguments": {"query": "x"}})
        assert (failed, "x" in answer) == (False, True)
        for name, given in (("notes.create_note", {"body": "x"}), ("notes.delete_note", {"id": 1}),
                            ("hr.list_salaries", {"id": 1})):  # fmt: skip
            answer, failed = await ask(asked, "read_tool", {"name": name, "arguments": given})
            assert failed
            assert answer == (
                f"The call of {name} is not allowed: it is not known only to read; call_tool calls such tools."
            )
        assert (await ask(asked, "call_tool", {"name": "notes.create_note", "arguments": {"body": "x"}}))[1] is False
        assert listed == (await raw_request(asked.session, "tools/list", {}))["tools"]
        assert (await ask(asked, "read_tool", {}))[0].startswith("read_tool needs the tool's id as `name`.")


async def test_without_the_setting_there_is_no_read_tool(tmp_path: Path) -> None:
    from mcp.shared.exceptions import MCPError

    async with client(config({"notes": entry(tmp_path, "notes", NOTES)}), tmp_path) as asked:
        with pytest.raises(MCPError, match="no tool 'read_tool'"):
            await ask(asked, "read_tool", {"name": "notes.search_notes", "arguments": {"query": "x"}})


async def test_effects_are_told_in_every_detail_but_the_name(tmp_path: Path) -> None:
    tools = [tool("look", READS), tool("look_there"), tool("look_new", NEW), tool("delete_looks")]
    servers = {"lab": entry(tmp_path, "lab", tools, trust="trusted"), "far": entry(tmp_path, "far", tools)}
    async with client(config(servers), tmp_path) as asked:
        for detail in ("brief", "signature"):
            answer, _ = await ask(asked, "search_tools", {"query": "look", "detail": detail})
            heads = {
                line.partition("(")[0].partition(" ")[0]: line
                for line in answer.splitlines()
                if line[:4] in {"lab.", "far."}
            }
            marks = {tool_id: line.rpartition("[")[2] if "[" in line else "" for tool_id, line in heads.items()}
            assert marks == {
                "lab.look": "read]", "lab.look_there": "", "lab.look_new": "write]", "lab.delete_looks": "destructive]",
                "far.look": "", "far.look_there": "", "far.look_new": "write]", "far.delete_looks": "destructive]",
            }  # fmt: skip
        answer, _ = await ask(asked, "search_tools", {"query": "look", "detail": "name"})
        assert "[" not in answer
        details, _ = await ask(asked, "get_tool_details", {"name": "lab.delete_looks"})
        assert json.loads(details)["effect"] == "destructive"
        full, _ = await ask(asked, "search_tools", {"query": "select:far.look", "detail": "full"})
        assert json.loads(full)["effect"] == "unknown"


async def test_what_destroys_asks_over_http_and_is_left_to_the_client_otherwise(
    tmp_path: Path, over_http: Callable[..., Any]
) -> None:
    servers = {"notes": entry(tmp_path, "notes", [*NOTES, *SECRET])}
    given = {"name": "notes.delete_note", "arguments": {"id": 1}}
    async with client(config(servers), tmp_path) as direct:
        assert (await ask(direct, "call_tool", given))[1] is False
    # Nobody can be asked: the client offers no elicitation, and there is no inbox.
    unasked = config(servers, approvals={"inbox": False})
    async with client(unasked, tmp_path, over_http, era="handshake") as remote:
        answer, failed = await ask(remote, "call_tool", given)
        assert failed
        assert "nothing is destroyed over HTTP unasked" in answer
        assert (await ask(remote, "call_tool", {"name": "notes.create_note", "arguments": {"body": "x"}}))[1] is False
