"""How Monty's process is started: under bubblewrap where that works, bounded in any case."""

import os
import shutil
import sys
import sysconfig
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import SandboxError
from toolcrib.sandbox.bubblewrap import usable

_ADDRESS_SPACE_KIB = 4 * 1024 * 1024
"""Address space of the process: what stops it should the interpreter's own limit not hold."""


@dataclass(frozen=True, slots=True)
class Start:
    """What to start.

    Attributes:
        binary: The interpreter, or a script that starts it behind a wall.
        wall: What that wall is; empty when there is none but the interpreter itself.
        reason: Why it is no more.
        folder: Made for it; to be removed at the end.
    """

    binary: str
    wall: str
    reason: str
    folder: Path | None = None

    def remove(self) -> None:
        """Remove what was made."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def starts(wall: str) -> "list[Start]":
    """The ways to start the interpreter, strongest first; each is yet to be tried.

    Args:
        wall: `auto`, or only one way: `bubblewrap`, `none`.
    """
    monty = _interpreter()
    if sys.platform == "win32" or shutil.which("sh") is None:
        return [Start(monty, "", "bubblewrap is for Linux")] if wall != "bubblewrap" else []
    folder = Path(tempfile.mkdtemp(prefix="toolcrib-monty-"))
    found: list[Start] = []
    reason = ""
    if wall != "none":
        bwrap, reason = usable()
        if bwrap:
            found.append(Start(_script(folder, "walled", _walled(bwrap, monty)), "bubblewrap", "", folder))
    if wall != "bubblewrap":
        found.append(Start(_script(folder, "bounded", f"exec {_quoted(monty)}"), "", reason, folder))
    return found


def _interpreter() -> str:
    """The interpreter's program: `pydantic-monty-runtime` installs it beside Python."""
    name = "monty.exe" if sys.platform == "win32" else "monty"
    beside = Path(sysconfig.get_path("scripts")) / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise SandboxError(
            f"The interpreter of scripts is not installed: there is no {name} in {beside.parent} or on the PATH.",
            hint="Install pydantic-monty for this Python.",
        )
    return found


def _walled(bwrap: str, monty: str) -> str:
    folders = [folder for folder in ("/lib", "/lib64", "/usr/lib", "/usr/lib64") if os.path.isdir(folder)]
    libraries = " ".join(f"--ro-bind-try {folder} {folder}" for folder in folders)
    return (
        f"exec {_quoted(bwrap)} --unshare-all --die-with-parent --new-session --clearenv --cap-drop ALL "
        f"--hostname sandbox --ro-bind {_quoted(monty)} /monty {libraries} --remount-ro / -- /monty"
    )


def _script(folder: Path, name: str, command: str) -> str:
    path = folder / name
    limits = f"ulimit -c 0; ulimit -f 0; ulimit -v {_ADDRESS_SPACE_KIB} 2>/dev/null"
    # what it writes to standard error is for nobody: it would end up among what the host writes there
    path.write_text(f'#!/bin/sh\n{limits}\n{command} "$@" 2>/dev/null\n', encoding="utf-8")
    with suppress(OSError):
        path.chmod(0o700)
    return str(path)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
