"""All that one server lists: to nobody in particular, and to single principals where that differs."""

import hashlib
from collections.abc import Callable

from toolcrib.catalog import LOCAL_PRINCIPAL, Snapshot, SnapshotStore
from toolcrib.servers.freshness import Freshness
from toolcrib.servers.listing import ToolListing


class ToolListings:
    """The listings of one server, each filed under the hash of what its connection is made with.

    Args:
        server: The server's id.
        config_hash: The hash of its configuration.
        snapshots: Where listings are kept.
        on_listed: Told of every new listing that counts.

    Attributes:
        to_all: What it lists to nobody in particular.
        only_to_callers: Whether that could not be had, so that what it lists to a caller counts.
    """

    def __init__(
        self, server: str, config_hash: str, snapshots: SnapshotStore, on_listed: Callable[[Snapshot], None]
    ) -> None:
        self._server = server
        self._config_hash = config_hash
        self._snapshots = snapshots
        self._on_listed = on_listed
        self._own: dict[tuple[str, str], ToolListing] = {}
        self.to_all = ToolListing(server, config_hash, snapshots, self._take_for_all)
        self.only_to_callers = False

    def differ_for(self, principal: str) -> bool:
        """Whether what was listed to nobody in particular is not for this principal."""
        snapshot = self.to_all.snapshot
        return principal != LOCAL_PRINCIPAL and snapshot is not None and snapshot.private

    def to(self, principal: str, capabilities: str = "") -> ToolListing:
        """What is listed to one principal alone.

        Args:
            principal: Its name.
            capabilities: The client capabilities declared on the connection, as JSON: servers list by them. Empty
                where none are.
        """
        key = (principal, capabilities)
        if key not in self._own:
            self._own[key] = ToolListing(
                self._server,
                _hash_with(self._config_hash, capabilities) if capabilities else self._config_hash,
                self._snapshots,
                self._take_own,
                owner="" if principal == LOCAL_PRINCIPAL else principal,
                like=self.to_all,
            )
        return self._own[key]

    def stored_for(self, principal: str) -> Snapshot | None:
        """What was listed to one principal alone, and has not changed since; None where all are listed alike."""
        if not self.differ_for(principal):
            return None
        self.to(principal)
        listings = [each for (owner, _), each in self._own.items() if owner == principal and not each.outdated]
        return next((each.snapshot for each in listings if each.snapshot is not None), None)

    def freshness_for(self, principal: str) -> Freshness:
        """For how long still, and for whom, what is listed to a principal may be kept."""
        return (self.to(principal) if self.differ_for(principal) else self.to_all).freshness

    def _take_for_all(self, snapshot: Snapshot) -> None:
        for listing in self._own.values():
            listing.outdated = True
        self._on_listed(snapshot)

    def _take_own(self, snapshot: Snapshot) -> None:
        """Take in what was listed to one principal: where the server lists to nobody in particular, or where what it
        lists to others is not for this one."""
        if self.only_to_callers or self.differ_for(snapshot.owner or LOCAL_PRINCIPAL):
            self._on_listed(snapshot)


def _hash_with(config_hash: str, capabilities: str) -> str:
    """What the snapshot of a connection with declared capabilities is filed under."""
    return hashlib.sha256(f"{config_hash}\n{capabilities}".encode()).hexdigest()[:32]
