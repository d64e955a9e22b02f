"""What the doctor says of the state directory and of the instances that share it."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.store import STORE_FILE, Lease, open_store

pytestmark = pytest.mark.anyio

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes as POSIX has them")


async def test_a_state_directory_that_does_not_exist_yet_is_well_and_not_made(
    diagnose: Callable[..., Any], state: Path
) -> None:
    diagnosis = await diagnose({}, offline=True)
    assert [each.level for each in diagnosis.findings if each.check == "state"] == ["ok"]
    assert not state.exists()


async def test_a_file_in_the_place_of_the_state_directory_is_a_problem(
    diagnose: Callable[..., Any], found: Callable[..., Any], state: Path
) -> None:
    state.write_text("not a folder")
    finding, *others = found(await diagnose({}), "state")
    assert (finding.level, "is no folder" in finding.message) == ("problem", True)
    assert [each.level for each in others] == ["problem"] * len(others)  # what else came of it
    assert "TOOLCRIB_STATE_DIR" in finding.hint


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
async def test_a_state_directory_that_can_not_be_written_is_a_problem(
    diagnose: Callable[..., Any], found: Callable[..., Any], state: Path
) -> None:
    state.mkdir(mode=0o500)
    [finding] = found(await diagnose({}), "state")
    assert (finding.level, "is not writable" in finding.message) == ("problem", True)


@posix
async def test_a_state_directory_that_others_may_enter_is_a_warning(
    diagnose: Callable[..., Any], found: Callable[..., Any], state: Path
) -> None:
    state.mkdir()
    state.chmod(0o755)
    [finding] = found(await diagnose({}), "state")
    assert (finding.level, finding.hint) == ("warning", f"chmod 700 {state}")


@posix
async def test_a_state_directory_that_toolcrib_made_is_private(
    diagnose: Callable[..., Any], found: Callable[..., Any], state: Path, stub: Callable[..., Any]
) -> None:
    await diagnose({"one": stub("Normal")})
    assert state.stat().st_mode & 0o777 == 0o700
    assert found(await diagnose({}), "state") == []


async def test_a_database_that_is_damaged_is_a_problem(
    diagnose: Callable[..., Any], found: Callable[..., Any], state: Path
) -> None:
    state.mkdir(mode=0o700)
    (state / STORE_FILE).write_bytes(b"this is no database" * 100)
    [finding] = found(await diagnose({}), "store")
    assert (finding.level, "is damaged or no database" in finding.message) == ("problem", True)


async def test_an_instance_that_ended_without_clearing_up_is_noted(
    diagnose: Callable[..., Any], found: Callable[..., Any], state: Path
) -> None:
    store = open_store(state / STORE_FILE, clock=lambda: time.time() - 3600)
    await Lease.acquire(store, "gone")
    store.close()
    [finding] = found(await diagnose({}), "instances")
    assert (finding.level, f"process {os.getpid()}" in finding.message) == ("note", True)


async def test_another_instance_that_runs_is_well_and_told(
    diagnose: Callable[..., Any], state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.getpid()
    store = open_store(state / STORE_FILE)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: own + 1)
        await Lease.acquire(store, "other")
    store.close()
    told = [each for each in (await diagnose({})).findings if each.check == "instances"]
    assert [each.level for each in told] == ["ok"]
    assert f"process {own + 1}" in told[0].message


async def test_a_snapshot_that_was_changed_by_something_else_is_a_problem(
    diagnose: Callable[..., Any], found: Callable[..., Any], state: Path, stub: Callable[..., Any]
) -> None:
    servers = {"one": stub("Normal")}
    await diagnose(servers)
    [lines] = (state / "snapshots").glob("*.tools")
    lines.write_bytes(b"x" * lines.stat().st_size)
    [finding] = found(await diagnose(servers, offline=True), "store")
    assert (finding.server, finding.level) == ("one", "problem")
