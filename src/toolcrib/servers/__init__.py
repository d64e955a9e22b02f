"""MCP servers as sources: one supervised connection a server, all configured ones in a pool.

Clients that somebody else connected are in `toolcrib.servers.clients`, apart because that module loads the SDK,
which what is here does only when it connects.
"""

from toolcrib.servers.auth import Vault
from toolcrib.servers.pool import ServerPool
from toolcrib.servers.server import McpServer
from toolcrib.servers.status import ServerStatus, State

__all__ = ["McpServer", "ServerPool", "ServerStatus", "State", "Vault"]
