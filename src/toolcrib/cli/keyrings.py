"""Secrets that stand written out in servers' entries, and the system's keyring that they may go to."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from toolcrib.cli.agreeing import agreed
from toolcrib.cli.streams import tell
from toolcrib.cli.tables import print_styled
from toolcrib.clients import Candidate, ClientFile, Imports, client_files, move_secrets
from toolcrib.clients.written import written_secrets
from toolcrib.config import Config, user_state_dir
from toolcrib.errors import ToolcribError

Keyring = Annotated[
    bool | None,
    typer.Option(
        "--keyring/--no-keyring",
        help="Move secrets that stand in the entries into the system's keyring, or leave them there.",
        show_default=False,
    ),
]


def has_keyring() -> bool:
    """Whether the system has a keyring that keeps anything; a locked one counts."""
    import keyring
    from keyring.backends import fail, null

    return not isinstance(keyring.get_keyring(), fail.Keyring | null.Keyring)


def keyring_writer() -> Callable[[str, str], None]:
    """Puts a secret into the system's keyring.

    Raises:
        ToolcribError: When it is called: there is no keyring, it is locked, or it fails.
    """
    from toolcrib.config.variables import KEYRING_SERVICE

    def put(name: str, value: str) -> None:
        import keyring

        if not has_keyring():
            raise ToolcribError(
                f"This machine has no keyring, so {name} stays where it is.",
                hint="Leave it in the file, which only you can read, with --no-keyring; write ${env:NAME} in its "
                "place; or set a keyring up (keyring --list-backends shows which there are).",
            )
        try:
            keyring.set_password(KEYRING_SERVICE, name, value)
            # A back-end that is switched off takes everything and keeps nothing.
            why = "" if keyring.get_password(KEYRING_SERVICE, name) == value else "it does not keep it"
        except Exception as error:  # back-ends raise errors of their own libraries
            why = type(error).__name__
        if why:
            raise ToolcribError(
                f"The system's keyring takes nothing ({why}), so {name} stays where it is.",
                hint="Unlock it, or leave the secrets where they are with --no-keyring.",
            )

    return put


def writer_for(
    new: Sequence[Candidate], keyring: bool | None, *, yes: bool, nothing: str
) -> Callable[[str, str], None] | None:
    """What puts the secrets of entries into the keyring: as said, else as the user answers; None leaves them.

    Args:
        new: The servers.
        keyring: What was said.
        yes: Whether nobody is to be asked.
        nothing: What has not happened when the question is abandoned; see `agreed`.
    """
    count = sum(len(each.secrets) for each in new)
    if not count or keyring is False:
        return None
    if keyring is None and (yes or not (sys.stdin and sys.stdin.isatty()) or not has_keyring()):
        return None
    secrets = "1 secret" if count == 1 else f"{count} secrets"
    wanted = keyring is True or agreed(f"Move {secrets} into the system's keyring?", nothing)
    return keyring_writer() if wanted else None


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
