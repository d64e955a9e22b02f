"""The configuration: whether its files can be read, and what in them has no effect or can't be used."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from toolcrib.broker import with_policy_warnings
from toolcrib.broker.policy.checking import unfitting
from toolcrib.config import Config, ServerConfig, load_config, starts_itself, user_config_dir
from toolcrib.doctor.finding import Finding
from toolcrib.errors import ConfigError, UsageError, shown
from toolcrib.files import expanded

CHECK = "configuration"


def read_configuration(files: Sequence[Path]) -> tuple[Config, list[Finding]]:
    """As much of a configuration as can be read, and what is wrong with the rest.

    Args:
        files: The files; none means every `*.json` in the user's own folder.

    Raises:
        UsageError: A file that was named does not exist.
    """
    paths = [expanded(path).absolute() for path in files]
    for path in paths:
        if not path.exists():
            raise UsageError(f"There is no file {path}.", hint="Check the path of the configuration.")
    findings: list[Finding] = []
    readable: list[Path] = []
    for path in paths or _own_files():
        try:
            load_config([path])
        except ConfigError as error:
            findings.append(Finding(CHECK, "problem", None, error.message, error.hint))
        else:
            readable.append(path)
    config = with_policy_warnings(load_config(readable)) if readable else Config()
    itself = [key for key, entry in config.servers.items() if starts_itself(entry, config.paths)]
    findings += [
        Finding(
            CHECK,
            "warning",
            None,
            f"Server {shown(key)} is Toolcrib itself on this same configuration, and left out.",
            "Remove the entry.",
        )
        for key in itself
    ]
    return replace(config, servers={key: each for key, each in config.servers.items() if key not in itself}), findings


def check_rules(config: Config, tool_ids: Sequence[str], listed: Mapping[str, bool]) -> Iterator[Finding]:
    """Whether the rules of the policy name tools that there are.

    Args:
        config: The configuration.
        tool_ids: All tools known.
        listed: Whether the tools of each configured server are known, by id.
    """
    for warning in unfitting(config, tool_ids, listed):
        yield Finding(CHECK, "warning", None, warning, "Look for the id with: toolcrib search")


def check_configuration(config: Config, servers: Mapping[str, ServerConfig]) -> Iterator[Finding]:
    """What the configuration's reader had to say.

    Args:
        config: The configuration.
        servers: The entries to look at, by server id.
    """
    for path in config.paths:
        yield Finding(CHECK, "ok", None, f"{path} is read.")
    for warning in config.warnings:
        yield Finding(CHECK, "warning", None, warning)
    if not config.servers:
        yield Finding(CHECK, "warning", None, "No servers are configured.", "Add them under mcpServers.")
    for server, entry in servers.items():
        if entry.error is not None:
            yield Finding(CHECK, "problem", server, entry.error.message, entry.error.hint)
        elif entry.disabled:
            yield Finding(CHECK, "ok", server, f"{server} is disabled, and not looked into.")


def _own_files() -> list[Path]:
    folder = user_config_dir()
    return sorted(path for path in folder.iterdir() if path.suffix == ".json") if folder.is_dir() else []
