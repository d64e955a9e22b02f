"""A crib that asks about everything, over a disk that can be wiped."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib

sys.path.insert(0, str(Path(__file__).parent))  # for `wiping`

from wiping import LIMIT, Disk, Opening


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def opened(disk: Disk, tmp_path: Path, database: str) -> Opening:
    """Opens a crib over the same state as the others, whose policy asks about everything."""

    @asynccontextmanager
    async def opening(approver: Any = None, **approvals: Any) -> AsyncIterator[Crib]:
        settings = {
            "approvals": {"patience": 0.01, **approvals},
            "policy": {"rules": [{"name": "all", "then": "ask"}]},
            "store": database,
        }
        crib = Crib.open({"mcpServers": {}, "toolcrib": settings}, approver=approver, state_dir=tmp_path)
        crib.add_functions(disk.wipe, disk.format)
        with anyio.fail_after(LIMIT):
            async with crib:
                yield crib

    return opening
