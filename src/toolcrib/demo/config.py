"""The configuration that starts the demo servers. It imports none of them, so it costs nothing."""

import sys
from pathlib import Path
from typing import Any

DESCRIPTIONS = {
    "tickets": "Ticket tracker: bugs, features and incidents of three projects, with comments and workflow.",
    "notes": "Notebook: Markdown notes with full-text search, tags, links and export.",
    "calendar": "Calendar: events, recurring dates, free time, double bookings and invitations.",
    "files": "File library: read, write, search and move files, checksums, bar charts, a word index.",
}
"""The demo servers by name, with what each is for."""


def demo_config(directory: Path | None = None) -> dict[str, Any]:
    """The `mcpServers` configuration of all demo servers, run by this Python.

    Args:
        directory: Where the servers keep their data; None gives each process its own, in memory, so that
            nothing outlives it.
    """
    environment = {"env": {"TOOLCRIB_DEMO_DIR": str(directory)}} if directory is not None else {}
    return {
        "mcpServers": {
            name: {
                "command": sys.executable,
                # -P: a file of the working directory must not stand in for a module.
                "args": ["-P", "-m", f"toolcrib.demo.{name}"],
                **environment,
                "toolcrib": {"description": description},
            }
            for name, description in DESCRIPTIONS.items()
        }
    }
