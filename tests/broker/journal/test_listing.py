"""Which entries a filter gives, against a plain look at every row; following, exporting, finding one."""

import asyncio
import itertools
import json
import random
from collections.abc import Callable
from contextlib import aclosing
from fnmatch import fnmatchcase
from typing import Any

import pytest

from toolcrib.broker import ALLOW, Call, Caller, Entry, Filter, Principal, Rules
from toolcrib.broker.journal import STATES, listing, queries
from toolcrib.errors import UsageError

pytestmark = pytest.mark.anyio


def fits(entry: Entry, wanted: Filter, conversations: set[str]) -> bool:
    """What the documentation says of each member of a filter."""
    by_caller = entry.conversation if wanted.caller in conversations else entry.principal
    return (
        (not wanted.tool or fnmatchcase(entry.tool, wanted.tool))
        and wanted.server in ("", entry.server)
        and wanted.state in ("", entry.state)
        and wanted.effect in ("", entry.effect)
        and wanted.run in ("", entry.run)
        and wanted.caller in ("", by_caller)
        and (wanted.since is None or entry.started_at >= wanted.since)
    )


def row(number: int, chance: random.Random, **known: Any) -> dict[str, Any]:
    server = chance.choice(("a", "a", "a", "b", "c"))
    made = {
        "id": f"{number:016x}",
        "instance": "i",
        "method": "tools/call",
        "tool": f"{server}.{chance.choice(('get', 'get', 'list', 'send'))}",
        "server": server,
        "effect": chance.choice(("read", "read", "read", "write", "destructive")),
        "principal": chance.choice(("local", "local", "guest")),
        "conversation": f"c{number // 50}",
        "origin": "direct",
        "face": "stdio",
        "run": f"r{number // 20}" if chance.random() < 0.3 else "",
        "digest": "d",
        "arguments": None,
        "verdict": "allow",
        "rule": "",
        "approval": "",
        "approved_by": "",
        "labels": "[]",
        "attempts": 1,
        "started_at": 1000.0 + number - (30 if number % 7 == 0 else 0),  # clocks of several machines
        "ended_at": None,
        "duration_ms": None,
        "state": chance.choice(("done", "done", "done", "done", "failed", "unknown")),
        "result_bytes": None,
        "result_tokens": None,
        "error": "",
        "repeated_by": "",
    }
    return {**made, **known}


# With 3 the narrowest condition is walked only where next to nothing fits; with 100 most are narrow.
@pytest.mark.parametrize("narrow", [3, 100, 1000])
async def test_filters_give_what_a_look_at_every_row_gives(
    open_book: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, narrow: int
) -> None:
    monkeypatch.setattr(listing, "_NARROW", narrow)
    monkeypatch.setattr(listing, "_PARTS", 2)
    chance = random.Random(3)
    rows = [row(number, chance) for number in range(400)]
    rows[150] |= {"tool": "rare.once", "server": "rare"}
    async with open_book(rules=Rules(retention_days=None)) as book:
        await book.begin()  # makes the tables
        await book.store.write(queries.put_calls, rows)
        everything = await book.store.read(listing.oldest, Filter(), 0, 1000)
        assert len(everything) == 401
        conversations = {entry.conversation for entry in everything}
        choices = itertools.product(
            ("", "a.*", "*.list", "rare.once", "rare.*", "*", "none.*", "[ab].?et"),
            ("", "b"),
            ("", "failed"),
            ("", "destructive"),
            ("", "r3", "nobody"),
            ("", "c2", "guest"),
            (None, 1380.0, 1100.0),
        )
        for values in chance.sample(list(choices), 150):
            wanted = Filter(*values)
            expected = [entry for entry in everything if fits(entry, wanted, conversations)]
            exported = await book.store.read(listing.oldest, wanted, 0, 1000)
            assert [entry.seq for entry in exported] == [entry.seq for entry in expected], wanted
            by_time = wanted == Filter(since=wanted.since) and wanted.since is not None
            expected.sort(key=lambda entry: (entry.started_at if by_time else 0, entry.seq), reverse=True)
            found = await book.reader.entries(wanted, limit=7)
            assert [entry.seq for entry in found] == [entry.seq for entry in expected[:7]], wanted


async def test_a_state_or_effect_that_there_is_not_is_refused(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        with pytest.raises(UsageError, match="no state 'finished'") as caught:
            await book.reader.entries(Filter(state="finished"))
        assert all(state in caught.value.hint for state in STATES)
        with pytest.raises(UsageError, match="no effect 'harmless'"):
            await book.reader.entries(Filter(effect="harmless"))


async def test_one_entry_is_found_by_the_beginning_of_its_id(
    open_book: Callable[..., Any], made: Callable[..., Call]
) -> None:
    async with open_book() as book:
        for call_id in ("abcd1111", "abcd2222", "ab%_3333"):
            await book.journal.started(made(id=call_id), ALLOW)
        assert (await book.reader.entry("abcd1111")).id == "abcd1111"
        assert (await book.reader.entry("abcd2")).id == "abcd2222"
        assert (await book.reader.entry("ab%_")).id == "ab%_3333"
        with pytest.raises(UsageError, match="several"):
            await book.reader.entry("abcd")
        for unknown in ("abce", "", "a", "____"):
            with pytest.raises(UsageError, match="has no call"):
                await book.reader.entry(unknown)


async def test_all_entries_come_out_oldest_first_and_as_json(
    open_book: Callable[..., Any], made: Callable[..., Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.broker.journal.reading._PAGE", 2)
    async with open_book(labels=lambda _: frozenset({"private", "from a mail"})) as book:
        caller = Caller(Principal("ann"), "c1", "script", "http", "run1")
        calls = [made(arguments={"number": number}, caller=caller) for number in range(5)]
        for call in calls:
            await book.journal.started(call, ALLOW)
        exported = [entry async for entry in book.reader.export()]
        assert [entry.id for entry in exported] == [call.id for call in calls]
        written = json.loads(json.dumps(exported[3].to_json()))
        assert written["arguments"] == {"number": 3}
        assert written["labels"] == ["from a mail", "private"]
        assert [written[name] for name in ("principal", "conversation", "origin", "face", "run")] == [
            "ann",
            "c1",
            "script",
            "http",
            "run1",
        ]


async def test_following_gives_what_is_recorded_from_then_on_and_how_it_ends(open_book: Callable[..., Any]) -> None:
    async with open_book() as book, open_book("two") as other:
        early = await book.begin("s.send")
        calls: list[Call] = []
        async with aclosing(book.reader.follow(Filter(tool="s.*"), poll_seconds=0.001)) as following:
            first = asyncio.ensure_future(anext(following))
            while not first.done():  # until it has looked up where to begin
                await other.begin("elsewhere.send")
                calls.append(await other.begin("s.send"))
            entry = await first
            assert entry.state == "started"
            assert entry.id in {call.id for call in calls}
            last = calls[-1]
            await other.journal.ended(last, "failed")
            seen = [entry]
            while (seen[-1].id, seen[-1].state) != (last.id, "failed"):
                seen.append(await anext(following))
        assert {each.tool for each in seen} == {"s.send"}
        assert early.id not in {each.id for each in seen}
        places = [(each.id, each.state) for each in seen]
        assert len(set(places)) == len(places)
