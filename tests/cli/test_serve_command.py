"""`serve`: the gateway as a process."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def lines(*messages: dict[str, Any]) -> str:
    """Messages as the stdio transport frames them."""
    return "".join(json.dumps(message) + "\n" for message in messages)


def test_standard_output_carries_the_protocol_and_nothing_else(program: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"a": {"command": "no-such-program", "nonsense": 1}}}')
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "serve", "--config", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(lines(INITIALIZE))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"]
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    process.stdin.write(lines(initialized, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
    process.stdin.flush()
    tools = json.loads(process.stdout.readline())["result"]["tools"]
    names = [tool["name"] for tool in tools]
    assert names == ["search_tools", "get_tool_details", "call_tool", "read_result", "run_code"]
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert err.count("nonsense") == 1
    assert "waits for" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals of this kind")
def test_a_person_at_a_terminal_is_told_what_it_waits_for(workshop: Path) -> None:
    outer, inner = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "serve", "--config", str(workshop)],
        stdin=inner,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told = [process.stderr.readline() for _ in range(3)]
    assert "Serving 1 server. This terminal now waits" in told[0]
    entry = json.loads(told[2])["mcpServers"]["toolcrib"]
    assert entry["args"][-3:] == ["serve", "--config", str(workshop)]
    os.close(inner)
    os.close(outer)  # the terminal is gone: the input ends
    process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends processes without a signal to catch")
def test_over_http_the_document_is_the_url_and_a_signal_ends_it(workshop: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "serve", "-c", str(workshop), "--http", "127.0.0.1:0", "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    announced = process.stderr.readline()
    url = json.loads("".join(process.stdout.readline() for _ in range(3)))["url"]
    assert url in announced
    with urllib.request.urlopen(f"{url.rpartition('/')[0]}/healthz", timeout=20) as answer:
        assert json.load(answer) == {"status": "ok"}
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "address", ["nonsense", "host:port", "localhost:99999", "localhost:-1", "::1:80", "[::1", "[::1:80", "::1]:80", ""]
)
def test_an_address_that_is_none_is_misuse(cli: Cli, workshop: Path, address: str) -> None:
    ran = cli("serve", "-c", workshop, "--http", address)
    assert (ran.code, ran.out) == (2, "")
    assert "HOST:PORT" in ran.err


def test_an_address_that_others_reach_needs_the_names_it_goes_by(cli: Cli, workshop: Path) -> None:
    ran = cli("serve", "-c", workshop, "--http", "0.0.0.0:0")
    assert ran.code == 2
    assert "--allow-host tools.example:8931" in ran.err


def test_options_of_http_without_http_and_json_on_the_wire_are_misuse(cli: Cli, workshop: Path) -> None:
    assert cli("serve", "-c", workshop, "--allow-host", "x:1").code == 2
    assert cli("serve", "-c", workshop, "--json").json["error"]["code"] == "usage"


def test_switches_make_the_policy_stricter_for_one_gateway(tmp_path: Path, workshop_entry: dict[str, Any]) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"workshop": {**workshop_entry, "toolcrib": {"trust": "trusted"}}}}))

    def calls(*switches: str) -> list[tuple[bool, str]]:
        """What calls of a tool that reads and of one that writes are answered with."""
        process = subprocess.Popen(
            [sys.executable, "-m", "toolcrib", "serve", *switches, "--config", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert process.stdin is not None
        assert process.stdout is not None
        answers: list[tuple[bool, str]] = []
        called = [("workshop.nothing", {}), ("workshop.create_issue", {"title": "x"})]
        asked = [{"name": "call_tool", "arguments": {"name": name, "arguments": given}} for name, given in called]
        messages: list[dict[str, Any]] = [{"method": "tools/call", "params": each} for each in asked]
        process.stdin.write(lines(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}))
        for number, message in enumerate(messages, 2):
            process.stdin.write(lines({"jsonrpc": "2.0", "id": number, **message}))
            process.stdin.flush()
            while (answer := json.loads(process.stdout.readline())).get("id") != number:
                pass
            text = "".join(block["text"] for block in answer["result"]["content"])
            answers.append((answer["result"].get("isError", False), text))
        process.communicate(timeout=20)
        return answers

    (failed, _), (failed_too, _) = calls()
    assert (failed, failed_too) == (False, False)
    (failed, _), (hidden, text) = calls("--read-only")
    assert (failed, hidden) == (False, True)
    assert text.startswith("There is no tool 'workshop.create_issue'.")
    settings = {"approvals": {"inbox": False}}
    path.write_text(json.dumps({**json.loads(path.read_text()), "toolcrib": settings}))
    for failed, text in calls("--ask-all"):
        assert failed
        assert "every call is asked about" in text


def test_a_profile_that_there_is_not_is_refused(cli: Cli, config: Cli) -> None:
    ran = cli("serve", "--profile", "everything", "--config", config(a={"command": "none"}))

    assert ran.code == 2
    assert "discover, all, auto" in ran.err
