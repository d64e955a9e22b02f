"""`toolcrib servers`: what is known of the configured servers; and the commands that add and switch them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli import completing
from toolcrib.cli.adding import add, remove
from toolcrib.cli.changing import accept, changes
from toolcrib.cli.groups import UnlessTold
from toolcrib.cli.login import login, logout
from toolcrib.cli.options import AsJson, ConfigFiles, Refresh
from toolcrib.cli.progress import list_anew
from toolcrib.cli.registries import search
from toolcrib.cli.session import open_crib, read_config, run
from toolcrib.cli.streams import print_json, print_text, tell, warn
from toolcrib.cli.switching import disable, enable
from toolcrib.cli.tables import print_styled, print_table
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config
from toolcrib.errors import StoreError
from toolcrib.schema import UnknownServerError

if TYPE_CHECKING:
    from toolcrib.crib import Crib
    from toolcrib.servers import ServerStatus

_LAST_LINES = 5

_ABOUT = """List the configured servers, add others, and switch them on and off.

Without a command, or with the name of a server in its place, it is `show`.

Example: toolcrib servers --refresh
"""


class _ShowUnlessTold(UnlessTold):
    """Takes `servers NAME` for `servers show NAME`, which also shows a server that is called like a command."""

    meant = "show"


servers = typer.Typer(cls=_ShowUnlessTold, rich_markup_mode=None, help=_ABOUT, subcommand_metavar="[NAME|COMMAND]")


@servers.command()
def show(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Only these servers.", show_default=False, autocompletion=completing.servers
        ),
    ] = None,
    refresh: Refresh = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """List the configured servers: state, protocol era, number of tools, and why one failed.

    What is told was stored when a server was listed last, or is told by another Toolcrib that runs it; nothing
    is started without --refresh.

    Example: toolcrib servers show tickets --refresh
    """
    return run(partial(_servers, read_config(config), names or (), refresh=refresh, as_json=as_json))


servers.command("search")(search)
servers.command("add")(add)
servers.command("remove")(remove)
servers.command("enable")(enable)
servers.command("disable")(disable)
servers.command("changes")(changes)
servers.command("accept")(accept)
servers.command("login")(login)
servers.command("logout")(logout)


async def _servers(config: Config, names: Sequence[str], *, refresh: bool, as_json: bool) -> int:
    async with open_crib(config, lists=True) as crib:
        known = crib.servers
        if names:
            wanted = {_named(known, name).id for name in names}
            known = [each for each in known if each.id in wanted]
        if not refresh:
            known = await _with_running(crib, known)
        else:
            fresh = await list_anew(crib, [each.id for each in known if each.state != "disabled"])
            by_id = {each.id: each for each in fresh}
            known = [by_id.get(each.id, each) for each in known]
        hidden = _hidden(crib)
    if as_json:
        print_json({"servers": [{**each.to_json(), "hidden": hidden.get(each.id, 0)} for each in known]})
    elif known:
        _print(known, hidden, refreshed=refresh)
    else:
        print_text("No servers are configured.")
    return FAILED if refresh and any(each.in_trouble for each in known) else 0


async def _with_running(crib: "Crib", known: "list[ServerStatus]") -> "list[ServerStatus]":
    """The states, those of servers that another Toolcrib process runs as they are there."""
    try:
        running = await crib.states_elsewhere()
    except StoreError as error:
        warn(str(error))
        return known
    return [
        replace(each, state=other.state, reason=other.reason, output=(), pid=other.pid)
        if each.state != "disabled" and (other := running.get(each.id)) is not None and other.state != "dormant"
        else each
        for each in known
    ]


def _hidden(crib: "Crib") -> dict[str, int]:
    """How many tools of each server can't be used here, since the configuration or the rules hide them."""
    visible = crib.visible()
    counts = {id_: sum(key not in visible for key in crib.registry.keys(id_)) for id_ in crib.registry.servers}
    return {server: count for server, count in counts.items() if count}


def _named(known: "list[ServerStatus]", name: str) -> "ServerStatus":
    for each in known:
        if name in {each.id, each.key}:
            return each
    raise UnknownServerError(name, [each.id for each in known])


def _print(known: "list[ServerStatus]", hidden: dict[str, int], *, refreshed: bool) -> None:
    some = any(each.id in hidden for each in known)
    print_table(
        ("server", "state", "protocol", "tools", *(["hidden"] if some else []), "about"),
        [
            (
                each.id,
                each.state,
                each.protocol_version or "-",
                "-" if each.tools is None else str(each.tools - hidden.get(each.id, 0)),
                *([str(hidden.get(each.id, "-"))] if some else []),
                each.description,
            )
            for each in known
        ],
        numbers=(3, 4) if some else (3,),
        prose=(5,) if some else (4,),
    )
    for each in known:
        if each.in_trouble:
            print_text()
            print_styled((each.reason, "red"))
            lines = each.output[-_LAST_LINES:]
            if len(lines) > 1 or not each.reason.endswith(tuple(lines)):  # the reason may end with the only one
                for line in lines:
                    print_styled((line, "dim"), indent=2)
    if not refreshed and any(each.tools is None and each.state == "dormant" for each in known):
        tell("Some were never listed; toolcrib servers --refresh does it, or says why not.")
