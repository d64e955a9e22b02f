"""How to begin: what to do without a configuration, and how a client is told of Toolcrib."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolcrib.files import expanded


def how_to_begin(folder: Path) -> str:
    """What to do when nothing is configured.

    Args:
        folder: The user's own configuration folder.
    """
    from toolcrib.clients import client_files

    found = next(client_files(), None)
    example = {"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}
    return "\n".join(
        [
            "toolcrib import takes over the servers that your clients have. Their files are read as they are, too:",
            f"  toolcrib servers --config {quoted(str(found.path)) if found else 'FILE'}",
            f"or any *.json in {folder}, such as:",
            f"  {json.dumps(example)}",
            "To see it at work without any configuration: toolcrib demo",
        ]
    )


def serve_command(configs: Sequence[Path]) -> list[str]:
    """The command, with its arguments, by which a client starts the gateway."""
    arguments = ["serve"]
    for path in configs:
        arguments += ["--config", str(expanded(path).absolute())]
    # Clients of the desktop don't have the shell's PATH, so the full path is given.
    beside = Path(sys.executable).with_name("toolcrib.exe" if sys.platform == "win32" else "toolcrib")
    if beside.is_file():
        return [str(beside), *arguments]
    return [sys.executable, "-m", "toolcrib", *arguments]


def client_entry(configs: Sequence[Path], switches: Sequence[str] = ()) -> dict[str, Any]:
    """The entry that a client's configuration needs, of the shape that nearly all clients read.

    Args:
        configs: What `--config` named.
        switches: Other options of `serve`.
    """
    command, *arguments = serve_command(configs)
    return {"mcpServers": {"toolcrib": {"command": command, "args": [*arguments, *switches]}}}


def client_commands(configs: Sequence[Path]) -> dict[str, str]:
    """The command line that adds the gateway, for the clients that have one."""
    start = serve_command(configs)
    words = " ".join(quoted(word) for word in start)
    entry = json.dumps({"name": "toolcrib", "command": start[0], "args": start[1:]})
    return {
        "Claude Code": f"claude mcp add toolcrib -- {words}",
        "Codex": f"codex mcp add toolcrib -- {words}",
        "VS Code": f"code --add-mcp {quoted(entry)}",
    }


def quoted(word: str) -> str:
    """A word as it is typed in a shell."""
    if sys.platform == "win32":
        import subprocess

        return subprocess.list2cmdline([word])
    import shlex

    return shlex.quote(word)
