"""What is loaded up front: servers that always run, clients that list servers themselves, the constant tools."""

from collections.abc import Iterable, Iterator

from toolcrib.catalog import as_sent
from toolcrib.clients import ClientFile
from toolcrib.doctor.case import Case
from toolcrib.doctor.finding import Finding, counted, listed
from toolcrib.metatools import MetaTools
from toolcrib.tokens import count_tokens, counter_name

CHECK = "upfront"

MOST_SURFACE_TOKENS = 1_000
"""What the constant tools may cost a model with every request."""


def check_always(case: Case) -> Iterator[Finding]:
    """Servers that run though nobody needs them yet."""
    for server, entry in case.usable():
        if entry.options.start == "always":
            yield Finding(
                CHECK,
                "note",
                server,
                "It is started with Toolcrib and never stopped (`start: always`).",
                "Without that it starts at its first use, and its tools are found all the same.",
            )


def check_clients(files: Iterable[ClientFile]) -> Iterator[Finding]:
    """Clients on this machine that list servers themselves, and so load all their definitions; only read."""
    for file in files:
        servers = [each for each in file.servers if each.server is not None and not each.server.disabled]
        others = [each.key for each in servers if not each.is_toolcrib]
        if not others:
            continue
        count = counted(len(others), "server")
        client = file.client.title
        hint = f"toolcrib install {file.client.id} puts Toolcrib in their place."
        if any(each.is_toolcrib for each in servers):
            message = f"{client} lists {count} beside Toolcrib ({listed(others)}), in {file.path}."
            yield Finding(CHECK, "warning", None, message, hint)
        else:
            message = f"{client} loads the tools of {count} itself ({listed(others)}), from {file.path}."
            yield Finding(CHECK, "note", None, message, hint)


def check_surface(case: Case) -> Iterator[Finding]:
    """What the constant tools cost."""
    tokens = sum(count_tokens(as_sent(each)) for each in MetaTools(case.crib).definitions())
    message = f"The constant tools take {tokens:,} tokens of a model's context ({counter_name()})."
    if tokens > MOST_SURFACE_TOKENS:
        hint = "Shorten the servers' descriptions, or lower `toolcrib.servers_description`."
        yield Finding("surface", "warning", None, message, hint)
    else:
        yield Finding("surface", "ok", None, message)
