"""What several instances of one state directory see of each other."""

import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.demo import demo_config
from toolcrib.errors import StoreError
from toolcrib.store import Lease, open_store

pytestmark = pytest.mark.anyio


def config() -> dict[str, Any]:
    bad = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    return {
        "mcpServers": {"notes": demo_config()["mcpServers"]["notes"], "bad": bad},
        "toolcrib": {"first_listing_wait": 60},
    }


async def test_an_instance_shows_its_servers_to_the_others_and_takes_them_along(tmp_path: Path) -> None:
    async with Crib.open(config(), state_dir=tmp_path) as one, Crib.open(config(), state_dir=tmp_path) as two:
        assert await two.states_elsewhere() == {}
        await one.search("anything")
        with anyio.fail_after(20):
            while True:
                states = await two.states_elsewhere()
                if {each.state for each in states.values()} == {"ready", "failed"}:
                    break
                await anyio.lowlevel.checkpoint()
        assert states["notes"].pid == next(each.pid for each in one.servers if each.id == "notes")
        assert "exit code 3" in states["bad"].reason
        assert await one.states_elsewhere() == {}
        others = {"mcpServers": {"bad": {"command": "something-else"}}}
        async with Crib.open(others, state_dir=tmp_path) as other:
            assert await other.states_elsewhere() == {}  # another server under the same id
    async with Crib.open(config(), state_dir=tmp_path) as later:
        assert await later.states_elsewhere() == {}


async def test_a_crib_that_only_searches_writes_no_store(tmp_path: Path) -> None:
    notes = {"mcpServers": {"notes": demo_config()["mcpServers"]["notes"]}, "toolcrib": {"first_listing_wait": 60}}
    store = tmp_path / "toolcrib.db"
    async with Crib.open(notes, state_dir=tmp_path) as crib:
        await crib.search("find a note")
    assert store.exists()
    store.unlink()
    async with Crib.open(notes, state_dir=tmp_path) as crib:
        assert (await crib.search("find a note")).found
    assert not store.exists()


async def test_a_store_that_cannot_be_used_harms_no_server(tmp_path: Path) -> None:
    (tmp_path / "toolcrib.db").write_bytes(b"this is no database" * 100)
    reading = config()
    reading["mcpServers"]["notes"]["toolcrib"] = {"effects": {"list_*": "read"}}
    async with Crib.open(reading, state_dir=tmp_path) as crib:
        assert (await crib.call("notes.list_tags")).kind == "result"
        # What it does could not be recorded.
        with pytest.raises(StoreError, match="is damaged or no database"):
            await crib.call("notes.create_note", {"title": "t", "body": "b"})
        assert (await crib.call("notes.list_tags")).kind == "result"


@pytest.mark.skipif(sys.platform != "linux", reason="reads other processes' environment in /proc")
async def test_what_a_crashed_instance_left_is_ended_and_what_a_living_one_runs_is_not(tmp_path: Path) -> None:
    store = open_store(tmp_path / "toolcrib.db", clock=lambda: time.time() - 3600)
    await Lease.acquire(store, "crashed")
    store.close()
    store = open_store(tmp_path / "toolcrib.db")
    await Lease.acquire(store, "living")
    store.close()
    processes = {
        marker: await anyio.open_process(
            [sys.executable, "-S", "-c", "input()"], env={"TOOLCRIB_INSTANCE": marker}, start_new_session=True
        )
        for marker in ("crashed", "living")
    }
    async with Crib.open(config(), state_dir=tmp_path) as crib:
        await crib.call("notes.list_tags")
        with anyio.fail_after(10):
            await processes["crashed"].wait()
        assert processes["living"].returncode is None
    processes["living"].kill()
    await processes["living"].wait()
