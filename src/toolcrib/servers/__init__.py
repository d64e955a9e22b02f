"""MCP servers as sources: one supervised connection a server, all configured ones in a pool."""

from toolcrib.servers.clients import ConnectedClient, follow_tools, list_tools_metadata
from toolcrib.servers.pool import ServerPool
from toolcrib.servers.server import McpServer
from toolcrib.servers.status import ServerStatus, State

__all__ = [
    "ConnectedClient",
    "McpServer",
    "ServerPool",
    "ServerStatus",
    "State",
    "follow_tools",
    "list_tools_metadata",
]
