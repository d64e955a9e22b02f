"""`toolcrib import`: what it finds in the files of clients, and where their secrets go."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import keyring
import keyring.backend
import pytest
from homes import CLAUDE, CODEX, NOTES, TIME, Cli, imported, put
from keyring.backends import null

from toolcrib.config import Variables, load_config

OAUTH = {"clientId": "me", "clientSecret": "cs-777"}


def test_import_shows_all_and_writes_only_what_is_new(cli: Cli, home: Path) -> None:
    put(home, CLAUDE, {"mcpServers": {"time": TIME, "notes": NOTES}})
    put(home, ".cursor/mcp.json", {"mcpServers": {"clock": TIME, "notes": {"url": "https://n.example/mcp"}}})
    put(home, ".codex/config.toml", CODEX)
    shown = cli("import", "--dry-run", "--json").json
    states = [(each["client"], each["key"], each["state"], each["into"]) for each in shown["servers"]]
    assert states == [
        ("claude-desktop", "time", "new", "time"),
        ("claude-desktop", "notes", "new", "notes"),
        ("cursor", "clock", "same", "time"),
        ("cursor", "notes", "renamed", "notes-cursor"),
        ("codex", "notes", "same", "notes"),
    ]
    assert shown["servers"][1]["secrets"] == ["env.NOTES_TOKEN"]
    assert not (home / "crib").exists()
    assert "notes: new, as notes_cursor, since" in cli("import", "--dry-run").out  # what all commands call it
    assert cli("import").code == 2  # nobody agreed
    assert not (home / "crib").exists()

    ran = cli("import", "--yes")
    assert ran.code == 0
    assert "tok-5f9a" not in ran.out + ran.err
    assert imported(home) == {"time": TIME, "notes": NOTES, "notes-cursor": {"url": "https://n.example/mcp"}}
    if os.name == "posix":
        assert stat.S_IMODE((home / "crib" / "servers.json").stat().st_mode) == 0o600
    again = cli("import", "--json", "--yes").json
    assert again["imported"] == []
    assert {each["state"] for each in again["servers"]} == {"known"}


def test_one_broken_file_harms_no_other(cli: Cli, home: Path) -> None:
    put(home, CLAUDE, "{")
    put(home, ".cursor/mcp.json", "")
    put(home, ".gemini/settings.json", "")
    (home / ".gemini" / "settings.json").write_bytes(b'{"a": "\xff\xfa"}')
    put(home, ".codex/config.toml", CODEX)
    ran = cli("import", "--json", "--yes").json
    assert [each["client"] for each in ran["unreadable"]] == ["claude-desktop", "gemini-cli"]
    assert list(imported(home)) == ["notes"]


@pytest.mark.parametrize("content", ["", "\ufeff", "  \n", "{}", '\ufeff{"mcpServers": {}}'], ids=repr)
def test_an_empty_client_s_file_has_no_servers(cli: Cli, home: Path, content: str) -> None:
    put(home, ".cursor/mcp.json", content)
    ran = cli("import", "--yes", "--json")
    assert (ran.code, ran.json["servers"], ran.json["unreadable"]) == (0, [], [])


def test_a_file_with_a_byte_order_mark_or_in_utf_16_is_read(cli: Cli, home: Path) -> None:
    put(home, ".cursor/mcp.json", "\ufeff" + json.dumps({"mcpServers": {"time": TIME}}))
    path = put(home, ".gemini/settings.json", "")
    path.write_bytes(json.dumps({"mcpServers": {"notes": NOTES}}).encode("utf-16"))
    assert cli("import", "--yes").code == 0
    assert set(imported(home)) == {"time", "notes"}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="who may do all reads every file")
def test_a_file_that_may_not_be_read_is_told(cli: Cli, home: Path) -> None:
    put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME}}).chmod(0)
    [told] = cli("import", "--json", "--yes").json["unreadable"]
    assert "can't be read" in told["error"]["message"]


@pytest.mark.skipif(os.name != "posix", reason="links need rights of their own there")
def test_a_linked_file_is_read_and_a_link_to_nothing_or_a_folder_is_told(cli: Cli, home: Path) -> None:
    real = put(home, "dotfiles/mcp.json", {"mcpServers": {"time": TIME}})
    for place, to in ((".cursor/mcp.json", real), (".codex/config.toml", home / "gone"), (CLAUDE, home)):
        (home / place).parent.mkdir(parents=True)
        (home / place).symlink_to(to)
    ran = cli("import", "--json", "--yes").json
    assert list(imported(home)) == ["time"]
    assert [each["client"] for each in ran["unreadable"]] == ["claude-desktop"]


def test_unset_variables_and_what_stays_are_told(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GH_PAT", raising=False)
    put(home, ".cursor/mcp.json", {"mcpServers": {"gh": {"command": "gh", "env": {"T": "${env:GH_PAT}"}}}})
    put(home, ".config/goose/config.yaml", "extensions:\n  developer: {type: builtin, name: developer}\n")
    ran = cli("import", "--dry-run")
    assert "GH_PAT is not set" in ran.out
    assert "developer: stays where it is" in ran.out


def test_relative_places_of_a_project_still_hold(cli: Cli, home: Path) -> None:
    project = home / "work"
    put(project, ".cursor/mcp.json", {"mcpServers": {"p": {"command": "./run", "args": ["${workspaceFolder}/x"]}}})
    put(home, ".claude.json", {"projects": {str(project): {"mcpServers": {"q": {"command": "q", "cwd": "sub"}}}}})
    assert cli("import", "--json", "--yes").json["servers"] == []  # unasked, no project's file is read
    assert cli("import", "--project", project, "--yes").code == 0
    assert imported(home)["p"] == {"command": "./run", "args": [f"{project}/x"], "cwd": str(project)}
    assert Path(imported(home)["q"]["cwd"]).is_absolute()


class Kept(keyring.backend.KeyringBackend):
    """A keyring that lasts as long as a test."""

    priority = 1  # pyright: ignore[reportAssignmentType]
    held: ClassVar[dict[tuple[str, str], str]] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[service, username] = password


@pytest.fixture
def kept() -> Iterator[dict[tuple[str, str], str]]:
    """What the system's keyring holds."""
    before = keyring.get_keyring()
    Kept.held = {}
    keyring.set_keyring(Kept())
    yield Kept.held
    keyring.set_keyring(before)


