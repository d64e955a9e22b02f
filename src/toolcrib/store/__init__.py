"""The database that instances share: engine, leases and the recorded state of servers."""

from toolcrib.store.database import STORE_FILE, Held, Store, open_store
from toolcrib.store.instances import (
    LEASE_SECONDS,
    Instance,
    Lease,
    ServerState,
    expired_instances,
    live_instances,
    live_states,
    reclaim_instance,
)

__all__ = [
    "LEASE_SECONDS",
    "STORE_FILE",
    "Held",
    "Instance",
    "Lease",
    "ServerState",
    "Store",
    "expired_instances",
    "live_instances",
    "live_states",
    "open_store",
    "reclaim_instance",
]
