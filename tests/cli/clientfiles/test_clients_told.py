"""What the commands on files of clients refuse alike, and what `toolcrib` alone tells of those clients."""

from pathlib import Path

import pytest
from homes import CLAUDE, NOTES, TIME, Cli, imported, put


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
        ["install"],
        ["install", "cursor", "--all"],
        ["install", "emacs"],
        ["install", "cursor"],
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
