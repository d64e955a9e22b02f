"""What stretches of time add up to: every expected figure is worked out by hand from the rows given here."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.broker import Period, Rules
from toolcrib.broker.journal import counting, queries

pytestmark = pytest.mark.anyio

KEPT = Rules(retention_days=None)


def call(number: int, at: float, state: str = "done", ms: float | None = None, **known: Any) -> dict[str, Any]:
    made = dict.fromkeys(("conversation", "run", "rule", "approval", "approved_by", "error", "repeated_by"), "")
    unknown = dict.fromkeys(("arguments", "ended_at", "result_bytes", "result_tokens"))
    about = {"method": "tools/call", "tool": "a.get", "server": "a", "effect": "read", "verdict": "allow"}
    whose = {"instance": "one", "principal": "local", "origin": "direct", "face": "stdio", "labels": "[]"}
    this = {"id": f"{number:016x}", "digest": "d", "attempts": 1, "started_at": at, "state": state, "duration_ms": ms}
    return {**made, **unknown, **about, **whose, **this, **known}


def conversation(name: str, at: float, spent: int, definitions: int, principal: str = "local") -> dict[str, Any]:
    found = {"answers": 2, "spent": spent, "all_definitions": definitions, "first_at": at - 500.0, "last_at": at}
    return {"principal": principal, "conversation": name, **found}


async def written(book: Any, calls: Sequence[Any], conversations: Sequence[Any] = ()) -> None:
    await book.begin()  # makes the tables
    await book.store.write(queries.put_calls, calls)
    await book.store.write(queries.add_discovery, conversations)


async def test_calls_are_counted_by_their_state_in_the_period_in_which_they_began(
    open_book: Callable[..., Any],
) -> None:
    calls = [
        call(1, 99.9, "failed", 1.0),  # before the first period
        call(2, 100.0, "done", 10.0),  # its beginning belongs to a period
        call(3, 150.0, "failed", 30.0),
        call(4, 199.9, "unknown"),
        call(5, 200.0, "denied", 0.0),  # and its end to the next one
        call(6, 250.0, "waiting"),
        call(7, 260.0, "cancelled", 0.0),
        call(8, 299.0, "done", 7.5),
        call(9, 400.0, "done", 1.0),  # behind the last period
    ]
    async with open_book(rules=KEPT) as book:
        await written(book, calls)
        one, two, three = await book.reader.periods([100.0, 200.0, 300.0, 400.0])
    assert one == Period(100.0, 200.0, 3, {"failed": 1, "unknown": 1}, 20.0, 30.0, 2)
    assert (one.done, one.failed, one.denied) == (1, 2, 0)
    assert two == Period(200.0, 300.0, 4, {"denied": 1, "waiting": 1, "cancelled": 1}, 7.5, 7.5, 1)
    assert (two.done, two.failed, two.denied) == (1, 0, 1)
    assert three == Period(300.0, 400.0)
    assert three.to_json()["median_ms"] is None


async def test_latencies_are_the_middle_and_the_nearest_rank_of_what_came_back(open_book: Callable[..., Any]) -> None:
    # 1 to 20 ms, in no order, and what says nothing of latency: the 19th of 20 is the 95th of 100.
    took = [*range(1, 21)]
    random.Random(1).shuffle(took)
    calls = [call(number, 10.0, "failed" if ms % 2 else "done", float(ms)) for number, ms in enumerate(took, 1)]
    calls += [call(30, 10.0, "denied", 9_000.0), call(31, 10.0, "started"), call(32, 10.0, "unknown", 9_000.0)]
    async with open_book(rules=KEPT) as book:
        await written(book, calls)
        [found] = await book.reader.periods([0.0, 100.0])
    assert (found.median_ms, found.p95_ms, found.measured) == (10.5, 19.0, 20)


async def test_of_many_calls_some_tell_the_latency_and_all_are_counted(
    open_book: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MOST_MEASURED", 100)
    # Each of 1 to 400 ms as often as any other: the middle of all is 200.5, the 95th of 100 is 380. Of 100 taken by
    # chance the middle lies within three standard deviations of 20 ms, the other within three of 9 ms.
    calls = [call(number, 10.0 + number / 100, "done", float(number % 400 + 1)) for number in range(1, 2001)]
    async with open_book(rules=KEPT) as book:
        await written(book, calls)
        [found] = await book.reader.periods([0.0, 100.0])
        assert [found] == await book.reader.periods([0.0, 100.0])  # no other figure each time that it is looked at
    assert (found.calls, found.states) == (2000, {})
    assert found.measured == 100
    assert found.median_ms == pytest.approx(200.5, abs=60)
    assert found.p95_ms == pytest.approx(380, abs=27)


async def test_what_finding_tools_cost_stands_where_the_conversation_last_looked(open_book: Callable[..., Any]) -> None:
    conversations = [
        conversation("one", 150.0, 1_000, 60_000),
        conversation("two", 199.0, 2_500, 60_000),
        conversation("three", 200.0, 900, 500),
        conversation("one", 350.0, 40, 70_000, "guest"),
    ]
    async with open_book(rules=KEPT) as book:
        await written(book, [], conversations)
        one, two, three = await book.reader.periods([100.0, 200.0, 300.0, 400.0])
    assert (one.conversations, one.answers, one.spent, one.all_definitions) == (2, 4, 3_500, 120_000)
    assert (one.saved, two.saved, three.saved) == (116_500, -400, 69_960)


async def test_of_one_principal_nothing_of_the_others_is_told(open_book: Callable[..., Any]) -> None:
    calls = [
        call(1, 10.0, "done", 5.0),
        call(2, 20.0, "failed", 50.0, principal="guest"),
        call(3, 30.0, "done", 70.0, principal="guest"),
    ]
    looked = [conversation("one", 10.0, 100, 1_000), conversation("two", 20.0, 7, 50, "guest")]
    async with open_book(rules=KEPT) as book:
        await written(book, calls, looked)
        assert await book.reader.periods([0.0, 100.0], principal="guest") == [
            Period(0.0, 100.0, 2, {"failed": 1}, 60.0, 70.0, 2, 1, 2, 7, 50)
        ]
        assert await book.reader.periods([0.0, 100.0], principal="nobody") == [Period(0.0, 100.0)]


async def test_without_a_journal_nothing_is_made_and_all_is_nothing(tmp_path: Path) -> None:
    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        assert await crib.journal.periods([1.0, 2.0, 3.0]) == [Period(1.0, 2.0), Period(2.0, 3.0)]
        assert await crib.journal.periods([]) == []
    assert not (tmp_path / "toolcrib.db").exists()


async def test_no_count_reads_a_row(open_book: Callable[..., Any], target: str) -> None:
    if target.startswith("postgresql"):
        pytest.skip("it plans by what a table holds, and small ones it reads whole")
    asked: list[str] = []
    async with open_book(rules=KEPT) as book:
        await written(book, [call(1, 10.0)])

        def plans(connection: Any) -> None:
            from sqlalchemy import event

            @event.listens_for(connection, "before_cursor_execute")
            def note(_c: Any, cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
                if "count" in statement and "calls" in statement:
                    asked.extend(each[3] for each in cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

            counting.periods(connection, [0.0, 100.0], "")

        await book.store.read(plans)
    searches = [each for each in asked if each.startswith(("SEARCH", "SCAN"))]
    assert len(searches) == 2
    assert all("COVERING INDEX calls_" in each for each in searches), searches
