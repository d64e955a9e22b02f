"""`toolcrib import`, `install` and `uninstall` on the files of clients, from finding them to giving them back."""

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import keyring
import keyring.backend
import pytest

Cli = Callable[..., Any]

TIME = {"command": "uvx", "args": ["mcp-server-time"]}
NOTES = {"command": "notes", "env": {"NOTES_TOKEN": "tok-5f9a8b7c6d5e4f3a"}}
CLAUDE = ".config/Claude/claude_desktop_config.json"
CODEX = '# mine\nmodel = "m"\n\n[mcp_servers.notes]\ncommand = "notes"\nenv = {NOTES_TOKEN = "tok-5f9a8b7c6d5e4f3a"}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it; Toolcrib's folders are the test's own."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(folder / "crib"))
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(folder / "state"))
    monkeypatch.setattr(sys, "platform", "linux")
    return folder


def put(home: Path, place: str, content: Any) -> Path:
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else json.dumps(content, indent=2).encode())
    return path


def imported(home: Path) -> dict[str, Any]:
    return json.loads((home / "crib" / "servers.json").read_text())["mcpServers"]


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


def test_secrets_go_to_the_keyring_where_one_says_so(cli: Cli, home: Path) -> None:
    class Kept(keyring.backend.KeyringBackend):
        priority = 1  # pyright: ignore[reportAssignmentType]
        held: ClassVar[dict[tuple[str, str], str]] = {}

        def get_password(self, service: str, username: str) -> str | None:
            return self.held.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.held[service, username] = password

    before = keyring.get_keyring()
    keyring.set_keyring(Kept())
    try:
        put(home, CLAUDE, {"mcpServers": {"notes": NOTES}})
        assert cli("import", "--keyring", "--yes").code == 0
        assert imported(home)["notes"]["env"] == {"NOTES_TOKEN": "${keyring:notes/NOTES_TOKEN}"}
        assert Kept.held == {("toolcrib", "notes/NOTES_TOKEN"): "tok-5f9a8b7c6d5e4f3a"}
        assert cli("import", "--json", "--yes").json["servers"][0]["state"] == "known"
        assert cli("install", "claude-desktop", "--yes", "--json").json["changes"][0]["taken"] == ["notes"]
    finally:
        keyring.set_keyring(before)


def test_inputs_of_vs_code_come_along(cli: Cli, home: Path) -> None:
    entry = {"command": "x", "env": {"K": "${input:key}"}}
    inputs = [{"id": "key", "type": "promptString", "password": True}, {"id": "other", "type": "promptString"}]
    put(home, ".config/Code/User/mcp.json", {"inputs": inputs, "servers": {"x": entry}})
    assert cli("import", "--yes").code == 0
    written = json.loads((home / "crib" / "servers.json").read_text())
    assert written["inputs"] == inputs[:1]


def test_install_and_uninstall_give_every_byte_back(cli: Cli, home: Path) -> None:
    inner = f'"time": {json.dumps(TIME)}, // the time'
    commented = f'{{\n\t// mine\n\t"mcpServers": {{\n\t\t{inner}\n\t}},\n\t"x": 1\n}}\n'
    files = {
        CLAUDE: json.dumps({"mcpServers": {"time": TIME}, "theme": "dark"}),
        ".cursor/mcp.json": commented,
        ".config/Code/User/mcp.json": json.dumps({"servers": {"time": {"type": "stdio", **TIME}}}),
        ".codex/config.toml": CODEX,
        ".config/goose/config.yaml": "# g\nextensions:\n  dev: {type: builtin}\n  t: {type: stdio, cmd: uvx}\n",
        ".config/zed/settings.json": "\ufeff// z\n{}\n",
        ".copilot/mcp-config.json": json.dumps({"mcpServers": {"t": {"type": "local", **TIME, "tools": ["*"]}}}),
    }
    paths = {place: put(home, place, content) for place, content in files.items()}
    shown = cli("install", "--all", "--dry-run")
    assert shown.code == 0
    assert '-\t\t"time"' in shown.out
    assert "tok-5f9a" not in shown.out  # a diff shows no secret
    assert {place: path.read_bytes().decode() for place, path in paths.items()} == files
    assert not (home / "crib").exists()

    ran = cli("install", "--all", "--yes", "--json")
    assert ran.code == 0
    assert sorted(ran.json["imported"]) == ["notes", "t", "time"]
    gateway = json.loads(paths[CLAUDE].read_text())
    assert list(gateway["mcpServers"]) == ["toolcrib"]
    assert gateway["theme"] == "dark"
    entry = gateway["mcpServers"]["toolcrib"]
    assert entry["args"][-1] == "serve"
    assert entry["env"]["TOOLCRIB_CONFIG_DIR"] == str(home / "crib")
    assert "// mine" in paths[".cursor/mcp.json"].read_text()
    assert "dev: {type: builtin}" in paths[".config/goose/config.yaml"].read_text()
    assert cli("import", "--json").json["servers"][0]["state"] == "toolcrib"
    assert cli("install", "--all", "--yes", "--json").json["changes"] == []

    assert cli("uninstall", "--all", "--yes").code == 0
    assert {place: path.read_bytes().decode() for place, path in paths.items()} == files
    assert cli("uninstall", "cursor", "--yes").code == 2  # it is not there any more


