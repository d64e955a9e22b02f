"""`toolcrib scripts`: scripts saved, listed, shown, run and removed, as a user does it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CODE = '''
async def main(text: str, times: int = 1) -> list[str]:
    """Say something several times."""
    print("saying", text)
    return [text] * times
'''


@pytest.fixture
def config(workshop_entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of the workshop, whose server was never listed, with a state folder of its own."""
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"workshop": workshop_entry}}))
    return path


@pytest.fixture
def saved(cli: Callable[..., Any], config: Path, tmp_path: Path) -> Path:
    """The same, with a script saved."""
    file = tmp_path / "say.py"
    file.write_text(CODE)
    ran = cli("scripts", "save", "say", file, "-c", config)
    assert (ran.code, ran.out) == (0, "Saved: scripts.say(text: str, times?: int) -> list[str]\n"), ran.err
    return config


def test_nothing_is_saved_at_first(cli: Callable[..., Any], config: Path) -> None:
    ran = cli("scripts", "-c", config)
    assert (ran.code, ran.out) == (0, "")
    assert "toolcrib scripts save NAME FILE" in ran.err
    assert cli("scripts", "list", "-c", config, "--json").json == {"scripts": [], "broken": {}}


def test_listed_shown_found_run_and_removed(cli: Callable[..., Any], saved: Path) -> None:
    assert cli("scripts", "-c", saved).out.splitlines()[1].split()[:3] == ["say", "python", "read"]
    (listed,) = cli("scripts", "--json", "-c", saved).json["scripts"]
    assert (listed["id"], listed["effect"], listed["returns"]["type"]) == ("scripts.say", "read", "array")
    assert cli("scripts", "show", "scripts.say", "-c", saved).out == CODE.rstrip("\n") + "\n"
    assert cli("scripts", "show", "say", "--json", "-c", saved).json["code"] == CODE
    assert "scripts.say" in cli("search", "say something several times", "-c", saved).out
    told = cli("show", "scripts.say", "-c", saved).out
    assert "Effect: read (the most that the tools may do which it names)" in told
    ran = cli("scripts", "run", "say", "text=hi", "times=2", "-c", saved)
    assert (ran.code, ran.out) == (0, 'saying hi\n["hi","hi"]\n')
    assert "0 calls" in ran.err
    assert cli("call", "scripts.say", "text=hi", "--json", "-c", saved).json["structuredContent"] == ["hi"]
    ran = cli("call", "scripts.say", "text=hi", "-c", saved)
    assert ran.out.startswith("saying hi\n")
    assert json.loads(ran.out.removeprefix("saying hi\n")) == ["hi"]
    assert "0 calls" in ran.err
    assert cli("run", "-C", "await scripts.say(text='ho')", "-c", saved).out == '["ho"]\n'
    assert cli("scripts", "remove", "say", "-c", saved, "--json").json == {"removed": "say"}
    assert cli("scripts", "run", "say", "-c", saved).code == 2


def test_wrong_arguments_are_told_and_nothing_runs(cli: Callable[..., Any], saved: Path) -> None:
    ran = cli("scripts", "run", "say", "txt=hi", "-c", saved)
    assert ran.code == 2
    assert 'did you mean "text"' in ran.err
    assert cli("scripts", "run", "say", "times=x", "text=a", "--json", "-c", saved).code == 2


def test_a_server_that_was_never_listed_is_listed_when_a_script_names_it(cli: Callable[..., Any], config: Path) -> None:
    ran = cli("scripts", "save", "odd", "-C", "await workshop.nonsense()", "-c", config)
    assert ran.code == 2
    assert "line 1: workshop has no tool 'nonsense'." in ran.err
    assert cli("scripts", "save", "odd", "-C", "await workshop.nonsense()", "--no-check", "-c", config).code == 0
    ran = cli("scripts", "run", "odd", "-c", config)
    assert ran.code == 1
    assert "was not run, and nothing was called" in ran.err


def test_a_failure_tells_how_to_go_on_and_is_gone_on_from(
    cli: Callable[..., Any], config: Path, tmp_path: Path
) -> None:
    code = "x = await scripts.one()\nraise ValueError(x)"
    assert cli("scripts", "save", "one", "-C", "await search_tools('x')\n1", "-c", config).code == 0
    assert cli("scripts", "save", "two", "-C", code, "-c", config).code == 0
    ran = cli("scripts", "run", "two", "-c", config, "--json")
    assert (ran.code, ran.json["isError"]) == (1, True)
    run = ran.json["_meta"]["toolcrib/run"]["id"]
    assert cli("scripts", "run", "two", "--retry-of", run, "-c", config).code == 1
    assert "There is no run" in cli("scripts", "run", "two", "--retry-of", "run_none", "-c", config).err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["save", "Say", "-C", "1"], "can't be the name"),
        (["save", "say", "-C", "1"], "already"),
        (["save", "x"], "Give one script"),
        (["save", "x", "missing.py"], "can't be read: No such file or directory."),
        (["save", "x", "-C", "1", "--parameters", "{"], "is not JSON"),
        (["save", "x", "-C", "1", "--parameters", "[]"], "must be a JSON Schema"),
        (["save", "x", "-C", "1", "-l", "cobol"], "no language"),
        (["show", "none"], "There is no script"),
        (["remove", "none"], "There is no script"),
        (["run", "none"], "There is no script"),
    ],
)
def test_used_wrongly(cli: Callable[..., Any], saved: Path, words: list[str], told: str) -> None:
    ran = cli("scripts", *words, "-c", saved)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_file_that_was_edited_wrongly_is_told(cli: Callable[..., Any], saved: Path, tmp_path: Path) -> None:
    (tmp_path / "state" / "scripts" / "say.json").write_text("{")
    ran = cli("scripts", "-c", saved)
    assert (ran.code, ran.out) == (0, "")
    assert "say can't be used: It is damaged." in ran.err
    assert cli("scripts", "save", "say", "-C", "1", "--replace", "-c", saved).code == 0
