"""What is loaded up front: servers that always run, clients that list servers themselves, the constant tools."""

from collections.abc import Iterable, Iterator

from toolcrib.catalog import as_sent
from toolcrib.config import ClientFile, is_toolcrib, load_config
from toolcrib.doctor.case import Case
from toolcrib.doctor.finding import Finding, counted, listed
from toolcrib.errors import ConfigError
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
        try:
            servers = load_config([file.path]).servers.values()
        except ConfigError:
            continue  # not a list of servers, or the client's own matter
        others = [each.key for each in servers if not is_toolcrib(each) and not each.disabled]
        if not others:
            continue
        count = counted(len(others), "server")
        if len(others) < len(servers) and any(is_toolcrib(each) and not each.disabled for each in servers):
            message = f"{file.client} lists {count} beside Toolcrib ({listed(others)}), in {file.path}."
            yield Finding(CHECK, "warning", None, message, "Move them into Toolcrib's configuration.")
        else:
            message = f"{file.client} loads the tools of {count} itself ({listed(others)}), from {file.path}."
            yield Finding(CHECK, "note", None, message, f"`toolcrib serve --config {file.path}` can take their place.")


def check_surface(case: Case) -> Iterator[Finding]:
    """What the constant tools cost."""
    tokens = sum(count_tokens(as_sent(each)) for each in MetaTools(case.crib).definitions())
    message = f"The constant tools take {tokens:,} tokens of a model's context ({counter_name()})."
    if tokens > MOST_SURFACE_TOKENS:
        hint = "Shorten the servers' descriptions, or lower `toolcrib.servers_description`."
        yield Finding("surface", "warning", None, message, hint)
    else:
        yield Finding("surface", "ok", None, message)
