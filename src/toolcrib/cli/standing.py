"""`toolcrib` alone: where you stand, and the next step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolcrib import __version__
from toolcrib.cli.session import open_crib, run
from toolcrib.cli.streams import one_line, print_text
from toolcrib.cli.tables import print_styled
from toolcrib.clients import ClientFile, client_files
from toolcrib.config import Config, load_config, starts_itself, user_config_dir
from toolcrib.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from toolcrib.servers import ServerStatus

_MANY = 4
"""From so many clients on, a command does not name each of them."""

_FINISHED = (
    ("toolcrib search WORDS", "finds a tool"),
    ("toolcrib tokens", "counts what your tools cost a model"),
    ("toolcrib doctor", "looks for what is wrong"),
)


@dataclass(slots=True)
class _Standing:
    """What is said: facts, each with what it is about, and commands that come next, each with what it does."""

    facts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    steps: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def standing() -> int:
    """Say where you stand and what comes next. Nothing is started."""
    found = _Standing()
    there = [*client_files()]
    files = [each for each in there if each.error is None]
    found.facts += [("left alone", f"{each.client.title}: {each.error.message}") for each in there if each.error]
    try:
        config = load_config(None)
    except ConfigError as error:
        found.facts.append(("configuration", error.message))
        found.steps.append(("toolcrib doctor", "says what is wrong with it"))
    else:
        run(lambda: _of_servers(config, found))
        _of_clients(config, files, found)
    _print(found)
    return 0


async def _of_servers(config: Config, found: _Standing) -> int:
    """What is configured, and what is known of it without starting anything."""
    usable = {key: each for key, each in config.servers.items() if not starts_itself(each, config.paths)}
    if not usable:
        found.facts.append(("configuration", f"none yet in {user_config_dir()}"))
        return 0
    async with open_crib(config) as crib:
        servers = crib.servers
        try:
            waiting = len(await crib.approvals.list())
        except StoreError:
            waiting = 0
    found.facts.append(("configuration", f"{_count(len(usable), 'server')} in {', '.join(map(str, config.paths))}"))
    found.facts += _listed(servers)
    if waiting:
        found.facts.append(("approvals", f"{_count(waiting, 'call')} wait{'s' if waiting == 1 else ''} for an answer"))
        found.steps.append(("toolcrib approve", "shows them"))
    if any(each.tools is None and each.state == "dormant" for each in servers):
        found.steps.append(
            ("toolcrib servers --refresh", "starts each server once and lists its tools, or says why not")
        )
    return 0


def _listed(servers: "Sequence[ServerStatus]") -> Iterator[tuple[str, str]]:
    tools = sum(each.tools or 0 for each in servers)
    listed = [each for each in servers if each.tools is not None]
    if listed:
        yield "tools", f"{tools:,} of {_count(len(listed), 'server')} that were listed"
    if off := [each.id for each in servers if each.state == "disabled"]:
        yield "disabled", ", ".join(off)
    if failed := [each.id for each in servers if each.in_trouble]:
        yield "in trouble", ", ".join(failed)


def _of_clients(config: Config, files: Sequence[ClientFile], found: _Standing) -> None:
    """Which clients have Toolcrib, and which load servers themselves."""
    through = [each for each in files if any(server.is_toolcrib for server in each.servers)]
    alone = [(each, count) for each in files if each not in through and (count := len(_own(each)))]
    if through:
        found.facts.append(("clients", f"{_titles(through)} use{'s' if len(through) == 1 else ''} Toolcrib"))
    for each in through:
        if beside := _own(each):
            found.facts.append(("clients", f"{each.client.title} still loads {', '.join(beside)} itself"))
    for each, count in alone:
        found.facts.append(("clients", f"{each.client.title} loads {_count(count, 'server')} itself"))
    if alone:
        ids = " ".join(dict.fromkeys(each.client.id for each, _ in alone)) if len(alone) < _MANY else "--all"
        found.steps.append((f"toolcrib install {ids} --dry-run", "shows how Toolcrib would take their place"))
    elif not config.servers:
        found.steps.append(("toolcrib demo", "shows it at work, on servers that ship with it"))
        found.steps.append(("toolcrib serve --config FILE", "serves any file of MCP servers"))
    elif not through:
        found.steps.append(("toolcrib install CLIENT", "puts Toolcrib into a client, such as claude-code"))


def _own(file: ClientFile) -> list[str]:
    """The servers that a client loads beside Toolcrib, by their keys."""
    return [
        one_line(each.key)
        for each in file.servers
        if not each.is_toolcrib and each.server is not None and not each.server.disabled
    ]


def _titles(files: Sequence[ClientFile]) -> str:
    *others, last = dict.fromkeys(each.client.title for each in files)
    return f"{', '.join(others)} and {last}" if others else last


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _print(found: _Standing) -> None:
    print_styled((f"toolcrib {__version__}", "bold"))
    for about, fact in found.facts:
        print_styled(f"{about + ':':14} {fact}", indent=2)
    print_text()
    print_text("Next:")
    for command, does in found.steps or _FINISHED:
        print_styled((command, "bold"), indent=2)
        print_styled(does, indent=4)
    print_text()
    print_text("toolcrib --help lists all commands.")
