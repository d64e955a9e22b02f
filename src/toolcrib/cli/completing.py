"""What a shell is told while somebody types: commands, options, and the ids of what is known.

Nothing is started and nothing is written: a shell asks at every press of a key. Whatever goes wrong, it gets nothing.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import wraps
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from toolcrib.config import Config, ServerConfig

VARIABLE = "_TOOLCRIB_COMPLETE"
"""Where the script of a shell says that it asks, and which shell it is: `complete_bash`."""

_Offer = Callable[[typer.Context, str], Iterable[str]]


def complete(instruction: str, application: Callable[[list[str]], Any]) -> int:
    """Answer a shell, on standard output.

    Args:
        instruction: What `VARIABLE` holds.
        application: The program's command for some words, the named one's module loaded.

    Returns:
        The exit code.
    """
    # Typer offers these as options of the program alone, which would load every command for one press of a key.
    from typer.completion import completion_init, shell_complete  # pyright: ignore[reportPrivateImportUsage]

    completion_init()
    typed = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()[1:]
    program = application(typed)
    if not any(each.startswith("-") for each in typed):
        # None of its own options is typed, and reading them takes as long again.
        program.params, program.add_help_option = [], False
    return shell_complete(program, {}, "toolcrib", VARIABLE, instruction)


def _offered(offer: _Offer) -> Callable[[typer.Context, str], list[str]]:
    """What may stand in a place, as far as it begins as what is typed; nothing where that can't be told."""

    @wraps(offer)
    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        with suppress(Exception):
            return sorted(each for each in offer(ctx, incomplete) if each.startswith(incomplete))
        return []

    return offered


@_offered
def servers(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The ids of the configured servers."""
    return _by_id(_config(ctx))


@_offered
def tools(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The ids of the tools that the servers listed last and that `allow` and `deny` let through; the servers' alone
    until one of them is typed."""
    from toolcrib.catalog import SnapshotStore
    from toolcrib.config import user_state_dir

    store = SnapshotStore(user_state_dir() / "snapshots")
    for server, entry in _by_id(_config(ctx)).items():
        head = f"{server}."
        if not (head.startswith(incomplete) or incomplete.startswith(head)):
            continue
        snapshot = store.load(server, entry.config_hash)
        for name in snapshot.definitions.names if snapshot is not None else ():
            if _is_let_through(name, entry):
                yield snapshot.ids[name] if snapshot is not None else ""


@_offered
def clients(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The clients that `import` and `install` know."""
    from toolcrib.clients import CLIENTS

    return [each.id for each in CLIENTS]


@_offered
def scripts(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """The names of the saved scripts."""
    from toolcrib.config import user_state_dir

    return {each.stem for each in (user_state_dir() / "scripts").iterdir() if not each.name.startswith(".")}


def words(*known: str) -> Callable[[typer.Context, str], list[str]]:
    """Some fixed words."""
    return _offered(lambda ctx, incomplete: known)


def _config(ctx: typer.Context) -> "Config":
    from toolcrib.config import load_config

    return load_config(ctx.params.get("config") or None)


def _by_id(config: "Config") -> "dict[str, ServerConfig]":
    from toolcrib.schema import server_ids

    return {server_id: config.servers[key] for key, server_id in server_ids(config.servers).items()}


def _is_let_through(name: str, entry: "ServerConfig") -> bool:
    options = entry.options
    allowed = any(fnmatchcase(name, glob) for glob in options.allow)
    return allowed and not any(fnmatchcase(name, glob) for glob in options.deny)
