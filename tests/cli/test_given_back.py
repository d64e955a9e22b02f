"""`toolcrib uninstall` in every state that a client's file may be in, and `install` where it can't be finished."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.files import write_whole

Cli = Callable[..., Any]

BEFORE = '{\n  // mine\n  "mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}},\n  "n": 1\n}\n'


@pytest.fixture
def installed(cli: Cli, home: Path) -> Path:
    """Cursor's file with Toolcrib in it; it was `BEFORE`."""
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(BEFORE)
    assert cli("install", "cursor", "--yes").code == 0
    return path


def change(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    value = json.loads(path.read_text().replace("  // mine\n", ""))
    change(value)
    path.write_text(json.dumps(value))


def notes(home: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in (home / "state" / "clients").iterdir()}


def test_an_edited_entry_of_toolcrib_s_keeps_nobody_from_going_back(cli: Cli, installed: Path) -> None:
    installed.write_text(installed.read_text().replace('"serve"', '"serve", "--profile", "all"'))
    assert cli("uninstall", "cursor", "--yes").code == 0
    assert installed.read_text() == BEFORE


def add_one(file: dict[str, Any]) -> None:
    file["mcpServers"]["new"] = {"command": "n"}


def take_ours_out(file: dict[str, Any]) -> None:
    del file["mcpServers"]["toolcrib"]


def call_them_otherwise(file: dict[str, Any]) -> None:
    file["servers"] = file.pop("mcpServers")


def make_a_list(file: dict[str, Any]) -> None:
    file["mcpServers"] = []


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (add_one, "'new' was added"),
        (take_ours_out, "'toolcrib' was removed"),
        (call_them_otherwise, "'toolcrib' was removed"),
        (make_a_list, "is no object"),
    ],
)
def test_what_was_done_to_the_servers_is_told_and_the_file_can_be_restored(
    cli: Cli, home: Path, installed: Path, edit: Any, told: str
) -> None:
    change(installed, edit)
    now = installed.read_bytes()
    ran = cli("uninstall", "cursor", "--yes")
    assert ran.code == 2
    assert told in ran.err
    assert "left alone" in ran.err
    assert "--restore" in ran.err
    assert installed.read_bytes() == now

    dry = cli("uninstall", "cursor", "--restore", "--dry-run")
    assert "+  // mine" in dry.out
    assert installed.read_bytes() == now
    ran = cli("uninstall", "cursor", "--restore", "--yes", "--json").json["changes"][0]
    assert installed.read_text() == BEFORE
    assert ran["restored"] is True
    assert Path(ran["kept"]).read_bytes() == now
    assert cli("uninstall", "cursor", "--yes").code == 2  # it is forgotten


def test_a_file_that_is_no_json_any_more_can_be_restored(cli: Cli, installed: Path) -> None:
    installed.write_text('{"mcpServers": {')
    ran = cli("uninstall", "cursor", "--keep-changes", "--yes")
    assert ran.code == 2
    assert "It was left alone. What it was before is in" in ran.err
    assert installed.read_text() == '{"mcpServers": {'
    ran = cli("uninstall", "cursor", "--restore", "--yes")
    assert "had changed since, and is what it was before Toolcrib. What it was until now is kept in" in ran.out
    assert installed.read_text() == BEFORE


def test_restoring_a_file_that_is_gone_or_that_toolcrib_made(cli: Cli, home: Path, installed: Path) -> None:
    installed.unlink()
    assert cli("uninstall", "cursor", "--restore", "--yes").code == 0
    assert installed.read_text() == BEFORE
    made = home / ".codeium" / "windsurf" / "mcp_config.json"
    assert cli("install", "windsurf", "--yes").code == 0
    made.write_text(json.dumps({**json.loads(made.read_text()), "more": 1}))
    ran = cli("uninstall", "windsurf", "--restore", "--yes", "--json").json["changes"][0]
    assert not made.exists()
    assert json.loads(Path(ran["kept"]).read_text())["more"] == 1


def test_a_file_that_is_back_already_is_left_as_it_is_and_forgotten(cli: Cli, home: Path, installed: Path) -> None:
    for back in (BEFORE, BEFORE.replace('"n": 1', '"n": 2')):
        installed.write_text(back)
        ran = cli("uninstall", "cursor", "--yes")
        assert (ran.code, ran.out.strip()) == (0, f"{installed} is without Toolcrib already, and stays as it is.")
        assert installed.read_text() == back
        assert not [each for each in notes(home) if each.startswith("cursor-")]
        assert cli("install", "cursor", "--yes").code == 0
    installed.write_text(BEFORE)
    assert cli("install", "cursor", "--yes").code == 0  # once more, over what was noted
    assert cli("uninstall", "cursor", "--yes").code == 0
    assert installed.read_text() == BEFORE


