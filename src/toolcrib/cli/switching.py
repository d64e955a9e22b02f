"""`toolcrib servers enable` and `disable`: the user's own switches."""

from pathlib import Path
from typing import Annotated

import typer

from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.session import read_config
from toolcrib.cli.streams import print_json, print_text
from toolcrib.config import Config, ServerConfig, Switches, user_state_dir
from toolcrib.errors import UsageError, shown

ServerName = Annotated[str, typer.Argument(metavar="NAME", help="The server, by its id or its key.")]


def enable(name: ServerName, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Switch a server on that is off: one that the configuration disables, or that starts on request.

    The configuration stays as it is. Every running Toolcrib follows at once.
    """
    server_id, entry = configured(read_config(config), name)
    needed = entry.disabled or entry.options.start == "on_request"
    return _switch(server_id, entry, True if needed else None, as_json=as_json)


def disable(name: ServerName, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Switch a server off, for good: no model can enable it.

    The configuration stays as it is. Every running Toolcrib follows at once: new calls are refused, those under
    way may end.
    """
    server_id, entry = configured(read_config(config), name)
    return _switch(server_id, entry, False, as_json=as_json)


def configured(config: Config, name: str) -> tuple[str, ServerConfig]:
    """A configured server by its id or its key: its id and its entry.

    Raises:
        UsageError: There is none.
    """
    from toolcrib.schema import server_ids

    for key, server_id in server_ids(config.servers).items():
        if name in {key, server_id}:
            return server_id, config.servers[key]
    known = ", ".join(server_ids(config.servers).values()) or "none"
    raise UsageError(f"There is no server {shown(name)}.", hint=f"The configured ones: {known}.")


def switches() -> Switches:
    """The user's switches, as every crib of this user follows them."""
    from toolcrib.crib import SWITCHES_FILE

    return Switches(user_state_dir() / SWITCHES_FILE)


def _switch(server_id: str, entry: ServerConfig, on: bool | None, *, as_json: bool) -> int:
    kept = switches()
    kept.put(entry, on)
    state = "off" if on is False else "on"
    if as_json:
        print_json({"server": server_id, "state": state, "file": str(Path(kept.file))})
    else:
        print_text(f"{server_id} is {state}.")
    return 0
