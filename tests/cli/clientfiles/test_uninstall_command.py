"""`toolcrib uninstall` where a client's file has changed since: what stays, and what gets its own text again."""

import json
from pathlib import Path
from typing import Any

import pytest
from homes import TIME, Cli, put
from ruamel.yaml import YAML

ONE_LINE = """{
  "numStartups": 5,
  "mcpServers": {
    // tells the time
    "time": {"command": "uvx", "args": ["mcp-server-time"]}, // no key needed
    // takes notes
    "notes": {"command": "notes", /* the old one */ "env": {"NOTES_TOKEN": "tok-5f9a8b7c6d5e4f3a"}}
  },
  "tips": {"seen": 1}
}
"""
CODEX_TWO = """# mine
model = "m"

[mcp_servers.notes]
command = "notes"  # the old one
env = { NOTES_TOKEN = "tok-5f9a8b7c6d5e4f3a" }

# tells the time
[mcp_servers.time]
command = "uvx"
args = [
  "mcp-server-time",  # from PyPI
]

[tui]
seen = 1
"""
GOOSE = """# g
extensions:
  # tells the time
  time: {type: stdio, cmd: uvx, args: [mcp-server-time]}  # no key needed
  notes:
    type: stdio
    cmd: notes  # the old one
seen: 1
"""
OF_THREE_FORMATS = pytest.mark.parametrize(
    ("name", "place", "content", "counter", "added"),
    [
        ("claude-code", ".claude.json", ONE_LINE, ('"seen": 1', '"seen": 42'), ('  "tips"', '  "x": {},\n  "tips"')),
        ("codex", ".codex/config.toml", CODEX_TWO, ("seen = 1", "seen = 42"), ("[tui]", "[x]\n\n[tui]")),
        ("goose", ".config/goose/config.yaml", GOOSE, ("seen: 1", "seen: 42"), ("seen", "x: {}\nseen")),
    ],
    ids=["JSON", "TOML", "YAML"],
)


@OF_THREE_FORMATS
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_what_a_client_wrote_elsewhere_in_its_file_stays_and_its_servers_have_their_own_text_again(
    cli: Cli,
    home: Path,
    name: str,
    place: str,
    content: str,
    counter: tuple[str, str],
    added: tuple[str, str],
    newline: str,
) -> None:
    content = content.replace("\n", newline)
    added = (added[0], added[1].replace("\n", newline))
    path = put(home, place, content)
    assert cli("install", name, "--yes").code == 0
    text = path.read_bytes().decode()
    assert "uvx" not in text
    path.write_bytes(text.replace(*counter).replace(*added).encode())
    assert "would be kept" in cli("uninstall", name, "--dry-run").out
    ran = cli("uninstall", name, "--yes")
    assert ran.code == 0, ran.err
    assert "It had changed since, and all but its servers stays as it is now." in ran.out
    assert path.read_bytes().decode() == content.replace(*counter).replace(*added)
    [kept] = (home / "state" / "clients").glob("*.kept")
    assert f"What it was before Toolcrib is kept in {kept}." in ran.out
    assert kept.read_bytes().decode() == content
    assert cli("install", name, "--yes", "--json").code == 0
    assert kept.exists()  # a later installation takes no copy away


def test_a_file_that_its_client_wrote_anew_has_its_servers_as_they_were(cli: Cli, home: Path) -> None:
    path = put(home, ".claude.json", ONE_LINE)
    assert cli("install", "claude-code", "--yes").code == 0
    own = ONE_LINE[ONE_LINE.index("{\n    // tells") : ONE_LINE.index(',\n  "tips"')]
    shown = json.loads(cli("uninstall", "claude-code", "--dry-run", "--json").out)["changes"][0]
    assert (shown["partial"], shown["kept"]) == (False, None)
    # As JSON.stringify writes it: no comment, no line.
    path.write_text('{"numStartups":6,"mcpServers":{"toolcrib":{"command":"x"}},"tips":{"seen":2}}')
    ran = cli("uninstall", "claude-code", "--yes", "--json")
    assert ran.json["changes"][0]["partial"] is True
    assert Path(ran.json["changes"][0]["kept"]).read_text() == ONE_LINE
    assert path.read_text() == f'{{"numStartups":6,"mcpServers": {own},"tips":{{"seen":2}}}}'


@pytest.mark.parametrize("content", [None, '{\n  "a": 1\n}\n'], ids=["no file", "no servers"])
def test_a_client_that_had_no_servers_has_none_again(cli: Cli, home: Path, content: str | None) -> None:
    path = put(home, ".claude.json", content) if content else home / ".claude.json"
    assert cli("install", "claude-code", "--yes").code == 0
    path.write_text(json.dumps({**json.loads(path.read_text()), "numStartups": 6}))
    assert cli("uninstall", "claude-code", "--yes").code == 0
    assert json.loads(path.read_text()) == {**json.loads(content or "{}"), "numStartups": 6}


