"""`toolcrib journal`: which calls were made, by whom, and what became of them."""

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli import completing
from toolcrib.cli.groups import UnlessTold
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.session import open_crib, run
from toolcrib.cli.streams import print_json, print_text, safe, typed, warn
from toolcrib.cli.tables import print_styled, print_table
from toolcrib.cli.times import as_moment
from toolcrib.config import Config, load_config
from toolcrib.moments import moment_of

if TYPE_CHECKING:
    from toolcrib.broker import Entry, Filter

_ABOUT = """Show the calls that were made, by whom, and what became of them.

Without a command it is `list`; with the id of a call in its place, `show`.

Example: toolcrib journal --state failed --since 2h
"""

_STATE_STYLES = {"failed": "red", "unknown": "bold red", "denied": "yellow", "started": "cyan", "waiting": "cyan"}


class _ListUnlessTold(UnlessTold):
    """Takes `journal` and its options for `journal list`, and `journal ID` for `journal show ID`."""

    meant = "list"
    meant_with_id = "show"


journal = typer.Typer(cls=_ListUnlessTold, rich_markup_mode=None, help=_ABOUT, subcommand_metavar="[ID|COMMAND]")

Tool = Annotated[
    str,
    typer.Option(
        "--tool",
        metavar="GLOB",
        help="Only tools whose id this fits.",
        show_default=False,
        autocompletion=completing.tools,
    ),
]
Server = Annotated[
    str,
    typer.Option(
        "--server",
        "-s",
        metavar="NAME",
        help="Only tools of this server.",
        show_default=False,
        autocompletion=completing.servers,
    ),
]
State = Annotated[
    str,
    typer.Option(
        "--state",
        metavar="STATE",
        help="Only calls that are started, waiting, done, failed, denied, cancelled or unknown.",
        show_default=False,
        autocompletion=completing.words("started", "waiting", "done", "failed", "denied", "cancelled", "unknown"),
    ),
]
Effect = Annotated[
    str,
    typer.Option(
        "--effect",
        metavar="EFFECT",
        help="Only calls whose effect is read, write, destructive or unknown.",
        show_default=False,
        autocompletion=completing.words("read", "write", "destructive", "unknown"),
    ),
]
Run = Annotated[str, typer.Option("--run", metavar="ID", help="Only calls of this script run.", show_default=False)]
Caller = Annotated[
    str,
    typer.Option("--caller", metavar="NAME", help="Only calls of this principal or conversation.", show_default=False),
]
Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only calls since then: 90s, 15m, 2h, 7d, or a date and time.",
        show_default=False,
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=10_000, help="How many.")]


@journal.command("list")
def list_calls(
    tool: Tool = "",
    server: Server = "",
    state: State = "",
    effect: Effect = "",
    run_id: Run = "",
    caller: Caller = "",
    since_time: Since = "",
    limit: Limit = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with calls as they are made, one a line; Ctrl-C ends it.")
    ] = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """List the newest calls first.

    With --json, one document; with --json --follow, one JSON object a line.

    Example: toolcrib journal list --server tickets --state failed --since 2h
    """
    wanted = _filter(tool, server, state, effect, run_id, caller, since_time)
    if follow:
        return run(partial(_follow, _config(config), wanted, as_json=as_json))
    return run(partial(_list, _config(config), wanted, limit, as_json=as_json))


