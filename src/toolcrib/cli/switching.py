"""`toolcrib servers enable` and `disable`: the user's own switches."""

from pathlib import Path
from typing import Annotated

import typer

from toolcrib.cli import completing
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.session import read_config
from toolcrib.cli.streams import print_json, print_text
from toolcrib.config import Config, ServerConfig, Switches, user_state_dir

ServerName = Annotated[
    str, typer.Argument(metavar="NAME", help="The server, by its id or its key.", autocompletion=completing.servers)
]


def enable(name: ServerName, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Switch a server on that is off: one that the configuration disables, or that starts on request.

    The configuration stays as it is. Every running Toolcrib follows at once.

    Example: toolcrib servers enable weather
    """
    server_id, entry = configured(read_config(config), name)
    return _switch(server_id, entry, on=True, as_json=as_json)


def disable(name: ServerName, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Switch a server off, for good: no model can enable it.

    The configuration stays as it is. Every running Toolcrib follows at once: new calls are refused, those under
    way may end.

    Example: toolcrib servers disable weather
    """
    server_id, entry = configured(read_config(config), name)
    return _switch(server_id, entry, on=False, as_json=as_json)


def configured(config: Config, name: str) -> tuple[str, ServerConfig]:
    """A configured server by its id or its key: its id and its entry.

    Raises:
        UsageError: There is none.
    """
    from toolcrib.schema import UnknownServerError, server_ids

    ids = server_ids(config.servers)
    for key, server_id in ids.items():
        if name in {key, server_id}:
            return server_id, config.servers[key]
    raise UnknownServerError(name, ids.values())


def switches() -> Switches:
    """The user's switches, as every crib of this user follows them."""
    from toolcrib.crib import SWITCHES_FILE

    return Switches(user_state_dir() / SWITCHES_FILE)


def _switch(server_id: str, entry: ServerConfig, *, on: bool, as_json: bool) -> int:
    kept = switches()
    kept.turn(entry, on=on)
    state = "on" if on else "off"
    if as_json:
        print_json({"server": server_id, "state": state, "file": str(Path(kept.file))})
    else:
        print_text(f"{server_id} is {state}.")
    return 0
