"""What one server offers beside its tools, as far as it can be told without starting it."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio.to_thread

from toolcrib.catalog import CAPABILITIES, JsonObject, Listing, ListMethod, Snapshot, to_line
from toolcrib.catalog.definitions import parse_line
from toolcrib.files import write_whole


class Offering:
    """Keeps what a server listed last of resources and prompts, so that listing them needs no running server.

    Args:
        folder: Where listings are kept.
        config_hash: They are filed under this.
        snapshot: What the server said of itself last; None while it never was connected to.
    """

    def __init__(self, folder: Path, config_hash: str, snapshot: Callable[[], Snapshot | None]) -> None:
        self._folder = folder
        self._config_hash = config_hash
        self._snapshot = snapshot
        self._digests: dict[ListMethod, bytes] = {}

    def claims(self, capability: str) -> bool | None:
        """Whether the server claims a capability, such as `resources`; None while it never was connected to."""
        snapshot = self._snapshot()
        if snapshot is None:
            return None
        capabilities = snapshot.discovered.get("capabilities")
        return isinstance(capabilities, dict) and capability in cast("JsonObject", capabilities)

    async def stored(self, method: ListMethod) -> Listing | None:
        """What was listed last to all alike, in this run or an earlier one."""
        snapshot = self._snapshot()
        if snapshot is None or snapshot.private:
            return None
        if self.claims(CAPABILITIES[method]) is False:
            return Listing()
        return await anyio.to_thread.run_sync(self._load, method)

    async def keep(self, method: ListMethod, listing: Listing) -> None:
        """Keep a listing for later runs, unless it is private; one that can't be written costs only a start."""
        if listing.private:
            self._digests.pop(method, None)
            return
        self._digests[method] = _digest(listing)
        await anyio.to_thread.run_sync(self._save, method, listing)

    def seen(self, *methods: ListMethod) -> tuple[bytes, ...] | None:
        """Digests of what was listed last to all alike in this run; None where something was not, or not to all."""
        found = [self._digests.get(method) for method in methods]
        return None if None in found else tuple(each for each in found if each is not None)

    def _load(self, method: ListMethod) -> Listing | None:
        try:
            entries: Any = parse_line(self._path(method).read_bytes())["entries"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(entries, list):
            return None
        return Listing(cast("JsonObject", each) for each in cast("list[Any]", entries) if isinstance(each, dict))

    def _save(self, method: ListMethod, listing: Listing) -> None:
        line = to_line({"entries": list(listing)})
        path = self._path(method)
        try:
            if not path.exists() or path.read_bytes() != line:
                write_whole(path, [line])
        except OSError:
            return

    def _path(self, method: ListMethod) -> Path:
        named = hashlib.sha256(f"{self._config_hash}\n{method}".encode()).hexdigest()[:32]
        return self._folder / f"offers-{named}.json"


def _digest(listing: Listing) -> bytes:
    return hashlib.sha256(to_line({"entries": list(listing)})).digest()
