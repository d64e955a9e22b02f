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

from toolcrib.broker import ALLOW, Call, Caller, Entry, Filter, JournalReader, Principal, Rules
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
        and wanted.principal in ("", entry.principal)
        and wanted.conversation in ("", entry.conversation)
        and (wanted.since is None or entry.started_at >= wanted.since)
        and (wanted.until is None or entry.started_at < wanted.until)
        and any(wanted.text.lower() in text.lower() for text in (entry.tool, said(entry), entry.error))
    )


def said(entry: Entry) -> str:
    """The texts of the arguments; none of the rows has more than one."""
    return "" if entry.arguments is None else json.loads(entry.arguments)["text"]


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
        "arguments": json.dumps({"text": f'number {number} of a "b"'}) if number % 2 else None,
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
        "error": "100% of number 7" if number % 9 == 0 else "",
        "repeated_by": "",
    }
    return {**made, **known}


# With 3 the narrowest condition is walked only where next to nothing fits; with 100 most are narrow.
@pytest.mark.parametrize("bound", [3, 100, 1000])
async def test_filters_give_what_a_look_at_every_row_gives(
    open_book: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, bound: int
) -> None:
    monkeypatch.setattr(listing, "BOUND", bound)
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
            (None, 1390.0),
            ("", "", "guest"),
            ("", "", "c2"),
            ("", "", "NUMBER 7", 'a "b"', "%"),
        )
        for number, values in enumerate(chance.sample(list(choices), 80)):
            wanted = Filter(*values)
            expected = [entry for entry in everything if fits(entry, wanted, conversations)]
            exported = await book.store.read(listing.oldest, wanted, 0, 1000)
            assert [entry.seq for entry in exported] == [entry.seq for entry in expected], wanted
            is_timed = wanted.since is not None or wanted.until is not None
            expected.sort(key=lambda entry: (entry.started_at if is_timed else 0, entry.seq), reverse=True)
            found = await book.reader.entries(wanted, limit=7)
            assert [entry.seq for entry in found] == [entry.seq for entry in expected[:7]], wanted
            if number % 10:
                continue
            monkeypatch.setattr(listing, "BOUND", max(bound, 40))
            paged = await all_pages(book.reader, wanted, 60)
            monkeypatch.setattr(listing, "BOUND", bound)
            assert [entry.seq for entry in paged] == [entry.seq for entry in expected], wanted


async def all_pages(reader: JournalReader, wanted: Filter, limit: int) -> list[Entry]:
    """What all pages have, one after the other."""
    found: list[Entry] = []
    before = ""
    while True:
        page = await reader.page(wanted, before=before, limit=limit)
        assert len(page.entries) <= limit
        assert (page.looked_back_to is not None) == (bool(page.following) and len(page.entries) < limit)
        found += page.entries
        before = page.following
        if not before:
            return found


async def test_a_page_ends_where_enough_was_looked_at_and_the_next_goes_on(
    open_book: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "BOUND", 10)
    chance = random.Random(3)
    async with open_book(rules=Rules(retention_days=None)) as book:
        await book.begin()
        # Both conditions fit half of the calls, and both together the second alone.
        rows = [
            row(number, chance, server="ab"[number % 2], state=("done", "failed")[number % 2], started_at=number)
            for number in range(40)
        ]
        await book.store.write(queries.put_calls, [*rows[:2], {**rows[1], "id": "x", "state": "done"}, *rows[2:]])
        wanted = Filter(server="b", state="done")
        first = await book.reader.page(wanted, limit=3)
        # Ten of a server or state go back over twenty calls, from the last, 39.
        assert (first.entries, first.looked_back_to) in (([], 20.0), ([], 21.0))
        second = await book.reader.page(wanted, limit=3, before=first.following)
        assert [entry.id for entry in second.entries] == ["x"]
        assert [entry.id for entry in await book.reader.entries(wanted, limit=3)] == ["x"]


async def test_pages_stay_as_they_are_while_calls_come(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        early = [(await book.begin(f"s.number{number}")).id for number in range(5)]
        first = await book.reader.page(limit=2)
        await book.begin("s.later")
        second = await book.reader.page(limit=2, before=first.following)
        last = await book.reader.page(limit=2, before=second.following)
        assert [entry.id for page in (first, second, last) for entry in page.entries] == early[::-1]
        assert last.following == ""


@pytest.mark.parametrize("place", ["x", "5", "-1-0.0", "1-nan", "1-inf", f"{1 << 80}-1.0", "1" * 5000, "1-1-1"])
async def test_a_place_where_no_page_begins_is_refused(open_book: Callable[..., Any], place: str) -> None:
    async with open_book() as book:
        with pytest.raises(UsageError, match="No page begins"):
            await book.reader.page(before=place)


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
