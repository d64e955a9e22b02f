"""The program as a whole: help, typing errors, exit codes, pipes, and how little it loads."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib import __version__
from toolcrib.cli.program import COMMANDS, main

Cli = Callable[..., Any]


def test_help_names_every_command(cli: Cli) -> None:
    ran = cli("--help")
    assert ran.code == 0
    assert all(command in ran.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_the_common_options(cli: Cli, command: str) -> None:
    ran = cli(command, "--help")
    assert ran.code == 0
    assert "--config" in ran.out
    assert "--json" in ran.out


def test_the_help_of_a_group_tells_its_commands_whole(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    ran = cli("servers", "--help")
    told = ran.out.partition("Commands:")[2]
    assert "..." not in told
    assert "Add a server of a registry to your configuration." in " ".join(told.split())


def test_version_is_the_package_s(cli: Cli) -> None:
    ran = cli("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"toolcrib {__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["serch", "x"], "'search'"),
        (["token"], "'tokens'"),
        (["scripts", "lst"], "'list'"),
        (["principals", "ad", "ann"], "'add'"),
        (["policy", "explian", "a.b"], "'explain'"),
        (["search", "--servr", "x"], "--server"),
        (["call", "a.b", "--outptu", "x"], "--output"),
    ],
)
def test_a_typing_error_names_what_was_meant(cli: Cli, words: list[str], meant: str) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert meant in ran.err
    assert ran.out == ""


def test_an_option_before_its_command_tells_where_it_belongs(cli: Cli) -> None:
    ran = cli("--config", "x.json", "servers")
    assert ran.code == 2
    assert "toolcrib COMMAND --config" in ran.err


@pytest.mark.parametrize(
    "words",
    [["search", "--limit", "0", "x"], ["search", "--detail", "all", "x"], ["show"], ["call"], ["tokens", "--top", "x"]],
)
def test_options_out_of_bounds_and_missing_arguments_are_misuse(cli: Cli, words: list[str]) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert ran.err.startswith("toolcrib: ")
    assert f"toolcrib {words[0]} --help" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tokens", "--top", "x"], "'x' is not a whole number."),
        (["tokens", "--top", "1.5"], "'1.5' is not a whole number."),
        (["tokens", "--top", "-1"], "it must be at least 0."),
        (["search", "--limit", "201", "x"], "it must be at most 200."),
        (["call", "a.b", "--timeout", "x"], "'x' is not a number."),
    ],
)
def test_a_bad_number_is_told_in_plain_words(cli: Cli, words: list[str], told: str) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert told in ran.err


def test_misuse_with_json_is_a_document_too(cli: Cli) -> None:
    ran = cli("show", "--json")
    assert ran.code == 2
    assert ran.json["error"]["code"] == "usage"


@pytest.mark.parametrize(
    "command", [["servers"], ["search", "x"], ["show", "a.b"], ["call", "a.b"], ["tokens"], ["serve"]]
)
def test_without_any_configuration_every_command_tells_how_to_begin(cli: Cli, command: list[str]) -> None:
    ran = cli(*command)
    assert ran.code == 2
    assert "toolcrib demo" in ran.err
    assert os.environ["TOOLCRIB_CONFIG_DIR"] in ran.err
    assert ran.out == ""


def test_the_user_s_own_folder_is_read_when_no_file_is_named(cli: Cli, workshop_entry: Any) -> None:
    folder = Path(os.environ["TOOLCRIB_CONFIG_DIR"])
    folder.mkdir(parents=True)
    (folder / "mine.json").write_text(json.dumps({"mcpServers": {"workshop": workshop_entry}}))
    assert [each["id"] for each in cli("servers", "--json").json["servers"]] == ["workshop"]


def test_several_files_merge_and_the_later_one_wins(cli: Cli, tmp_path: Path) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    first.write_text(json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}))
    second.write_text(json.dumps({"servers": {"b": {"command": "x", "disabled": True}}}))
    ran = cli("servers", "--config", first, "-c", second, "--json")
    assert [(each["id"], each["state"]) for each in ran.json["servers"]] == [("a", "dormant"), ("b", "disabled")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{bad", "is not JSON"),
        ("", "is empty"),
        ("[]", "names no servers"),
        ("{}", "names no servers"),
        ('{"mcpServers": 5}', "must be an object"),
        ('{"mcpServers": {}, "toolcrib": {"timeout": -1}}', "toolcrib.timeout"),
    ],
)
def test_a_file_that_is_no_configuration_is_misuse(cli: Cli, tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(content)
    ran = cli("servers", "--config", path, "--json")
    assert ran.code == 2
    assert ran.json["error"]["code"] == "config_invalid"
    assert told in ran.err


def test_a_file_that_does_not_exist_is_misuse(cli: Cli, tmp_path: Path) -> None:
    ran = cli("search", "-c", tmp_path / "none.json", "x")
    assert ran.code == 2
    assert "There is no file" in ran.err


def test_warnings_about_a_configuration_are_told_once(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"a": {"command": "x", "nonsense": 1}, "a": {"command": "y", "nonsense": 1}}}')
    ran = cli("servers", "--config", path, "--json")
    assert ran.code == 0
    assert ran.err.count("nonsense") == 1
    assert ran.err.count("given twice") == 1
    assert len(ran.json["servers"]) == 1


@pytest.mark.parametrize("arguments", [["serve"], ["serve", "--config", "{path}"], ["serve", "--config={path}"]])
def test_a_configuration_that_starts_toolcrib_on_itself_is_broken_open(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workshop_entry: Any, arguments: list[str]
) -> None:
    path = tmp_path / "mcp.json"
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(tmp_path))
    words = [word.replace("{path}", str(path)) for word in arguments]
    servers = {"again": {"command": "/opt/bin/toolcrib", "args": words}, "workshop": workshop_entry}
    path.write_text(json.dumps({"mcpServers": servers}))
    ran = cli("servers", "--config", path, "--json")
    assert [each["id"] for each in ran.json["servers"]] == ["workshop"]
    assert "'again' is Toolcrib itself" in ran.err


def test_a_toolcrib_on_another_configuration_is_a_server_like_any_other(cli: Cli, config: Callable[..., Path]) -> None:
    other = {"command": "toolcrib", "args": ["serve", "--config", "/elsewhere/mcp.json"]}
    assert [each["id"] for each in cli("servers", "-c", config(inner=other), "--json").json["servers"]] == ["inner"]


def test_an_internal_error_is_one_line_with_the_way_to_more(
    cli: Cli, workshop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("password=hunter2hunter2 went wrong\nand more")

    monkeypatch.setattr("toolcrib.cli.servers.print_table", broken)
    ran = cli("servers", "-c", workshop)
    assert ran.code == 1
    assert "ZeroDivisionError" in ran.err
    assert "--debug" in ran.err
    assert "hunter2hunter2" not in ran.err
    assert "and more" not in ran.err


def test_debug_shows_where_an_internal_error_happened(
    workshop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("toolcrib.cli.servers.print_table", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("toolcrib.cli.logs.log_everything", lambda: None)
    assert main(["servers", "-c", str(workshop), "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_ends_quietly_with_130_and_leaves_no_server(
    config: Callable[..., Path], misbehaving: Callable[..., Any], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    entry = misbehaving("Mute")
    entry["args"] += ["--log", str(log)]
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "servers", "--refresh", "-c", str(config(mute=entry))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not (log.exists() and "received" in log.read_text()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")
    pid = json.loads(log.read_text().splitlines()[0])["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_reader_that_leaves_early_is_no_error(workshop: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "call", "-c", str(workshop), "workshop.lines"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"line 0\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(20) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told(workshop: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolcrib", "call", "-c", str(workshop), "workshop.lines"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


def test_output_is_utf_8_in_a_locale_that_is_not(workshop: Path, program: Cli) -> None:
    locale = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = program("call", "-c", workshop, "workshop.say", "text=日本語 🐛 ü", env=locale)
    assert (ran.code, ran.out) == (0, "日本語 🐛 ü\n")


@pytest.mark.parametrize("words", [["servers"], ["search", "issue"], ["show", "workshop.say"], ["tokens"]])
def test_a_pipe_gets_no_control_codes_even_where_colours_are_forced(
    cli: Cli, workshop: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert cli(*words, "-c", workshop).code == 0  # the runner refuses control codes


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals of this kind")
def test_progress_is_shown_on_a_terminal_and_keeps_out_of_the_output(
    config: Callable[..., Path], misbehaving: Callable[..., Any]
) -> None:
    outer, inner = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "call", "-c", str(config(slow=misbehaving("Progress"))), "slow.echo"],
        env={**os.environ, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=inner,
        text=True,
    )
    os.close(inner)
    shown = b""
    while chunk := _read(outer):
        shown += chunk
    os.close(outer)
    out, _ = process.communicate(timeout=20)
    assert json.loads(out) == {"name": "echo", "arguments": {}}
    assert b"Calling slow.echo" in shown
    assert b"\x1b" in shown


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # how Linux says that the other side of a terminal is closed
        return b""


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["search", "--help"], ["call", "--help"], ["serve", "--help"], ["approve", "--help"]],
)
def test_help_and_the_import_load_neither_mcp_nor_numpy_nor_rich(words: list[str]) -> None:
    heavy = {"mcp", "numpy", "rich", "jsonschema_rs", "sqlalchemy", "starlette", "anyio", "asyncio", "toolcrib.clients"}
    if len(words) == 1:  # a command's own help loads its module, which knows the configuration
        heavy |= {"pydantic", "keyring"}
    code = f"""
import sys, toolcrib
assert not {heavy} & set(sys.modules)
from toolcrib.cli import main
main({words})
print(sorted({heavy} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