@journal.command()
def show(
    call_id: Annotated[str, typer.Argument(metavar="ID", help="A call, by its id or the beginning of it.")],
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Show all that is on record of one call.

    Example: toolcrib journal show 5f2c9d
    """
    return run(partial(_show, _config(config), typed(call_id), as_json=as_json))


@journal.command()
def export(
    tool: Tool = "",
    server: Server = "",
    state: State = "",
    effect: Effect = "",
    run_id: Run = "",
    caller: Caller = "",
    since_time: Since = "",
    config: ConfigFiles = None,
) -> int:
    """Print all calls, oldest first, one JSON object a line.

    Example: toolcrib journal export --since 7d > calls.jsonl
    """
    wanted = _filter(tool, server, state, effect, run_id, caller, since_time)
    return run(partial(_export, _config(config), wanted))


@journal.command()
def discovery(limit: Limit = 50, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Show what finding tools has cost each conversation in tokens, and what it saved.

    Example: toolcrib journal discovery --limit 5
    """
    return run(partial(_discovery, _config(config), limit, as_json=as_json))


def _config(files: Sequence[Path] | None) -> Config:
    """The configuration, which says where the journal is; without one it is where it is by default."""
    config = load_config(files or None)
    for warning in config.warnings if config.paths else ():
        warn(warning)
    # What is only read must not be tidied up, and leaves no record of its own.
    settings = config.settings
    unwritten = settings.model_copy(update={"journal": settings.journal.model_copy(update={"enabled": False})})
    return replace(config, settings=unwritten)


def _filter(tool: str, server: str, state: str, effect: str, run_id: str, caller: str, since_time: str) -> "Filter":
    from toolcrib.broker import Filter

    earliest = moment_of(since_time) if since_time else None
    return Filter(typed(tool), typed(server), state, effect, typed(run_id), typed(caller), earliest)


async def _list(config: Config, wanted: "Filter", limit: int, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        found = await crib.journal.entries(wanted, limit=limit)
    if as_json:
        print_json({"calls": [each.to_json() for each in found]})
    elif found:
        print_table(
            ("id", "began", "tool", "effect", "state", "ms", "caller"), [_cells(each) for each in found], numbers=(5,)
        )
    else:
        print_text("The journal has no such call." if wanted != type(wanted)() else "The journal is empty.")
    return 0


async def _follow(config: Config, wanted: "Filter", *, as_json: bool) -> int:
    async with open_crib(config) as crib, _closing(crib.journal.follow(wanted)) as calls:
        async for each in calls:
            print_line(each.to_json()) if as_json else print_text("  ".join(filter(None, _cells(each))))
            sys.stdout.flush()
    return 0


async def _show(config: Config, call_id: str, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        entry = await crib.journal.entry(call_id)
        beginning = await crib.journal.beginning(entry)
    body = {**entry.to_json(), "result": beginning or None}
    if as_json:
        print_json(body)
        return 0
    print_styled((entry.tool, "bold"), "  ", (entry.state, _STATE_STYLES.get(entry.state, "green")))
    for name, value in body.items():
        if name.endswith("_at") and value is not None:
            value = as_moment(float(str(value)))
        if value not in (None, "", []) and name not in ("tool", "state", "seq"):
            print_text(safe(f"  {name.replace('_', ' ')}: {_words(value)}").replace("\n", "\n    "))
    return 0


async def _export(config: Config, wanted: "Filter") -> int:
    async with open_crib(config) as crib, _closing(crib.journal.export(wanted)) as calls:
        async for each in calls:
            print_line(each.to_json())
    return 0


async def _discovery(config: Config, limit: int, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        found = await crib.journal.discoveries(limit=limit)
    if as_json:
        print_json({"conversations": [each.to_json() for each in found]})
    elif found:
        print_table(
            ("conversation", "principal", "last", "answers", "spent", "all definitions", "saved"),
            [
                (
                    each.conversation,
                    each.principal,
                    as_moment(each.last_at),
                    *(f"{number:,}" for number in (each.answers, each.spent, each.all_definitions, each.saved)),
                )
                for each in found
            ],
            numbers=(3, 4, 5, 6),
        )
    else:
        print_text("No conversation is on record.")
    return 0


def _cells(entry: "Entry") -> tuple[str, ...]:
    took = "" if entry.duration_ms is None else f"{entry.duration_ms:.0f}"
    who = "/".join(filter(None, (entry.principal, entry.conversation, entry.run)))
    return entry.id, as_moment(entry.started_at), entry.tool, entry.effect, entry.state, took, who


def _words(value: object) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def print_line(value: object) -> None:
    """Write a value to standard output as JSON on one line."""
    import json

    sys.stdout.write(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n")


def _closing(calls: "AsyncGenerator[Entry]") -> "aclosing[AsyncGenerator[Entry]]":
    return aclosing(calls)