def test_secrets_go_to_the_keyring_where_one_says_so(cli: Cli, home: Path, kept: dict[tuple[str, str], str]) -> None:
    put(home, CLAUDE, {"mcpServers": {"notes": NOTES}})
    assert "1 secret stands written out above; --keyring moves it into" in cli("import", "--dry-run").out
    assert cli("import", "--keyring", "--yes").code == 0
    assert imported(home)["notes"]["env"] == {"NOTES_TOKEN": "${keyring:notes/NOTES_TOKEN}"}
    assert kept == {("toolcrib", "notes/NOTES_TOKEN"): "tok-5f9a8b7c6d5e4f3a"}
    assert cli("import", "--json", "--yes").json["servers"][0]["state"] == "known"
    assert cli("install", "claude-desktop", "--yes", "--json").json["changes"][0]["taken"] == ["notes"]


def test_truths_and_names_of_variables_stay_out_of_the_keyring(
    cli: Cli, home: Path, kept: dict[tuple[str, str], str]
) -> None:
    env = {"DISABLE_AUTH": "true", "TOKEN_ENV_VAR": "NOTES_TOKEN"}
    entry = {"command": "notes", "args": ["--token-env", "NOTES_TOKEN"], "env": env}
    put(home, CLAUDE, {"mcpServers": {"notes": entry}})
    assert "written out" not in cli("import", "--dry-run").out
    assert cli("import", "--keyring", "--yes").code == 0
    assert imported(home)["notes"] == entry
    assert kept == {}


def test_secrets_of_what_is_there_already_go_to_the_keyring_too(
    cli: Cli, home: Path, kept: dict[tuple[str, str], str]
) -> None:
    theirs = put(home, CLAUDE, {"mcpServers": {"time": TIME, "notes": NOTES}})
    assert cli("import", "--yes").code == 0
    dry = cli("import", "--keyring", "--dry-run")
    assert "env.NOTES_TOKEN of notes would go out of" in dry.err
    assert (imported(home)["notes"], kept) == (NOTES, {})
    assert cli("import", "--keyring").code == 2  # nobody agreed
    before = theirs.read_bytes()
    ran = cli("import", "--keyring", "--yes", "--json")
    assert (ran.code, ran.json["imported"], ran.json["moved"]) == (0, [], ["notes"])
    assert list(imported(home)) == ["time", "notes"]
    assert imported(home)["notes"]["env"] == {"NOTES_TOKEN": "${keyring:notes/NOTES_TOKEN}"}
    assert kept == {("toolcrib", "notes/NOTES_TOKEN"): "tok-5f9a8b7c6d5e4f3a"}
    assert not [path for path in (home / "crib").iterdir() if "tok-5f9a" in path.read_text()]
    assert theirs.read_bytes() == before
    assert ".bak" not in ran.err
    again = cli("import", "--keyring", "--yes", "--json").json
    assert ({each["state"] for each in again["servers"]}, again["moved"]) == ({"known"}, [])


def test_a_copy_that_may_still_hold_a_moved_secret_is_named(
    cli: Cli, home: Path, kept: dict[tuple[str, str], str]
) -> None:
    put(home, CLAUDE, {"mcpServers": {"time": TIME, "notes": NOTES}})
    for only in ("notes", "time"):
        assert cli("import", "--only", only, "--yes").code == 0
    assert f"{home / 'crib' / 'servers.json.bak'}, a copy" in cli("import", "--keyring", "--yes").err
    assert len(kept) == 1


def test_a_keyring_that_keeps_nothing_costs_no_secret(cli: Cli, home: Path, kept: dict[tuple[str, str], str]) -> None:
    put(home, CLAUDE, {"mcpServers": {"notes": NOTES}})
    assert cli("import", "--yes").code == 0
    keyring.set_keyring(null.Keyring())  # as `keyring --disable` sets it; the fixture puts back what was
    ran = cli("import", "--keyring", "--yes")
    assert (ran.code, imported(home), kept) == (1, {"notes": NOTES}, {})
    assert "so notes/NOTES_TOKEN stays where it is" in ran.err


