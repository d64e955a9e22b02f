"""`toolcrib install`: Toolcrib in a client's file, in place of the servers that it took over."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from toolcrib.cli.agreeing import agreed
from toolcrib.cli.begin import serve_command
from toolcrib.cli.clientfiles import (
    candidate_json,
    chosen_files,
    each_or_why,
    gateway_env,
    keyring_writer,
    no_clients,
    print_candidates,
    print_diffs,
    target,
    usual_file,
)
from toolcrib.cli.import_ import ClientFileOption, ClientNames, DryRun, Keyring, Yes, tell_of_keyring, wants_keyring
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.streams import print_json, print_text, tell
from toolcrib.cli.troubles import FAILED
from toolcrib.clients import (
    Candidate,
    Change,
    ClientFile,
    Imports,
    Installations,
    client,
    entry_for,
    import_servers,
    plan_import,
    read_client_file,
)
from toolcrib.config import load_config, user_state_dir
from toolcrib.errors import ToolcribError, UsageError

AllClients = Annotated[bool, typer.Option("--all", help="Every client whose file is on this machine.")]


def install(
    clients: ClientNames = None,
    everywhere: AllClients = False,
    file: ClientFileOption = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="KEY", help="Leave this server in the client.", show_default=False),
    ] = None,
    keyring: Keyring = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Put Toolcrib into a client, in place of its servers.

    Servers that Toolcrib does not know yet are imported first. The client's file is kept as it was; comments and
    other settings in it stay; `toolcrib uninstall` gives it back byte for byte.

    Example: toolcrib install cursor --dry-run
    """
    files = _files(clients, file, everywhere=everywhere)
    imports = Imports(user_state_dir())
    installations = Installations(user_state_dir())
    place = target(None, config)
    candidates = [
        each for each in plan_import(files, load_config(config or None), imports.read()) if each.key not in (keep or ())
    ]
    readable = [each for each in files if each.error is None]
    changes, failures = each_or_why(readable, lambda each: _change(installations, each, candidates, config or ()))
    changes = [each for each in changes if not each.is_none]
    new = [each for each in candidates if each.is_new]
    if not as_json:
        if files:
            print_candidates(files, candidates)
            tell_of_keyring(new, keyring)
        else:
            print_text(no_clients())
        if dry_run:
            print_diffs(changes, candidates)
    backups: list[Path | None] = []
    if changes and not dry_run:
        names = ", ".join(dict.fromkeys(each.client.title for each in changes))
        if not yes and not agreed(f"Put Toolcrib into {names}?", "Nothing was changed"):
            tell("Nothing was changed.")
            return FAILED
        if new:
            writer = keyring_writer() if wants_keyring(new, keyring, yes=yes, nothing="Nothing was changed") else None
            import_servers(new, place, imports, writer)
        try:
            installed, unchanged = each_or_why(changes, lambda each: (each, installations.install(each)))
        except ToolcribError:
            _tell_imported(new, place)
            raise
        changes, backups = [each for each, _ in installed], [backup for _, backup in installed]
        failures += unchanged
        if failures:
            _tell_imported(new, place)
    if as_json:
        print_json(
            {
                "servers": [candidate_json(each) for each in candidates],
                "imported": [] if dry_run else [each.into for each in new],
                "changes": [
                    {
                        "client": each.client.id,
                        "file": str(each.path),
                        "taken": sorted(each.taken),
                        "installed": not dry_run,
                        "backup": str(backup) if backup else None,
                    }
                    for each, backup in zip(changes, backups or [None] * len(changes), strict=True)
                ],
                "left": [each.to_json() for each in failures],
            }
        )
    elif changes and not dry_run:
        _print_done(changes, backups)
    elif files and not changes and not failures:
        print_text("Nothing is to be changed.")
    for each in failures:
        tell(f"{each.message}\n{each.hint or ''}".rstrip())
    return FAILED if failures or any(each.error is not None for each in files) else 0


def _files(names: Sequence[str] | None, file: Path | None, *, everywhere: bool) -> list[ClientFile]:
    if everywhere == bool(names):
        raise UsageError("Name the clients, or say --all.", hint="toolcrib import --dry-run shows which are here.")
    if everywhere:
        return chosen_files(None, file)
    if file is not None:
        return chosen_files(names, file)
    found = [client(name) for name in dict.fromkeys(names or ())]
    return [read_client_file(each, usual_file(each)) for each in found]


def _change(
    installations: Installations, file: ClientFile, candidates: Sequence[Candidate], configs: Sequence[Path]
) -> Change:
    stands_for = {"new", "renamed", "known", "same", "toolcrib"}
    taken = [
        each.key for each in candidates if each.path == file.path and each.client == file.client
        and each.state in stands_for
    ]  # fmt: skip
    entry = entry_for(file.client, serve_command(configs), gateway_env())
    return installations.plan(file.client, file.path, entry, taken)


def _tell_imported(new: Sequence[Candidate], place: Path) -> None:
    """Say what was done before something failed."""
    if new:
        tell(f"Imported into {place} all the same: {', '.join(each.into for each in new)}.")


def _print_done(changes: Sequence[Change], backups: Sequence[Path | None]) -> None:
    for each, backup in zip(changes, backups, strict=True):
        kept = f" What it was is kept in {backup}." if backup else ""
        print_text(f"Toolcrib is in {each.path}.{kept}")
    words = " ".join(dict.fromkeys(each.client.id for each in changes))
    print_text("Start the client anew to use it. This goes back:")
    print_text(f"  toolcrib uninstall {words}")
