"""The clients that people use MCP servers with: where each keeps its configuration, and of what form it is."""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from toolcrib.errors import UsageError, probably_meant, shown

System = Literal["linux", "macos", "windows"]
Format = Literal["json", "toml", "yaml"]

_SYSTEMS: Mapping[str, System] = {"darwin": "macos", "win32": "windows"}


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides where files are.

    Attributes:
        system: The operating system.
        home: The user's folder.
        environ: The environment.
    """

    system: System = field(default_factory=lambda: _SYSTEMS.get(sys.platform, "linux"))
    home: Path = field(default_factory=Path.home)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def folder(self, name: str) -> Path:
        """A folder by the name that stands for it in `Client.places`."""
        match name:
            case "home":
                return self.home
            case "config" if self.system == "windows":
                return self._named("APPDATA", self.home / "AppData" / "Roaming")
            case "config" if self.system == "macos":
                return self.home / "Library" / "Application Support"
            case "xdg" if self.system == "windows":
                return self._named("APPDATA", self.home / "AppData" / "Roaming")
            case "config" | "xdg":
                # On macOS, programs that keep to the XDG folders have them in the home too.
                return self._named("XDG_CONFIG_HOME", self.home / ".config")
            case "codex":
                return self._named("CODEX_HOME", self.home / ".codex")
            case _:
                return self._named("CLAUDE_CONFIG_DIR", self.home)

    def _named(self, variable: str, otherwise: Path) -> Path:
        value = self.environ.get(variable)
        return Path(value) if value else otherwise


@dataclass(frozen=True, slots=True)
class Client:
    """One client.

    Attributes:
        id: What the command line calls it.
        title: Its name.
        root: The member of its file that holds the servers.
        places: Where its file may be, below a folder of `Machine`: `config/Code/User/mcp.json`.
        windows: The same on Windows, where it differs.
        project: Its file in a project's folder; empty where it has none.
        format: What its file is written in.
        expands: What its own variables look like: `braces` for `${NAME}`, `dollar` for `$NAME` too, and `none`
            where it takes every text as it stands.
    """

    id: str
    title: str
    places: tuple[str, ...]
    root: str = "mcpServers"
    windows: tuple[str, ...] = ()
    project: str = ""
    format: Format = "json"
    expands: Literal["none", "braces", "dollar"] = "none"

    def files(self, machine: Machine) -> Iterator[Path]:
        """Where its file may be, whether it is there or not; the usual place first."""
        for place in self.windows if self.windows and machine.system == "windows" else self.places:
            folder, _, rest = place.partition("/")
            yield machine.folder(folder) / rest


# From each client's own documentation, as of November 2026.
CLIENTS = (
    Client("claude-desktop", "Claude Desktop", ("config/Claude/claude_desktop_config.json",)),
    Client("claude-code", "Claude Code", ("claude/.claude.json",), project=".mcp.json", expands="braces"),
    Client("cursor", "Cursor", ("home/.cursor/mcp.json",), project=".cursor/mcp.json", expands="braces"),
    Client(
        "vscode",
        "VS Code",
        ("config/Code/User/mcp.json", "config/Code - Insiders/User/mcp.json", "config/VSCodium/User/mcp.json"),
        root="servers",
        project=".vscode/mcp.json",
        expands="braces",
    ),
    Client("windsurf", "Windsurf", ("home/.codeium/windsurf/mcp_config.json",), expands="braces"),
    Client("codex", "Codex", ("codex/config.toml",), root="mcp_servers", project=".codex/config.toml", format="toml"),
    Client(
        "gemini-cli", "Gemini CLI", ("home/.gemini/settings.json",), project=".gemini/settings.json", expands="dollar"
    ),
    Client(
        "zed",
        "Zed",
        ("xdg/zed/settings.json",),
        root="context_servers",
        windows=("config/Zed/settings.json",),
        project=".zed/settings.json",
    ),
    Client("copilot-cli", "Copilot CLI", ("home/.copilot/mcp-config.json",), expands="braces"),
    Client(
        "goose",
        "Goose",
        ("xdg/goose/config.yaml",),
        root="extensions",
        windows=("config/Block/goose/config/config.yaml",),
        format="yaml",
    ),
)
"""All clients, in the order in which they are shown."""


def client(name: str) -> Client:
    """A client by its id, or by its title in any case.

    Raises:
        UsageError: There is none of that name.
    """
    wanted = name.strip().lower().replace(" ", "-").replace("_", "-")
    for each in CLIENTS:
        if wanted in {each.id, each.title.lower().replace(" ", "-")}:
            return each
    ids = [each.id for each in CLIENTS]
    near = probably_meant(wanted, ids, 2)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(f"{shown(name)} is no client known here.", hint=f"{hint}Known are {', '.join(ids)}.")
