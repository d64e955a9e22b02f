"""Opening what a command works on: the configuration, and a crib over it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from toolcrib.cli.begin import how_to_begin
from toolcrib.cli.logs import keep_logs_quiet
from toolcrib.cli.streams import warn
from toolcrib.config import Config, ServerConfig, load_config, user_config_dir
from toolcrib.errors import ConfigError, shown


def read_config(files: Sequence[Path] | None) -> Config:
    """The configuration of a command, its warnings told.

    Args:
        files: What `--config` named; None or nothing means the user's own folder.

    Raises:
        ConfigError: It can't be used, or there is none yet.
    """
    config = load_config(files or None)
    if not config.paths:
        folder = user_config_dir()
        raise ConfigError(f"No servers are configured: {folder} holds no *.json.", hint=how_to_begin(folder))
    for warning in config.warnings:
        warn(warning)
    return _without_itself(config)


def _without_itself(config: Config) -> Config:
    """The configuration without an entry that would start Toolcrib on this same configuration, and so for ever."""
    kept = {key: server for key, server in config.servers.items() if not _starts_itself(server, config.paths)}
    for key in config.servers.keys() - kept.keys():
        warn(f"Server {shown(key)} is Toolcrib itself on this same configuration, and left out.")
    return replace(config, servers=kept)


def _starts_itself(server: ServerConfig, files: Sequence[Path]) -> bool:
    words = [server.command or "", *server.args]
    named = any(Path(word).stem.lower() == "toolcrib" for word in words)
    if not named or "serve" not in words:
        return False
    inner = [Path(following).expanduser() for word, following in pairwise([*words, ""]) if word in {"--config", "-c"}]
    inner += [Path(word.partition("=")[2]).expanduser() for word in words if word.startswith("--config=")]
    folder = user_config_dir()
    return any(path.absolute() in files for path in inner) or (
        not inner and any(path.parent == folder for path in files)
    )


def resting(config: Config, *, linger: float | None = None) -> Config:
    """The same configuration for one command, which starts what it needs and nothing else.

    Args:
        config: The configuration.
        linger: Seconds that a server keeps running after its last use; None leaves that to the configuration.
    """

    def rests(server: ServerConfig) -> ServerConfig:
        changes: dict[str, object] = {"start": "on_demand"} if server.options.start == "always" else {}
        if linger is not None:
            changes["idle_stop"] = linger
        return replace(server, options=server.options.model_copy(update=changes))

    return replace(config, servers={key: rests(server) for key, server in config.servers.items()})


def run(command: Callable[[], Awaitable[int]]) -> int:
    """Run a command's coroutine function to its end and return its exit code."""
    import anyio

    keep_logs_quiet()
    return anyio.run(command)
