"""A process that is killed at any moment leaves a journal that claims neither too little nor too much."""

import json
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolcrib.broker.journal import queries, tables
from toolcrib.store import open_store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and waits for processes by their descriptors")

HERE = Path(__file__).resolve().parent
SERVER = HERE.parent / "stubs" / "misbehave.py"
MOST_STEPS = 150
"""Of how many steps of calls one is the last; the first come before anything was sent."""


@pytest.fixture(scope="module")
def caller() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, HERE / "calling.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE.parents[1],
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def crash(caller: subprocess.Popen[str], seed: int, folder: Path) -> None:
    """Let a process call tools, and kill it at a moment that the seed chooses."""
    entries = {
        name: {
            "command": sys.executable,
            "args": ["-S", str(SERVER), "Normal", "--log", str(folder / f"{name}.log")],
            "toolcrib": {"effects": {"echo": "read"} if name == "reads" else {"echo": "write"}},
        }
        for name in ("reads", "writes")
    }
    (folder / "config.json").write_text(json.dumps({"mcpServers": entries}))
    os.mkfifo(folder / "progress")
    assert caller.stdin
    assert caller.stdout
    caller.stdin.write(f"{seed} {folder}\n")
    caller.stdin.flush()
    pid = int(caller.stdout.readline())
    steps = random.Random(seed).randrange(MOST_STEPS)
    with (folder / "progress").open("rb", buffering=0) as progress:
        while steps > 0:
            read = len(progress.read(steps))
            assert read, "it ended by itself"
            steps -= read
        os.kill(pid, signal.SIGKILL)
    gone(pid)
    for name in entries:
        for record in log(folder / f"{name}.log"):
            if record["event"] == "start":
                gone(record["pid"])


def gone(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 20)[0], "it goes on"
    finally:
        os.close(handle)


def log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def received(path: Path) -> Counter[int]:
    """The calls that a server saw, by their numbers."""
    messages = [record["message"] for record in log(path) if record["event"] == "received"]
    return Counter(
        message["params"]["arguments"]["number"] for message in messages if message.get("method") == "tools/call"
    )


def check(folder: Path) -> None:
    seen = {name: received(folder / f"{name}.log") for name in ("reads", "writes")}
    path = folder / "state" / "toolcrib.db"
    with closing(open_store(path, clock=lambda: time.time() + 3600)) as store:
        store.ensure("journal", tables.VERSION, tables.METADATA)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        before = recorded(path, "writes")
        assert set(seen["writes"]) <= set(before)
        assert set(seen["writes"].values()) <= {1}
        for name in seen:
            done = {number for number, state in recorded(path, name).items() if state == "done"}
            assert done <= set(seen[name])
        with store.transaction(write=True) as writing:
            left = sum(state == "started" for state in before.values())
            assert queries.recover(writing, store.clock()) == left
            assert queries.recover(writing, store.clock()) == 0
        after = recorded(path, "writes")
        assert after == {number: "unknown" if state == "started" else state for number, state in before.items()}


def recorded(path: Path, server: str) -> dict[int, str]:
    """The states of the calls of one server on record, by their numbers; each is there once."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT arguments, state FROM calls WHERE server = ?", [server]).fetchall()
    states = {json.loads(arguments)["number"]: state for arguments, state in found}
    assert len(states) == len(found)
    return states


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 208))])
def test_a_killed_process_leaves_a_true_journal(caller: subprocess.Popen[str], seed: int, tmp_path: Path) -> None:
    crash(caller, seed, tmp_path)
    check(tmp_path)
