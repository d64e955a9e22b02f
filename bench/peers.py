"""Other projects as peers, each in an environment of its own under `.bench`, made on demand."""

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.processes import ROOT

VERSION = "4.2.3"
_VERSIONS = (
    "import json, sys; from importlib.metadata import version; "
    "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
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
    """A peer can't be had here; says why."""


def fastmcp() -> Peer:
    """FastMCP, installed on demand into `.bench/fastmcp`.

    Raises:
        NoPeerError: It can't be installed.
    """
    python = installed("fastmcp", VERSION)
    versions = _versions(python, ("fastmcp", "mcp"))
    return Peer(python.parent / "fastmcp", versions["fastmcp"], versions["mcp"])


def installed(package: str, version: str, extra: str = "") -> Path:
    """The interpreter of the environment in which a package is, in just this version.

    Args:
        package: Its name on PyPI; the environment is the folder of that name, and of the extra, under `.bench`.
        version: The version.
        extra: An extra of it.

    Raises:
        NoPeerError: It can't be installed.
    """
    folder = ROOT / ".bench" / "-".join(filter(None, (package, extra)))
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    try:
        if _versions(python, (package,)).get(package) != version:
            sys.stderr.write(f"installing {package} {version} into {folder} …\n")
            venv.create(folder, clear=True, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run(
                [*install, f"{package}{f'[{extra}]' if extra else ''}=={version}"], check=True, stdout=sys.stderr
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoPeerError(f"{package} {version} can't be installed: {error}") from error
    return python


def _versions(python: Path, packages: Sequence[str]) -> dict[str, str]:
    """The versions of packages in an environment; none unless all are there."""
    if not python.exists():
        return {}
    found = subprocess.run([str(python), "-c", _VERSIONS, *packages], capture_output=True, text=True, check=False)
    return json.loads(found.stdout) if found.returncode == 0 else {}
