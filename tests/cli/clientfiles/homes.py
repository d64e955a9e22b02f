"""A home with the files of clients: what is put into them, and what Toolcrib has imported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]

TIME = {"command": "uvx", "args": ["mcp-server-time"]}
NOTES = {"command": "notes", "env": {"NOTES_TOKEN": "tok-5f9a8b7c6d5e4f3a"}}
CLAUDE = ".config/Claude/claude_desktop_config.json"
CODEX = '# mine\nmodel = "m"\n\n[mcp_servers.notes]\ncommand = "notes"\nenv = {NOTES_TOKEN = "tok-5f9a8b7c6d5e4f3a"}\n'


def put(home: Path, place: str, content: Any) -> Path:
    """Write a file of a home: bytes of a text as it is, or JSON."""
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else json.dumps(content, indent=2).encode())
    return path


def imported(home: Path) -> dict[str, Any]:
    """The servers of Toolcrib's own file."""
    return json.loads((home / "crib" / "servers.json").read_text())["mcpServers"]
