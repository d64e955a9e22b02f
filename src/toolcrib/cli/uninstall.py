"""`toolcrib uninstall`: a client's file as it was before Toolcrib came into it."""

from pathlib import Path
from typing import Annotated

import typer

from toolcrib.cli.agreeing import agreed
from toolcrib.cli.clientfiles import usual_file
from toolcrib.cli.import_ import ClientFileOption, ClientNames, DryRun, Yes
from toolcrib.cli.install import AllClients
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.streams import print_json, print_text, tell
from toolcrib.cli.troubles import FAILED
from toolcrib.clients import Change, Client, Installations, client
from toolcrib.config import user_state_dir
from toolcrib.errors import ToolcribError, UsageError


def uninstall(
    clients: ClientNames = None,
    everywhere: AllClients = False,
    file: ClientFileOption = None,
    keep_changes: Annotated[
        bool,
        typer.Option(
            "--keep-changes",
            help="Where the file has changed since: take Toolcrib out, put the servers back, keep the rest.",
        ),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Give a client its own servers back.

    Its file becomes what it was before `toolcrib install`, byte for byte. Where it has changed since, it is left
    alone, unless you say --keep-changes. What was imported stays in Toolcrib's configuration, which is neither read nor
    changed.

    Example: toolcrib uninstall cursor
    """
    installations = Installations(user_state_dir())
    if everywhere == bool(clients) or (file is not None and len(clients or ()) != 1):
        raise UsageError("Name the clients, or say --all; a file belongs to one client.")
    if everywhere:
        wanted = installations.known()
    elif file is not None:
        wanted = [(client((clients or [""])[0]), file.expanduser().absolute())]
    else:
        named = [client(name) for name in dict.fromkeys(clients or ())]
        places = installations.known()
        wanted = [at for each in named for at in [p for p in places if p[0] == each] or [(each, usual_file(each))]]
    changes, failures = _planned(installations, wanted, keep_changes=keep_changes)
    if changes and not dry_run:
        names = ", ".join(str(each.path) for each in changes)
        if not yes and not agreed(f"Take Toolcrib out of {names}?", "Nothing was changed: somebody has to agree."):
            tell("Nothing was changed.")
            return FAILED
        for each in changes:
            installations.uninstall(each)
    if as_json:
        print_json(
            {
                "changes": [
                    {"client": each.client.id, "file": str(each.path), "back": sorted(each.taken)} for each in changes
                ],
                "done": bool(changes) and not dry_run,
                "left": [each.to_json() for each in failures],
            }
        )
    else:
        for each in changes:
            verb = "is" if len(each.taken) == 1 else "are"
            back = f"; back {verb} {', '.join(sorted(each.taken))}" if each.taken else ""
            print_text(f"{each.path} {'would be' if dry_run else 'is'} without Toolcrib{back}.")
        if not changes and not failures:
            print_text("Toolcrib is in no client's file.")
    for each in failures:
        tell(f"{each.message}\n{each.hint or ''}".rstrip())
    return FAILED if failures else 0


def _planned(
    installations: Installations, wanted: list[tuple[Client, Path]], *, keep_changes: bool
) -> tuple[list[Change], list[ToolcribError]]:
    """What would change, and what is wrong with the other files: one that can't be given back harms no other."""
    changes: list[Change] = []
    failures: list[ToolcribError] = []
    for each, path in wanted:
        try:
            changes.append(installations.plan_removal(each, path, keep_changes=keep_changes))
        except ToolcribError as error:
            if len(wanted) == 1:
                raise
            failures.append(error)
    return changes, failures
