"""`call`: arguments as they are typed, and results of every kind."""

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.catalog import Tool
from toolcrib.cli.arguments import read_arguments

Cli = Callable[..., Any]
ISSUE = "workshop.create_issue"


@pytest.fixture
def arguments(cli: Cli, workshop: Path) -> Callable[..., Any]:
    """What becomes of what is typed for the tool that takes every type."""
    tool = Tool(ISSUE, "workshop", "create_issue", cli("show", "-c", workshop, ISSUE, "--json").json)

    def read(*items: str, args: str | None = None) -> Any:
        return read_arguments(tool, items, args)

    return read


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        (["count=5"], {"count": 5}),
        (["count=-5"], {"count": -5}),
        (["ratio=0.5"], {"ratio": 0.5}),
        (["urgent=true"], {"urgent": True}),
        (["state=OPEN"], {"state": "open"}),
        (["labels=bug"], {"labels": ["bug"]}),
        (["labels=bug", "labels=new"], {"labels": ["bug", "new"]}),
        (['labels=["a","b"]'], {"labels": ["a", "b"]}),
        (["numbers=1", "numbers=2"], {"numbers": [1, 2]}),
        (['options={"a": [1]}'], {"options": {"a": [1]}}),
        (["from=x"], {"from": "x"}),
        (["from_=x"], {"from": "x"}),
        (["count:=7"], {"count": 7}),
        (['labels:=["x=1"]'], {"labels": ["x=1"]}),
        (['{"count": 4}'], {"count": 4}),
    ],
)
def test_values_become_what_the_schema_asks_for(
    arguments: Callable[..., Any], typed: list[str], sent: dict[str, Any]
) -> None:
    assert arguments("title=x", *typed) == {"title": "x", **sent}


def test_typed_values_win_over_those_of_args(cli: Cli, workshop: Path) -> None:
    ran = cli("call", "-c", workshop, ISSUE, "--args", '{"title": "x", "count": 1}', "count=3", "labels=a")
    assert ran.json["arguments"] == {"title": "x", "count": 3, "labels": ["a"]}


def test_args_may_be_encoded_twice(arguments: Callable[..., Any]) -> None:
    assert arguments(args=json.dumps(json.dumps({"title": "x"}))) == {"title": "x"}


@pytest.mark.parametrize("title", ["5", "true", "null", "a=b", "[1]", "{}", "@file", "-", " ", "", "日本語 🐛"])
def test_a_text_stays_the_text_that_was_typed(arguments: Callable[..., Any], title: str) -> None:
    assert arguments(f"title={title}") == {"title": title}


def test_arguments_come_from_a_file_or_standard_input(
    arguments: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "args.json"
    path.write_text('\ufeff{"title": "ü"}', encoding="utf-8")
    assert arguments(args=f"@{path}") == {"title": "ü"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"title": "stdin"}')))
    assert arguments(args="-") == {"title": "stdin"}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["title"], "is no argument"),
        (["=x"], "is no argument"),
        ([":=1"], "is no argument"),
        (["title:=oops"], "title is not JSON"),
        (["--args", "{"], "--args is not JSON"),
        (["--args", "[1]"], "must be a JSON object"),
        (["--args", '"text"'], "is not JSON"),
        (["--args", '{"title": NaN}'], "NaN"),
        (["--args", "[" * 100_000], "too deeply"),
        (["--args", "@/no/such/file"], "can't be read"),
        (["--args", f"@{os.sep}"], "can't be read"),
    ],
)
def test_what_can_not_be_arguments_is_misuse(cli: Cli, workshop: Path, typed: list[str], told: str) -> None:
    ran = cli("call", "-c", workshop, ISSUE, "--json", *typed)
    assert ran.code == 2
    assert told in ran.err
    assert ran.json["error"]["code"] == "usage"


@pytest.mark.parametrize(
    ("typed", "path", "told"),
    [
        ([], "/title", "missing"),
        (["title=x", "titel=y"], "/titel", "unknown"),
        (["title=x", "count=many"], "/count", "integer"),
        (["title=x", "state=ajar"], "/state", "open"),
        (["title=x", "title=y"], "/title", "string"),
        (["title:=5"], "/title", "string"),
        (["title=x", "labels:=[1]"], "/labels/0", "string"),
    ],
)
def test_arguments_that_do_not_fit_are_told_by_path_with_the_signature(
    cli: Cli, workshop: Path, typed: list[str], path: str, told: str
) -> None:
    ran = cli("call", "-c", workshop, ISSUE, *typed)
    assert (ran.code, ran.out) == (2, "")
    assert f"  {path}: " in ran.err
    assert told in ran.err
    assert f"{ISSUE}(title: str" in ran.err
    error = cli("call", "-c", workshop, ISSUE, *typed, "--json").json["error"]
    assert error["code"] == "arguments_invalid"
    assert path in [each["path"] for each in error["problems"]]


def test_an_argument_that_the_schema_does_not_name_is_sent_and_told(cli: Cli, workshop: Path) -> None:
    ran = cli("call", "-c", workshop, "workshop.open_schema", "titel=x")
    assert ran.json["arguments"] == {"titel": "x"}
    assert "did you mean title?" in ran.err


def test_mended_arguments_of_args_are_told(cli: Cli, workshop: Path) -> None:
    ran = cli("call", "-c", workshop, ISSUE, "--args", '{"title": "x", "count": "5"}')
    assert ran.json["arguments"] == {"title": "x", "count": 5}
    assert "/count" in ran.err


