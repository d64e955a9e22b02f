"""Snapshots: what a server listed survives the process, whole, and a broken file is as none."""

from pathlib import Path
from typing import Any

import pytest

from toolcrib.catalog import Snapshot, SnapshotStore
from toolcrib.errors import StoreError

TOOLS: list[dict[str, Any]] = [
    {"name": "a", "inputSchema": {"type": "object"}, "odd": [None, 1.0, "ü\n"]},
    {"name": "b", "description": "second", "inputSchema": {"type": "object"}},
]


def listing(tools: list[dict[str, Any]] = TOOLS) -> Snapshot:
    return Snapshot.of_listing("srv", "c0ffee" * 6, "2025-11-25", {"serverInfo": {"name": "Srv"}}, tools)


def test_a_snapshot_comes_back_as_it_was(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    saved = store.save(listing())
    loaded = store.load("srv", "c0ffee" * 6)
    assert loaded is not None
    assert [loaded.definitions.read(index) for index in range(2)] == TOOLS
    assert list(loaded.definitions.names) == ["a", "b"]
    assert (loaded.digest, loaded.protocol_version, loaded.discovered) == (
        saved.digest,
        "2025-11-25",
        {"serverInfo": {"name": "Srv"}},
    )
    assert not loaded.modern


def test_another_configuration_has_no_snapshot(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    store.save(listing())
    assert store.load("srv", "decade" * 6) is None
    assert store.load("other", "c0ffee" * 6) is None


def test_readers_of_an_older_listing_are_not_misled_by_a_newer_one(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path)
    older = store.save(listing())
    newer = store.save(listing([{"name": "c", "description": "x" * 500}]))
    assert older.definitions.read(1) == TOOLS[1]
    assert newer.definitions.read(0)["name"] == "c"


@pytest.mark.parametrize("suffix", ["json", "tools"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe\n", None])
def test_a_broken_file_is_as_none(tmp_path: Path, suffix: str, content: bytes | None) -> None:
    store = SnapshotStore(tmp_path)
    store.save(listing())
    for path in tmp_path.glob(f"*.{suffix}"):
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
    assert store.load("srv", "c0ffee" * 6) is None


def test_a_snapshot_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    SnapshotStore(tmp_path / "s").save(listing())
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "s").iterdir()} == {0}


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(StoreError, match="can't be written"):
        SnapshotStore(blocked / "snapshots").save(listing())
