"""The catalogs of 69 real servers in one crib, replayed by stub servers, beside definitions that nobody should send.

What must come out is what the recordings hold.
"""

import json
import keyword
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.metatools import MetaTools

pytestmark = [pytest.mark.anyio, pytest.mark.shared]

STUBS = Path(__file__).resolve().parent.parent / "stubs"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"

# None of these occurs in the recordings, and each is valid JSON that a server may send.
ODD_TOOLS: list[dict[str, Any]] = [
    {"name": "boolean-schema", "inputSchema": True},
    {"name": "false schema", "inputSchema": False},
    {"name": "no/schema"},
    {"name": "null.schema", "inputSchema": None, "description": None},
    {"name": "text schema", "inputSchema": "object"},
    {"name": "no_such_type", "inputSchema": {"type": "objekt", "properties": {"a": {"type": 7}}}},
    {"name": "bad-pattern", "inputSchema": {"type": "object", "properties": {"a": {"pattern": "(["}}}},
    {"name": "external", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://example.com/s"}}}},
    {"name": "dangling", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}},
    {"name": "recursive", "inputSchema": {"type": "object", "properties": {"child": {"$ref": "#"}}}},
    {"name": "only-itself", "inputSchema": {"$ref": "#"}},
    {"name": "draft-7", "inputSchema": {"$schema": DRAFT_7, "type": "object", "properties": {"a": {"items": [{}]}}}},
    {"name": "unknown-draft", "inputSchema": {"$schema": "urn:none", "type": "object"}},
    {"name": "not-an-object", "inputSchema": {"type": "array", "items": {"type": "string"}}},
    {"name": "class", "inputSchema": {"type": "object", "properties": {"from": {}, "": {}, "a b": {}, "日": {}}}},
    {"name": "日本 語", "inputSchema": {"type": "object"}},
    {"name": "", "inputSchema": {"type": "object"}},
    {"name": "a" * 300, "inputSchema": {"type": "object"}},
    {"name": "a-b", "inputSchema": {"type": "object"}},
    {"name": "a.b", "inputSchema": {"type": "object"}},
    {"name": "a_b", "inputSchema": {"type": "object"}},
    {"name": "__init__", "inputSchema": {"type": "object"}, "annotations": [], "_meta": 5, "title": {"a": 1}},
    {"name": "odd_output", "inputSchema": {"type": "object"}, "outputSchema": {"type": ["string", "null"], "x": None}},
]


def _deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"n": schema}}
    return schema


ODD_TOOLS.append({"name": "deep", "inputSchema": _deep(60)})


def written(value: Any) -> str:
    """JSON text, in which the order of members, 1 and 1.0, and null and absent all differ."""
    return json.dumps(value)