def test_a_text_is_printed_as_text_and_structure_as_json(cli: Cli, workshop: Path) -> None:
    assert cli("call", "-c", workshop, "workshop.say", "text=a\nb").out == "a\nb\n"
    ran = cli("call", "-c", workshop, ISSUE, "title=x")
    assert ran.json == {"name": "create_issue", "arguments": {"title": "x"}}  # once, though the text repeats it
    assert cli("call", "-c", workshop, "workshop.nothing").out == ""


def test_json_is_the_result_exactly_as_it_was_sent(cli: Cli, workshop: Path) -> None:
    result = cli("call", "-c", workshop, "workshop.bundle", "--json").json
    assert [block["type"] for block in result["content"]] == [
        "text", "image", "audio", "resource_link", "resource", "resource", "image", "hologram",
    ]  # fmt: skip
    assert result["structuredContent"] == {"kinds": 7}


def test_in_a_pipe_bytes_are_described(cli: Cli, workshop: Path) -> None:
    out = cli("call", "-c", workshop, "workshop.bundle").out
    assert "[image of 28 bytes, image/png; --output FILE keeps it]" in out
    assert "[audio of 10 bytes, audio/wav; --output FILE keeps it]" in out
    assert "[resource of 256 bytes, application/octet-stream; --output FILE keeps it]" in out
    assert "a.txt  file:///a.txt  A file." in out
    assert "inner" in out
    assert '"depth": 3' in out
    assert "no base64!" in out


def test_output_keeps_the_bytes_and_prints_the_rest(cli: Cli, workshop: Path, tmp_path: Path) -> None:
    path = tmp_path / "kept.png"
    ran = cli("call", "-c", workshop, "workshop.bundle", "--output", path)
    assert path.read_bytes() == b"\x89PNG\r\n\x1a\n not a whole picture"
    assert (tmp_path / "kept-2.wav").read_bytes() == b"RIFF sound"
    assert (tmp_path / "kept-3.bin").read_bytes() == bytes(range(256))
    assert str(path) in ran.err
    assert ran.out.startswith("Seven kinds.\n")
    with_json = cli("call", "-c", workshop, "workshop.bundle", "--output", path, "--json")
    assert with_json.json["structuredContent"] == {"kinds": 7}


def test_output_takes_text_and_structure_too(cli: Cli, workshop: Path, tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    assert cli("call", "-c", workshop, "workshop.say", "text=ü", "-o", path).out == ""
    assert path.read_text(encoding="utf-8") == "ü\n"
    cli("call", "-c", workshop, ISSUE, "title=x", "-o", path)
    assert json.loads(path.read_text())["arguments"] == {"title": "x"}
    assert cli("call", "-c", workshop, "workshop.picture", "-o", tmp_path / "no" / "where.png").code == 2


def test_on_a_terminal_bytes_are_saved_to_a_file_that_is_named(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from toolcrib.cli import main

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["call", "-c", str(workshop), "workshop.picture"]) == 0
    saved = next(tmp_path.rglob("workshop.picture.png"))
    assert saved.read_bytes().startswith(b"\x89PNG")
    assert str(saved) in capsys.readouterr().err


def test_a_terminal_does_not_obey_what_a_tool_says(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from toolcrib.cli import main

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["call", "-c", str(workshop), "workshop.say", "text=\x1b]0;owned\x07"]) == 0
    assert capsys.readouterr().out == "⟨U+001B⟩]0;owned⟨U+0007⟩\n"


def test_an_error_of_the_tool_is_exit_code_1_on_standard_error(cli: Cli, workshop: Path) -> None:
    ran = cli("call", "-c", workshop, "workshop.fail")
    assert (ran.code, ran.out) == (1, "")
    assert "out of paper" in ran.err
    ran = cli("call", "-c", workshop, "workshop.fail", "--json")
    assert (ran.code, ran.json["isError"]) == (1, True)


def test_an_error_of_the_protocol_is_exit_code_1(cli: Cli, workshop: Path) -> None:
    ran = cli("call", "-c", workshop, "workshop.refuse", "--json")
    assert ran.code == 1
    assert ran.json["error"]["rpc_code"] == -32000
    assert "no such row" in ran.err


def test_a_call_is_given_up_after_its_timeout(cli: Cli, workshop: Path) -> None:
    ran = cli("call", "-c", workshop, "workshop.hang", "--timeout", "0.2")
    assert ran.code == 1
    assert "0.2 s" in ran.err


@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "soon"])
def test_a_timeout_that_is_none_is_misuse(cli: Cli, workshop: Path, timeout: str) -> None:
    assert cli("call", "-c", workshop, "workshop.say", "--timeout", timeout).code == 2


def test_an_unknown_tool_is_misuse_with_the_nearest_name(cli: Cli, workshop: Path) -> None:
    ran = cli("call", "-c", workshop, "workshop.craete_issue", "title=x", "--json")
    assert ran.code == 2
    assert ran.json["error"]["code"] == "tool_unknown"
    assert ISSUE in ran.err


def test_a_server_that_ends_in_a_call_is_told_with_its_fate(
    cli: Cli, config: Callable[..., Path], misbehaving: Callable[..., Any]
) -> None:
    ran = cli("call", "-c", config(crash=misbehaving("CrashInCall")), "crash.echo")
    assert ran.code == 1
    assert "took effect is not known" in ran.err


def test_values_that_no_model_of_the_protocol_has_come_through(
    cli: Cli, config: Callable[..., Path], misbehaving: Callable[..., Any]
) -> None:
    path = config(strange=misbehaving("Strange"))
    result = cli("call", "-c", path, "strange.strange", "--json").json
    assert result["structuredContent"] == [None, 123456789012345678901234567890, -0.0, 0.1, {"b": 1, "a": 2}]
    assert result["content"][1]["text"] == "\ud800"
    assert cli("show", "-c", path, "strange.strange", "--json").json["id"] == 9007199254740993
