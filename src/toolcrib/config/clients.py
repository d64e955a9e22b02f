"""The clients that people have: where each keeps its servers, and whether one of these is Toolcrib itself."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from toolcrib.config.paths import user_config_dir
from toolcrib.config.server import ServerConfig

_PLACES = (
    ("Claude Desktop", "~/.config/Claude/claude_desktop_config.json"),
    ("Claude Desktop", "~/Library/Application Support/Claude/claude_desktop_config.json"),
    ("Claude Desktop", "%APPDATA%/Claude/claude_desktop_config.json"),
    ("Cursor", "~/.cursor/mcp.json"),
    ("Windsurf", "~/.codeium/windsurf/mcp_config.json"),
    ("VS Code", "~/.config/Code/User/mcp.json"),
    ("VS Code", "~/Library/Application Support/Code/User/mcp.json"),
    ("VS Code", "%APPDATA%/Code/User/mcp.json"),
    ("Copilot", "~/.copilot/mcp-config.json"),
)


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client's own configuration on this machine.

    Attributes:
        client: The client's name.
        path: The file.
    """

    client: str
    path: Path


def client_files() -> Iterator[ClientFile]:
    """The configurations of known clients that exist on this machine."""
    for client, place in _PLACES:
        path = Path(os.path.expandvars(os.path.expanduser(place)))
        if path.is_file():
            yield ClientFile(client, path)


def is_toolcrib(server: ServerConfig) -> bool:
    """Whether an entry starts Toolcrib's gateway."""
    words = [server.command or "", *server.args]
    return "serve" in words and any(Path(word).stem.lower() == "toolcrib" for word in words)


def starts_itself(server: ServerConfig, files: Sequence[Path]) -> bool:
    """Whether an entry starts Toolcrib's gateway on the very configuration that holds it, and so for ever.

    Args:
        server: The entry.
        files: The files of the configuration.
    """
    if not is_toolcrib(server):
        return False
    words = [server.command or "", *server.args]
    inner = [Path(following).expanduser() for word, following in pairwise([*words, ""]) if word in {"--config", "-c"}]
    inner += [Path(word.partition("=")[2]).expanduser() for word in words if word.startswith("--config=")]
    folder = user_config_dir()
    return any(path.absolute() in files for path in inner) or (
        not inner and any(path.parent == folder for path in files)
    )
