"""What all servers of one pool share."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from toolcrib.catalog import Snapshot, SnapshotStore
from toolcrib.config import Variables
from toolcrib.redact import Secrets
from toolcrib.servers.auth import Vault
from toolcrib.servers.berths import Berths
from toolcrib.servers.failures import Failures
from toolcrib.servers.status import ServerStatus
from toolcrib.servers.watchdog import Watchdog


class Spawn(Protocol):
    """Starts a task in a group that outlives the caller."""

    def __call__(self, task: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
        """Start `task(*args)`."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all servers of one pool share.

    Attributes:
        spawn: Starts a server's owner task.
        starts: Bounds how many servers start at once.
        berths: Bounds how many server processes run at once.
        variables: Resolves `${…}` at connect time.
        watchdog: Ends the servers should this process end without doing so; gives them their marker.
        snapshots: Where listings are kept.
        failures: Where it is kept what servers failed of.
        vault: Where logins are kept.
        on_listed: Told of every new listing.
        on_state: Told of every change of state.
        on_heard: Told of each notification of a server that says that something has changed, with its params.
        secrets: What must not be shown, such as resolved variables; servers add theirs.
        timeout: Seconds that a request may take, where a server sets nothing else.
        start_timeout: Seconds that a start may take, where a server sets nothing else.
        probe_timeout: Seconds that a server of unknown era is given to answer the modern probe.
    """

    spawn: Spawn
    starts: anyio.CapacityLimiter
    berths: Berths
    variables: Variables
    watchdog: Watchdog
    snapshots: SnapshotStore
    failures: Failures
    vault: Vault
    on_listed: Callable[[Snapshot], None]
    on_state: Callable[[ServerStatus], None]
    on_heard: Callable[[str, str, Mapping[str, Any]], None]
    secrets: Secrets = field(default_factory=Secrets)
    timeout: float = 60.0
    start_timeout: float = 30.0
    probe_timeout: float = 10.0
