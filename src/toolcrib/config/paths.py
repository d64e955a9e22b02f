"""Where the user's own configuration and state live."""

import os
from pathlib import Path

from toolcrib.files import expanded


def user_config_dir() -> Path:
    """The folder whose `*.json` files are read when no configuration is named.

    `TOOLCRIB_CONFIG_DIR` where it is set, else the platform's place (`~/.config/toolcrib` on Linux).
    """
    named = _from_environment("TOOLCRIB_CONFIG_DIR")
    if named is not None:
        return named
    from platformdirs import user_config_path

    return user_config_path("toolcrib", appauthor=False)


def user_state_dir() -> Path:
    """The folder of the database and the snapshots, shared by all instances of this user.

    `TOOLCRIB_STATE_DIR` where it is set, else the platform's place (`~/.local/state/toolcrib` on Linux).
    """
    named = _from_environment("TOOLCRIB_STATE_DIR")
    if named is not None:
        return named
    from platformdirs import user_state_path

    return user_state_path("toolcrib", appauthor=False)


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name)
    return expanded(value).absolute() if value else None
