"""What `import`, `install` and `uninstall` share: choosing clients' files, and telling what becomes of servers."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from toolcrib.cli import completing
from toolcrib.cli.streams import one_line, print_text, tell
from toolcrib.cli.tables import print_styled
from toolcrib.clients import (
    CLIENTS,
    Candidate,
    Change,
    Client,
    ClientFile,
    Machine,
    client,
    client_files,
    read_client_file,
)
from toolcrib.config.edit import refuse_no_file
from toolcrib.config.entry import parse_entry
from toolcrib.config.paths import user_config_dir
from toolcrib.errors import ToolcribError, UsageError
from toolcrib.files import expanded
from toolcrib.redact import Secrets
from toolcrib.schema import server_ids

if TYPE_CHECKING:
    from collections.abc import Callable

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

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

AllClients = Annotated[bool, typer.Option("--all", help="Every client whose file is on this machine.")]

SERVERS_FILE = "servers.json"
"""Where servers are written in the user's own configuration folder."""


def chosen_files(names: Sequence[str] | None, file: Path | None, project: Path | None = None) -> list[ClientFile]:
    """The clients' files that a command is about.

    Args:
        names: The clients; None or nothing means all whose file is on this machine.
        file: The file of the one client, where it is not in its usual place.
        project: A project's folder, whose own files count too.

    Raises:
        UsageError: There is no such client or project, or a file without exactly one client.
        ConfigError: The file that was named can't be read.
    """
    wanted = [client(name) for name in names or ()]
    if project is not None and not os.path.isdir(project):
        raise UsageError(f"There is no folder {project}.", hint="Check the path of the project.")
    if file is not None:
        if len(wanted) != 1:
            raise UsageError("A file belongs to one client.", hint="Name the client whose form the file has.")
        path = expanded(file).absolute()
        if not os.path.lexists(path):
            raise UsageError(f"There is no file {path}.", hint="Check its path.")
        found = read_client_file(wanted[0], path)
        if found.error is not None:
            raise found.error
        return [found]
    return [each for each in client_files(project=project) if not wanted or each.client in wanted]


def usual_file(wanted: Client) -> Path:
    """The file of a client: the one that is there, else where it would be."""
    places = [*wanted.files(Machine())]
    return next((path for path in places if path.exists()), places[0])


def target(to: Path | None, configs: Sequence[Path] | None) -> Path:
    """The configuration that servers are imported into.

    Raises:
        ConfigError: Something else than a file is there.
    """
    named = to or (configs[-1] if configs else None)
    path = expanded(named or user_config_dir() / SERVERS_FILE).absolute()
    refuse_no_file(path)
    return path


def refuse_unreadable(files: Sequence[ClientFile]) -> None:
    """Refuse files of which none can be read.

    Raises:
        ConfigError: What is wrong with the first.
    """
    if files and all(each.error is not None for each in files) and (error := files[0].error) is not None:
        raise error


def print_found(files: Sequence[ClientFile], candidates: Sequence[Candidate]) -> None:
    """Tell each client's file, its servers, and what becomes of them."""
    if not files:
        print_text(f"No servers of these clients were found here: {', '.join(each.title for each in CLIENTS)}.")
        print_text(
            "--file FILE reads one that is elsewhere; toolcrib servers search WORDS finds servers in registries."
        )
    broken = [each for each in files if each.error is not None]
    for path, group in groupby(candidates, lambda each: each.path):
        servers = [*group]
        print_text(f"{servers[0].client.title}, {path}")
        for each in servers:
            print_styled(f"{one_line(each.key)}: {_fate(each)}", indent=2)
            for sentence in _remarks(each):
                print_styled(one_line(sentence), indent=4)
    for each in broken:
        print_text(f"{each.client.title}, {each.path}")
        print_styled(f"left alone: {each.error.message if each.error else ''}", indent=2)


def candidate_json(each: Candidate) -> dict[str, Any]:
    """A candidate as a JSON object; it holds no values of secrets."""
    return {
        "client": each.client.id,
        "file": str(each.path),
        "key": each.key,
        "state": each.state,
        "into": each.into or None,
        "note": each.note or None,
        "unset": list(each.unset),
        "secrets": [secret.place for secret in each.secrets],
    }


def print_diffs(changes: Iterable[Change], candidates: Iterable[Candidate]) -> None:
    """Show what would change in clients' files, without the secrets of the servers in them."""
    secrets = secrets_of(candidates)
    for each in changes:
        if each.is_none:
            continue
        print_text()
        for line in each.diff():
            print_text(secrets.text(line))


def secrets_of(candidates: Iterable[Candidate]) -> Secrets:
    """Every secret that stands in the entries, also in arguments, whose names may stand on other lines, and URLs."""
    known = Secrets()
    for each in candidates:
        if each.entry is not None:
            known.add_entry(replace(parse_entry(each.key, each.entry, None)[0], env={}, headers={}))
        for secret in each.secrets:
            known.add(secret.value(each.entry or {}), name=secret.name)
    return known


def each_or_why(items: Sequence[_Item], do: "Callable[[_Item], _Made]") -> tuple[list[_Made], list[ToolcribError]]:
    """What is made of each file, and what is wrong with the others: one that fails harms no other.

    Raises:
        ToolcribError: There is one file alone, and it failed.
    """
    made: list[_Made] = []
    failures: list[ToolcribError] = []
    for each in items:
        try:
            made.append(do(each))
        except ToolcribError as error:
            if len(items) == 1:
                raise
            failures.append(error)
    return made, failures


def tell_failures(failures: Iterable[ToolcribError]) -> None:
    """Say what is wrong with each file."""
    for each in failures:
        tell(f"{each.message}\n{each.hint}".rstrip())


def gateway_env() -> Mapping[str, str]:
    """The variables without which a client's gateway would look elsewhere than this command does."""
    names = ("TOOLCRIB_CONFIG_DIR", "TOOLCRIB_STATE_DIR")
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def _fate(each: Candidate) -> str:
    match each.state:
        case "new":
            return f"new{_off(each)}"
        case "renamed":
            return f"new, as {_id(each)}{_off(each)}, since another server is called {one_line(each.key)}"
        case "known":
            return "there already" if each.into == each.key else f"there already, as {_id(each)}"
        case "same":
            return f"the same as {_id(each)}"
        case "toolcrib":
            return "Toolcrib itself"
        case "left":
            return f"stays where it is: {one_line(each.note)}"
        case "broken":
            return f"can't be used: {one_line(each.note)}"


def _id(each: Candidate) -> str:
    """What its server is called by all other commands, as long as no other key makes the same id."""
    return server_ids([each.into])[each.into]


def _off(each: Candidate) -> str:
    return ", disabled" if parse_entry(each.key, each.entry or {}, None)[0].disabled else ""


def _remarks(each: Candidate) -> Iterable[str]:
    if not each.is_new:
        return
    if each.note:
        yield f"{each.note}."
    yield from each.unset
    if each.secrets:
        yield f"Written out in the file: {', '.join(secret.place for secret in each.secrets)}."
