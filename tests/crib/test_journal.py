"""The journal through a crib: recorded by default, redacted, bounded, off by configuration, and never a reason for a
read to fail."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

from toolcrib import Caller, Crib, MetaTools, Principal
from toolcrib.broker import Filter
from toolcrib.errors import DeniedError, StoreError, ToolcribError, UnknownOutcomeError

pytestmark = pytest.mark.anyio

STUBS = Path(__file__).resolve().parent.parent / "stubs"
STUB, DIES_ONCE = str(STUBS / "misbehave.py"), STUBS / "dies_once.py"


def bare() -> Server[Any]:
    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="echo", input_schema={"type": "object"})])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(text="said")])

    return Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)


def note(text: str, token: str = "") -> str:
    """Take a note."""
    return text


def nested(depth: int) -> Any:
    value: Any = "here"
    for _ in range(depth):
        value = [value]
    return value


async def test_calls_are_recorded_by_default_also_of_clients_that_a_program_handed_in(tmp_path: Path) -> None:
    async with Client(bare()) as client, Crib.from_clients({"bare": client}, state_dir=tmp_path) as crib:
        assert await crib.journal.entries() == []
        caller = Caller(Principal("ann"), "c1", "script", "library", "run1")
        await crib.request("tools/call", "bare.echo", {"text": "hello"}, caller)
        (entry,) = await crib.journal.entries()
        assert (entry.tool, entry.effect, entry.state, entry.principal) == ("bare.echo", "unknown", "done", "ann")
        assert (entry.conversation, entry.run, entry.verdict) == ("c1", "run1", "allow")
        assert entry.arguments == '{"text":"hello"}'
        assert await crib.journal.entries(Filter(run="run2")) == []
    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as later:
        assert (await later.journal.entry(entry.id[:6])) == entry


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    off = {"mcpServers": {}, "toolcrib": {"journal": {"enabled": False}}}
    async with Crib.open(off, state_dir=tmp_path) as crib:
        crib.add_functions(note)
        await crib.call("local.note", {"text": "x"})
        assert await crib.journal.entries() == []
    assert not (tmp_path / "toolcrib.db").exists()


async def test_secrets_are_nowhere_in_what_was_written(tmp_path: Path) -> None:
    planted = {
        "env": "V4lueOfTheEnvironment",
        "header": "T0kenOfTheHeader",
        "named": "n4med-by-its-key-only",
        "shape": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "pointer": "the body of a letter that nobody is to keep",
    }
    config = {
        "mcpServers": {
            "s": {"command": sys.executable, "args": ["-S", STUB, "Normal"], "env": {"API_TOKEN": planted["env"]}},
            "web": {"url": "http://127.0.0.1:9/", "headers": {"Authorization": f"Bearer {planted['header']}"}},
        },
        "toolcrib": {"journal": {"redact": ["/letters/*/body"]}},
    }
    arguments = {
        "said": f"use {planted['env']} and {planted['header']}, {planted['shape']}",
        "password": planted["named"],
        "letters": [{"to": "ann", "body": planted["pointer"]}],
        "long": "x" * 3_000 + planted["env"],
    }
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.secrets.add(planted["header"], name="token")
        await crib.call("s.echo", arguments)
        with pytest.raises(ToolcribError):
            await crib.call("s.fail", {"text": planted["env"], "letters": arguments["letters"]})
        kept = json.loads((await crib.journal.entries(Filter(tool="s.echo")))[0].arguments or "")
    assert kept["said"] == "use *** and ***, ***"
    assert kept["password"] == "***"
    assert kept["letters"] == [{"to": "ann", "body": "***"}]
    assert kept["long"].endswith("characters)")
    written = b"".join(path.read_bytes() for path in tmp_path.glob("toolcrib.db*"))
    assert b"letters" in written
    for name, secret in planted.items():
        assert secret.encode() not in written, name


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x" * 1_000_000},
        {"text": list(range(100_000))},
        {f"member{number}": "y" * 500 for number in range(5_000)},
        {"text": "a NUL \0, and what turns text round \u202e"},
        {"text": nested(60)},
    ],
)
async def test_arguments_of_any_size_and_kind_are_recorded_in_bounds(tmp_path: Path, arguments: Any) -> None:
    def anything(**given: Any) -> str:
        """Take anything."""
        return "taken"

    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        crib.add_functions(anything)
        await crib.call("local.anything", arguments)
        (entry,) = await crib.journal.entries()
        assert entry.state == "done"
        assert len(entry.arguments or "") <= 16_000
        json.dumps(entry.to_json(), allow_nan=False).encode()


async def test_only_the_digest_can_be_kept_and_it_is_keyed(tmp_path: Path) -> None:
    config = {"mcpServers": {}, "toolcrib": {"journal": {"arguments": "digest"}}}
    entries = []
    for folder in ("one", "two"):
        async with Crib.open(config, state_dir=tmp_path / folder) as crib:
            crib.add_functions(note)
            for text in ("a", "a", "b"):
                await crib.call("local.note", {"text": text})
            entries.append(await crib.journal.entries())
    (last, again, first), (elsewhere, *_) = entries
    assert [each.arguments for each in (last, again, first)] == [None] * 3
    assert first.digest == again.digest != last.digest
    # Without the key nobody can find out by trying whether it was a "b".
    assert elsewhere.digest != last.digest
    assert (tmp_path / "one" / "journal.key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("broken", ["damaged", "unwritable"])
async def test_an_unusable_store_stops_effects_clearly_and_no_reads(tmp_path: Path, broken: str) -> None:
    state = tmp_path / "state"
    log = tmp_path / "s.log"
    if broken == "damaged":
        state.mkdir()
        (state / "toolcrib.db").write_bytes(b"this is no database" * 100)
    else:
        state.write_text("a file where the folder should be")
    entry = {"command": sys.executable, "args": ["-S", STUB, "Normal", "--log", str(log)]}
    config = {"mcpServers": {"r": {**entry, "toolcrib": {"effects": {"*": "read"}}}, "w": entry}}
    async with Crib.open(config, state_dir=state) as crib:
        with anyio.fail_after(60):
            assert (await crib.call("r.echo", {"number": 1})).kind == "result"
            with pytest.raises(StoreError, match=r"w\.echo was not called, since the call can't be recorded") as caught:
                await crib.call("w.echo", {"number": 2})
            assert caught.value.code == "store_unusable"
            assert caught.value.hint
            assert (await crib.call("r.echo", {"number": 3})).kind == "result"
    received = [json.loads(line).get("message", {}) for line in log.read_text().splitlines()]
    calls = [each["params"]["arguments"]["number"] for each in received if each.get("method") == "tools/call"]
    assert calls == [1, 3]


async def test_what_the_policy_denied_is_on_record_with_the_rule(tmp_path: Path) -> None:
    rule = {
        "tools": ["local.*"],
        "arguments": [{"at": "/text", "equals": "no"}],
        "then": "deny",
        "reason": "not this one",
    }
    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": [rule]}}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(note)
        await crib.call("local.note", {"text": "yes"})
        with pytest.raises(DeniedError):
            await crib.call("local.note", {"text": "no"})
        (entry,) = await crib.journal.entries(Filter(state="denied"))
        assert (entry.verdict, entry.attempts) == ("deny", 0)
        assert entry.rule
        assert "not this one" in entry.error


async def test_a_call_like_one_that_got_no_answer_is_told_of_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    entry = {"command": sys.executable, "args": [str(DIES_ONCE), str(log)]}
    async with Crib.open({"mcpServers": {"s": entry}}, state_dir=tmp_path) as crib:
        with pytest.raises(UnknownOutcomeError, match="took effect is not known"):
            await crib.call("s.echo", {"number": 1})
        (lost,) = await crib.journal.entries()
        assert (lost.state, lost.attempts) == ("unknown", 1)
        tools = MetaTools(crib)
        call = {"name": "s.echo", "arguments": {"number": 1}}
        answer = await tools.call("call_tool", call)
        assert answer["_meta"]["toolcrib/unsettled"] == lost.id
        said, remark = (each["text"] for each in answer["content"])
        assert "number" in said
        assert lost.id in remark
        assert "no answer came" in remark
        assert (await crib.journal.entry(lost.id)).repeated_by == (await crib.journal.entries())[0].id
        assert len((await tools.call("call_tool", call))["content"]) == 1


async def test_a_read_is_made_once_more_when_its_server_dies_of_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    entry = {
        "command": sys.executable,
        "args": [str(DIES_ONCE), str(log)],
        "toolcrib": {"effects": {"*": "read"}},
    }
    async with Crib.open({"mcpServers": {"s": entry}}, state_dir=tmp_path) as crib:
        assert (await crib.call("s.echo", {"number": 1})).kind == "result"
        (read,) = await crib.journal.entries()
        assert (read.state, read.attempts) == ("done", 2)


async def test_what_finding_tools_costs_a_conversation_is_accounted_for(tmp_path: Path) -> None:
    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        crib.add_functions(note)
        tools = MetaTools(crib)
        caller = Caller(conversation="c1")
        answers = [
            await tools.call("search_tools", {"query": "note"}, caller),
            await tools.call("get_tool_details", {"name": "local.note"}, caller),
        ]
        await tools.call("search_tools", {"query": "note"})  # of no conversation
        assert await crib.journal.discoveries() == []  # nothing is written before a call is
        await tools.call("call_tool", {"name": "local.note", "arguments": {"text": "x"}}, caller)
        (spent,) = await crib.journal.discoveries()
        assert (spent.principal, spent.conversation, spent.answers) == ("local", "c1", 2)
        from math import ceil

        surface = json.dumps(tools.definitions(), ensure_ascii=False, separators=(",", ":"))
        texts = [surface, *(each["content"][0]["text"] for each in answers)]
        assert spent.spent == sum(ceil(len(text.encode()) / 3.6) for text in texts)
        sent = {
            "name": "local__note",
            **{key: crib.registry.tool("local.note").definition[key] for key in ("description", "inputSchema")},
        }
        assert spent.all_definitions == ceil(len(json.dumps(sent, separators=(",", ":"))) / 3.6)
        assert spent.saved == spent.all_definitions - spent.spent


LAZY = """
import sys, anyio
from toolcrib import Crib
async def main():
    async with Crib.open({"mcpServers": {}}, state_dir=sys.argv[1]) as crib:
        def note(text: str) -> str: return text
        crib.add_functions(note)
        await crib.search("note")
        print("sqlalchemy" in sys.modules)
        await crib.call("local.note", {"text": "x"})
        print("sqlalchemy" in sys.modules)