def test_a_kept_copy_that_was_altered_is_not_given_back(cli: Cli, home: Path, installed: Path) -> None:
    [copy] = (home / "state" / "clients").glob("cursor-*.before")
    copy.write_text("{}")
    for words in (["--yes"], ["--restore", "--yes"]):
        ran = cli("uninstall", "cursor", *words)
        assert ran.code == 2
        assert "is not what Toolcrib kept there" in ran.err
        assert "toolcrib" in installed.read_text()
    assert cli("uninstall", "cursor", "--keep-changes", "--yes").code == 0
    assert json.loads(installed.read_text().replace("  // mine\n", ""))["mcpServers"] == {
        "time": {"command": "uvx", "args": ["mcp-server-time"]}
    }


@pytest.mark.skipif(os.name != "posix", reason="links need rights of their own there")
def test_a_file_that_became_a_link_is_changed_where_it_leads(cli: Cli, home: Path, installed: Path) -> None:
    real = home / "dotfiles.json"
    installed.rename(real)
    installed.symlink_to(real)
    assert cli("uninstall", "cursor", "--yes").code == 0
    assert installed.is_symlink()
    assert real.read_text() == BEFORE
    assert cli("install", "cursor", "--yes").code == 0
    real.unlink()
    ran = cli("uninstall", "cursor", "--yes")
    assert ran.code == 2
    assert "is a link to nothing" in ran.err


def test_keys_of_any_kind_come_back_on_one_line(cli: Cli, home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    keys = ["__proto__", 'a.b"c', "line\nbreak", "\U0001f6e0", "\x1b[31m"]
    path.write_text(json.dumps({"mcpServers": {key: {"command": f"c{n}"} for n, key in enumerate(keys)}}))
    before = path.read_bytes()
    assert cli("install", "cursor", "--yes").code == 0
    assert list(json.loads(path.read_text())["mcpServers"]) == ["toolcrib"]
    ran = cli("uninstall", "cursor", "--yes")
    assert (ran.code, len(ran.out.splitlines())) == (0, 1)
    assert path.read_bytes() == before


def test_a_file_that_can_t_be_read_is_told_where_one_stands(cli: Cli, installed: Path) -> None:
    installed.write_text("{")
    assert f"Cursor: {installed} is not JSON" in cli().out


def test_the_two_ways_back_exclude_each_other(cli: Cli, installed: Path) -> None:
    ran = cli("uninstall", "cursor", "--restore", "--keep-changes", "--yes")
    assert (ran.code, "exclude each other" in ran.err) == (2, True)


@pytest.mark.skipif(os.name != "posix", reason="rights are lists there, which the mode does not tell")
def test_one_file_that_can_t_be_written_keeps_no_other_and_is_not_noted(cli: Cli, home: Path) -> None:
    locked, free = home / ".cursor" / "mcp.json", home / ".gemini" / "settings.json"
    for path in (locked, free):
        path.parent.mkdir()
        path.write_text(BEFORE)
    locked.chmod(0o444)
    ran = cli("install", "cursor", "gemini-cli", "--yes")
    assert ran.code == 1
    assert f"{locked} is write-protected" in ran.err
    assert "all the same: time" in ran.err
    assert f"Toolcrib is in {free}" in ran.out
    assert "toolcrib uninstall gemini-cli" in ran.out
    assert locked.read_text() == BEFORE
    assert not [each for each in notes(home) if each.startswith("cursor-")]
    assert "Toolcrib is not in" in cli("uninstall", "cursor", "--yes").err

    locked.chmod(0o644)
    assert cli("install", "cursor", "--yes").code == 0
    before = notes(home)
    locked.chmod(0o444)
    ran = cli("uninstall", "--all", "--yes")
    assert ran.code == 1
    assert f"{locked} is write-protected" in ran.err
    assert free.read_text() == BEFORE
    assert {each for each in before if each.startswith("cursor-")} <= {*notes(home)}  # it can still go back


@pytest.mark.skipif(os.name != "posix", reason="there is no limit of files' sizes")
@pytest.mark.parametrize("words", [["install", "cursor"], ["import"]], ids=["install", "import"])
def test_a_full_disk_loses_nothing(home: Path, words: list[str]) -> None:
    import subprocess
    import sys

    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(BEFORE.replace('"n": 1', f'"n": "{"x" * 4000}"'))
    before = path.read_bytes()
    line = f"ulimit -f 1; exec {sys.executable} -m toolcrib {' '.join(words)} --yes"
    if words == ["import"]:
        line = line.replace("-f 1", "-f 0")
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode in {1, 2}
    assert "File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert path.read_bytes() == before
    assert not list(home.rglob("*.new"))
    assert not list((home / "state").rglob("cursor-*"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_root_leaves_a_file_to_whom_it_belongs(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    path.chmod(0o640)
    os.chown(path, 12345, 54321)
    write_whole(path, [b"[]"], private=False)
    now = path.stat()
    assert (path.read_text(), now.st_uid, now.st_gid, stat.S_IMODE(now.st_mode)) == ("[]", 12345, 54321, 0o640)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_the_place_of_a_client_s_file_is_told_and_not_waited_for(
    program: Callable[..., Any], home: Path
) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    os.mkfifo(path)
    for words in (["import", "--dry-run"], ["install", "cursor", "--dry-run"], ["uninstall", "cursor"], []):
        ran = program(*words)
        assert "is no ordinary file" in ran.out + ran.err or not words
