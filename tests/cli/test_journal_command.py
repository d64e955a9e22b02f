"""`toolcrib journal`: what was called, listed, filtered, shown, exported and followed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

STUB = str(Path(__file__).resolve().parent.parent / "stubs" / "misbehave.py")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    entry = {"command": sys.executable, "args": ["-S", STUB, "Normal"], "env": {"TOKEN": "s3cret-0f-the-server"}}
    servers = {"one": entry, "two": {**entry, "toolcrib": {"effects": {"*": "read"}}}}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


@pytest.fixture
def called(cli: Callable[..., Any], config: Path) -> list[dict[str, Any]]:
    """What is on record of three calls, newest first."""
    assert cli("call", "one.echo", "text=hello", "said=s3cret-0f-the-server", "--config", config).code == 0
    assert cli("call", "two.echo", "text=read", "--config", config).code == 0
    assert cli("call", "one.echo", "text=again", "--config", config).code == 0
    calls: list[dict[str, Any]] = cli("journal", "--config", config, "--json").json["calls"]
    return calls


def test_calls_are_listed_newest_first(cli: Callable[..., Any], config: Path, called: list[dict[str, Any]]) -> None:
    assert [each["tool"] for each in called] == ["one.echo", "two.echo", "one.echo"]
    assert [each["face"] for each in called] == ["cli"] * 3
    listed = cli("journal", "--config", config)
    assert listed.code == 0
    head, *rows = listed.out.splitlines()
    assert head.split() == ["id", "began", "tool", "effect", "state", "ms", "caller"]
    assert [row.split()[0] for row in rows] == [each["id"] for each in called]
    began = datetime.fromtimestamp(called[0]["started_at"]).isoformat(" ", "seconds")
    assert began in rows[0]


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (["--server", "two"], [1]),
        (["--tool", "o*.echo"], [0, 2]),
        (["--effect", "read"], [1]),
        (["--state", "failed"], []),
        (["--limit", "1"], [0]),
        (["--since", "1h"], [0, 1, 2]),
        (["--since", "2999-01-01"], []),
        (["--caller", "local"], [0, 1, 2]),
        (["--run", "r1"], []),
    ],
)
def test_filters(
    cli: Callable[..., Any], config: Path, called: list[dict[str, Any]], options: list[str], places: list[int]
) -> None:
    found = cli("journal", "list", *options, "--config", config, "--json").json["calls"]
    assert [each["id"] for each in found] == [called[place]["id"] for place in places]


def test_one_call_is_shown_without_its_secrets(
    cli: Callable[..., Any], config: Path, called: list[dict[str, Any]]
) -> None:
    shown = cli("journal", "show", called[2]["id"][:6], "--config", config)
    assert shown.code == 0
    assert shown.out.startswith("one.echo  done\n")
    assert '"text": "hello"' in shown.out
    assert "s3cret-0f-the-server" not in shown.out + json.dumps(called)
    begins = json.dumps({"name": "echo", "arguments": {"text": "hello", "said": "***"}}, indent=1)
    assert shown.out.endswith("  result: {}\n".format(begins.replace("\n", "\n    ")))
    whole = {**called[2], "result": begins}
    assert cli("journal", "show", called[2]["id"], "--config", config, "--json").json == whole
    assert cli("journal", called[2]["id"], "--config", config, "--json").json == whole


def test_everything_is_exported_as_lines_oldest_first(
    cli: Callable[..., Any], config: Path, called: list[dict[str, Any]]
) -> None:
    exported = cli("journal", "export", "--config", config)
    assert [json.loads(line) for line in exported.out.splitlines()] == called[::-1]
    assert cli("journal", "export", "--server", "two", "--config", config).out.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--state", "finished"], "There is no state 'finished'."),
        (["--effect", "bad"], "There is no effect 'bad'."),
        (["--since", "yesterday"], "'yesterday' is no moment."),
        (["show", "0123abcd"], "The journal has no call '0123abcd'."),
        (["--limit", "0"], "--limit"),
    ],
)
def test_what_is_asked_wrongly_is_told(cli: Callable[..., Any], config: Path, words: list[str], message: str) -> None:
    told = cli("journal", *words, "--config", config)
    assert told.code == 2
    assert message in told.err


def test_an_empty_journal_says_so_and_makes_no_store(cli: Callable[..., Any]) -> None:
    told = cli("journal")
    assert (told.code, told.out) == (0, "The journal is empty.\n")
    assert cli("journal", "--json").json == {"calls": []}
    assert cli("journal", "discovery").out == "No conversation is on record.\n"
    assert not (Path(os.environ["TOOLCRIB_STATE_DIR"]) / "toolcrib.db").exists()


def test_a_damaged_journal_is_told_in_a_sentence(cli: Callable[..., Any]) -> None:
    state = Path(os.environ["TOOLCRIB_STATE_DIR"])
    state.mkdir(parents=True)
    (state / "toolcrib.db").write_bytes(b"no database" * 1000)
    told = cli("journal")
    assert told.code == 1
    assert "is damaged or no database" in told.err


def test_what_happens_is_followed(cli: Callable[..., Any], config: Path) -> None:
    command = [sys.executable, "-m", "toolcrib", "journal", "--follow", "--json", "--config", str(config)]
    cli("call", "one.echo", "--config", config)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout
        try:
            os.set_blocking(following.stdout.fileno(), False)
            line = ""
            for number in range(40):  # until it has begun to follow, and shows one
                assert cli("call", "one.echo", f"number={number}", "--config", config).code == 0
                if line := following.stdout.readline():
                    break
            entry = json.loads(line)
            assert entry["tool"] == "one.echo"
            assert entry["state"] in ("started", "done")
            following.send_signal(signal.SIGINT)
            assert following.wait(20) == 130
        finally:
            following.kill()
