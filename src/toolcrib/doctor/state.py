"""The state directory and what several instances share in it."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread

from toolcrib.doctor.finding import Finding, counted, listed
from toolcrib.errors import StoreError
from toolcrib.store import STORE_FILE, Instance, expired_instances, live_instances, open_store

CHECK = "state"


async def check_state(folder: Path) -> list[Finding]:
    """Whether the state directory can be used, is private, and who else uses it."""
    findings = list(_check_folder(folder))
    store = folder / STORE_FILE
    if not any(each.level == "problem" for each in findings) and await anyio.Path(store).exists():
        findings += await _check_store(store)
    return findings


def _check_folder(folder: Path) -> Iterator[Finding]:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        what = "no folder" if not existing.is_dir() else "not writable"
        yield Finding(
            CHECK,
            "problem",
            None,
            f"The state directory {folder} can't be used: {existing} is {what}.",
            "Set TOOLCRIB_STATE_DIR to a folder that you may write to.",
        )
        return
    if existing == folder and sys.platform != "win32" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        yield Finding(
            CHECK,
            "warning",
            None,
            f"The state directory {folder} is open to other users of this machine.",
            f"chmod 700 {folder}",
        )
        return
    yield Finding(CHECK, "ok", None, f"The state directory is {folder}.")


async def _check_store(path: Path) -> list[Finding]:
    try:
        store = await anyio.to_thread.run_sync(open_store, path)
    except StoreError as error:
        return [Finding("store", "problem", None, error.message, error.hint)]
    try:
        live, expired = await live_instances(store), await expired_instances(store)
    except StoreError as error:
        return [Finding("store", "problem", None, error.message, error.hint)]
    finally:
        store.close()
    return [Finding("store", "ok", None, f"The database {path} can be used."), *_tell_instances(live, expired)]


def _tell_instances(live: list[Instance], expired: list[Instance]) -> Iterator[Finding]:
    others = [f"process {each.pid} on {each.host}" for each in live if each.pid != os.getpid()]
    if others:
        message = f"{counted(len(others), 'other Toolcrib')} running with this state directory: {listed(others)}."
        yield Finding("instances", "ok", None, message)
    if expired:
        gone = [f"process {each.pid} on {each.host}" for each in expired]
        yield Finding(
            "instances",
            "note",
            None,
            f"Ended without clearing up: {listed(gone)}.",
            "What it left behind is ended when a server is next started.",
        )
