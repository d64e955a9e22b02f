"""Settled calls over real servers, made straight and through Toolcrib; `python -m bench.differential` makes 500."""

from pathlib import Path
from typing import Any

import pytest
from bench.differential.__main__ import SEED, compare

pytestmark = pytest.mark.anyio

QUICK = ("everything", "filesystem", "memory", "sequential-thinking")
"""The servers that start in a second."""


async def test_content_errors_and_progress_are_the_server_s_own_by_every_way(installed: Path, tmp_path: Path) -> None:
    figures: dict[str, Any] = await compare(80, SEED, tmp_path.resolve(), QUICK)
    assert figures["errors"] > 5
    assert figures["progress_reports"] > 5
    assert figures["differences"] == {"all": [], "all_handshake": [], "call_tool": [], "script": []}
