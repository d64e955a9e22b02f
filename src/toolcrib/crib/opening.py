"""What a crib is made of: the configuration in any of its forms, and what follows from it."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib.broker import Quota, with_policy_warnings
from toolcrib.catalog import SAVED_SCRIPTS, SKILLS
from toolcrib.config import Config, Settings, config_from_mapping, load_config
from toolcrib.errors import UsageError

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientSession

    from toolcrib.servers.clients import ConnectedClient

ConfigLike = str | Path | Sequence[str | Path] | Mapping[str, Any] | Config | None
"""A configuration: a file, several files, a parsed mapping, one loaded already, or None for the user's own."""


def loaded(config: ConfigLike) -> Config:
    """A configuration, loaded where it is not yet.

    Raises:
        ConfigError: It can't be used as a whole.
    """
    if isinstance(config, Config):
        return config
    if isinstance(config, Mapping):
        read = config_from_mapping(config)
    elif config is None:
        read = load_config(None)
    else:
        read = load_config([config] if isinstance(config, str | Path) else list(config))
    return with_policy_warnings(read)


def index_file(config: Config, state_dir: Path, suffix: str = "") -> Path | None:
    """Where a search index is kept; one a set of servers, so that two configurations don't undo each other's.

    Args:
        config: The configuration.
        state_dir: Where state is kept.
        suffix: Tells several indices over one set of servers apart.
    """
    if not config.servers:
        return None
    hashes = sorted(f"{key}={entry.config_hash}" for key, entry in config.servers.items())
    digest = hashlib.sha256("\n".join(hashes).encode("utf-8", "surrogatepass")).hexdigest()
    return state_dir / "index" / f"{digest[:16]}{suffix}.idx"


def quota_of(settings: Settings) -> Quota | None:
    """What counts the calls of principals; None where nobody is bound."""
    quota = Quota(settings.principals, "calls")
    return quota if quota.is_bound else None


def connected_clients(clients: "Mapping[str, Client | ClientSession]") -> "list[ConnectedClient]":
    """SDK clients as sources.

    Raises:
        UsageError: One is not connected, or has an id that it can't have.
    """
    for own, what in ((SAVED_SCRIPTS, "the saved scripts"), (SKILLS, "the skills")):
        if own in clients:
            raise UsageError(f"{own} is the id of {what}, and no client's.", hint="Give the client another one.")
    if not clients:
        return []
    # The SDK takes most of a second to load; whoever has no clients of it may not need it at all.
    from toolcrib.servers.clients import ConnectedClient

    return [ConnectedClient(name, client) for name, client in clients.items()]
