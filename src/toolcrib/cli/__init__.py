"""The command line: `toolcrib`, one file a command."""

from toolcrib.cli.program import main

__all__ = ["main"]
