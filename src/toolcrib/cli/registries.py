"""`toolcrib servers search`: servers that registries know."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.progress import progress
from toolcrib.cli.session import run
from toolcrib.cli.streams import print_json, tell, typed, warn
from toolcrib.cli.tables import print_table
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config, load_config, user_config_dir, user_state_dir
from toolcrib.errors import UsageError

if TYPE_CHECKING:
    from toolcrib.crib import Directory
    from toolcrib.servers.registries import ServerDescription

_MOST_FOUND = 200
_OFFICIAL = "https://registry.modelcontextprotocol.io"

Registries = Annotated[
    list[str] | None,
    typer.Option(
        "--registry",
        "-r",
        metavar="URL|PATH",
        help="Look here, in place of the registries of the configuration; may be repeated.",
        show_default=False,
    ),
]


def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="What the server is for, in any words.")],
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=_MOST_FOUND, help="The most to list.")
    ] = 8,
    registry: Registries = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Find servers in registries by their names, titles and descriptions, best first.

    Example: toolcrib servers search weather forecast
    """
    chosen = config_with_registries(config, registry)
    return run(partial(_search, chosen, typed(" ".join(words)), limit=limit, as_json=as_json))


def config_with_registries(files: Sequence[Path] | None, registries: Sequence[str] | None) -> Config:
    """The configuration, which may be none yet, with the registries to look in.

    Args:
        files: What `--config` named.
        registries: What `--registry` named; it replaces those of the configuration.

    Raises:
        UsageError: There is no registry to look in.
    """
    config = load_config(files or None)
    if config.paths:
        for warning in config.warnings:
            warn(warning)
    if registries:
        config = replace(config, settings=config.settings.model_copy(update={"registries": tuple(registries)}))
    if not config.settings.registries:
        raise UsageError(
            "No registry is configured.",
            hint=f"Name one with --registry, such as {_OFFICIAL}, or under toolcrib.registries "
            f"in a file of {user_config_dir()}.",
        )
    return config


async def read_registries(config: Config) -> "Directory":
    """Read all registries of a configuration, and tell what is wrong with them."""
    from toolcrib.crib import Directory

    directory = Directory(config.settings.registries, user_state_dir())
    with progress("Reading registries"):
        await directory.read()
    for problem in directory.problems:
        warn(problem)
    return directory


async def _search(config: Config, query: str, *, limit: int, as_json: bool) -> int:
    directory = await read_registries(config)
    found = await directory.search(query, limit)
    if as_json:
        print_json({"query": query, "found": [_as_json(each) for each in found], "problems": directory.problems})
    elif found:
        rows = [(each.name, each.version or "-", ", ".join(_ways(each)) or "-", _about(each)) for each in found]
        print_table(("server", "version", "runs as", "about"), rows, prose=(3,))
        tell(f"toolcrib servers add {found[0].name} shows what it would run, and asks before it adds it.")
    else:
        tell("No server fits. Try other words for what it is for.")
    return 0 if found else FAILED


def _about(server: "ServerDescription") -> str:
    text = server.description or server.title
    return f"(deprecated) {text}" if server.status == "deprecated" else text


def _ways(server: "ServerDescription") -> list[str]:
    """How a server can be had, whatever of it can be used here."""
    kinds = [str(package.get("registryType")) for package in server.packages]
    return list(dict.fromkeys([*kinds, *(["remote"] if server.remotes else [])]))


def _as_json(server: "ServerDescription") -> dict[str, Any]:
    return {
        "name": server.name,
        "title": server.title,
        "description": server.description,
        "version": server.version,
        "status": server.status,
        "registry": server.place,
        "repository": server.repository,
        "runs_as": _ways(server),
    }
