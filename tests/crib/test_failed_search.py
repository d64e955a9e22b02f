"""A search that finds nothing says whose tools it could not look through."""

import sys
from pathlib import Path

import pytest

from toolcrib import Crib
from toolcrib.broker import LOCAL, Caller, Principal, text_of
from toolcrib.metatools import MetaTools

pytestmark = pytest.mark.anyio


async def test_servers_that_can_not_be_started_are_named_where_nothing_fits(tmp_path: Path) -> None:
    bad = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    ana = Caller(Principal("ana"))
    config = {
        "mcpServers": {"bad": bad},
        "toolcrib": {"first_listing_wait": 60, "principals": {"ana": {"deny": ["bad.*"]}}},
    }

    def find_room() -> None:
        """Find a free meeting room."""

    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(find_room)
        assert (await crib.search("quarterly revenue")).failed == ["bad"]
        assert (await crib.search("find a free meeting room")).failed == ()
        assert (await crib.search("quarterly revenue", caller=ana)).failed == []
        told = text_of(await MetaTools(crib).search({"query": "quarterly revenue"}, LOCAL))
        assert "Not searched, since they could not be started: bad." in told
