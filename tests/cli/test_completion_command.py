"""What shells are told while somebody types, by the scripts that `toolcrib completion` prints."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli import main
from toolcrib.cli.program import COMMANDS

Cli = Callable[..., Any]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """What bash is offered for the last of some words, which is being typed."""

    def ask(*words: str | Path) -> list[str]:
        line = ["toolcrib", *map(str, words)]
        monkeypatch.setattr(sys, "argv", ["toolcrib"])
        monkeypatch.setenv("_TOOLCRIB_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(line))
        monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
        capsys.readouterr()
        assert main() == 0
        written = capsys.readouterr()
        assert written.err == ""
        return written.out.split()

    return ask


def test_commands_and_their_commands_are_completed(offered: Callable[..., list[str]]) -> None:
    assert set(offered("")) == set(COMMANDS)
    assert offered("se") == ["serve", "servers", "search"]
    assert offered("policy", "e") == ["explain"]
    assert "--version" in offered("--")


def test_options_are_completed_once_each(offered: Callable[..., list[str]]) -> None:
    assert offered("search", "--d") == ["--detail"]
    assert offered("search", "--detail", "") == ["name", "brief", "signature", "full"]
    assert offered("journal", "--state", "d") == ["denied", "done"]
    for group in ("servers", "journal"):  # those of the command that is meant where none is named
        options = offered(group, "--")
        assert "--json" in options
        assert len(options) == len(set(options))


def test_ids_are_completed_from_what_is_stored_and_nothing_is_started(
    offered: Callable[..., list[str]], workshop: Path
) -> None:
    assert offered("call", "-c", workshop, "workshop.s") == ["workshop.say"]
    assert "workshop.create_issue" in offered("show", "-c", workshop, "")
    assert offered("policy", "explain", "-c", workshop, "workshop.nothin") == ["workshop.nothing"]
    for words in (["servers"], ["servers", "enable"], ["servers", "show"], ["doctor"]):
        assert offered(*words, "-c", workshop, "w") == ["workshop"]
    assert offered("search", "-c", workshop, "--server", "w") == ["workshop"]
    assert "workshop" not in offered("servers", "w")  # of another configuration


def test_what_allow_and_deny_hide_is_not_offered(
    offered: Callable[..., list[str]], workshop: Path, tmp_path: Path
) -> None:
    servers = json.loads(workshop.read_text())["mcpServers"]
    servers["workshop"]["toolcrib"] = {"allow": ["s*", "fail"], "deny": ["fail"]}
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    assert offered("call", "-c", path, "") == ["workshop.say"]


def test_clients_and_saved_scripts_are_completed(offered: Callable[..., list[str]], cli: Cli, workshop: Path) -> None:
    assert offered("install", "cu") == ["cursor"]
    assert cli("scripts", "save", "totals", "--code", "1 + 1", "-c", workshop, "--replace").code == 0
    assert offered("scripts", "show", "to") == ["totals"]
    assert offered("completion", "p") == ["powershell"]


@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"mcpServers": {"a": 5}}'])
def test_a_configuration_of_no_use_offers_nothing_and_says_nothing(
    offered: Callable[..., list[str]], tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "mcp.json"
    if content is not None:
        path.write_text(content)
    assert offered("call", "-c", path, "") == []
    assert offered("nonsense", "--x", "") != ["nonsense"]


@pytest.mark.parametrize(
    ("instruction", "told"),
    [
        ("complete_zsh", '"workshop.say"'),
        ("complete_fish", "workshop.say"),
        ("complete_powershell", "workshop.say::: "),
    ],
)
def test_every_shell_is_told_in_its_own_form(workshop: Path, instruction: str, told: str) -> None:
    environ = {
        "_TOOLCRIB_COMPLETE": instruction,
        "_TYPER_COMPLETE_ARGS": f"toolcrib call -c {workshop} workshop.sa",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": "workshop.sa",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-m", "toolcrib"], env={**os.environ, **environ}, capture_output=True, text=True, check=True
    )
    assert told in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_each_shell_asks_this_program(cli: Cli, shell: str) -> None:
    ran = cli("completion", shell)
    assert ran.code == 0
    assert f"_TOOLCRIB_COMPLETE{' = ' if shell == 'powershell' else '='}" in ran.out
    assert f"complete_{shell}" in ran.out
    document = cli("completion", shell, "--json").json
    assert f"{document['script']}\n" == ran.out
    assert f"toolcrib completion {shell} >" in document["install"]


def test_an_unknown_shell_is_wrong_use(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("completion", "tcsh").code == 2
    monkeypatch.setattr(sys, "argv", ["toolcrib"])
    monkeypatch.setenv("_TOOLCRIB_COMPLETE", "complete_tcsh")
    assert main() == 1


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_by_the_script(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "toolcrib.bash"
    script.write_text(cli("completion", "bash").out)
    program = tmp_path / "toolcrib"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolcrib "$@"\n')
    program.chmod(0o755)
    asked = f"""
        source {script}; COMP_WORDS=(toolcrib princ); COMP_CWORD=1
        _toolcrib_completion {program}; echo "${{COMPREPLY[@]}}"; complete -p toolcrib
    """
    done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True)
    reply, registered = done.stdout.splitlines()
    assert reply == "principals"
    assert "-F _toolcrib_completion toolcrib" in registered


@pytest.mark.parametrize(
    ("typed", "place", "heavy"),
    [
        ("toolcrib se", 1, {"pydantic", "rich", "toolcrib.config"}),
        ("toolcrib call -c {config} workshop.s", 4, {"rich"}),
    ],
)
def test_a_press_of_a_key_loads_little(workshop: Path, typed: str, place: int, heavy: set[str]) -> None:
    never = heavy | {"mcp", "numpy", "sqlalchemy", "anyio", "asyncio", "starlette", "toolcrib.crib"}
    code = (
        f"import sys; from toolcrib.cli import main; main(); print(sorted({never} & set(sys.modules)), file=sys.stderr)"
    )
    words = typed.format(config=workshop)
    environ = {"_TOOLCRIB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environ}, capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
    assert done.stdout
