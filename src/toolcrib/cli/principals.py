"""`toolcrib principals`: who may use the gateway over HTTP, and with which tokens."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from toolcrib.cli.groups import UnlessTold
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.streams import print_json, print_text, tell
from toolcrib.cli.tables import print_table
from toolcrib.config import (
    TOKENS_FILE,
    TokenFile,
    TokenSettings,
    digest_of,
    load_config,
    new_token,
    principal_name,
    user_state_dir,
)
from toolcrib.errors import UsageError, probably_meant, shown

_ABOUT = """List, add and remove those who may use the gateway over HTTP, each with tokens of their own.

Without a command, it is `list`.

Example: toolcrib principals add build --expires 90d
"""

_SPAN = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


class _ListUnlessTold(UnlessTold):
    """Takes `principals` and its options for `principals list`."""

    meant = "list"


principals = typer.Typer(cls=_ListUnlessTold, rich_markup_mode=None, help=_ABOUT)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The principal, by name.")]


@principals.command("list")
def list_tokens(config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """List the tokens that are let in, and the principals that the configuration names. No token is shown: only a
    digest of each is kept.

    Example: toolcrib principals list
    """
    settings = load_config(config or None).settings
    file = _file()
    file.changed()
    known = [
        *((each, "configuration") for each in settings.http.tokens),
        *((each, "made here") for each in file.tokens),
    ]
    if as_json:
        tokens = [{**_told(each), "from": where} for each, where in known]
        print_json({"tokens": tokens, "principals": [*settings.principals], "file": str(file.file)})
        return 0
    print_table(
        ("principal", "token", "roles", "ends", "from"),
        [(each.principal, each.name, ", ".join(each.roles), _ends(each), where) for each, where in known],
    )
    without = [name for name in settings.principals if name not in {each.principal for each, _ in known}]
    if without:
        print_text(f"Without a token of their own: {', '.join(without)}.")
    if not known:
        print_text("There are no tokens. `toolcrib principals add NAME` makes one.")
    return 0


@principals.command()
def add(
    name: Name,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="LABEL", help="What to call the token; NAME unless told.", show_default=False),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="ROLE", help="A role that comes with it; may be repeated.", show_default=False),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires",
            metavar="SPAN|TIME",
            help="When it ends to work: after 12h, 30d or 8w, or at a time such as 2027-01-31T12:00Z.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make a token for a principal and print it, once: only its digest is kept. Running servers let it in at once.

    Example: toolcrib principals add build --expires 90d
    """
    try:
        principal_name(name)
    except ValueError as error:
        raise UsageError(f"{shown(name)} can't be a principal: it {error}.") from None
    made = new_token()
    entry = TokenSettings(
        name=token or name,
        sha256=digest_of(made),
        principal=name,
        expires=None if expires is None else _moment(expires),
        roles=tuple(role or ()),
    )
    _file().add(entry)
    if as_json:
        print_json({**_told(entry), "token": made, "sha256": entry.sha256})
        return 0
    print_text(made)
    ends = "until it is removed" if entry.expires is None else f"until {_ends(entry)}"
    tell(f"It lets in {name}, {ends}. Keep it well: it is not shown again.")
    return 0


@principals.command()
def remove(
    name: Name,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="LABEL", help="The token; all of them unless told.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Take tokens of a principal away. They stop to work at once, in running servers too.

    Example: toolcrib principals remove build
    """
    file = _file()
    gone = file.remove(name, token)
    if not gone:
        raise _none_of(name, token, file)
    if as_json:
        print_json({"removed": [_told(each) for each in gone]})
    else:
        print_text(f"Removed: {', '.join(each.name for each in gone)}.")
    return 0


def _file() -> TokenFile:
    return TokenFile(user_state_dir() / TOKENS_FILE)


def _none_of(name: str, token: str | None, file: TokenFile) -> UsageError:
    """That a principal has no such token, and what may have been meant."""
    file.changed()
    which = f"no token {shown(token)}" if token else "no tokens that were made here"
    if token and (own := [each.name for each in file.tokens if each.principal == name]):
        hint = f"Its tokens: {', '.join(own)}."
    elif near := probably_meant(name, sorted({each.principal for each in file.tokens})):
        hint = f"Did you mean {' or '.join(near)}?"
    else:
        hint = "toolcrib principals lists them; those of the configuration are removed there."
    return UsageError(f"{shown(name)} has {which}.", hint=hint)


def _told(token: TokenSettings) -> dict[str, object]:
    ends = None if token.expires is None else token.expires.isoformat()
    return {"name": token.name, "principal": token.principal, "roles": list(token.roles), "expires": ends}


def _ends(token: TokenSettings) -> str:
    if token.expires is None:
        return "never"
    ended = " (has ended)" if token.expires <= datetime.now(UTC) else ""
    return f"{token.expires.astimezone(UTC):%Y-%m-%d %H:%M} UTC{ended}"


def _moment(text: str) -> datetime:
    """A time to come: after a span, or as it stands."""
    span = _SPAN.fullmatch(text)
    hint = "Give a span such as 30d, or a time such as 2027-01-31T12:00Z."
    try:
        if span is not None:
            return (datetime.now(UTC) + timedelta(hours=int(span[1]) * _HOURS[span[2]])).replace(microsecond=0)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise UsageError(f"{shown(text)} is no time.", hint=hint) from None
    if moment.tzinfo is None or moment <= datetime.now(UTC):
        what = "has no time zone" if moment.tzinfo is None else "is over"
        raise UsageError(f"{shown(text)} {what}.", hint=hint)
    return moment
