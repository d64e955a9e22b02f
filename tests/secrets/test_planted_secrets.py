"""Secrets that are planted everywhere are in nothing that is written: files, logs, standard error, answers of commands.

What a caller is sent by a tool it gets as it was sent; it is its own.
"""

import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.broker import Question
from toolcrib.cli import main
from toolcrib.errors import ToolcribError
from toolcrib.gateway import Gateway
from toolcrib.servers import ServerStatus

pytestmark = pytest.mark.anyio

STUB = str(Path(__file__).parents[1] / "stubs" / "leaky.py")
ENV, FILLED, ARGUMENT = "env-v4lue/with+signs", "filled-in 5ecret", "argu-m3nt-k3y"
HEADER, QUERY, USER = "he4der-v4lue", "qu3ry-v4lue", "us3r-passw0rd"
GIVEN, PATTERN, NAMED = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "EMP-123456", "hunter2-h0rse"
OWN = [GIVEN, NAMED]
"""What a caller gave itself: it may be told of it, as by a server that says what is wrong with it."""

PLANTED = [ENV, FILLED, ARGUMENT, HEADER, QUERY, USER, GIVEN, PATTERN, NAMED]

CONFIGURED = [each for each in PLANTED if each not in OWN]

ARGUMENTS = {
    "note": f"{ENV} and {GIVEN}",
    "id": PATTERN,
    "password": NAMED,
    "nested": [{"api_key": NAMED, "x": FILLED}],
}


def spellings(secret: str) -> Iterator[bytes]:
    """As it is, and as JSON, a URL and Python write it."""
    from urllib.parse import quote

    for text in {secret, json.dumps(secret)[1:-1], quote(secret), quote(secret, safe=""), repr(secret)[1:-1]}:
        yield text.encode()


def assert_clean(data: bytes | str, what: str, planted: Sequence[str] = PLANTED) -> None:
    content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    for secret in planted:
        for text in spellings(secret):
            assert text not in content, f"{what} holds {secret}: {content[max(0, content.index(text) - 80) :][:200]!r}"


def assert_nothing_written(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "toolcrib.db" for path in files)
    for path in files:
        assert_clean(path.read_bytes(), str(path))


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("OUTSIDE", FILLED)
    monkeypatch.setenv("ELSEWHERE", HEADER)
    local = {
        "command": sys.executable,
        "args": [STUB, "--api-key", ARGUMENT],
        "env": {"LEAK_VALUE": ENV, "LEAK_FILLED": "${OUTSIDE}"},
        "toolcrib": {"effects": {"*": "write"}},
    }
    remote = {
        "url": f"http://me:{USER}@127.0.0.1:9/mcp?api_key={QUERY}",
        "headers": {"X-Odd": "${ELSEWHERE}", "Authorization": f"Bearer {HEADER}"},
    }
    return {
        "mcpServers": {
            "leaky": local,
            "crashing": {**local, "args": [STUB, "--crash", "--api-key", ARGUMENT]},
            "remote": remote,
        },
        "toolcrib": {"redact": [r"EMP-\d{6}"], "approvals": {"patience": 0.01}},
    }


@asynccontextmanager
async def listening(crib: Crib) -> AsyncIterator[list[Any]]:
    """The events that come meanwhile; whole when it has ended."""
    told: list[Any] = []

    async def listen(changes: AsyncIterator[Any]) -> None:
        told.extend([each async for each in changes])

    async with anyio.create_task_group() as tasks:
        with crib.events.subscribe() as changes:
            tasks.start_soon(listen, changes)
            yield told


async def called(crib: Crib, tool: str) -> str:
    """What a caller is told of a call."""
    try:
        outcome = await crib.call(f"leaky.{tool}", ARGUMENTS)
    except ToolcribError as error:
        return f"{error} {error.to_json()} {error!r}"
    assert ENV in json.dumps(outcome.result)  # its own, as it was sent
    return ""


async def test_nothing_that_a_crib_writes_or_tells_holds_a_secret(
    config: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    with caplog.at_level(logging.DEBUG), anyio.fail_after(60):
        async with Crib.open(config, state_dir=state) as crib, listening(crib) as told:
            for tool in ("tell", "fail", "refuse", "die"):
                assert_clean(await called(crib, tool), f"the error of {tool}", CONFIGURED)
            statuses: list[ServerStatus] = await crib.refresh()
            assert_clean(repr(statuses) + json.dumps([each.to_json() for each in statuses]), "the states")
            for server in ("remote", "crashing"):
                with pytest.raises(ToolcribError) as caught:
                    await crib.call(f"{server}.anything")
                assert_clean(f"{caught.value} {caught.value.to_json()}", f"the error of {server}")
            entries = await crib.journal.entries()
            assert len(entries) >= 4
            assert_clean(repr(entries), "the journal")
        assert told
        assert_clean(repr(told), "the events")
    assert_nothing_written(state)
    assert_clean("".join(capfd.readouterr()), "standard output and error")
    messages = [each.getMessage() for each in caplog.records if each.name.startswith("toolcrib")]
    assert_clean("\n".join(messages), "the log")


async def test_an_approval_that_waits_is_stored_without_secrets_and_its_call_is_sent_with_them(
    config: dict[str, Any], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    config["toolcrib"]["policy"] = {"rules": [{"tools": ["leaky.*"], "then": "ask"}]}
    with anyio.fail_after(60):
        async with Crib.open(config, state_dir=state) as crib:
            with pytest.raises(ToolcribError) as caught:
                await crib.call("leaky.tell", ARGUMENTS)
            assert_clean(str(caught.value), "the error")
        assert_nothing_written(state)

        async def yes(question: Question) -> bool:
            return True

        async with Crib.open(config, state_dir=state, approver=yes) as crib:
            outcome = await crib.call("leaky.tell", ARGUMENTS)
        assert json.dumps(ARGUMENTS) in outcome.result["content"][0]["text"]
    assert_nothing_written(state)


async def test_no_error_of_the_gateway_holds_a_secret_of_the_configuration(
    config: dict[str, Any], tmp_path: Path
) -> None:
    with anyio.fail_after(60):
        async with Crib.open(config, state_dir=tmp_path / "state") as crib, Client(Gateway(crib).server) as client:
            for tool in ("leaky.refuse", "leaky.die", "remote.anything", "crashing.anything"):
                result = await client.call_tool("call_tool", {"name": tool, "arguments": {"note": "x"}})
                assert result.is_error
                assert_clean(result.model_dump_json(), tool)


def test_no_command_prints_a_secret(
    config: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(config))

    def run(*words: str) -> None:
        main([*words, "--config", str(file)])
        assert_clean("".join(capfd.readouterr()), " ".join(words[:3]))

    for words in (
        ("servers", "--refresh"),
        ("servers", "--refresh", "--json"),
        ("call", "leaky.refuse", "note=x"),
        ("call", "leaky.refuse", "note=x", "--json"),
        ("call", "leaky.die", "note=x"),
        ("call", "crashing.anything"),
        ("call", "remote.anything"),
        ("servers",),
        ("journal", "--json"),
        ("journal",),
        ("doctor",),
        ("doctor", "--json"),
    ):
        run(*words)
    for tool in ("leaky.refuse", "remote.anything"):
        words = [sys.executable, "-m", "toolcrib", "--debug", "call", tool, "note=x", "--config", str(file)]
        ran = subprocess.run(words, capture_output=True, check=False, timeout=60)
        assert b"Traceback" in ran.stderr
        assert_clean(ran.stdout + ran.stderr, f"--debug call {tool}")
    assert_nothing_written(tmp_path / "state")
