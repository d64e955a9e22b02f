"""`toolcrib uninstall`: a client's file as it was before Toolcrib came into it."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from toolcrib.cli.agreeing import declined
from toolcrib.cli.clientfiles import (
    AllClients,
    ClientFileOption,
    ClientNames,
    each_or_why,
    print_diffs,
    tell_failures,
    usual_file,
)
from toolcrib.cli.options import AsJson, ConfigFiles, DryRun, Yes
from toolcrib.cli.streams import one_line, print_json, print_text
from toolcrib.cli.troubles import FAILED
from toolcrib.clients import Candidate, Change, Client, Installations, client, plan_import, read_client_file
from toolcrib.config import Config, user_state_dir
from toolcrib.errors import UsageError
from toolcrib.files import expanded

KeepChanges = Annotated[
    bool,
    typer.Option(
        "--keep-changes",
        help="Where the servers have changed since: take Toolcrib out, put them back, keep the rest.",
    ),
]

Restore = Annotated[
    bool, typer.Option("--restore", help="Whatever has changed since: the file as it was, byte for byte.")
]


def uninstall(
    clients: ClientNames = None,
    everywhere: AllClients = False,
    file: ClientFileOption = None,
    keep_changes: KeepChanges = False,
    restore: Restore = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Give a client its own servers back.

    Its file becomes what it was before `toolcrib install`, byte for byte. Where it has changed elsewhere since, its
    servers become what they were, and the rest stays. Where the servers themselves have changed, it is left alone,
    unless you say --keep-changes or --restore; a copy of what the file then no longer holds is kept. What was
    imported stays in Toolcrib's configuration, which is neither read nor changed.

    Example: toolcrib uninstall cursor
    """
    installations = Installations(user_state_dir())
    if keep_changes and restore:
        raise UsageError("--keep-changes and --restore exclude each other.")
    wanted = _wanted(installations, clients or (), file, everywhere=everywhere)
    plan = partial(installations.plan_removal, keep_changes=keep_changes, restore=restore)
    changes, failures = each_or_why(wanted, lambda at: plan(*at))
    failures += installations.damaged() if everywhere else []
    if dry_run and not as_json:
        print_diffs(changes, _servers_of(changes))
    if changes and not dry_run:
        names = ", ".join(str(each.path) for each in changes)
        if declined(f"Take Toolcrib out of {names}?", "Nothing was changed", yes=yes):
            return FAILED
        changes, unchanged = each_or_why(changes, lambda change: _removed(installations, change))
        failures += unchanged
    if as_json:
        done = bool(changes) and not dry_run
        left = [each.to_json() for each in failures]
        print_json({"changes": [_change_json(each) for each in changes], "done": done, "left": left})
    else:
        for each in changes:
            print_text(_done(each, be="would be" if dry_run else "is"))
        if not changes and not failures:
            print_text("Toolcrib is in no client's file.")
    tell_failures(failures)
    return FAILED if failures else 0


def _wanted(
    installations: Installations, names: Sequence[str], file: Path | None, *, everywhere: bool
) -> list[tuple[Client, Path]]:
    """The files that are meant, each with its client."""
    if everywhere == bool(names) or (file is not None and len(names) != 1):
        raise UsageError(
            "Name the clients, or say --all; a file belongs to one client.",
            hint="toolcrib uninstall --all --dry-run shows where Toolcrib is.",
        )
    if file is not None:
        return [(client(names[0]), expanded(file).absolute())]
    known = installations.known()
    if everywhere:
        return known
    named = dict.fromkeys(client(name) for name in names)
    return [at for each in named for at in [p for p in known if p[0] == each] or [(each, usual_file(each))]]


def _removed(installations: Installations, change: Change) -> Change:
    installations.uninstall(change)
    return change


def _change_json(each: Change) -> dict[str, Any]:
    return {
        "client": each.client.id,
        "file": str(each.path),
        "back": sorted(each.taken),
        "partial": each.is_partial,
        "restored": each.is_restored,
        "kept": str(each.kept) if each.kept else None,
    }


def _done(change: Change, *, be: str) -> str:
    """What became of one file, or would."""
    if change.is_none:
        return f"{change.path} is without Toolcrib already, and stays as it is."
    verb = "is" if len(change.taken) == 1 else "are"
    back = f"; back {verb} {', '.join(map(one_line, sorted(change.taken)))}" if change.taken else ""
    rest = " It had changed since, and all but its servers stays as it is now." if change.is_partial else ""
    if change.is_restored:
        rest = " It had changed since, and is what it was before Toolcrib."
    copied = "What it was until now" if change.is_restored else "What it was before Toolcrib"
    kept = f" {copied} {be} kept in {change.kept}." if change.kept else ""
    return f"{change.path} {be} without Toolcrib{back}.{rest}{kept}"


def _servers_of(changes: Iterable[Change]) -> list[Candidate]:
    """All servers that files have or would have, to know their secrets by."""
    sides = [(each, data) for each in changes for data in (each.before, each.after) if data is not None]
    return plan_import([read_client_file(each.client, each.path, data=data) for each, data in sides], Config(), {})
