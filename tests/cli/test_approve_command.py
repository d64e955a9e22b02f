"""`toolcrib approve`: lists, shows, approves and denies what waits in another process."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.anyio

LIMIT = 40.0
RULES = [{"name": "careful", "tools": ["workshop.say"], "then": "ask", "reason": "it is heard by everybody"}]


@pytest.fixture
def asking(tmp_path: Path, workshop_entry: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a configuration whose policy asks about `workshop.say`; state goes into a folder of the test."""
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))

    def write(**approvals: Any) -> Path:
        path = tmp_path / "asking.json"
        settings = {"policy": {"rules": RULES}, "approvals": {"patience": 1.0, **approvals}}
        path.write_text(json.dumps({"mcpServers": {"workshop": workshop_entry}, "toolcrib": settings}))
        return path

    return write


@asynccontextmanager
async def serving(config: Path) -> AsyncIterator[Client]:
    """A client of `toolcrib serve` in a process of its own."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "toolcrib", "serve", "--config", str(config)], env=dict(os.environ)
    )
    with anyio.fail_after(LIMIT):
        async with Client(command) as client:
            yield client


async def say(client: Client, text: str = "hello") -> tuple[str, bool]:
    result = await client.call_tool("call_tool", {"name": "workshop.say", "arguments": {"text": text}})
    return result.content[0].text, bool(result.is_error)


async def waiting(client: Client, program: Callable[..., Any], config: Path, text: str = "hello") -> dict[str, Any]:
    """The one approval that waits, after a call that had to wait."""
    said, is_error = await say(client, text)
    assert is_error
    listed = await _run(program, "approve", "--json", "--config", config)
    [approval] = listed.json["approvals"]
    assert f"waiting for approval {approval['id']}" in said
    return approval


async def _run(program: Callable[..., Any], *words: Any) -> Any:
    return await anyio.to_thread.run_sync(lambda: program(*words))


async def test_a_call_that_a_gateway_holds_is_approved_from_another_process(
    asking: Callable[..., Path], program: Callable[..., Any]
) -> None:
    config = asking()
    async with serving(config) as client:
        approval = await waiting(client, program, config)
        assert {key: approval[key] for key in ("tool", "server", "status", "arguments", "reason", "rule")} == {
            "tool": "workshop.say",
            "server": "workshop",
            "status": "waiting",
            "arguments": {"text": "hello"},
            "reason": "it is heard by everybody",
            "rule": "careful",
        }
        shown = await _run(program, "approve", "show", approval["id"], "--config", config)
        assert shown.code == 0
        assert '"text": "hello"' in shown.out
        assert "it is heard by everybody" in shown.out

        approved = await _run(program, "approve", approval["id"], "--config", config)
        assert (approved.code, approved.out) == (0, "workshop.say is approved.\n")
        assert await say(client) == ("hello", False)

        again = await _run(program, "approve", approval["id"], "--config", config)
        assert again.code == 2
        assert f"Approval {approval['id']} was approved by inbox " in again.err


async def test_a_call_that_waits_gets_its_answer_as_soon_as_it_is_approved(
    asking: Callable[..., Path], program: Callable[..., Any]
) -> None:
    config = asking(patience=LIMIT)
    async with serving(config) as client, anyio.create_task_group() as tasks:
        got: list[Any] = []

        async def call() -> None:
            got.append(await say(client))

        tasks.start_soon(call)
        while not (listed := (await _run(program, "approve", "--json", "--config", config)).json["approvals"]):
            await anyio.lowlevel.checkpoint()
        assert (await _run(program, "approve", "allow", listed[0]["id"], "--config", config)).code == 0
    assert got == [("hello", False)]


async def test_a_denied_call_is_not_made(asking: Callable[..., Path], program: Callable[..., Any]) -> None:
    config = asking()
    async with serving(config) as client:
        approval = await waiting(client, program, config)
        denied = await _run(program, "approve", "deny", approval["id"], "--json", "--config", config)
        assert denied.json["status"] == "denied"
        text, is_error = await say(client)
        assert is_error
        assert "was not approved" in text
        assert (await _run(program, "approve", "--config", config)).out == "Nothing waits for an approval.\n"
        kept = await _run(program, "approve", "--all", "--json", "--config", config)
        assert [each["status"] for each in kept.json["approvals"]] == ["denied"]


async def test_a_grant_for_the_tool_holds_within_its_bounds_until_it_is_revoked(
    asking: Callable[..., Path], program: Callable[..., Any]
) -> None:
    config = asking()
    async with serving(config) as client:
        approval = await waiting(client, program, config)
        within = '{"at": "/text", "pattern": "^h"}'
        words = ("approve", approval["id"], "--for", "tool", "--within", within, "--seconds", "600")
        assert (await _run(program, *words, "--config", config)).code == 0
        assert await say(client, "hi") == ("hi", False)
        assert (await say(client, "bye"))[1]

        listed = await _run(program, "approve", "grants", "--json", "--config", config)
        [grant] = listed.json["grants"]
        assert (grant["tool"], grant["bounds"]) == ("workshop.say", [json.loads(within)])
        assert grant["seconds"] <= 600
        assert (await _run(program, "approve", "revoke", grant["id"], "--config", config)).code == 0
        assert (await say(client, "hi"))[1]
        gone = await _run(program, "approve", "revoke", grant["id"], "--config", config)
        assert gone.code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["abcdef"], "There is no approval 'abcdef'"),
        (["show", "abcdef"], "There is no approval 'abcdef'"),
        (["deny", "abcdef"], "There is no approval 'abcdef'"),
        (["revoke", "abcdef"], "There is no grant 'abcdef'"),
        (["abcdef", "--for", "everything"], "--for 'everything' is not known"),
        (["abcdef", "--within", "{}"], "--within and --seconds are for what goes beyond one call"),
        (["abcdef", "--for", "tool", "--within", "{"], "is not JSON"),
        (["abcdef", "--for", "tool", "--within", '{"at": "x"}'], "can't be used"),
        (
            ["abcdef", "--for", "tool", "--within", f'{{"at": "/x", "equals": {"[" * 300 + "]" * 300}}}'],
            "deeper than 64 levels",
        ),
        (["abcdef", "--for", "tool", "--within", '{"at": "/x", "equals": 1e999}'], "JSON has no number for"),
        (["abcdef", "--for", "tool", *(["--within", '{"at": "/x", "equals": 1}'] * 101)], "at most 100 bounds"),
        (["abcdef", "--for", "tool", "--within", '{"at": "/x", "pattern": "("}'], "can't be used"),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str], said: str, cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(tmp_path))
    ran = cli("approve", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_nothing_waits_where_nothing_was_ever_asked(
    cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(tmp_path))
    assert cli("approve", "--json").json == {"approvals": []}
    assert cli("approve", "grants", "--json").json == {"grants": []}
    assert not (tmp_path / "state" / "toolcrib.db").exists()


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1), (b"\x04", 1)])
@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_a_call_on_a_terminal_asks_the_person_there(asking: Callable[..., Path], answer: bytes, code: int) -> None:
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "toolcrib", "call", "workshop.say", "text=zebra", "--config", str(asking())]
    child = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 4096)
    assert b"it is heard by everybody" in shown
    os.write(master, answer)
    rest = b""
    while True:
        try:
            more = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        rest += more
    os.close(master)
    assert child.wait(30) == code
    assert (b"zebra" in rest) is (code == 0)


def test_a_call_in_a_pipe_waits_in_the_inbox(asking: Callable[..., Path], program: Callable[..., Any]) -> None:
    config = asking(patience=0.1)
    called = program("call", "workshop.say", "text=heard", "--config", config)
    [approval] = program("approve", "--json", "--config", config).json["approvals"]
    assert (called.code, called.out) == (1, "")
    assert f"waiting for approval {approval['id']}" in called.err
    assert approval["asked_by"] == "a person (local)"


@asynccontextmanager
async def serving_http(config: Path) -> AsyncIterator[tuple[str, subprocess.Popen[bytes]]]:
    """`toolcrib serve --http` in a process of its own: its URL, and the process."""
    words = ["-m", "toolcrib", "serve", "--http", "127.0.0.1:0", "--json", "--config", str(config)]
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE)  # noqa: ASYNC220  returns at once
    try:
        stdout = process.stdout
        assert stdout is not None
        told = b""
        while b"}" not in told:
            told += await anyio.to_thread.run_sync(stdout.readline)
        yield json.loads(told)["url"], process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


async def test_a_question_outlives_a_gateway_that_is_killed(
    asking: Callable[..., Path], program: Callable[..., Any]
) -> None:
    config = asking()

    async def say_in(url: str, conversation: str) -> tuple[str, bool]:
        arguments = {"name": "workshop.say", "arguments": {"text": "hello"}}
        async with Client(url) as client:
            meta: Any = {"toolcrib/conversation": conversation}
            result = await client.call_tool("call_tool", arguments, meta=meta)
            return result.content[0].text, bool(result.is_error)

    with anyio.fail_after(LIMIT):
        async with serving_http(config) as (url, process):
            said, is_error = await say_in(url, "one")
            assert is_error
            process.kill()
        [approval] = (await _run(program, "approve", "--json", "--config", config)).json["approvals"]
        assert f"waiting for approval {approval['id']}" in said
        assert (await _run(program, "approve", approval["id"], "--config", config)).code == 0
        async with serving_http(config) as (url, _):
            other, is_error = await say_in(url, "other")
            assert is_error  # the approval is for the conversation that asked
            assert approval["id"] not in other
            assert await say_in(url, "one") == ("hello", False)
            assert (await say_in(url, "one"))[1]  # once
