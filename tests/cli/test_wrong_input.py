"""Wrong input of every kind to every command: exit code, sentence, hint, one document with `--json`, no traceback."""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from toolcrib.cli.program import COMMANDS, command

Cli = Callable[..., Any]
Path_ = tuple[str, ...]


def _leaves() -> Iterator[tuple[Path_, Any]]:
    """Every command and every command of a group, with what it takes."""
    for name in COMMANDS:
        function = command(name)
        app = function
        if not isinstance(function, typer.Typer):
            app = typer.Typer(add_completion=False)
            app.command()(function)
        found = typer.main.get_command(app)
        if isinstance(function, typer.Typer):
            yield from (((name, inner), each) for inner, each in found.commands.items())
        else:
            yield (name,), found


LEAVES = dict(_leaves())
# What fills a place so that what is wrong is reached.
VALUES = {"SHELL": "bash", "CLIENT": "cursor", "FILE": "gone.py", "KEY=VALUE": "a=b", "WORDS": "x"}


def options_of(path: Path_, *kinds: str) -> Iterator[Any]:
    for each in LEAVES[path].params:
        if each.param_type_name == "option" and not each.is_flag and _kind(each) in kinds:
            yield each


def _kind(parameter: Any) -> str:
    descriptor = parameter.type_descriptor
    if descriptor.is_choice:
        return "choice"
    annotation = str(descriptor.annotation)
    return "number" if "int" in annotation or "float" in annotation else "text"


def needed(path: Path_) -> list[str]:
    """What must be given: arguments and options."""
    words: list[str] = []
    for each in LEAVES[path].params:
        if each.param_type_name == "argument" and each.required:
            words.append(VALUES.get(each.metavar, "x"))
        elif each.required:
            words += [each.opts[-1], "x"]
    return words


def with_json(path: Path_) -> bool:
    return any("--json" in each.opts for each in LEAVES[path].params)


def expect(ran: Any, *codes: int) -> None:
    """A failure as the documentation has it: nothing but a sentence, and mostly a hint, on standard error."""
    assert ran.code in codes, ran
    first, *rest = ran.err.splitlines()
    assert first.startswith("toolcrib: ")
    assert first.rstrip()[-1] in ".:?)'", first
    assert "Internal error" not in ran.err
    if ran.code == 2:
        assert any(line.startswith("  ") for line in rest), ran.err


