"""Where clients keep their files, and what their entries mean; forms from each client's own documentation."""

from pathlib import Path
from typing import Any

import pytest

from toolcrib.clients import CLIENTS, Machine, client, read_client_file
from toolcrib.clients.dialects import translated
from toolcrib.errors import UsageError

HOME = Path("/home/u")


@pytest.mark.parametrize(
    ("name", "system", "environ", "place"),
    [
        ("claude-desktop", "macos", {}, "/home/u/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "windows", {"APPDATA": "/r"}, "/r/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", {}, "/home/u/.config/Claude/claude_desktop_config.json"),
        ("claude-code", "linux", {}, "/home/u/.claude.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"),
        ("cursor", "windows", {}, "/home/u/.cursor/mcp.json"),
        ("vscode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"),
        ("vscode", "macos", {}, "/home/u/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "windows", {}, "/home/u/AppData/Roaming/Code/User/mcp.json"),
        ("windsurf", "macos", {}, "/home/u/.codeium/windsurf/mcp_config.json"),
        ("codex", "linux", {}, "/home/u/.codex/config.toml"),
        ("codex", "linux", {"CODEX_HOME": "/k"}, "/k/config.toml"),
        ("gemini-cli", "linux", {}, "/home/u/.gemini/settings.json"),
        ("zed", "linux", {}, "/home/u/.config/zed/settings.json"),
        ("zed", "macos", {}, "/home/u/.config/zed/settings.json"),
        ("zed", "windows", {"APPDATA": "/r"}, "/r/Zed/settings.json"),
        ("copilot-cli", "linux", {}, "/home/u/.copilot/mcp-config.json"),
        ("goose", "macos", {}, "/home/u/.config/goose/config.yaml"),
        ("goose", "windows", {"APPDATA": "/r"}, "/r/Block/goose/config/config.yaml"),
    ],
)
def test_each_client_has_its_file_where_it_says(name: str, system: Any, environ: dict[str, str], place: str) -> None:
    assert next(client(name).files(Machine(system, HOME, environ))).as_posix() == place


def test_clients_are_named_by_id_or_title() -> None:
    assert client("Claude Desktop").id == client("claude_desktop").id == "claude-desktop"
    with pytest.raises(UsageError, match="no client"):
        client("emacs")
    assert len({each.id for each in CLIENTS}) == len(CLIENTS) == 10


@pytest.mark.parametrize(
    ("name", "entry", "expected"),
    [
        (
            "codex",
            {
                "command": "npx",
                "args": ["-y", "x"],
                "env": {"A": "1"},
                "env_vars": ["HOME_TOKEN"],
                "cwd": "/w",
                "startup_timeout_sec": 20,
                "tool_timeout_sec": 45,
                "enabled_tools": ["read"],
                "disabled_tools": ["drop"],
                "enabled": False,
            },
            {
                "command": "npx",
                "args": ["-y", "x"],
                "cwd": "/w",
                "env": {"A": "1", "HOME_TOKEN": "${env:HOME_TOKEN}"},
                "disabled": True,
                "toolcrib": {"start_timeout": 20, "timeout": 45, "allow": ["read"], "deny": ["drop"]},
            },
        ),
        (
            "codex",
            {
                "url": "https://e/mcp",
                "bearer_token_env_var": "TOKEN",
                "http_headers": {"X-Region": "eu ${x}"},
                "env_http_headers": {"X-Org": "ORG"},
            },
            {
                "url": "https://e/mcp",
                # Codex expands nothing: what looks like a variable is meant as it stands.
                "headers": {"X-Region": "eu $${x}", "X-Org": "${env:ORG}", "Authorization": "Bearer ${env:TOKEN}"},
            },
        ),
        (
            "gemini-cli",
            {"httpUrl": "https://e/mcp", "headers": {"A": "Bearer $TOKEN"}, "timeout": 30000, "includeTools": ["a"]},
            {
                "url": "https://e/mcp",
                "type": "http",
                "headers": {"A": "Bearer ${TOKEN}"},
                "toolcrib": {"timeout": 30.0, "allow": ["a"]},
            },
        ),
        ("gemini-cli", {"url": "https://e/sse"}, {"url": "https://e/sse", "type": "sse"}),
        ("gemini-cli", {"command": "x", "timeout": True}, {"command": "x"}),
        (
            "codex",
            {"command": "x", "env_vars": ["A", {"name": "B", "source": "local"}], "startup_timeout_ms": 2500},
            {"command": "x", "env": {"A": "${env:A}", "B": "${env:B}"}, "toolcrib": {"start_timeout": 2.5}},
        ),
        (
            "zed",
            {"source": "custom", "command": "npx", "args": ["x"], "env": {"K": "v"}},
            {"command": "npx", "args": ["x"], "env": {"K": "v"}},
        ),
        (
            "zed",
            {"command": {"path": "npx", "args": ["x"], "env": {"K": "v"}}, "settings": {}},
            {"command": "npx", "args": ["x"], "env": {"K": "v"}},
        ),
        ("zed", {"source": "extension", "settings": {}}, None),
        (
            "goose",
            {"type": "stdio", "cmd": "uvx", "args": ["f"], "envs": {"A": "1"}, "env_keys": ["B"], "timeout": 300},
            {
                "type": "stdio",
                "args": ["f"],
                "command": "uvx",
                "env": {"B": "${env:B}", "A": "1"},
                "toolcrib": {"timeout": 300},
            },
        ),
        ("goose", {"type": "streamable_http", "uri": "https://e/mcp"}, {"type": "http", "url": "https://e/mcp"}),
        ("goose", {"type": "builtin", "name": "developer"}, None),
        (
            "copilot-cli",
            {"type": "local", "command": "npx", "tools": ["a", "b"]},
            {"type": "local", "command": "npx", "toolcrib": {"allow": ["a", "b"]}},
        ),
        ("copilot-cli", {"type": "http", "url": "https://e", "tools": ["*"]}, {"type": "http", "url": "https://e"}),
        (
            "windsurf",
            {"serverUrl": "https://e/mcp", "disabledTools": ["x"]},
            {"url": "https://e/mcp", "toolcrib": {"deny": ["x"]}},
        ),
        ("cursor", {"command": "${userHome}/x", "envFile": ".env"}, {"command": "${userHome}/x", "envFile": ".env"}),
        ("claude-desktop", {"command": "x", "args": ["${HOME}"]}, {"command": "x", "args": ["$${HOME}"]}),
        ("cursor", {"note": 1}, None),
        ("cursor", "x", None),
    ],
)
def test_entries_mean_the_same_in_toolcribs_form(name: str, entry: Any, expected: Any) -> None:
    assert translated(client(name), entry).entry == expected


def test_what_is_wrong_with_a_file_is_its_error(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    for data in (b"{", b"\xff\xfe\xfa{", b'{"mcpServers": 3}'):
        path.write_bytes(data)
        found = read_client_file(client("cursor"), path)
        assert found.error is not None
        assert found.servers == ()
    path.write_bytes(b"")
    assert read_client_file(client("cursor"), path).error is None
    assert read_client_file(client("cursor"), tmp_path).error is not None
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "nothing.json")
    assert "link" in str(read_client_file(client("cursor"), link).error)
