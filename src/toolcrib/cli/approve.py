"""`toolcrib approve`: calls that wait for an approval, and what was granted."""

import getpass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli.groups import UnlessTold
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.session import open_crib, run
from toolcrib.cli.streams import print_json, print_text, typed, warn
from toolcrib.cli.tables import print_table
from toolcrib.cli.times import as_moment
from toolcrib.config import Config, load_config
from toolcrib.errors import UsageError, shown

if TYPE_CHECKING:
    from toolcrib.broker import Approval, Grant, Granted

_ABOUT = """List the calls that wait for an approval; approve or deny them.

Without a command it is `list`; with the id of an approval in its place, `allow`.

Example: toolcrib approve allow 7
"""


class _AllowUnlessTold(UnlessTold):
    """Takes `approve` and its options for `approve list`, and `approve ID` for `approve allow ID`."""

    meant = "list"
    meant_with_id = "allow"


approve = typer.Typer(cls=_AllowUnlessTold, rich_markup_mode=None, help=_ABOUT, subcommand_metavar="[ID|COMMAND]")

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help="An approval, by the id that `list` and a model tell.")]


@approve.command("list")
def list_waiting(
    everything: Annotated[
        bool, typer.Option("--all", help="Also what was decided, or expired, in the last day.")
    ] = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """List what waits, oldest first.

    Example: toolcrib approve list --json
    """
    return run(partial(_list, _config(config), everything=everything, as_json=as_json))


@approve.command()
def show(approval: ApprovalId, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Show the whole question: tool, arguments, why it is asked, where values come from.

    Example: toolcrib approve show 7
    """
    return run(partial(_show, _config(config), typed(approval), as_json=as_json))


@approve.command()
def allow(
    approval: ApprovalId,
    scope: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="call|tool|caller",
            help="What is allowed: this call; this tool in this script run or conversation; this tool in the whole "
            "conversation.",
        ),
    ] = "call",
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds", metavar="N", min=0.001, help="How long the latter two hold at most.", show_default=False
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            "--within",
            metavar="JSON",
            help='They hold only for such arguments, as in {"at": "/path", "pattern": "^/tmp/"}; may be repeated.',
            show_default=False,
        ),
    ] = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Approve a call. It is sent when its caller takes it up, which is at once while it waits.

    Example: toolcrib approve allow 7 --for tool --seconds 600
    """
    grant = _grant(scope, seconds, [typed(each) for each in within or ()])
    return run(partial(_decide, _config(config), typed(approval), grant, as_json=as_json))


@approve.command()
def deny(approval: ApprovalId, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Deny a call.

    Example: toolcrib approve deny 7
    """
    return run(partial(_decide, _config(config), typed(approval), None, as_json=as_json))


@approve.command()
def grants(config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """List what was granted beyond single calls, and still holds.

    Example: toolcrib approve grants
    """
    return run(partial(_grants, _config(config), as_json=as_json))


@approve.command()
def revoke(
    grant: Annotated[str, typer.Argument(metavar="GRANT", help="A grant, by the id that `grants` tells.")],
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Take a grant back; from then on its calls are asked about again.

    Example: toolcrib approve revoke 3
    """
    return run(partial(_revoke, _config(config), typed(grant), as_json=as_json))


def _config(files: "list[Path] | None") -> Config:
    """The configuration, which says where the inbox is; without one it is where it is by default."""
    config = load_config(files or None)
    for warning in config.warnings if config.paths else ():
        warn(warning)
    return config


def _grant(scope: str, seconds: float | None, within: list[str]) -> "Grant":
    from toolcrib.broker import Grant
    from toolcrib.broker.approvals import typed_test

    if scope not in ("call", "tool", "caller"):
        raise UsageError(f"--for {shown(scope, 40)} is not known.", hint="It is one of call, tool, caller.")
    if scope == "call" and (within or seconds is not None):
        raise UsageError("--within and --seconds are for what goes beyond one call.", hint="Add --for tool.")
    return Grant(scope, seconds, tuple(typed_test(text, "--within") for text in within))


def _me() -> str:
    try:
        return f"inbox {getpass.getuser()}"
    except (OSError, KeyError):
        return "inbox"


async def _list(config: Config, *, everything: bool, as_json: bool) -> int:
    async with open_crib(config) as crib:
        found = await crib.approvals.list(everything=everything)
    if as_json:
        print_json({"approvals": [each.to_json() for each in found]})
    elif found:
        print_table(
            ("id", "asked", "status", "tool", "effect", "asked by", "why"),
            [_cells(approval) for approval in found],
            prose=(6,),
        )
    else:
        print_text("Nothing waits for an approval.")
    return 0


async def _show(config: Config, approval: str, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        found = await crib.approvals.find(approval)
    if as_json:
        print_json(found.to_json())
        return 0
    print_text(found.question)
    by = f" by {found.decided_by}" if found.decided_by else ""
    print_text(
        f"Approval {found.id}, {found.status}{by}; asked {as_moment(found.created_at)}, "
        f"until {as_moment(found.expires_at)}."
    )
    return 0


async def _decide(config: Config, approval: str, grant: "Grant | None", *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        decided = await crib.approvals.decide(approval, grant is not None, grant=grant, by=_me())
    if as_json:
        print_json(decided.to_json())
    elif grant is None:
        print_text(f"{decided.tool} is denied.")
    else:
        beyond = {"call": "", "tool": ", and for the rest of its run or conversation"}
        print_text(f"{decided.tool} is approved{beyond.get(grant.scope, ', and for the rest of its conversation')}.")
    return 0


async def _grants(config: Config, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        found = await crib.approvals.grants()
    if as_json:
        print_json({"grants": [each.to_json() for each in found]})
    elif found:
        print_table(
            ("id", "tool", "for", "seconds left", "by", "rule"), [_granted(each) for each in found], numbers=(3,)
        )
    else:
        print_text("Nothing is granted.")
    return 0


async def _revoke(config: Config, grant: str, *, as_json: bool) -> int:
    async with open_crib(config) as crib:
        was_there = await crib.approvals.revoke(grant)
    if not was_there:
        raise UsageError(f"There is no grant {shown(grant)}.", hint="toolcrib approve grants lists them.")
    if as_json:
        print_json({"revoked": grant})
    else:
        print_text(f"Grant {grant} is revoked.")
    return 0


def _cells(approval: "Approval") -> tuple[str, ...]:
    return (
        approval.id,
        as_moment(approval.created_at),
        approval.status,
        approval.tool,
        approval.effect,
        approval.asked_by,
        approval.reason,
    )


def _granted(granted: "Granted") -> tuple[str, ...]:
    return granted.id, granted.tool, granted.subject, f"{granted.seconds:.0f}", granted.by, granted.rule
