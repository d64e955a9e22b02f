"""Toolcrib: one small door to every tool of every MCP server."""

__version__ = "0.1.0"
