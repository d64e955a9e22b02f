"""`toolcrib doctor`: what it prints, its document, and its exit codes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.demo import demo_config

Cli = Callable[..., Any]
SECRET = "s3cr3t-Value-4711"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_a_healthy_configuration_ends_with_one_line_and_0(cli: Cli, config: Callable[..., Path]) -> None:
    ran = cli("doctor", "-c", config(notes=demo_config()["mcpServers"]["notes"]), "--strict")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "All is well in 1 server."


def test_a_disabled_server_does_not_count_as_well(cli: Cli, config: Callable[..., Path], workshop_entry: Any) -> None:
    path = config(workshop=workshop_entry, old={"command": "x", "disabled": True})
    ran = cli("doctor", "old", "-c", path)
    assert (ran.code, ran.out) == (
        0,
        "Disabled, not looked into: old\nNothing was looked into: old is disabled.\n",
    )
    assert cli("servers", "disable", "workshop", "-c", path).code == 0
    ran = cli("doctor", "--offline", "-c", path)
    assert "Well:" not in ran.out
    assert ran.out.endswith("Nothing was looked into: workshop, old are disabled.\n")
    assert cli("servers", "enable", "workshop", "-c", path).code == 0
    assert "in 1 server; 1 is disabled and not looked into." in cli("doctor", "--offline", "-c", path).out


def test_problems_come_first_with_what_to_do_and_exit_1(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any, misbehaving: Callable[..., Any]
) -> None:
    path = config(
        workshop=workshop_entry,
        wordy={**workshop_entry, "unheard_of": 1, "env": {"API_KEY": "changeme"}},
        dying=misbehaving("CrashOnStart"),
        missing={"command": "no-such-command-here"},
    )
    ran = cli("doctor", "-c", path)
    assert ran.code == 1
    lines = ran.out.splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads[:2] == ["dying", "missing"]
    assert "  problem  no-such-command-here is not on PATH." in lines
    assert "    Install it, or give its full path as `command`." in lines
    start = lines.index("dying")
    assert "exit code 3" in lines[start + 1]
    assert lines[start + 2 : start + 10] == [
        "    line 1 of the traceback",
        "    line 2 of the traceback",
        "    line 3 of the traceback",
        "    …",
        *(f"    line {number} of the traceback" for number in range(37, 41)),
    ]
    assert "  warning  API_KEY: a placeholder, not a value." in lines
    assert lines[-1] == "2 problems and 5 warnings in 4 servers."
    assert "workshop and wordy list tools of the same names." in ran.out
    assert ran.out.index("dying") < ran.out.index("In general")


def test_warnings_count_only_when_they_are_to(cli: Cli, config: Callable[..., Path]) -> None:
    path = config(off={"command": "x", "disabled": True, "unheard_of": 1})
    ran = cli("doctor", "-c", path)
    assert (ran.code, ran.out.splitlines()[-1]) == (
        0,
        "No problem, 1 warning; 1 is disabled and not looked into.",
    )
    assert cli("doctor", "-c", path, "--strict").code == 1


def test_json_is_one_document_of_all_findings(cli: Cli, config: Callable[..., Path]) -> None:
    ran = cli("doctor", "-c", config(missing={"command": "no-such-command-here"}), "--json", "--offline")
    assert (ran.code, ran.err) == (1, "")
    document = ran.json
    assert (document["problems"], document["servers"]) == (1, ["missing"])
    assert document["verdict"] == "1 problem in 1 server."
    [problem] = [each for each in document["findings"] if each["level"] == "problem"]
    assert problem == {
        "check": "command",
        "level": "problem",
        "server": "missing",
        "message": "no-such-command-here is not on PATH.",
        "hint": "Install it, or give its full path as `command`.",
        "details": [],
    }


def test_one_server_is_looked_at_by_its_name(cli: Cli, config: Callable[..., Path], workshop_entry: Any) -> None:
    path = config(workshop=workshop_entry, missing={"command": "no-such-command-here"})
    ran = cli("doctor", "workshop", "-c", path, "--offline", "--json")
    assert (ran.code, ran.json["servers"]) == (0, ["workshop"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wrkshop"], "Did you mean workshop?"),
        (["--config", "/no/such/file.json"], "There is no file /no/such/file.json."),
        (["--ofline"], "--ofline"),
    ],
)
def test_what_was_typed_wrong_exits_with_2(cli: Cli, workshop: Path, words: list[str], message: str) -> None:
    ran = cli("doctor", *words, *(["-c", workshop] if "--config" not in words else []))
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_without_any_configuration_it_tells_how_to_begin(cli: Cli) -> None:
    ran = cli("doctor")
    assert ran.code == 2
    assert "toolcrib demo" in ran.err


def test_a_file_that_is_no_json_is_a_problem_that_was_found(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{")
    ran = cli("doctor", "-c", path)
    assert ran.code == 1
    assert f"  problem  {path} is not JSON" in ran.out
    assert ran.out.splitlines()[-1] == "1 problem and 1 warning in 0 servers."


def test_secrets_are_shown_nowhere(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_SECRET", SECRET)
    say = "import os, sys; sys.exit('refused: ' + os.environ['SOME_TOKEN'])"
    path = config(
        teller={"command": sys.executable, "args": ["-c", say], "env": {"SOME_TOKEN": "${THE_SECRET}"}},
        literal={**workshop_entry, "env": {"API_KEY": SECRET}},
        remote={"url": f"http://127.0.0.1:9/{SECRET}/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
        command={"command": f"/opt/x --password={SECRET}"},
    )
    for words in ([], ["--json"]):
        ran = cli("doctor", "-c", path, *words)
        assert ran.code == 1
        assert SECRET not in ran.out + ran.err
    assert "refused: ***" in json.dumps(ran.json)
