"""`toolcrib install`: clients' files with Toolcrib in the place of their servers, and what `uninstall` gives back."""

import json
import os
from pathlib import Path

import pytest
from homes import CLAUDE, CODEX, NOTES, TIME, Cli, imported, put


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


def test_a_diff_keeps_what_is_no_secret_under_the_name_of_one(cli: Cli, home: Path) -> None:
    inputs = '[{"type": "promptString", "id": "key", "description": "Key", "password": true}]'
    far = '{"type": "http", "url": "https://far.example/mcp", "headers": {"X-Api-Key": "${input:key}"}}'
    put(home, ".config/Code/User/mcp.json", f'{{"inputs": {inputs},\n"servers": {{"far": {far}}}\n}}\n')
    near = 'url = "https://near.example/mcp"\nbearer_token_env_var = "NEAR_TOKEN"\n'
    put(home, ".codex/config.toml", f"[mcp_servers.near]\n{near}")
    shown = cli("install", "--all", "--dry-run").out
    assert '"password": true' in shown
    assert '-bearer_token_env_var = "NEAR_TOKEN"' in shown
    assert "***" not in shown


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
    assert "Claude Desktop still loads notes itself" in cli().out


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
