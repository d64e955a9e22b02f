"""`toolcrib servers add` and `remove`: entries of the configuration that come from a registry."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib.cli.agreeing import declined
from toolcrib.cli.options import AsJson, ConfigFiles, Yes
from toolcrib.cli.registries import Registries, config_with_registries, read_registries
from toolcrib.cli.session import read_config, run
from toolcrib.cli.streams import one_line, print_json, print_text, safe, tell
from toolcrib.cli.switching import ServerName, configured, switches
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config, user_config_dir
from toolcrib.errors import UsageError, probably_meant, shown
from toolcrib.files import expanded

if TYPE_CHECKING:
    from toolcrib.crib import Directory
    from toolcrib.servers.registries import Proposal, ServerDescription

_FILE = "servers.json"


class Kind(StrEnum):
    """How a server is had."""

    NPM = "npm"
    PYPI = "pypi"
    OCI = "oci"
    NUGET = "nuget"
    REMOTE = "remote"


def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The server's name, as `servers search` prints it.")],
    yes: Yes = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE", help="Write the entry here, not in your Toolcrib folder.", show_default=False
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="KEY", help="The entry's key; else the last part of the name.", show_default=False
        ),
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option("--as", help="How to have it, where there are several ways.", show_default=False)
    ] = None,
    registry: Registries = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Add a server of a registry to your configuration.

    It shows the exact command that will run, with its variables and where it comes from, and asks before it writes
    anything. Nothing is started.

    Example: toolcrib servers add com.example/weather --key weather
    """
    chosen = config_with_registries(config, registry)
    file = expanded(to or user_config_dir() / _FILE).absolute()
    return run(partial(_add, chosen, name, file, key, kind, yes=yes, as_json=as_json))


def remove(name: ServerName, config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Take a server's entry out of your configuration. The file as it was before is kept beside it.

    Example: toolcrib servers remove weather
    """
    from toolcrib.config.edit import remove_entry

    read = read_config(config)
    server_id, entry = configured(read, name)
    file = entry.origin
    if file is None or (not config and file.parent != user_config_dir()):
        raise UsageError(f"{server_id} stands in {file}.", hint=f"Name that file with --config to change it: {file}")
    backup = remove_entry(file, entry.key)
    switches().put(entry, None)
    if as_json:
        print_json({"removed": entry.key, "file": str(file), "backup": str(backup)})
    else:
        print_text(f"Removed {server_id} from {file}; what it was before is in {backup}.")
    return 0


async def _add(
    config: Config, name: str, file: Path, key: str | None, kind: Kind | None, *, yes: bool, as_json: bool
) -> int:
    from toolcrib.config.edit import add_entry
    from toolcrib.servers.registries import propose

    server = _described(await read_registries(config), name)
    proposal = propose(server, _key(config, server, key), None if kind is None else kind.value)
    lines = _told(proposal, file)
    if as_json:
        tell("\n".join(lines))
    else:
        for line in lines:
            print_text(line)
    if declined("Add it?", "Nothing was added", yes=yes):
        return FAILED
    backup = add_entry(file, proposal.key, proposal.entry, proposal.inputs)
    if as_json:
        print_json(
            {
                "added": proposal.key,
                "file": str(file),
                "backup": None if backup is None else str(backup),
                "entry": proposal.entry,
                "inputs": list(proposal.inputs),
                "missing": [each.variable for each in proposal.missing],
            }
        )
    else:
        print_text(f"Added {proposal.key} to {file}. toolcrib servers {proposal.key} --refresh lists its tools.")
    return 0


def _described(directory: "Directory", name: str) -> "ServerDescription":
    known = directory.servers()
    if name in known:
        return known[name]
    near = probably_meant(name, known) or [each for each in known if each.rpartition("/")[2] == name]
    hint = f"Did you mean {' or '.join(near[:3])}?" if near else "toolcrib servers search finds servers by words."
    raise UsageError(f"No registry has a server {shown(name)}.", hint=hint)


def _key(config: Config, server: "ServerDescription", wanted: str | None) -> str:
    key = wanted or server.name.rpartition("/")[2]
    if key in config.servers:
        raise UsageError(f"There is a server {shown(key)} already.", hint="Give this one another key with --key.")
    return key


def _told(proposal: "Proposal", file: Path) -> list[str]:
    """What is to be approved, line by line; nothing of it is cut."""
    server = proposal.server
    head = one_line(f"{server.name} {server.version}")
    facts = [("registry", server.place), ("code", server.repository or "not told")]
    facts.append(("connects to" if proposal.kind == "remote" else "runs", proposal.command_line))
    for what in ("env", "headers"):
        facts += [(what, f"{name}={value}") for name, value in proposal.entry.get(what, {}).items()]
    for each in proposal.missing:
        secret = ", a secret" if each.secret else ""
        about = f": {each.description}" if each.description else ""
        facts.append(("needs", f"{each.name}{secret}{about}; give it as {each.variable}"))
    facts.append(("is written to", f"{file}, as {proposal.key}"))
    facts += [("look at this", warning) for warning in proposal.warnings]
    return [
        f"{head}  {one_line(server.description or server.title)}",
        *(f"  {name + ':':15}{_exact(value)}" for name, value in facts),
    ]


def _exact(text: str) -> str:
    """A text with everything in it to be seen, on one line."""
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")
