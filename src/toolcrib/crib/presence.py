"""What other processes can see of this one: its lease, and the states of the servers that it runs.

Nothing is written, and no database engine loaded, before a server's state first changes: a crib that only
searches leaves no trace.
"""

from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread

from toolcrib.errors import StoreError
from toolcrib.events import EventBus, Missed, ServerStateChanged
from toolcrib.servers import ServerStatus
from toolcrib.store import Lease, ServerState, live_states, open_store

_STORE_FILE = "toolcrib.db"


async def record_presence(
    state_dir: Path, instance: str, events: EventBus, statuses: Callable[[], list[ServerStatus]]
) -> None:
    """Keep this instance's lease and its servers' states in the shared store, until cancelled.

    A store that can't be used costs only what others can see: this instance goes on without it.

    Args:
        state_dir: The folder that the instances share.
        instance: This instance's id.
        events: Tells when a state changes.
        statuses: The states now.
    """
    with events.subscribe() as changes:
        async for change in changes:
            if isinstance(change, ServerStateChanged):
                break
        try:
            store = await anyio.to_thread.run_sync(open_store, state_dir / _STORE_FILE)
        except StoreError:
            return
        try:
            lease = await Lease.acquire(store, instance)
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(lease.keep)
                    await _record(lease, statuses())
                    async for change in changes:
                        changed = statuses()
                        if isinstance(change, ServerStateChanged):
                            await _record(lease, [each for each in changed if each.id == change.server])
                        elif isinstance(change, Missed):
                            await _record(lease, changed)
            finally:
                await lease.release()
        except* StoreError:
            pass
        finally:
            store.close()


async def states_elsewhere(state_dir: Path, instance: str) -> list[ServerState]:
    """The states of the servers that other running instances own; none where there is no shared store yet.

    Raises:
        StoreError: The store can't be read.
    """
    path = state_dir / _STORE_FILE
    if not await anyio.Path(path).exists():
        return []
    store = await anyio.to_thread.run_sync(open_store, path)
    try:
        return [state for state in await live_states(store) if state.instance != instance]
    finally:
        store.close()


async def _record(lease: Lease, statuses: list[ServerStatus]) -> None:
    for status in statuses:
        await lease.record_state(status.id, status.state, reason=status.reason, era=status.era or "", pid=status.pid)
