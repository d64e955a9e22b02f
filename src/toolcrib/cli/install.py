"""`toolcrib install`: Toolcrib in a client's file, in place of the servers that it took over."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from toolcrib.cli.agreeing import declined
from toolcrib.cli.begin import serve_command
from toolcrib.cli.clientfiles import (
    AllClients,
    ClientFileOption,
    ClientNames,
    candidate_json,
    chosen_files,
    each_or_why,
    gateway_env,
    print_diffs,
    print_found,
    target,
    tell_failures,
    usual_file,
)
from toolcrib.cli.keyrings import Keyring, tell_of_keyring, writer_for
from toolcrib.cli.options import AsJson, ConfigFiles, DryRun, Yes
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
from toolcrib.errors import ToolcribError, UsageError, shown

Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="KEY", help="Leave this server in the client.", show_default=False),
]


def install(
    clients: ClientNames = None,
    everywhere: AllClients = False,
    file: ClientFileOption = None,
    keep: Keep = None,
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
    candidates = _without(plan_import(files, load_config(config or None), imports.read()), keep)
    changes, failures = each_or_why(files, lambda each: _change(installations, each, candidates, config or ()))
    changes = [each for each in changes if not each.is_none]
    new = [each for each in candidates if each.is_new]
    if not as_json:
        print_found(files, candidates)
        tell_of_keyring(new, keyring)
        if dry_run:
            print_diffs(changes, candidates)
    backups: list[Path | None] = [None] * len(changes)
    if changes and not dry_run:
        names = ", ".join(dict.fromkeys(each.client.title for each in changes))
        nothing = "Nothing was changed"
        if declined(f"Put Toolcrib into {names}?", nothing, yes=yes):
            return FAILED
        if new:
            import_servers(new, place, imports, writer_for(new, keyring, yes=yes, nothing=nothing))
        changes, backups, unchanged = _installed(installations, changes, new, place)
        failures += unchanged
    if as_json:
        imported = [] if dry_run or not changes else [each.into for each in new]
        print_json(_told(candidates, imported, changes, backups, failures, dry_run=dry_run))
    elif changes and not dry_run:
        _print_done(changes, backups)
    elif files and not changes and not failures:
        print_text("Nothing is to be changed.")
    tell_failures(failures)
    return FAILED if failures else 0


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
    if file.error is not None:
        raise file.error
    stands_for = {"new", "renamed", "known", "same", "toolcrib"}
    taken = [
        each.key for each in candidates if each.path == file.path and each.client == file.client
        and each.state in stands_for
    ]  # fmt: skip
    entry = entry_for(file.client, serve_command(configs), gateway_env())
    return installations.plan(file.client, file.path, entry, taken)


def _without(candidates: Sequence[Candidate], keep: Sequence[str] | None) -> list[Candidate]:
    there = {each.key for each in candidates}
    if missing := [key for key in keep or () if key not in there]:
        raise UsageError(f"No server is called {shown(missing[0])} there.", hint="--dry-run lists them.")
    return [each for each in candidates if each.key not in (keep or ())]


def _installed(
    installations: Installations, changes: Sequence[Change], new: Sequence[Candidate], place: Path
) -> tuple[list[Change], list[Path | None], list[ToolcribError]]:
    """Make the changes; returns those that were made, the copies of what was there, and what the others failed of."""
    imported = ", ".join(each.into for each in new)
    all_the_same = f"Imported into {place} all the same: {imported}."
    try:
        done, unchanged = each_or_why(changes, lambda each: (each, installations.install(each)))
    except ToolcribError:
        if new:
            tell(all_the_same)
        raise
    if new and unchanged:
        tell(all_the_same)
    return [change for change, _ in done], [backup for _, backup in done], unchanged


def _told(
    candidates: Iterable[Candidate],
    imported: Sequence[str],
    changes: Sequence[Change],
    backups: Sequence[Path | None],
    failures: Iterable[ToolcribError],
    *,
    dry_run: bool,
) -> dict[str, Any]:
    return {
        "servers": [candidate_json(each) for each in candidates],
        "imported": imported,
        "changes": [
            {
                "client": each.client.id,
                "file": str(each.path),
                "taken": sorted(each.taken),
                "installed": not dry_run,
                "backup": str(backup) if backup else None,
            }
            for each, backup in zip(changes, backups, strict=True)
        ],
        "left": [each.to_json() for each in failures],
    }


def _print_done(changes: Sequence[Change], backups: Sequence[Path | None]) -> None:
    for each, backup in zip(changes, backups, strict=True):
        kept = f" What it was is kept in {backup}." if backup else ""
        print_text(f"Toolcrib is in {each.path}.{kept}")
    words = " ".join(dict.fromkeys(each.client.id for each in changes))
    print_text("Start the client anew to use it. This goes back:")
    print_text(f"  toolcrib uninstall {words}")