@pytest.fixture(scope="module")
def sent(catalogs: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What each server lists."""
    return {**{server: catalog["tools"] for server, catalog in catalogs.items()}, "odd": ODD_TOOLS}


@pytest.fixture(scope="module")
async def crib(
    sent: dict[str, list[dict[str, Any]]], data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Crib]:
    """A crib that has listed all of them, each from a process of its own."""
    folder = tmp_path_factory.mktemp("catalogs")
    odd = folder / "odd.json"
    odd.write_text(json.dumps({"tools": ODD_TOOLS}))

    def entry(server: str) -> dict[str, Any]:
        recording = odd if server == "odd" else data_dir / "catalogs" / f"{server}.json"
        # The era is fixed, since each probe costs a round trip; the pages are small, so that there are many.
        options = {"protocol": "legacy", "start_timeout": 60}
        arguments = ["-S", str(STUBS / "replay.py"), str(recording), "--page", "40"]
        return {"command": sys.executable, "args": arguments, "toolcrib": options}

    config = {
        "mcpServers": {server: entry(server) for server in sent},
        "toolcrib": {"max_parallel_starts": 8, "max_running": 200},
    }
    async with Crib.open(config, state_dir=folder / "state") as opened:
        with anyio.fail_after(120):
            await opened.refresh()
        yield opened


@pytest.fixture(scope="module")
def ids(crib: Crib, sent: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, str]]:
    """The tool ids with the names on the wire, by server of the recordings."""
    by_key = {status.key: status.id for status in crib.servers}
    return {server: crib.registry.raw_names(by_key[server]) for server in sent}


async def test_every_server_was_listed_whole(crib, sent):
    assert [status.key for status in crib.servers if status.state != "ready"] == []
    assert {status.key: status.tools for status in crib.servers} == {
        server: len(tools) for server, tools in sent.items()
    }
    # The recordings' own README: 69 servers with 2,408 tools.
    assert (len(sent) - 1, crib.registry.count - len(ODD_TOOLS)) == (69, 2_408)


async def test_ids_are_unique_identifier_paths_within_one_folder_of_names(ids):
    every = [tool_id for names in ids.values() for tool_id in names]
    assert len(set(every)) == len(every)
    for tool_id in every:
        server, _, tool = tool_id.partition(".")
        assert re.fullmatch(r"[a-z][a-z0-9_]*", server), tool_id
        assert tool.isidentifier(), tool_id
        assert not keyword.iskeyword(tool), tool_id
        assert not keyword.iskeyword(server), tool_id


async def test_every_id_leads_back_to_its_server_and_raw_name(crib, ids, sent):
    assert {server: list(names.values()) for server, names in ids.items()} == {
        server: [tool["name"] for tool in tools] for server, tools in sent.items()
    }
    for server, names in ids.items():
        for tool_id, raw in names.items():
            tool = crib.registry.tool(tool_id)
            assert (tool.id, tool.name) == (tool_id, raw), server


async def test_details_of_every_tool_are_what_its_server_listed(crib, ids, sent):
    meta = MetaTools(crib)
    for server, tools in sent.items():
        result = await meta.call("get_tool_details", {"name": ",".join(ids[server])})
        details = [json.loads(block["text"]) for block in result["content"]]
        assert [each["id"] for each in details] == list(ids[server]), server
        assert written([each["definition"] for each in details]) == written(tools), server


async def test_other_spellings_lead_to_the_same_tool(crib, ids):
    for names in ids.values():
        for tool_id, raw in names.items():
            server = tool_id.partition(".")[0]
            if not raw:
                continue
            for spelling in (f"{server}/{raw}", f"{server}__{raw}"):
                assert (await crib.tool(spelling)).id == tool_id, spelling


async def test_every_tool_that_needs_no_arguments_can_be_called_by_its_id(crib, ids, sent):
    meta = MetaTools(crib)
    called = 0
    for server, tools in sent.items():
        by_raw = {raw: tool_id for tool_id, raw in ids[server].items()}
        for tool in tools:
            schema = tool.get("inputSchema")
            if server == "odd" or schema.get("required") or len(schema) == 0:
                continue
            result = await meta.call("call_tool", {"name": by_raw[tool["name"]], "arguments": {}})
            assert result["structuredContent"] == {"name": tool["name"], "arguments": {}}, tool["name"]
            called += 1
    # Notes on the recordings: 185 tools have no parameters and 392 only optional ones over 108 servers.
    assert called > 300


async def test_odd_definitions_can_be_called_and_say_where_they_could_not_be_checked(crib, ids):
    meta = MetaTools(crib)
    by_raw = {raw: tool_id for tool_id, raw in ids["odd"].items()}
    unchecked = set()
    for raw, tool_id in by_raw.items():
        result = await meta.call("call_tool", {"name": tool_id, "arguments": {}})
        if result.get("isError"):
            # Schemas that allow no object at all: nothing may be sent.
            assert raw in {"false schema", "not-an-object"}, result
            continue
        assert result["structuredContent"]["name"] == raw
        if "toolcrib/unvalidated" in result.get("_meta", {}):
            unchecked.add(raw)
    assert {"no_such_type", "external", "dangling", "text schema"} <= unchecked
    # A pattern that no engine reads is left out, and the rest of its schema is checked.
    assert not unchecked & {"bad-pattern", "recursive", "deep", "draft-7", "a-b", "class"}


async def test_search_still_answers_with_tools_of_many_servers(crib):
    meta = MetaTools(crib)
    result = await meta.call("search_tools", {"query": "create an issue\nlist tables\nsend a message", "limit": 20})
    assert result["isError"] is False
    servers = {line.partition(".")[0] for line in result["content"][0]["text"].splitlines() if "." in line}
    assert len(servers) >= 3
