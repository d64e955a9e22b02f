"""`toolcrib run`: scripts from files, standard input and the command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def config(workshop_entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of the workshop, with a state folder of its own."""
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"workshop": workshop_entry}, "toolcrib": {"first_listing_wait": 30}}))
    return path


@pytest.fixture
def listed(cli: Callable[..., Any], config: Path) -> Path:
    """The same, with its server listed."""
    assert cli("servers", "--refresh", "-c", config).code == 0
    return config


def test_a_script_prints_and_gives_its_value_and_its_account(cli: Callable[..., Any], listed: Path) -> None:
    ran = cli("run", "-c", listed, "--code", "print('hello')\n[1, 2]")
    assert (ran.code, ran.out) == (0, "hello\n[1,2]\n")
    assert re.search(r"run_\w+: 0 calls", ran.err)


def test_a_script_comes_from_a_file_or_standard_input(
    program: Callable[..., Any], cli: Callable[..., Any], listed: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text("sorted({'b', 'a'})")
    assert cli("run", script, "-c", listed).out == '["a","b"]\n'
    assert program("run", "-", "-c", listed, stdin="1 + 1").out == "2\n"


def test_check_tells_what_is_wrong_and_calls_nothing(cli: Callable[..., Any], listed: Path) -> None:
    ran = cli("run", "-c", listed, "--check", "--code", "await workshop.nonsense()\nx = (")
    assert ran.code == 1
    assert ran.out.startswith("line ")
    wrong = cli("run", "-c", listed, "--check", "--json", "--code", "await workshop.nonsense()")
    assert [(each["line"], each["rule"]) for each in wrong.json] == [(1, "unknown-tool")]
    assert cli("run", "-c", listed, "--check", "--code", "1").code == 0


def test_a_failure_is_exit_code_1_and_json_holds_all_of_it(cli: Callable[..., Any], listed: Path) -> None:
    ran = cli("run", "-c", listed, "--code", "1 / 0")
    assert ran.code == 1
    assert "failed at line 1: ZeroDivisionError" in ran.err
    told = cli("run", "-c", listed, "--json", "--code", "print(1)\n{}['x']")
    assert told.code == 1
    assert (told.json["status"], told.json["fault"]["kind"], told.json["output"]) == ("script_error", "KeyError", "1\n")


@pytest.mark.parametrize(
    "words",
    [(), ("a.py", "--code", "1"), ("missing.py",), ("--code", "1", "--language", "cobol"), ("--code", "  ")],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_wrong_use_is_exit_code_2(cli: Callable[..., Any], listed: Path, words: tuple[str, ...]) -> None:
    ran = cli("run", "-c", listed, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("toolcrib: ")


def test_a_language_that_is_off_says_what_switches_it_on(cli: Callable[..., Any], listed: Path) -> None:
    ran = cli("run", "-c", listed, "--code", "1", "-l", "typescript")
    assert ran.code == 2
    assert "Languages: python. `scripts.typescript` in the configuration adds" in ran.err


def test_an_unknown_run_is_wrong_use(cli: Callable[..., Any], listed: Path) -> None:
    ran = cli("run", "-c", listed, "--code", "1", "--retry-of", "run_000000000000")
    assert ran.code == 2
    assert "There is no run" in ran.err


def test_what_failed_half_way_says_how_to_go_on_here(cli: Callable[..., Any], listed: Path, tmp_path: Path) -> None:
    script = tmp_path / "half.py"
    script.write_text("await workshop.say(text='hi')\n1 / 0\n")
    ran = cli("run", script, "-c", listed)
    run = re.search(r"run_\w+", ran.err)
    assert run is not None, ran.err
    assert f"To go on without doing these again: toolcrib run --retry-of {run[0]} {script}" in ran.err
    again = cli("run", script, "-c", listed, "--retry-of", run[0])
    assert "done by the earlier run, not again" in again.err


@pytest.mark.parametrize("more", [["--check"], []])
def test_a_tool_that_read_only_hides_is_told_of(cli: Callable[..., Any], listed: Path, more: list[str]) -> None:
    ran = cli("run", "-c", listed, "--read-only", *more, "--code", "print(await workshop.say(text='x'))")
    assert ran.code == 1
    assert "workshop.say is not there with --read-only; toolcrib policy explain workshop.say" in ran.err
    ran = cli("run", "-c", listed, "--read-only", *more, "--code", "1 / 0; nonsense.say()")
    assert "is not there with --read-only" not in ran.err
