"""`toolcrib import`: the servers that clients have, taken over into Toolcrib's own configuration."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from toolcrib.cli.agreeing import declined
from toolcrib.cli.clientfiles import (
    ClientFileOption,
    ClientNames,
    candidate_json,
    chosen_files,
    print_found,
    refuse_unreadable,
    target,
)
from toolcrib.cli.keyrings import Keyring, movable, move_out, tell_of_keyring, writer_for
from toolcrib.cli.options import AsJson, ConfigFiles, DryRun, Yes
from toolcrib.cli.streams import print_json, print_text
from toolcrib.cli.tables import print_styled
from toolcrib.cli.troubles import FAILED
from toolcrib.clients import Candidate, ClientFile, Imports, import_servers, plan_import
from toolcrib.config import load_config, user_state_dir
from toolcrib.errors import UsageError, shown

Project = Annotated[
    Path | None,
    typer.Option("--project", metavar="DIR", help="Read this project's own files too.", show_default=False),
]

Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="KEY", help="Only this server; may be repeated.", show_default=False),
]

To = Annotated[
    Path | None,
    typer.Option("--to", metavar="FILE", help="Write here, not into your Toolcrib folder.", show_default=False),
]


def import_(
    clients: ClientNames = None,
    file: ClientFileOption = None,
    project: Project = None,
    only: Only = None,
    to: To = None,
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
    if clients:
        refuse_unreadable(files)
    imports = Imports(user_state_dir())
    place = target(to, config)
    current = load_config([*(config or []), *([to] if to and place.exists() else [])] or None)
    candidates = _only(plan_import(files, current, imports.read()), only)
    new = [each for each in candidates if each.is_new]
    if not as_json:
        print_found(files, candidates)
        tell_of_keyring(new, keyring)
    # Before anything is added, so that the copy of the file as it was holds none of the secrets.
    moved = move_out(movable(candidates, current, files), current, dry_run=dry_run, yes=yes) if keyring else []
    done: list[Candidate] = []
    backup: Path | None = None
    if new and not dry_run:
        nothing = "Nothing was imported"
        if declined(f"Add {len(new)} to {place}?", nothing, yes=yes):
            return FAILED
        backup = import_servers(new, place, imports, writer_for(new, keyring, yes=yes, nothing=nothing))
        done = new
    if as_json:
        print_json(
            {
                "servers": [candidate_json(each) for each in candidates],
                "unreadable": [*_unreadable(files)],
                "file": str(place),
                "backup": None if backup is None else str(backup),
                "imported": [each.into for each in done],
                "moved": [each.into for each in moved],
            }
        )
    else:
        _print_done(done, place, nothing_new=bool(candidates) and not new and not moved)
    return FAILED if clients and any(each.error for each in files) else 0


def _unreadable(files: Sequence[ClientFile]) -> Iterator[dict[str, Any]]:
    for each in files:
        if each.error is not None:
            yield {"client": each.client.id, "file": str(each.path), "error": each.error.to_json()}


def _print_done(done: Sequence[Candidate], place: Path, *, nothing_new: bool) -> None:
    if done:
        count = "1 server" if len(done) == 1 else f"{len(done)} servers"
        print_styled(f"Imported {count} into {place}. toolcrib servers --refresh says which of them work;")
        print_text("toolcrib install CLIENT puts Toolcrib in their place.")
    elif nothing_new:
        print_text("There is nothing new to import.")


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
