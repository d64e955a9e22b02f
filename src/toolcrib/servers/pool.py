"""All configured servers of one crib."""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from toolcrib.catalog import Snapshot, SnapshotStore
from toolcrib.config import Config, ServerConfig, Variables
from toolcrib.redact import Secrets
from toolcrib.schema import UnknownServerError, server_ids
from toolcrib.servers.auth import Vault
from toolcrib.servers.berths import Berths
from toolcrib.servers.failures import Failures
from toolcrib.servers.memory import keep_below
from toolcrib.servers.server import McpServer
from toolcrib.servers.status import ServerStatus
from toolcrib.servers.surroundings import Surroundings
from toolcrib.servers.watchdog import Watchdog


class ServerPool:
    """All configured servers of one crib, by id.

    Args:
        config: The servers, in the order of the configuration.
        tasks: The task group that the servers' owner tasks run in.
        variables: Resolves `${…}` at connect time.
        snapshots: Where listings are kept, and beside them what servers failed of.
        vault: Where logins are kept.
        marker: The instance id that children carry.
        on_listed: Told of every new listing.
        on_state: Told of every change of state.
        on_heard: See `Surroundings`.
        secrets: What must not be shown; servers add theirs.
    """

    def __init__(
        self,
        config: Config,
        tasks: TaskGroup,
        *,
        variables: Variables,
        snapshots: SnapshotStore,
        vault: Vault,
        marker: str,
        on_listed: Callable[[Snapshot], None],
        on_state: Callable[[ServerStatus], None],
        on_heard: Callable[[str, str, Mapping[str, Any]], None],
        secrets: Secrets | None = None,
    ) -> None:
        def spawn(task: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> None:
            tasks.start_soon(task, *args)

        berths = Berths(config.settings.max_running)
        self._watchdog = Watchdog(marker)
        self._around = around = Surroundings(
            spawn=spawn,
            starts=anyio.CapacityLimiter(config.settings.max_parallel_starts),
            berths=berths,
            variables=variables,
            watchdog=self._watchdog,
            snapshots=snapshots,
            failures=Failures(snapshots.folder),
            vault=vault,
            on_listed=on_listed,
            on_state=on_state,
            on_heard=on_heard,
            secrets=secrets or Secrets(),
            timeout=config.settings.timeout,
            start_timeout=config.settings.start_timeout,
        )
        if (ceiling := config.settings.max_memory_mb) is not None:
            tasks.start_soon(keep_below, ceiling * 1_000_000, berths, self._groups)
        ids = server_ids(config.servers)
        self._servers: dict[str, McpServer] = {
            ids[key]: McpServer(ids[key], entry, around) for key, entry in config.servers.items()
        }

    def __iter__(self) -> Iterator[McpServer]:
        return iter(self._servers.values())

    def __contains__(self, server: object) -> bool:
        return server in self._servers

    def __len__(self) -> int:
        return len(self._servers)

    def get(self, server: str) -> McpServer:
        """One server by its id or by its key in the configuration.

        Raises:
            UsageError: There is no such server.
        """
        found = self._servers.get(server)
        if found is None:
            found = next((each for each in self if each.config.key == server), None)
        if found is None:
            raise UnknownServerError(server, self._servers)
        return found

    def add(self, server_id: str, entry: ServerConfig) -> McpServer:
        """Take in one more server, under an id that no other has."""
        server = self._servers[server_id] = McpServer(server_id, entry, self._around)
        return server

    def _groups(self) -> set[int]:
        """The process groups of the running servers."""
        return {pid for server in self for pid in server.pids}

    def release(self, connection_key: str) -> None:
        """End the connections that one caller or run has to itself, as soon as no request uses them."""
        for server in self:
            server.release(connection_key)

    async def roots_changed(self, connection_key: str) -> None:
        """Tell the servers of one caller's own connections that its client has other roots now."""
        for server in self:
            await server.roots_changed(connection_key)

    async def close(self) -> None:
        """Stop all servers at once and wait until their processes are gone."""
        async with anyio.create_task_group() as stops:
            for server in self:
                if server.running:
                    stops.start_soon(server.stop)
        await anyio.to_thread.run_sync(self._watchdog.close)
