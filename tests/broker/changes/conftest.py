"""A configured server whose definitions a test changes."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib

STUB = Path(__file__).parents[2] / "stubs" / "changing.py"
LIMIT = 60.0


class Server:
    """The server's definitions, the state directory, and cribs over both."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "tools.json"
        self.state = folder / "state"
        self.options: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}

    def lists(self, *tools: dict[str, Any]) -> None:
        self.file.write_text(json.dumps(tools))

    @property
    def config(self) -> dict[str, Any]:
        entry = {"command": sys.executable, "args": [str(STUB), str(self.file)], "toolcrib": self.options}
        return {"mcpServers": {"files": entry}, "toolcrib": {"first_listing_wait": 60, **self.settings}}

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[Crib]:
        with anyio.fail_after(LIMIT):
            async with Crib.open(self.config, state_dir=self.state, **options) as crib:
                yield crib


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)