@OF_THREE_FORMATS
def test_keeping_changes_gives_each_server_its_own_text(
    cli: Cli, home: Path, name: str, place: str, content: str, counter: tuple[str, str], added: tuple[str, str]
) -> None:
    path = put(home, place, content)
    assert cli("install", name, "--yes").code == 0
    news = {"codex": "[mcp_servers.new]\ncommand = 'n'\n\n[tui]", "goose": "  new: {type: stdio, cmd: n}\nseen"}
    old = {"codex": "[tui]", "goose": "seen"}.get(name, '"mcpServers": {')
    path.write_text(path.read_text().replace(old, news.get(name, '"mcpServers": {\n    "new": {"command": "n"},')))
    refused = cli("uninstall", name, "--yes")
    assert refused.code == 2
    assert "has changed since" in refused.err
    shown = cli("uninstall", name, "--keep-changes", "--dry-run").out
    assert [each for each in shown.splitlines() if each.startswith("-") and "toolcrib" in each]
    assert "the old one" in shown
    assert "tok-5f9a" not in shown  # a diff shows no secret
    ran = cli("uninstall", name, "--keep-changes", "--yes")
    assert ran.code == 0, ran.err
    assert {*content.splitlines()} <= {*path.read_text().splitlines()}
    assert "new" in path.read_text()
    [kept] = (home / "state" / "clients").glob("*.kept")
    assert str(kept) in ran.out
    assert kept.read_text() == content


def test_servers_of_a_file_on_one_line_have_their_own_text_beside_new_ones(cli: Cli, home: Path) -> None:
    path = put(home, ".cursor/mcp.json", '{"mcpServers": {"time": {"command": "uvx" /* any */, "args": []}}}')
    assert cli("install", "cursor", "--yes").code == 0
    servers = json.loads(path.read_text())["mcpServers"]
    path.write_text(json.dumps({"mcpServers": {"new": {"command": "n"}, **servers}}))
    assert cli("uninstall", "cursor", "--keep-changes", "--yes").code == 0
    assert path.read_text() == (
        '{"mcpServers": {"new": {"command": "n"}, "time": {"command": "uvx" /* any */, "args": []}}}'
    )


def test_a_file_that_is_gone_or_a_copy_that_is_gone_is_told_and_can_be_kept(cli: Cli, home: Path) -> None:
    path = put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    assert cli("install", "cursor", "--yes").code == 0
    path.unlink()
    assert "is gone, and was left alone" in cli("uninstall", "cursor", "--yes").err
    assert cli("uninstall", "cursor", "--keep-changes", "--yes").code == 0
    assert json.loads(path.read_text())["mcpServers"] == {"time": TIME}

    assert cli("install", "cursor", "--yes").code == 0
    for each in (home / "state" / "clients").glob("*.before"):
        each.unlink()
    assert "is gone, so" in cli("uninstall", "cursor", "--yes").err
    assert cli("uninstall", "cursor", "--keep-changes", "--yes").code == 0
    assert json.loads(path.read_text())["mcpServers"] == {"time": TIME}


def test_taking_out_what_is_not_there_any_more_is_told_as_that(cli: Cli, home: Path) -> None:
    path = put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    assert cli("install", "cursor", "--yes").code == 0
    assert cli("uninstall", "cursor", "--yes").code == 0
    again = cli("uninstall", "cursor", "--yes")
    assert again.code == 2
    assert f"Toolcrib is not in {path}." in again.err
    path.write_text('{"mcpServers": {"toolcrib": {"command": "toolcrib"}}}')
    assert f"Toolcrib was not put into {path} by this command." in cli("uninstall", "cursor", "--yes").err


def test_a_file_that_goose_wrote_anew_has_the_values_of_its_servers_and_the_copy_has_their_comments(
    cli: Cli, home: Path
) -> None:
    path = put(home, ".config/goose/config.yaml", GOOSE)
    assert cli("install", "goose", "--yes").code == 0
    path.write_text('"seen": 2\n"extensions":\n    "toolcrib":\n        "type": "stdio"\n        "cmd": "toolcrib"\n')
    ran = cli("uninstall", "goose", "--yes", "--json")
    assert ran.code == 0, ran.err
    yaml: Any = YAML(typ="safe")
    assert yaml.load(path.read_text()) == yaml.load(GOOSE.replace("seen: 1", "seen: 2"))
    assert Path(ran.json["changes"][0]["kept"]).read_text() == GOOSE
