"""What the commands on files of clients refuse alike, and what `toolcrib` alone tells of those clients."""

import os
import re
from pathlib import Path

import pytest
from homes import CLAUDE, NOTES, TIME, Cli, imported, put

from toolcrib.clients import client as named
from toolcrib.clients.documents import read_servers


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "is not JSON"),
        (b"[]", "is no object"),
        (b"\x00\x01\x02", "is not JSON"),
        (b'{"a": "\xff\xfa"}', "is not text"),
        (b'{"mcpServers": 5}', "is no object"),
        (b'{"mcpServers": ' + b"[" * 100_000, "nested"),
        (b'{"x": "' + b"y" * (1 << 26) + b'"}', "larger"),
    ],
    ids=["broken", "a list", "binary", "not UTF-8", "no servers", "deep", "huge"],
)
@pytest.mark.parametrize("words", [["import", "--yes"], ["install", "cursor", "--yes"]], ids=["import", "install"])
def test_a_client_s_file_of_no_use_is_told_and_left_alone(
    cli: Cli, home: Path, words: list[str], content: bytes, told: str
) -> None:
    path = put(home, ".cursor/mcp.json", "")
    path.write_bytes(content)
    put(home, CLAUDE, {"mcpServers": {"time": TIME}})
    ran = cli(*words)
    assert told in ran.out + ran.err
    assert path.read_bytes() == content
    if words[0] == "import":
        assert list(imported(home)) == ["time"]
    else:
        assert ran.code == 2
        assert cli("import", "cursor", "--yes").code == 2
        ran = cli("install", "--all", "--yes", "--json")
        assert (ran.code, [each["client"] for each in ran.json["changes"]]) == (1, ["claude-desktop"])
        assert told in ran.json["left"][0]["message"]


def test_a_client_nearly_right_is_answered_with_the_nearest(cli: Cli, home: Path) -> None:
    for command in ("import", "install", "uninstall"):
        assert "Did you mean cursor? Known are claude-desktop" in cli(command, "cursr").err


@pytest.mark.parametrize(
    "words",
    [
        ["import", "emacs"],
        ["import", "--file", "x"],
        ["import", "cursor", "--file", "/nowhere/x"],
        ["import", "--only", "x"],
        ["import", "--project", "/nowhere/x"],
        ["import", "--to", "/dev/null"],
        ["import", "--to", "/"],
        ["import", "--to", "x" * 300],
        ["import", "cursor", "--file", "x" * 300],
        ["servers", "remove", "x", "--config", "/dev/null"],
        ["install"],
        ["install", "cursor", "--all"],
        ["install", "emacs"],
        ["install", "cursor"],
        ["install", "cursor", "--keep", "x", "--dry-run"],
        ["install", "cursor", "--config", "~no-such-user/x", "--yes"],
        ["import", "cursor", "--file", "~no-such-user/x"],
        ["uninstall", "cursor", "--file", "~no-such-user/x"],
        ["uninstall"],
        ["uninstall", "cursor"],
        ["uninstall", "cursor", "zed", "--file", "x"],
    ],
)
def test_wrong_use_is_told_with_code_2(cli: Cli, home: Path, words: list[str]) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert ran.err.startswith("toolcrib:")


def test_without_a_command_it_tells_where_you_stand_and_what_comes_next(cli: Cli, home: Path) -> None:
    bare = cli()
    assert bare.code == 0
    assert "none yet" in bare.out
    assert "toolcrib demo" in bare.out

    path = put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME, "notes": NOTES}})
    ran = cli()
    assert "Cursor loads 2 servers itself" in ran.out
    assert "toolcrib install cursor --dry-run" in ran.out

    assert cli("install", "cursor", "--yes").code == 0
    ran = cli()
    assert "2 servers in" in ran.out
    assert "Cursor uses Toolcrib" in ran.out
    assert "itself" not in ran.out
    assert "toolcrib servers --refresh" in ran.out  # they were never listed

    for name in ("claude-desktop", "codex"):
        assert cli("install", name, "--yes").code == 0
    assert "Claude Desktop, Cursor and Codex use Toolcrib" in cli().out

    (home / "crib" / "servers.json").write_text("{")
    ran = cli()
    assert ran.code == 0
    assert "is not JSON" in ran.out
    assert "toolcrib doctor" in ran.out
    assert path.exists()


@pytest.mark.parametrize(
    ("client", "place", "content"),
    [
        ("codex", ".codex/config.toml", "[mcp_servers.t]\ncommand = 'x'\nat = 2020-01-01\nn = inf\n"),
        ("goose", ".config/goose/config.yaml", "extensions:\n  t: {type: stdio, cmd: x, at: 2020-01-01}\n"),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": {"t": {"command": "x", "half": "\\ud800"}}}'),
        ("cursor", ".cursor/mcp.json", '{"mcpServers": {"\\ud800": {"command": "x"}}}'),
    ],
)
def test_what_json_in_utf_8_has_no_form_for_comes_back_also_from_a_file_that_changed_since(
    cli: Cli, home: Path, client: str, place: str, content: str
) -> None:
    path = put(home, place, content)
    assert cli("install", client, "--yes").code == 0
    assert cli("servers", "--json").code == 0  # what was imported can be read
    assert cli("install", client, "--yes").code == 0
    path.write_text(re.sub(r"\bserve\b", "serve-me", path.read_text()))
    assert cli("uninstall", client, "--yes").code == 0
    form, root = named(client).format, (named(client).root,)
    assert read_servers(path.read_bytes(), form, root, "") == read_servers(content.encode(), form, root, "")


@pytest.mark.parametrize(
    "entry",
    ['{"command": "\\ud800"}', '{"command": "x", "args": ["\\u0000"]}', '{"command": "x", "args": [1e999]}'],
)
def test_an_entry_that_no_program_can_be_started_by_stays_where_it_is(cli: Cli, home: Path, entry: str) -> None:
    put(home, ".cursor/mcp.json", f'{{"mcpServers": {{"t": {entry}}}}}')
    [found] = cli("import", "--yes", "--json").json["servers"]
    assert found["state"] in {"broken", "left"}
    assert found["note"]
    assert not (home / "crib").exists()


@pytest.mark.parametrize(
    "damaged", [b"", b"[]", b"[" * 100_000, b'{"client": 5}', b'{"client": "gone", "path": "x", "taken": {}}']
)
def test_a_note_that_is_damaged_is_told_and_nothing_is_written_over_it(cli: Cli, home: Path, damaged: bytes) -> None:
    path = put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    assert cli("install", "cursor", "--yes").code == 0
    kept = {each: each.read_bytes() for each in (home / "state" / "clients").glob("cursor-*")}
    [note] = (home / "state" / "clients").glob("cursor-*.json")
    note.write_bytes(damaged)
    for words in (["uninstall", "cursor", "--yes"], ["uninstall", "--all", "--yes"]):
        ran = cli(*words)
        assert ran.code == (1 if "--all" in words else 2)
        assert f"What it was before is in {note.with_suffix('.before')}" in ran.err
    path.write_text(path.read_text().replace("serve", "serve-me"))
    assert cli("install", "cursor", "--yes").code == 2
    assert {each: each.read_bytes() for each in kept if each != note} == {e: b for e, b in kept.items() if e != note}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_to_write_to_is_refused_and_not_waited_for(cli: Cli, home: Path) -> None:
    put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    os.mkfifo(home / "pipe")
    for words in (["import", "--to", home / "pipe"], ["install", "cursor", "--config", home / "pipe"]):
        ran = cli(*words, "--yes")
        assert (ran.code, "is no ordinary file" in ran.err) == (2, True)
