"""A journal over a real database, SQLite and PostgreSQL, and calls to be recorded in it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.broker import (
    ALLOW,
    Call,
    Caller,
    DurableJournal,
    Effect,
    Entry,
    JournalReader,
    Ledger,
    Rules,
)
from toolcrib.redact import Secrets
from toolcrib.store import Lease, Store, open_store


class Clock:
    """The time of the store, by which leases expire."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Book:
    """One instance's journal, and what a test does with it."""

    journal: DurableJournal
    reader: JournalReader
    store: Store
    secrets: Secrets
    calls: dict[str, Call] = field(default_factory=dict)

    async def begin(self, tool: str = "s.write", effect: Effect = "write", **about: Any) -> Call:
        """Start a call."""
        call = made(tool, effect, **about)
        await self.journal.started(call, ALLOW)
        return call

    async def entry(self, call: Call) -> Entry:
        """What is on record of it, in the database itself."""
        from toolcrib.broker.journal import queries

        return (await self.store.read(queries.by_ids, [call.id]))[0]

    async def states(self) -> list[str]:
        """The states on record in the database itself, oldest first."""
        from toolcrib.broker import Filter
        from toolcrib.broker.journal import listing

        return [each.state for each in await self.store.read(listing.oldest, Filter(), 0, 1000)]


def made(
    tool: str = "s.write",
    effect: Effect = "write",
    arguments: dict[str, Any] | None = None,
    caller: Caller | None = None,
    **more: Any,
) -> Call:
    """A call."""
    server, _, name = tool.partition(".")
    params = {"name": name, "arguments": arguments or {}}
    return Call("tools/call", tool, server, params, caller or Caller(), None, effect, **more)


@pytest.fixture(name="made")
def made_fixture() -> Callable[..., Call]:
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the database is."""
    if request.param == "sqlite":
        return str(tmp_path / "toolcrib.db")
    found: str = request.getfixturevalue("postgresql")
    return found


Open = Callable[..., Any]


@pytest.fixture
def open_book(target: str, tmp_path: Path, clock: Clock) -> Open:
    """Opens the journal as one more instance; it is left as by a process that dies, unless told to close."""

    @asynccontextmanager
    async def opened(instance: str = "one", rules: Rules | None = None, **more: Any) -> AsyncIterator[Book]:
        store = open_store(target, clock=clock)
        await Lease.acquire(store, instance)
        secrets = Secrets()

        async def open_it() -> Store:
            return store

        async def exists() -> bool:
            return True

        ledger = Ledger(open_it, tmp_path)
        journal = DurableJournal(ledger, instance, secrets, rules or Rules(), **more)
        try:
            with anyio.fail_after(30):
                yield Book(journal, JournalReader(ledger, journal.flush, exists), store, secrets)
        finally:
            with anyio.CancelScope(shield=True):
                await journal.close()
            store.close()

    return opened
