"""Logins to HTTP servers: OAuth through the SDK's provider, with what was granted kept for all that come after."""

from toolcrib.servers.auth.need import Need, hearing
from toolcrib.servers.auth.standing import Standing
from toolcrib.servers.auth.vault import StoredLogin, Vault

__all__ = ["Need", "Standing", "StoredLogin", "Vault", "hearing"]
