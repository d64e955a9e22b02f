"""What other processes can see of this one: the states of the servers that it runs."""

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress

import anyio.to_thread

from toolcrib.crib.shared import SharedStore
from toolcrib.errors import StoreError
from toolcrib.events import EventBus, Missed, ServerStateChanged
from toolcrib.servers import ServerStatus
from toolcrib.servers.watchdog import end_processes
from toolcrib.store import (
    Lease,
    ServerState,
    Store,
    expired_instances,
    live_states,
    reclaim_instance,
)

Hashes = Mapping[str, str]
"""The hash of each server's configuration by its id: other instances may run other servers under the same ids."""


async def record_presence(
    shared: SharedStore, events: EventBus, statuses: Callable[[], list[ServerStatus]], hashes: Hashes
) -> None:
    """Keep the states of this instance's servers in the shared store, until cancelled.

    A store that can't be used costs only what others can see: this instance goes on without it.

    Args:
        shared: The store that the instances share.
        events: Tells when a state changes.
        statuses: The states now.
        hashes: See `Hashes`.
    """
    begun = False
    with events.subscribe() as changes:
        async for change in changes:
            if not isinstance(change, ServerStateChanged | Missed):
                continue
            changed = statuses()
            if begun and isinstance(change, ServerStateChanged):
                changed = [each for each in changed if each.id == change.server]
            with suppress(StoreError):
                lease = await shared.lease()
                if not begun:
                    await _end_leftovers(await shared.opened())
                await _record(lease, changed, hashes)
                begun = True


async def states_elsewhere(shared: SharedStore, hashes: Hashes) -> dict[str, ServerState]:
    """The states of these very servers in other running instances, by id; none where there is no shared store yet.

    Of several instances, one that has the server running counts, else the last to change.

    Raises:
        StoreError: The store can't be read.
    """
    if not await shared.exists():
        return {}
    store = await anyio.to_thread.run_sync(shared.open_another)
    try:
        states = [state for state in await live_states(store) if state.instance != shared.instance]
    finally:
        store.close()
    ids = {_name(server, hashes): server for server in hashes}
    ranked = sorted(states, key=lambda state: (state.state == "ready", state.since))
    return {ids[state.server]: state for state in ranked if state.server in ids}


async def _end_leftovers(store: Store) -> None:
    """End what instances left behind whose lease has ended: their processes on this machine, known by the marker.

    Of several instances that find the same leftovers one gets them; a living instance's lease has not ended.
    """
    for gone in await expired_instances(store):
        if gone.host == socket.gethostname() and await reclaim_instance(store, gone.id) is not None:
            await anyio.to_thread.run_sync(end_processes, frozenset[int](), gone.id)


async def _record(lease: Lease, statuses: list[ServerStatus], hashes: Hashes) -> None:
    for status in statuses:
        name = _name(status.id, hashes)
        await lease.record_state(name, status.state, reason=status.reason, era=status.era or "", pid=status.pid)


def _name(server: str, hashes: Hashes) -> str:
    return f"{server}-{hashes[server][:16]}"
