"""Demo servers: real MCP servers that ship in the package, to try Toolcrib without installing anything."""

from toolcrib.demo.config import DESCRIPTIONS, demo_config

__all__ = ["DESCRIPTIONS", "demo_config"]
