"""`toolcrib import`: the servers that clients have, taken over into Toolcrib's own configuration."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from toolcrib.cli.agreeing import agreed
from toolcrib.cli.clientfiles import (
    candidate_json,
    chosen_files,
    keyring_writer,
    no_clients,
    print_candidates,
    target,
)
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.streams import print_json, print_text, tell
from toolcrib.cli.troubles import FAILED
from toolcrib.clients import Candidate, Imports, import_servers, plan_import
from toolcrib.config import load_config, user_state_dir
from toolcrib.errors import UsageError, shown

ClientNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="CLIENT", help="A client, such as `cursor` or `claude-desktop`.", show_default=False),
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
        else:
            print_text(no_clients())
    done: list[Candidate] = []
    backup: Path | None = None
    if new and not dry_run:
        if not yes and not agreed(f"Add {len(new)} to {place}?", "Nothing was imported: somebody has to agree."):
            tell("Nothing was imported.")
            return FAILED
        writer = keyring_writer() if wants_keyring(new, keyring, yes=yes) else None
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
            }
        )
    elif done:
        count = "1 server" if len(done) == 1 else f"{len(done)} servers"
        print_text(f"Imported {count} into {place}. toolcrib servers --refresh says which of them work;")
        print_text("toolcrib install CLIENT puts Toolcrib in their place.")
    elif not new and candidates:
        print_text("There is nothing new to import.")
    return 0


def wants_keyring(new: Sequence[Candidate], keyring: bool | None, *, yes: bool) -> bool:
    """Whether the secrets in entries go to the keyring: as said, else as the user answers, else not."""
    count = sum(len(each.secrets) for each in new)
    if not count or keyring is False:
        return False
    if keyring is None and (yes or not (sys.stdin and sys.stdin.isatty())):
        return False
    secrets = "1 secret" if count == 1 else f"{count} secrets"
    return keyring is True or agreed(f"Move {secrets} into the system's keyring?", "")


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