anyio.run(main)
"""


async def test_no_database_engine_is_loaded_before_a_call_is_recorded(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAZY, str(tmp_path)]
    done = await anyio.to_thread.run_sync(lambda: subprocess.run(command, capture_output=True, text=True, timeout=60))
    assert done.stdout.split() == ["False", "True"], done.stderr


async def test_it_is_kept_in_postgresql_where_the_configuration_says_so(
    tmp_path: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_DATABASE", postgresql)
    config = {"mcpServers": {}, "toolcrib": {"store": "${THE_DATABASE}"}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(note)
        await crib.call("local.note", {"text": "x"})
        assert await crib.states_elsewhere() == {}
    async with Crib.open(config, state_dir=tmp_path) as later:
        assert [each.state for each in await later.journal.entries()] == ["done"]
    assert not (tmp_path / "toolcrib.db").exists()
    assert postgresql not in repr(later.config)


async def test_a_database_that_the_configuration_cannot_name_stops_effects(tmp_path: Path) -> None:
    config = {"mcpServers": {}, "toolcrib": {"store": "${NO_SUCH_VARIABLE_HERE}"}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(note)
        with pytest.raises(StoreError, match="NO_SUCH_VARIABLE_HERE is not set"):
            await crib.call("local.note", {"text": "x"})
