"""Starting and listing each server, and whether it lists the same as before."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence

from toolcrib.catalog import to_line
from toolcrib.crib import Crib
from toolcrib.doctor.case import Case
from toolcrib.doctor.finding import Finding, counted, listed
from toolcrib.servers import ServerStatus

CHECK = "start"

Refresh = Callable[[Crib, Sequence[str]], Awaitable[list[ServerStatus]]]
"""Lists servers of a crib anew, by id, and returns their states; failures are states."""

Listing = list[tuple[str, bytes]]
"""A server's tools in its order, which counts for a prompt cache too: each id with a digest of its definition."""

_FAILED = frozenset({"failed", "backing_off", "needs_auth"})
_CACHE_HINT = (
    "A client that sends its definitions to a model loses the prompt cache with each change; "
    "Toolcrib's constant tools don't change."
)


async def check_starts(case: Case, servers: Sequence[str], refresh: Refresh) -> list[Finding]:
    """Start and list servers; once more where that listing was the first or differs from the one before.

    Args:
        case: The case.
        servers: Ids of the servers to start.
        refresh: Starts and lists them, bounded and in parallel.
    """
    before = {server: _listing(case, server) for server in servers}
    findings = [_outcome(status) for status in await refresh(case.crib, servers)]
    failed = {each.server for each in findings if each.level == "problem"}
    first = {server: _listing(case, server) for server in servers if server not in failed}
    again = [server for server, listing in first.items() if listing and listing != before[server]]
    failing = (
        [each for each in map(_outcome, await refresh(case.crib, again)) if each.level == "problem"] if again else []
    )
    findings += failing
    for server in again:
        if server in {each.server for each in failing}:
            continue
        findings += _compare(server, before[server], first[server] or [], _listing(case, server) or [])
    return findings


def _outcome(status: ServerStatus) -> Finding:
    if status.state in _FAILED:
        return Finding(CHECK, "problem", status.id, status.reason or "It failed.", details=status.output)
    if status.state == "disabled":
        return Finding(CHECK, "ok", status.id, f"{status.id} is switched off, and not looked into.")
    if not status.tools:
        return Finding(CHECK, "note", status.id, "It lists no tools.")
    revision = status.protocol_version
    return Finding(CHECK, "ok", status.id, f"It starts, speaks {revision} and lists {counted(status.tools, 'tool')}.")


def _compare(server: str, before: Listing | None, first: Listing, second: Listing) -> list[Finding]:
    """What differs between the stored listing and two new ones."""
    if first != second:
        message = f"It lists something else at each start: {_difference(first, second)}."
        return [Finding("cache", "warning", server, message, _CACHE_HINT)]
    if before is not None:
        message = f"It lists something else than the last time: {_difference(before, first)}."
        return [Finding("cache", "note", server, message, _CACHE_HINT)]
    return []


def _difference(earlier: Listing, later: Listing) -> str:
    old, new = dict(earlier), dict(later)
    kinds = {
        "new": [each for each in new if each not in old],
        "gone": [each for each in old if each not in new],
        "changed": [each for each in new if each in old and new[each] != old[each]],
    }
    parts = [f"{listed(names)} {'is' if len(names) == 1 else 'are'} {kind}" for kind, names in kinds.items() if names]
    return "; ".join(parts) or "the same tools in another order"


def _listing(case: Case, server: str) -> Listing | None:
    """What a server lists, as far as it is known."""
    if not case.is_listed(server):
        return None
    return [(tool.id, hashlib.sha256(to_line(tool.definition)).digest()) for tool in case.tools(server)]
