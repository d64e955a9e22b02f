"""`toolcrib servers changes` and `accept`: tools that are no longer what they were when they were first used."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli import completing
from toolcrib.cli.options import AsJson, ConfigFiles, Refresh
from toolcrib.cli.progress import list_anew
from toolcrib.cli.session import find_tool, open_crib, read_config, run
from toolcrib.cli.streams import print_json, print_text
from toolcrib.cli.switching import ServerName, configured
from toolcrib.cli.tables import print_styled
from toolcrib.config import Config
from toolcrib.errors import UsageError

if TYPE_CHECKING:
    from toolcrib.broker import ToolChange

_STYLES = {"-": "red", "+": "green"}


def changes(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Only this server.", show_default=False, autocompletion=completing.servers),
    ] = None,
    refresh: Refresh = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Show which tools have changed since they were first used, and how.

    What the servers listed last is compared; nothing is started without --refresh.

    Example: toolcrib servers changes tickets --refresh
    """
    return run(partial(_changes, read_config(config), name, refresh=refresh, as_json=as_json))


def accept(
    name: ServerName,
    tool: Annotated[
        str | None,
        typer.Argument(
            metavar="TOOL", help="Only this tool, by its id.", show_default=False, autocompletion=completing.tools
        ),
    ] = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Accept a server's tools as it listed them last, in place of what they were.

    Every running Toolcrib goes by it from its next call on.

    Example: toolcrib servers accept tickets tickets.create_ticket
    """
    return run(partial(_accept, read_config(config), name, tool, as_json=as_json))


async def _changes(config: Config, name: str | None, *, refresh: bool, as_json: bool) -> int:
    server = None if name is None else configured(config, name)[0]
    async with open_crib(config, lists=refresh) as crib:
        if refresh:
            await list_anew(crib, [each.id for each in crib.servers if server in {None, each.id}])
        found = await crib.changes.list(server)
    if as_json:
        print_json({"changes": [each.to_json() for each in found]})
    elif found:
        _print(found)
    else:
        print_text("No tool has changed since it was first used.")
    return 0


async def _accept(config: Config, name: str, tool: str | None, *, as_json: bool) -> int:
    server, _ = configured(config, name)
    async with open_crib(config) as crib:
        tool_id: str | None = None
        if tool is not None:
            chosen = await find_tool(crib, tool)
            if chosen.server != server:
                raise UsageError(f"{chosen.id} is no tool of {server}.", hint=f"Name a tool of {server}, or none.")
            tool_id = chosen.id
        accepted = await crib.changes.accept(server, tool_id)
    if as_json:
        print_json({"accepted": accepted})
    else:
        print_text(f"Accepted: {', '.join(accepted)}." if accepted else "Nothing has changed, so nothing was accepted.")
    return 0


def _print(found: "list[ToolChange]") -> None:
    for place, change in enumerate(found):
        if place:
            print_text()
        since = datetime.fromtimestamp(change.pinned_at).strftime("%Y-%m-%d %H:%M")
        if change.tool is None:
            print_styled((f"{change.server}: {change.name}", "bold"), f" is gone; it was pinned on {since}.")
            continue
        hides = ", and now holds hidden text" if change.hides else ""
        print_styled((change.tool, "bold"), f" has changed since {since}{hides} ({change.mode}):")
        for difference in change.differences:
            for line in difference.lines():
                print_styled((line, _STYLES.get(line.strip()[:1], "")), indent=2)
    servers = sorted({each.server for each in found if each.tool is not None})
    if servers:
        print_text()
        print_text("\n".join(f"toolcrib servers accept {each} accepts it." for each in servers))