def expect_document(ran: Any, *codes: int) -> None:
    """The same with `--json`: one document, and it says what is wrong."""
    expect(ran, *codes)
    error = ran.json["error"]
    assert {"code", "message"} <= error.keys()
    assert error["code"] != "internal"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home and a folder with nothing in them."""
    for name in ("home", "folder"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    monkeypatch.chdir(tmp_path / "folder")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_an_unknown_option_is_wrong_use(cli: Cli, path: Path_) -> None:
    expect(cli(*path, *needed(path), "--no-such-option"), 2)
    if with_json(path):
        expect_document(cli(*path, *needed(path), "--json", "--no-such-option"), 2)


@pytest.mark.parametrize("path", [each for each in LEAVES if needed(each)], ids=" ".join)
def test_a_missing_argument_is_wrong_use(cli: Cli, path: Path_) -> None:
    if with_json(path):
        expect_document(cli(*path, "--json"), 2)
    else:
        expect(cli(*path), 2)


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_an_option_without_its_value_or_with_a_bad_one_is_wrong_use(cli: Cli, path: Path_) -> None:
    for option in options_of(path, "choice", "number", "text"):
        expect(cli(*path, *needed(path), option.opts[-1]), 2)
    for option in options_of(path, "choice"):
        expect(cli(*path, *needed(path), option.opts[-1], "no-such-choice"), 2)
    for option in options_of(path, "number"):
        for value in ("x", "", "1e999", "-7", "nan"):
            ran = cli(*path, *needed(path), option.opts[-1], value)
            expect(ran, 2)
            assert "Input should" not in ran.err  # words of a library's own


CONFIGURATIONS = {
    "missing": None,
    "empty": b"",
    "broken": b'{"mcpServers": {',
    "binary": bytes(range(256)),
    "not UTF-8": b'{"mcpServers": {"a": {"command": "\xff\xfe"}}}',
    "a list": b"[]",
    "wrong": b'{"mcpServers": 5}',
}


READ_NONE = {("completion",), ("uninstall",), ("principals", "add"), ("principals", "remove")}
READ_ONE = [path for path in LEAVES if path not in READ_NONE]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        *((path, content) for path in READ_ONE for content in ("missing", "broken")),
        *((("servers", "show"), content) for content in CONFIGURATIONS),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_a_configuration_of_no_use_is_told(cli: Cli, path: Path_, content: str) -> None:
    data = CONFIGURATIONS[content]
    if data is not None:
        Path("mcp.json").write_bytes(data)
    words = [*path, *needed(path), "-c", "mcp.json"]
    if path == ("doctor",) and data is not None:  # there it is what was asked for, and no failure of the command
        assert "mcp.json" in cli(*words).out
        assert cli(*words, "--json").code == 1
        return
    expect(cli(*words), 2)
    if with_json(path) and path[0] != "serve":
        expect_document(cli(*words, "--json"), 2)


UNKNOWN = [
    (("servers", "show"), ["nope"]),
    (("servers", "enable"), ["nope"]),
    (("servers", "disable"), ["nope"]),
    (("servers", "changes"), ["nope"]),
    (("servers", "accept"), ["nope"]),
    (("servers", "login"), ["nope"]),
    (("servers", "logout"), ["nope"]),
    (("servers", "remove"), ["nope"]),
    (("search",), ["x", "--server", "nope"]),
    (("search",), ["x", "--tag", "nope"]),
    (("show",), ["workshop.nope"]),
    (("show",), ["nope.nope"]),
    (("call",), ["workshop.nope"]),
    (("policy", "explain"), ["workshop.nope"]),
    (("scripts", "show"), ["nope"]),
    (("scripts", "run"), ["nope"]),
    (("scripts", "remove"), ["nope"]),
    (("run",), ["--code", "1", "--retry-of", "run_nope"]),
    (("approve", "show"), ["nope"]),
    (("approve", "allow"), ["nope"]),
    (("approve", "deny"), ["nope"]),
    (("approve", "revoke"), ["nope"]),
    (("journal", "show"), ["nope"]),
    (("doctor",), ["nope"]),
]


@pytest.mark.parametrize(("path", "words"), UNKNOWN, ids=lambda each: " ".join(each))
def test_an_id_that_there_is_not_is_wrong_use(cli: Cli, workshop: Path, path: Path_, words: list[str]) -> None:
    expect(cli(*path, *words, "-c", workshop), 2)
    expect_document(cli(*path, *words, "-c", workshop, "--json"), 2)


@pytest.mark.parametrize(("path", "words"), UNKNOWN[:1] + UNKNOWN[8:17], ids=lambda each: " ".join(each))
def test_words_that_are_no_utf_8_are_borne(cli: Cli, workshop: Path, path: Path_, words: list[str]) -> None:
    odd = os.fsdecode(b"caf\xe9\xff\x01")  # as a shell passes such bytes on (PEP 383)
    given = [*words[:-1], odd] if path[0] != "run" else ["--code", "1", "--retry-of", odd]
    ran = cli(*path, *given, "-c", workshop, "--json")
    assert ran.code in (1, 2), ran
    assert json.loads(ran.out)["error"]["code"] != "internal"


@pytest.mark.parametrize(
    "words",
    [
        ["call", "workshop.say", "--args", "-"],
        ["run", "-"],
        ["scripts", "save", "x", "-"],
        ["import", "--only", "x"],
        ["install", "cursor"],
        ["chat", "-m", "openai:x"],
    ],
    ids=" ".join,
)
def test_a_closed_standard_input_is_told(
    cli: Cli, workshop: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # as Python has it where descriptor 0 is closed
    expect(cli(*words, "-c", workshop), 1, 2)


@pytest.mark.parametrize(
    "words",
    [
        ("servers", "wrkshop"),
        ("servers", "enable", "wrkshop"),
        ("servers", "disable", "wrkshop"),
        ("servers", "accept", "wrkshop"),
        ("servers", "changes", "wrkshop"),
        ("search", "x", "--server", "wrkshop"),
        ("doctor", "wrkshop"),
    ],
    ids=" ".join,
)
def test_a_server_that_is_not_there_is_told_with_the_one_that_was_meant(
    cli: Cli, workshop: Path, words: tuple[str, ...]
) -> None:
    ran = cli(*words, "-c", workshop)
    assert (ran.code, ran.out) == (2, "")
    assert "There is no server 'wrkshop'.\n  Did you mean workshop?" in ran.err
