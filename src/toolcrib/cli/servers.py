"""`toolcrib servers`: what is known of the configured servers; and the commands that add and switch them."""

from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli.adding import add, remove
from toolcrib.cli.available import search
from toolcrib.cli.changing import accept, changes
from toolcrib.cli.groups import UnlessTold
from toolcrib.cli.login import login, logout
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.progress import list_anew
from toolcrib.cli.session import open_crib, read_config, run
from toolcrib.cli.streams import print_json, print_text, tell, warn
from toolcrib.cli.switching import disable, enable
from toolcrib.cli.tables import print_styled, print_table
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config
from toolcrib.errors import StoreError, UsageError, shown

if TYPE_CHECKING:
    from toolcrib.crib import Crib
    from toolcrib.servers import ServerStatus

_LAST_LINES = 5

_ABOUT = """List the configured servers, add others, and switch them on and off.

Without a command, or with the name of a server in its place, it is `show`.
"""


class _ShowUnlessTold(UnlessTold):
    """Takes `servers NAME` for `servers show NAME`, which also shows a server that is called like a command."""

    meant = "show"


servers = typer.Typer(cls=_ShowUnlessTold, rich_markup_mode=None, help=_ABOUT, subcommand_metavar="[NAME|COMMAND]")


@servers.command()
def show(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this server.", show_default=False)] = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Start them and list their tools anew.")] = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """List the configured servers: state, protocol era, number of tools, and why one failed.

    What is told was stored when a server was listed last, or is told by another Toolcrib that runs it; nothing
    is started without --refresh.
    """
    return run(partial(_servers, read_config(config), name, refresh=refresh, as_json=as_json))


servers.command("search")(search)
servers.command("add")(add)
servers.command("remove")(remove)
servers.command("enable")(enable)
servers.command("disable")(disable)
servers.command("changes")(changes)
servers.command("accept")(accept)
servers.command("login")(login)
servers.command("logout")(logout)


async def _servers(config: Config, name: str | None, *, refresh: bool, as_json: bool) -> int:
    async with open_crib(config, lists=True) as crib:
        known = crib.servers
        if name is not None:
            known = [_named(known, name)]
        if not refresh:
            known = await _with_running(crib, known)
        else:
            fresh = await list_anew(crib, [each.id for each in known if each.state != "disabled"])
            by_id = {each.id: each for each in fresh}
            known = [by_id.get(each.id, each) for each in known]
    if as_json:
        print_json({"servers": [each.to_json() for each in known]})
    elif known:
        _print(known, refreshed=refresh)
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
        replace(each, state=other.state, reason=other.reason, pid=other.pid)
        if each.state == "dormant" and (other := running.get(each.id)) is not None
        else each
        for each in known
    ]


def _named(known: "list[ServerStatus]", name: str) -> "ServerStatus":
    for each in known:
        if name in {each.id, each.key}:
            return each
    ids = [each.id for each in known]
    near = get_close_matches(name, ids)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"The configured ones: {', '.join(ids) or 'none'}."
    raise UsageError(f"There is no server {shown(name)}.", hint=hint)


def _print(known: "list[ServerStatus]", *, refreshed: bool) -> None:
    print_table(
        ("server", "state", "protocol", "tools", "about"),
        [
            (
                each.id,
                each.state,
                each.protocol_version or "-",
                "-" if each.tools is None else str(each.tools),
                each.description,
            )
            for each in known
        ],
        numbers=(3,),
    )
    for each in known:
        if each.in_trouble:
            print_text()
            print_styled((each.reason, "red"))
            for line in each.output[-_LAST_LINES:]:
                print_styled((line, "dim"), indent=2)
    if not refreshed and any(each.tools is None and each.state == "dormant" for each in known):
        tell("Some were never listed; toolcrib servers --refresh does it, or says why not.")
