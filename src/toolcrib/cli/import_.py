"""`toolcrib import`: the servers that clients have, taken over into Toolcrib's own configuration."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from toolcrib.cli import completing
from toolcrib.cli.agreeing import agreed
from toolcrib.cli.clientfiles import (
    candidate_json,
    chosen_files,
    has_keyring,
    keyring_writer,
    no_clients,
    print_candidates,
    target,
)
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.streams import print_json, print_text, tell
from toolcrib.cli.tables import print_styled
from toolcrib.cli.troubles import FAILED
from toolcrib.clients import Candidate, ClientFile, Imports, client_files, import_servers, move_secrets, plan_import
from toolcrib.clients.written import written_secrets
from toolcrib.config import Config, load_config, user_state_dir
from toolcrib.errors import UsageError, shown

ClientNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CLIENT",
        help="A client, such as `cursor` or `claude-desktop`.",
        show_default=False,
        autocompletion=completing.clients,
    ),
]

ClientFileOption = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The client's file, where it is elsewhere.", show_default=False),
]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]

Keyring = Annotated[
    bool | None,
    typer.Option(
        "--keyring/--no-keyring",
        help="Move secrets that stand in the entries into the system's keyring, or leave them there.",
        show_default=False,
    ),
]


def import_(
    clients: ClientNames = None,
    file: ClientFileOption = None,
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="DIR", help="Read this project's own files too.", show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="KEY", help="Only this server; may be repeated.", show_default=False),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="Write here, not into your Toolcrib folder.", show_default=False),
    ] = None,
    keyring: Keyring = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Take over the servers that your clients have.

    It reads the files of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini CLI, Zed, Copilot CLI
    and Goose, shows what it found, and asks before it writes into your Toolcrib folder. The clients' files stay as
    they are.

    Example: toolcrib import cursor --dry-run
    """
    files = chosen_files(clients, file, project)
    imports = Imports(user_state_dir())
    place = target(to, config)
    current = load_config([*(config or []), *([to] if to and to.expanduser().exists() else [])] or None)
    candidates = _only(plan_import(files, current, imports.read()), only)
    new = [each for each in candidates if each.is_new]
    if not as_json:
        if candidates or files:
            print_candidates(files, candidates)
            tell_of_keyring(new, keyring)
        else:
            print_text(no_clients())
    # Before anything is added, so that the copy of the file as it was holds none of the secrets.
    moved = move_out(movable(candidates, current, files), current, dry_run=dry_run, yes=yes) if keyring else []
    done: list[Candidate] = []
    backup: Path | None = None
    if new and not dry_run:
        if not yes and not agreed(f"Add {len(new)} to {place}?", "Nothing was imported"):
            tell("Nothing was imported.")
            return FAILED
        writer = keyring_writer() if wants_keyring(new, keyring, yes=yes, nothing="Nothing was imported") else None
        backup = import_servers(new, place, imports, writer)
        done = new
    if as_json:
        print_json(
            {
                "servers": [candidate_json(each) for each in candidates],
                "unreadable": [
                    {"client": each.client.id, "file": str(each.path), "error": each.error.to_json()}
                    for each in files
                    if each.error is not None
                ],
                "file": str(place),
                "backup": None if backup is None else str(backup),
                "imported": [each.into for each in done],
                "moved": [each.into for each in moved],
            }
        )
    elif done:
        count = "1 server" if len(done) == 1 else f"{len(done)} servers"
        print_styled(f"Imported {count} into {place}. toolcrib servers --refresh says which of them work;")
        print_text("toolcrib install CLIENT puts Toolcrib in their place.")
    elif not new and candidates and not moved:
        print_text("There is nothing new to import.")
    return 0


def wants_keyring(new: Sequence[Candidate], keyring: bool | None, *, yes: bool, nothing: str) -> bool:
    """Whether the secrets in entries go to the keyring: as said, else as the user answers, else not.

    Args:
        new: The servers.
        keyring: What was said.
        yes: Whether nobody is to be asked.
        nothing: What has not happened when the question is abandoned; see `agreed`.
    """
    count = sum(len(each.secrets) for each in new)
    if not count or keyring is False:
        return False
    if keyring is None and (yes or not (sys.stdin and sys.stdin.isatty()) or not has_keyring()):
        return False
    secrets = "1 secret" if count == 1 else f"{count} secrets"
    return keyring is True or agreed(f"Move {secrets} into the system's keyring?", nothing)


def tell_of_keyring(new: Sequence[Candidate], keyring: bool | None) -> None:
    """Say how secrets that stand in files get out of them, where nothing is said of it and nobody is asked."""
    count = sum(len(each.secrets) for each in new)
    if not count or keyring is not None:
        return
    stand, them, they = ("1 secret stands", "it", "it") if count == 1 else (f"{count} secrets stand", "them", "they")
    if has_keyring():
        print_styled(f"{stand} written out above; --keyring moves {them} into the system's keyring.")
    else:
        stay = "stays" if count == 1 else "stay"
        print_styled(
            f"{stand} written out above; this machine has no keyring for {them}, so {they} {stay} in Toolcrib's file, "
            f"which only you can read, until ${{env:NAME}} takes the place of {them}."
        )


def move_out(known: Sequence[Candidate], current: Config, *, dry_run: bool, yes: bool) -> list[Candidate]:
    """Move the secrets of servers that are there already into the keyring, and tell it; returns whose were moved."""
    moved: list[Candidate] = []
    for each in known:
        entry = current.servers[each.into]
        assert entry.origin is not None
        what = f"{', '.join(secret.place for secret in written_secrets(entry))} of {each.into}"
        question = f"Move {what} out of {entry.origin} into the system's keyring?"
        if dry_run:
            tell(f"{what} would go out of {entry.origin} into the system's keyring.")
        elif yes or agreed(question, f"Nothing {'more ' if moved else ''}was moved, and nothing imported"):
            backup = move_secrets(each, entry.origin, Imports(user_state_dir()), keyring_writer())
            moved.append(each)
            tell(f"Moved {what} out of {entry.origin} into the system's keyring.")
            if backup is not None:
                tell(f"{backup}, a copy of an earlier state, may still hold it: delete it once all works.")
    return moved


def movable(candidates: Sequence[Candidate], current: Config, files: Sequence[ClientFile]) -> list[Candidate]:
    """The servers that are there already with secrets in Toolcrib's own files; the clients' stay as they are."""
    theirs = {each.path.resolve() for each in (*files, *client_files())}
    found = {each.into: each for each in candidates if each.state == "known"}
    return [
        each
        for key, each in found.items()
        if (entry := current.servers[key]).origin is not None
        and entry.origin.resolve() not in theirs
        and written_secrets(entry)
    ]


def _only(candidates: Sequence[Candidate], keys: Sequence[str] | None) -> list[Candidate]:
    if not keys:
        return [*candidates]
    there = {each.key for each in candidates}
    if missing := [key for key in keys if key not in there]:
        raise UsageError(f"No client has a server {shown(missing[0])}.", hint="toolcrib import --dry-run lists them.")
    chosen = [each for each in candidates if each.key in keys]
    # The first of several equal ones may have been left out.
    kept = {each.identity for each in chosen if each.is_new}
    return [
        replace(each, state="new") if each.state == "same" and each.identity not in kept else each for each in chosen
    ]
