"""A crib with one tool, in whose folder scripts are saved."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolcrib import Crib

sys.path.insert(0, str(Path(__file__).parent))  # for `saving`

from saving import BROKEN, WRITTEN, write


@pytest.fixture
async def crib(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Crib]:
    WRITTEN.clear()
    BROKEN.clear()
    async with Crib.from_clients({}, state_dir=tmp_path) as opened:
        opened.add_functions(write, server="box")
        yield opened
