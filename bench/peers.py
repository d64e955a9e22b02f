"""FastMCP's proxy as the peer of the gateway, in an environment of its own."""

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from bench.processes import ROOT

VERSION = "4.2.3"
_FOLDER = ROOT / ".bench" / "fastmcp"
_VERSIONS = (
    "import json; from importlib.metadata import version; "
    "print(json.dumps({name: version(name) for name in ('fastmcp', 'mcp')}))"
)


@dataclass(frozen=True)
class Peer:
    """FastMCP installed: its command, and the version of it and of the SDK that it stands on."""

    command: Path
    version: str
    sdk: str

    def serve_http(self, target: str, port: int) -> list[str]:
        """The command that serves a proxy of a URL or a configuration file over HTTP."""
        return [*self.serve_stdio(target), "--transport", "http", "--port", str(port)]

    def serve_stdio(self, target: str) -> list[str]:
        """The same over stdio."""
        return [str(self.command), "run", target, "--no-banner", "--log-level", "ERROR"]


class NoPeerError(Exception):
    """FastMCP can't be had here; says why."""


def fastmcp() -> Peer:
    """FastMCP, installed on demand into `.bench/fastmcp`.

    Raises:
        NoPeerError: It can't be installed.
    """
    scripts = _FOLDER / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / "python"
    try:
        versions = _installed(python)
        if versions.get("fastmcp") != VERSION:
            sys.stderr.write(f"installing FastMCP {VERSION} into {_FOLDER} …\n")
            venv.create(_FOLDER, clear=True, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*install, f"fastmcp=={VERSION}"], check=True, stdout=sys.stderr)
            versions = _installed(python)
        return Peer(scripts / "fastmcp", versions["fastmcp"], versions["mcp"])
    except (OSError, subprocess.SubprocessError, KeyError) as error:
        raise NoPeerError(f"FastMCP {VERSION} can't be installed: {error}") from error


def _installed(python: Path) -> dict[str, str]:
    if not python.exists():
        return {}
    found = subprocess.run([str(python), "-c", _VERSIONS], capture_output=True, text=True, check=False)
    return json.loads(found.stdout) if found.returncode == 0 else {}
