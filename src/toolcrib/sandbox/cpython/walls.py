"""How the worker of `python-full` is started: the walls that this machine may have, strongest first."""

import json
import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from toolcrib.errors import SandboxError

_MODULES = "collections datetime functools hashlib itertools json math random re time"
"""Imported ahead, so that a script does not pay for them."""
_ZONES = "/usr/share/zoneinfo"
_BOOT = (
    "import sys, types\n"
    "for name in ('toolcrib', 'toolcrib.sandbox', 'toolcrib.sandbox.cpython'):\n"
    "    sys.modules[name] = types.ModuleType(name)\n"
    "for name, source in zip(sys.argv[2::2], sys.argv[3::2]):\n"
    "    full = 'toolcrib.sandbox.cpython.' + name\n"
    "    module = sys.modules[full] = types.ModuleType(full)\n"
    "    setattr(sys.modules['toolcrib.sandbox.cpython'], name, module)\n"
    "    exec(compile(source, full, 'exec'), module.__dict__)\n"
    "module.main()\n"
)


@dataclass(frozen=True, slots=True)
class Wall:
    """A way to start the worker.

    Attributes:
        name: `bubblewrap` or `landlock`.
        argv: What is started.
        words: What it is, for a description.
        holds_not: What it can't hold.
    """

    name: str
    argv: tuple[str, ...]
    words: str
    holds_not: tuple[str, ...]


_NEITHER = (
    "A script may start threads, as many as its memory allows.",
    "A script may see the time of day and how long things take.",
)


def walls(wanted: str) -> list[Wall]:
    """The walls to try, strongest first.

    Args:
        wanted: `auto`, `bubblewrap` or `landlock`.

    Raises:
        SandboxError: This is no Linux.
    """
    if sys.platform != "linux":
        raise SandboxError(
            "Full Python needs Linux: bubblewrap or Landlock, and seccomp.",
            hint="The sandbox `python` runs everywhere.",
        )
    found: list[Wall] = []
    if wanted in ("auto", "bubblewrap") and (bwrap := shutil.which("bwrap")):
        found.append(
            Wall(
                "bubblewrap",
                (bwrap, *_jail(), "--", *_worker(landlock=False)),
                "CPython in a process of its own, under bubblewrap, seccomp and limits of the kernel",
                _NEITHER,
            )
        )
    if wanted in ("auto", "landlock"):
        found.append(
            Wall(
                "landlock",
                _worker(landlock=True),
                "CPython in a process of its own, under Landlock, seccomp and limits of the kernel",
                (
                    "A script may learn whether a file exists, its size and its times; it can't read it.",
                    "A script may read the standard library and shared libraries of the system.",
                    "A script may see the ids of processes and the host's name.",
                    *_NEITHER,
                ),
            )
        )
    return found


def _python() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _libraries() -> list[str]:
    """Where the standard library is, without what else was installed."""
    folders = dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return [folder for folder in folders if folder and os.path.isdir(folder)]


def _worker(*, landlock: bool) -> tuple[str, ...]:
    here = files("toolcrib.sandbox.cpython")
    setting = {"landlock": landlock, "readable": _readable() if landlock else [], "modules": _MODULES.split()}
    sources = [part for name in ("seal", "worker") for part in (name, (here / f"{name}.py").read_text("utf-8"))]
    return (_python(), "-I", "-S", "-B", "-X", "utf8", "-c", _BOOT, json.dumps(setting), *sources)


def _readable() -> list[str]:
    """What Landlock lets a script read: the standard library, without `site-packages`, and shared libraries."""
    found = [_ZONES, "/etc/ld.so.cache"]
    for folder in _libraries():
        found += [str(path) for path in Path(folder).iterdir() if path.name not in ("site-packages", "dist-packages")]
    found += [folder for folder in ("/lib", "/lib64", "/usr/lib", "/usr/lib64") if os.path.isdir(folder)]
    return found


def _jail() -> list[str]:
    python = _python()
    argv = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    argv += ["--uid", "65534", "--gid", "65534", "--hostname", "sandbox"]
    shared = sysconfig.get_config_var("LIBDIR") if sysconfig.get_config_var("Py_ENABLE_SHARED") else None
    for folder in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", _ZONES, *([shared] if shared else []), *_libraries()):
        argv += ["--ro-bind-try", folder, folder]
    for folder in _libraries():
        for name in ("site-packages", "dist-packages"):
            hidden = os.path.join(folder, name)
            if os.path.isdir(hidden):
                argv += ["--tmpfs", hidden, "--remount-ro", hidden]
    return [*argv, "--ro-bind", python, python, "--remount-ro", "/", "--chdir", "/"]