def test_a_diff_shows_no_secret_of_arguments_and_addresses(cli: Cli, home: Path) -> None:
    servers = {
        "notes": {"command": "notes", "args": ["--api-key", "plain words 12345", "--level", "high"]},
        "far": {"url": "https://ann:let-me-in-5@far.example/mcp?token=abc-12345-def"},
    }
    put(home, ".cursor/mcp.json", {"mcpServers": servers})
    assert cli("import", "--yes").code == 0
    shown = cli("install", "cursor", "--dry-run").out
    assert '"high"' in shown
    assert [each for each in ("plain words", "let-me-in", "abc-12345") if each in shown] == []


def test_a_client_without_a_file_gets_one_and_loses_it_again(cli: Cli, home: Path) -> None:
    path = home / ".codex" / "config.toml"
    assert cli("install", "codex", "--yes").code == 0
    assert "[mcp_servers.toolcrib]" in path.read_text()
    assert cli("uninstall", "codex", "--yes").code == 0
    assert not path.exists()


def test_kept_servers_stay_in_the_client(cli: Cli, home: Path) -> None:
    path = put(home, CLAUDE, {"mcpServers": {"time": TIME, "notes": NOTES}})
    assert cli("install", "claude-desktop", "--keep", "notes", "--yes").code == 0
    assert set(json.loads(path.read_text())["mcpServers"]) == {"toolcrib", "notes"}
    assert list(imported(home)) == ["time"]


def test_a_file_that_changed_since_is_left_alone_unless_its_changes_are_kept(cli: Cli, home: Path) -> None:
    path = put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    assert cli("install", "cursor", "--yes").code == 0
    changed = json.loads(path.read_text())
    changed["mcpServers"]["added"] = {"command": "a"}
    path.write_text(json.dumps(changed))
    before = path.read_bytes()
    ran = cli("uninstall", "cursor", "--yes")
    assert ran.code == 2
    assert "has changed since" in ran.err
    assert path.read_bytes() == before
    assert cli("uninstall", "cursor", "--keep-changes", "--yes").code == 0
    assert json.loads(path.read_text())["mcpServers"] == {"added": {"command": "a"}, "time": TIME}


def test_installing_again_still_goes_back_to_before_the_first_time(cli: Cli, home: Path) -> None:
    path = put(home, ".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    assert cli("install", "cursor", "--yes").code == 0
    changed = json.loads(path.read_text())
    changed["mcpServers"]["added"] = {"command": "a"}
    path.write_text(json.dumps(changed))
    assert cli("install", "cursor", "--yes").code == 0
    assert list(json.loads(path.read_text())["mcpServers"]) == ["toolcrib"]
    assert cli("uninstall", "cursor", "--yes").code == 0
    assert json.loads(path.read_text())["mcpServers"] == {"added": {"command": "a"}, "time": TIME}


@pytest.mark.skipif(os.name != "posix", reason="rights are lists there, which the mode does not tell")
def test_links_stay_links_and_write_protected_files_are_left_alone(cli: Cli, home: Path) -> None:
    real = put(home, "dotfiles/mcp.json", {"mcpServers": {"time": TIME}})
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    assert cli("install", "cursor", "--yes").code == 0
    assert link.is_symlink()
    assert "toolcrib" in real.read_text()
    assert cli("uninstall", "cursor", "--yes").code == 0
    assert link.is_symlink()

    before = real.read_bytes()
    real.chmod(0o444)
    ran = cli("install", "cursor", "--yes")
    assert ran.code == 2
    assert "write-protected" in ran.err
    assert real.read_bytes() == before


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


def test_a_file_elsewhere_is_read_in_the_form_of_its_client(cli: Cli, home: Path) -> None:
    path = put(home, "elsewhere/config.toml", CODEX)
    assert cli("import", "codex", "--file", path, "--yes").code == 0
    assert imported(home)["notes"]["env"] == {"NOTES_TOKEN": "tok-5f9a8b7c6d5e4f3a"}


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
