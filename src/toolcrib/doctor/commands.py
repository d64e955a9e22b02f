"""Commands: whether what the servers are started with is there, and in which version."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from toolcrib.config import ResolvedServer
from toolcrib.doctor.finding import Finding, listed
from toolcrib.files import expanded
from toolcrib.redact import Secrets

CHECK = "command"
PATIENCE = 4.0
"""Seconds that a program may take to tell its version."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """A program that others need in order to run.

    Attributes:
        name: The program.
        question: The arguments that make it tell its version.
        source: Where a person gets it.
        least: The oldest version that servers run on; empty when any does.
        silent: What it means when it does not answer; empty when it means nothing.
    """

    name: str
    question: Sequence[str]
    source: str
    least: tuple[int, ...] = ()
    silent: str = ""


_NODE = Runtime("node", ["--version"], "https://nodejs.org", least=(18,))  # `engines` of the TypeScript SDK
_UV = Runtime("uv", ["--version"], "https://docs.astral.sh/uv")
_DOCKER = Runtime(
    "docker",
    ["version", "--format", "{{.Server.Version}}"],
    "https://docs.docker.com/get-docker",
    silent="the Docker daemon does not answer",
)
_RUNTIMES: Mapping[str, Runtime] = {
    "npx": _NODE,
    "npm": _NODE,
    "node": _NODE,
    "uvx": _UV,
    "uv": _UV,
    "docker": _DOCKER,
    "podman": Runtime("podman", ["--version"], "https://podman.io"),
    "deno": Runtime("deno", ["--version"], "https://deno.com"),
    "bun": Runtime("bun", ["--version"], "https://bun.sh"),
    "bunx": Runtime("bun", ["--version"], "https://bun.sh"),
}
"""What a command needs, by the command."""

_INTERPRETERS = frozenset({"python", "python3", "node", "tsx", "bun"})
_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def check_commands(resolved: Mapping[str, ResolvedServer], secrets: Secrets) -> Iterator[Finding]:
    """Whether each local server's command, working directory and script are there."""
    for server, entry in resolved.items():
        if entry.command is None:
            continue
        if entry.cwd is not None and not entry.cwd.is_dir():
            message = f"Its working directory {entry.cwd} is no folder."
            yield Finding(CHECK, "problem", server, secrets.text(message), "Correct its `cwd`.")
            continue
        found = _found(entry)
        if found is None:
            yield _not_found(server, entry, secrets)
            continue
        yield Finding(CHECK, "ok", server, secrets.text(f"{entry.command} is {found}."))
        script = _script(entry)
        if script is not None and not script.is_file():
            message = f"{script}, which it is to run, does not exist."
            yield Finding(CHECK, "problem", server, secrets.text(message), "Correct its `args`.")


async def check_runtimes(resolved: Mapping[str, ResolvedServer]) -> list[Finding]:
    """Whether the programs behind the commands run, and in which version; each is asked once, all at the same time."""
    users: dict[tuple[str, str | None], list[str]] = {}
    runtimes: dict[str, Runtime] = {}
    for server, entry in resolved.items():
        runtime = _RUNTIMES.get(_stem(entry.command or ""))
        if runtime is not None and _found(entry) is not None:
            runtimes[runtime.name] = runtime
            users.setdefault((runtime.name, shutil.which(runtime.name, path=_search_path(entry))), []).append(server)
    findings: dict[tuple[str, str | None], Finding] = {}

    async def one(key: tuple[str, str | None]) -> None:
        name, path = key
        findings[key] = await _ask(runtimes[name], path, users[key])

    async with anyio.create_task_group() as tasks:
        for key in users:
            tasks.start_soon(one, key)
    return [findings[key] for key in users]


async def _ask(runtime: Runtime, path: str | None, users: list[str]) -> Finding:
    needed = f"{listed(users)} {'needs' if len(users) == 1 else 'need'} it"
    one = users[0] if len(users) == 1 else None
    if path is None:
        return Finding("runtime", "problem", one, f"{runtime.name} is not on PATH; {needed}.", f"See {runtime.source}.")
    answer = await _answer([path, *runtime.question])
    version = _VERSION.search(answer)
    if version is None:
        if runtime.silent:
            return Finding("runtime", "problem", one, f"{path}: {runtime.silent}; {needed}.", "Start it.")
        return Finding("runtime", "warning", one, f"{path} does not tell its version; {needed}.")
    if tuple(int(part) for part in version[0].split(".")) < runtime.least:
        least = ".".join(map(str, runtime.least))
        message = f"{runtime.name} is {version[0]}, older than {least}; {needed}."
        return Finding("runtime", "warning", one, message, f"Update it: {runtime.source}.")
    return Finding("runtime", "ok", one, f"{runtime.name} is {version[0]} ({path}); {needed}.")


async def _answer(words: Sequence[str]) -> str:
    """What a program writes, if it ends well in time."""
    with anyio.move_on_after(PATIENCE):
        try:
            done = await anyio.run_process(words, check=False)
        except OSError:
            return ""
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
    return ""


def _not_found(server: str, entry: ResolvedServer, secrets: Secrets) -> Finding:
    command = entry.command or ""
    runtime = _RUNTIMES.get(_stem(command))
    if any(blank in command.strip() for blank in " \t"):
        hint = "Arguments of a command stand in `args`, one text each."
    elif _has_folder(command):
        hint = "Correct its `command`."
    else:
        hint = f"Install it ({runtime.source}), or " if runtime else "Install it, or "
        hint += "give its full path as `command`."
    where = "is no program" if _has_folder(command) else "is not on PATH"
    return Finding(CHECK, "problem", server, secrets.text(f"{command} {where}."), hint)


def _found(entry: ResolvedServer) -> str | None:
    """The program that a command starts, as the system finds it: by the PATH and from the folder of the server."""
    command = entry.command or ""
    if _has_folder(command) and entry.cwd is not None:
        command = str(entry.cwd / command)
    return shutil.which(command, path=_search_path(entry))


def _search_path(entry: ResolvedServer) -> str | None:
    return entry.env.get("PATH", os.environ.get("PATH"))


def _has_folder(command: str) -> bool:
    return "/" in command or (sys.platform == "win32" and "\\" in command)


def _script(entry: ResolvedServer) -> Path | None:
    """The script that an interpreter is to run, if it is given by its full path."""
    if not _is_interpreter(entry.command or ""):
        return None
    first = next(_words(entry.args), "")
    path = expanded(first)
    return path if path.is_absolute() and path.suffix in _SCRIPTS else None


def _words(args: Iterable[str]) -> Iterator[str]:
    return (word for word in args if not word.startswith("-"))


def _is_interpreter(command: str) -> bool:
    return re.sub(r"[\d.]+$", "", _stem(command)) in {re.sub(r"\d+$", "", name) for name in _INTERPRETERS}


def _stem(command: str) -> str:
    name = Path(command).name.lower()
    return name.removesuffix(".exe").removesuffix(".cmd").removesuffix(".bat")
