"""How Deno is started: every permission off, memory bounded from outside, under bubblewrap where that works."""

import os
import shutil
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from toolcrib.errors import SandboxError
from toolcrib.sandbox.bubblewrap import usable

_HEAP_MB = 256
"""Megabytes of V8's heap; what is outside of it, array buffers and WebAssembly, the limits below bound."""
_DATA_KIB = 1536 * 1024
"""Kibibytes of private memory that may be reserved. With less V8 does not start."""
_FILE_BLOCKS = 8 * 1024
"""Blocks of 512 bytes that a file may have; with none Deno does not start."""
_CACHE_BYTES = 16 * 1024 * 1024
_CPU_SECONDS = 120
"""Seconds of processor time at the very most, should nobody be left to end it."""
_FLAGS = (
    "run --no-prompt --no-remote --no-npm --cached-only --no-config --no-lock --no-check --quiet --deny-import "
    "--deny-read --deny-write --deny-net --deny-env --deny-sys --deny-run --deny-ffi"
)


@dataclass(frozen=True, slots=True)
class Start:
    """How to start it.

    Attributes:
        argv: What is started.
        language_server: What is started to look at types.
        env: All of its environment.
        folder: Its own, made for it.
        wall: What stands around it; empty for nothing but Deno.
        reason: Why it is no more.
    """

    argv: tuple[str, ...]
    language_server: tuple[str, ...]
    env: dict[str, str]
    folder: Path
    wall: str
    reason: str

    def remove(self) -> None:
        """Remove what was made."""
        shutil.rmtree(self.folder, ignore_errors=True)


def starts(wanted: str) -> list[Start]:
    """The ways to start it, strongest first.

    Args:
        wanted: `auto`, `bubblewrap` or `none`.

    Raises:
        SandboxError: It is not installed, or this system has no shell to bound it.
    """
    deno = _deno()
    if sys.platform == "win32" or shutil.which("sh") is None:
        raise SandboxError(
            "Scripts of TypeScript and JavaScript can't be run here: nothing bounds Deno's memory on this system.",
            hint="The sandbox `python` runs everywhere.",
        )
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="toolcrib-deno-")))
    runner = folder / "runner.js"
    runner.write_text((files("toolcrib.sandbox.deno") / "runner.js").read_text("utf-8"), encoding="utf-8")
    cache = folder / "cache"
    cache.mkdir()
    env = {"DENO_DIR": str(cache), "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1", "LC_ALL": "C.UTF-8"}
    program = (deno, *_FLAGS.split(), f"--v8-flags=--max-old-space-size={_HEAP_MB}", str(runner))
    limits = f"ulimit -c 0; ulimit -f {_FILE_BLOCKS}; ulimit -t {_CPU_SECONDS}; ulimit -d {_DATA_KIB} 2>/dev/null"
    bounded = ("/bin/sh", "-c", f'{limits}; exec "$@"', "sh")
    found: list[Start] = []
    bwrap, reason = usable() if wanted != "none" else ("", "")
    if bwrap:
        around = (*bounded, bwrap, *_jail(deno, folder, env), "--")
        found.append(Start((*around, *program), (*around, *_looks(deno)), {}, folder, "bubblewrap", ""))
    if wanted != "bubblewrap":
        found.append(Start((*bounded, *program), (*bounded, *_looks(deno)), env, folder, "", reason))
    return found


def _looks(deno: str) -> tuple[str, ...]:
    return (deno, "lsp", "--quiet")


def _deno() -> str:
    beside = Path(sysconfig.get_path("scripts")) / ("deno.exe" if sys.platform == "win32" else "deno")
    found = str(beside) if beside.is_file() else shutil.which("deno")
    if not found:
        raise SandboxError(
            "Scripts of TypeScript and JavaScript need Deno, which is not installed.",
            hint="pip install 'toolcrib[typescript]'",
        )
    return os.path.realpath(found)


def _jail(deno: str, folder: Path, env: dict[str, str]) -> list[str]:
    argv = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    argv += ["--uid", "65534", "--gid", "65534", "--hostname", "sandbox"]
    for name, value in env.items():
        argv += ["--setenv", name, value]
    for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64"):
        argv += ["--ro-bind-try", path, path]
    argv += ["--proc", "/proc", "--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/urandom", "/dev/urandom"]
    # a cache that can't be written to makes Deno wait for it to become so
    argv += ["--ro-bind", deno, deno, "--ro-bind", str(folder), str(folder)]
    argv += ["--size", str(_CACHE_BYTES), "--tmpfs", env["DENO_DIR"]]
    return [*argv, "--remount-ro", "/", "--chdir", "/"]