def test_no_secret_is_moved_out_of_a_client_s_own_file(cli: Cli, home: Path, kept: dict[tuple[str, str], str]) -> None:
    theirs = put(home, ".cursor/mcp.json", {"mcpServers": {"notes": NOTES}})
    assert cli("import", "cursor", "--keyring", "--yes", "--config", theirs).code == 0
    assert (json.loads(theirs.read_text())["mcpServers"], kept) == ({"notes": NOTES}, {})


def test_a_disabled_server_is_told_as_such(cli: Cli, home: Path) -> None:
    put(home, CLAUDE, {"mcpServers": {"time": TIME, "old": {**NOTES, "disabled": True}}})
    assert "  time: new\n  old: new, disabled\n" in cli("import", "--dry-run").out


def test_secrets_of_arguments_and_addresses_go_to_the_keyring_too(
    cli: Cli, home: Path, kept: dict[tuple[str, str], str]
) -> None:
    servers = {
        "notes": {"command": "notes", "args": ["--api-key", "plain words", "--token=t-12345", "--level", "high"]},
        "bridge": {
            "command": "npx",
            "args": ["mcp-remote", "https://b.example", "--header", "Authorization: Bearer b-123"],
        },
        "db": {"command": "db", "args": ["postgres://ann:p%40ss@db.example/x"], "env": {"DSN": "mysql://u:pw-9@h/y"}},
        "far": {"url": "https://let-me-in-5@far.example/mcp?token=abc-12345-def&page=2", "oauth": OAUTH},
    }
    put(home, ".cursor/mcp.json", {"mcpServers": servers})
    shown = cli("import", "--dry-run", "--json").json["servers"]
    assert {each["key"]: each["secrets"] for each in shown} == {
        "notes": ["args --api-key", "args --token"],
        "bridge": ["args Authorization"],
        "db": ["env.DSN", "args password"],
        "far": ["url token", "url token", "oauth.clientSecret"],
    }
    assert cli("import", "--keyring", "--yes").code == 0
    text = (home / "crib" / "servers.json").read_text()
    secrets = ("plain words", "t-12345", "b-123", "p%40ss", "pw-9", "let-me-in-5", "abc-12345-def", "cs-777")
    assert [each for each in secrets if each in text] == []
    assert sorted(kept.values()) == sorted(("Bearer b-123", *(each for each in secrets if each != "b-123")))
    config = load_config([home / "crib" / "servers.json"])
    resolved = {key: each.resolve(Variables()) for key, each in config.servers.items()}
    assert [*resolved["notes"].args] == servers["notes"]["args"]
    assert [*resolved["bridge"].args] == servers["bridge"]["args"]
    assert ([*resolved["db"].args], resolved["db"].env["DSN"]) == (servers["db"]["args"], "mysql://u:pw-9@h/y")
    assert resolved["far"].url == servers["far"]["url"]
    assert {each["state"] for each in cli("import", "--json", "--yes").json["servers"]} == {"known"}


def test_inputs_of_vs_code_come_along(cli: Cli, home: Path) -> None:
    entry = {"command": "x", "env": {"K": "${input:key}"}}
    inputs = [{"id": "key", "type": "promptString", "password": True}, {"id": "other", "type": "promptString"}]
    put(home, ".config/Code/User/mcp.json", {"inputs": inputs, "servers": {"x": entry}})
    assert cli("import", "--yes").code == 0
    written = json.loads((home / "crib" / "servers.json").read_text())
    assert written["inputs"] == inputs[:1]


def test_two_inputs_of_one_id_stay_two(cli: Cli, home: Path) -> None:
    first = {"id": "key", "type": "promptString", "description": "Of the first"}
    second = {"id": "key", "type": "promptString", "description": "Of the second", "default": "b"}
    for place, server, given in (("a", "one", first), ("b", "two", second), ("c", "three", first)):
        entry = {"command": server, "env": {"K": "${input:key}"}}
        path = put(home, f"{place}/mcp.json", {"inputs": [given], "servers": {server: entry}})
        assert cli("import", "vscode", "--file", path, "--yes").code == 0
        assert cli("import", "vscode", "--file", path, "--json").json["servers"][0]["state"] == "known"
    written = json.loads((home / "crib" / "servers.json").read_text())
    asked = {key: each["env"]["K"] for key, each in written["mcpServers"].items()}
    assert asked == {"one": "${input:key}", "two": "${input:key-vscode}", "three": "${input:key}"}
    assert {each["id"]: each["description"] for each in written["inputs"]} == {
        "key": "Of the first",
        "key-vscode": "Of the second",
    }


def test_a_file_elsewhere_is_read_in_the_form_of_its_client(cli: Cli, home: Path) -> None:
    path = put(home, "elsewhere/config.toml", CODEX)
    assert cli("import", "codex", "--file", path, "--yes").code == 0
    assert imported(home)["notes"]["env"] == {"NOTES_TOKEN": "tok-5f9a8b7c6d5e4f3a"}
