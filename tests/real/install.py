"""Installs the real MCP servers that `tests/real` talks to: pinned, into `.real/`, outside the tree's history.

`make real` runs it. It needs nothing beyond the standard library, pip, and Node with npm for the servers from
npm. What is installed already, at these versions, is left alone, so a second run is instant.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".real"

NODE_AT_LEAST = 20

# The versions that the recorded catalogs were made from; beside each server from PyPI, the parts of it whose
# other releases are known to break it (chroma's SDK does not work with a newer pydantic).
NPM = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "kubernetes-mcp-server@0.0.67",
    "mcporter@0.10.2",  # no server: a client that shares no code with Toolcrib
)
PYPI = {
    "time": ("mcp-server-time==2026.10.19", "mcp==2.3.0"),
    "fetch": ("mcp-server-fetch==2026.10.24", "mcp==2.3.0"),
    "motherduck": ("mcp-server-motherduck==1.1.0",),
    "excel": ("excel-mcp-server==2.2.2",),
    "chroma": ("chroma-mcp==0.2.6", "pydantic==2.11.10"),
}


def main() -> int:
    """Install what is missing; 0 when all is there, or only Node is missing outside continuous integration."""
    must = os.environ.get("TOOLCRIB_CI") == "1"
    jobs: dict[str, Callable[[], None]] = {
        name: lambda name=name, wanted=wanted: install_from_pypi(name, wanted)
        for name, wanted in PYPI.items()
        if not is_installed(FOLDER / name, wanted)
    }
    failed = False
    if not is_installed(FOLDER / "npm", NPM):
        problem = node_problem()
        if problem is None:
            jobs = {"npm": install_from_npm, **jobs}
        else:
            print(f"{problem}; not installed: {', '.join(NPM)}", file=sys.stderr)
            failed = must
    # Two at a time: downloads overlap with unpacking, and more would only share the cores.
    with ThreadPoolExecutor(2) as pool:
        running = {name: pool.submit(timed, name, job) for name, job in jobs.items()}
    for name, result in running.items():
        if error := result.exception():
            print(f"{name} can't be installed: {error}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


def is_installed(folder: Path, wanted: tuple[str, ...]) -> bool:
    """Whether a folder was completed with exactly these versions, for this Python."""
    stamp = folder / ".stamp"
    return stamp.is_file() and stamp.read_text() == digest(wanted)


def digest(wanted: tuple[str, ...]) -> str:
    """What a completed folder is stamped with."""
    return hashlib.sha256("\n".join((sys.version, str(FOLDER), *wanted)).encode()).hexdigest()


def node_problem() -> str | None:
    """What keeps servers from npm from being installed, or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "Node is not installed"
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    major = re.match(r"v(\d+)", answer)
    if major is None or int(major[1]) < NODE_AT_LEAST:
        return f"Node {NODE_AT_LEAST} or newer is needed, not {answer.strip() or 'this one'}"
    return None


def install_from_npm() -> None:
    """All packages from npm, in one folder."""
    folder = emptied(FOLDER / "npm")
    (folder / "package.json").write_text('{"private": true}\n')
    run(
        [
            *("npm", "install", "--prefix", str(folder), "--no-package-lock", "--no-save"),
            *("--no-audit", "--no-fund", "--loglevel=error", *NPM),
        ]
    )
    (folder / ".stamp").write_text(digest(NPM))


def install_from_pypi(name: str, wanted: tuple[str, ...]) -> None:
    """One server from PyPI, in an environment of its own: their requirements contradict each other."""
    folder = emptied(FOLDER / name)
    venv.create(folder, symlinks=os.name != "nt")
    run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder), "install"),
            *("--quiet", "--disable-pip-version-check", "--no-input", *wanted),
        ]
    )
    (folder / ".stamp").write_text(digest(wanted))


def emptied(folder: Path) -> Path:
    """The folder, without what an earlier or broken installation left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(command: list[str]) -> None:
    """Run a package client; on failure its last lines are the error."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip().splitlines()[-12:]
        raise RuntimeError("\n".join([f"{command[0]} ended with {done.returncode}", *said]))


def timed(name: str, job: Callable[[], None]) -> None:
    """Do one job and say how long it took."""
    start = time.monotonic()
    job()
    print(f"{name}: installed in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
