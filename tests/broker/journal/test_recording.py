"""What is on record, and when: effects before they leave, reads in batches, and what a lost instance left."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from sqlalchemy import text

from toolcrib.broker import ALLOW, Call, Caller, Decision, Principal, Rules
from toolcrib.errors import StoreError

pytestmark = pytest.mark.anyio

MUCH = dict.fromkeys("abcdefgh", "x" * 1900)
RESULT = {"content": [{"type": "text", "text": "ok"}]}


async def test_an_effect_is_committed_before_it_leaves_and_its_end_before_it_is_told(
    open_book: Callable[..., Any],
) -> None:
    async with open_book() as book:
        call = await book.begin(effect="destructive", arguments={"id": 7})
        # Read over another connection: what is seen there is committed.
        entry = await book.entry(call)
        assert (entry.state, entry.tool, entry.effect, entry.ended_at) == ("started", "s.write", "destructive", None)
        assert entry.arguments == '{"id":7}'
        await book.journal.ended(call, "done", result=RESULT)
        entry = await book.entry(call)
        assert entry.state == "done"
        # {"content":[{"type":"text","text":"ok"}]} has 41 characters, and 41 / 3.6 rounds up to 12
        assert (entry.result_bytes, entry.result_tokens) == (41, 12)


async def test_a_read_is_written_behind_as_one_row(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        reads = [await book.begin("s.read", "read") for _ in range(3)]
        for call in reads[:2]:
            await book.journal.ended(call, "done", result=RESULT)
        await book.begin()
        assert await book.states() == ["started"]
        await book.journal.flush()
        assert await book.states() == ["started", "done", "done"]
        await book.journal.ended(reads[2], "failed", "no such file")
        # Whoever lists in the same process sees what was held back.
        assert [each.state for each in await book.reader.entries()] == ["failed", "done", "done", "started"]
        assert (await book.entry(reads[2])).error == "no such file"


async def test_a_read_waits_no_longer_than_it_is_told_to(open_book: Callable[..., Any]) -> None:
    async with open_book(flush_seconds=0.01) as book, anyio.create_task_group() as tasks:
        book.journal.start(tasks)
        await book.begin()
        call = await book.begin("s.read", "read")
        await book.journal.ended(call, "done")
        with anyio.fail_after(20):
            while await book.states() != ["started", "done"]:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_many_effects_at_once_are_all_on_record(open_book: Callable[..., Any]) -> None:
    async with open_book() as book, anyio.create_task_group() as tasks:

        async def one(number: int) -> None:
            call = await book.begin(arguments={"number": number})
            await book.journal.ended(call, "done" if number % 2 else "failed", "")

        for number in range(100):
            tasks.start_soon(one, number)
    async with open_book("two") as book:
        states = await book.states()
        assert (states.count("done"), states.count("failed")) == (50, 50)


async def test_what_was_not_sent_says_so(open_book: Callable[..., Any], made: Callable[..., Call]) -> None:
    async with open_book() as book:
        denied, waiting = made(), made()
        await book.journal.stopped(denied, "denied", Decision("deny", "no deletions here", "rules[2]"))
        await book.journal.stopped(waiting, "waiting", Decision("ask", "", "rules[3]"))
        await book.journal.flush()
        entry = await book.entry(denied)
        assert (entry.state, entry.verdict, entry.rule, entry.error) == (
            "denied",
            "deny",
            "rules[2]",
            "no deletions here",
        )
        assert (entry.attempts, (await book.entry(waiting)).attempts) == (0, 0)
        # Approved, it goes on under the same number.
        await book.journal.started(waiting, Decision("ask", "", "rules[3]", approval="a1", approved_by="client"))
        entry = await book.entry(waiting)
        assert (entry.state, entry.attempts, entry.approval, entry.approved_by) == ("started", 1, "a1", "client")
        assert entry.seq == (await book.entry(denied)).seq + 1


async def test_what_waits_in_memory_never_overtakes_what_was_sent(
    open_book: Callable[..., Any], made: Callable[..., Call]
) -> None:
    async with open_book() as book:
        call = made()
        await book.journal.stopped(call, "waiting", Decision("ask"))
        await book.journal.started(call, ALLOW)  # before the first was written
        await book.journal.flush()
        assert (await book.entry(call)).state == "started"


async def test_a_call_that_is_sent_again_says_how_often(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        effect, read = await book.begin(), await book.begin("s.read", "read")
        for call in (effect, read):
            await book.journal.started(call, ALLOW)
            await book.journal.ended(call, "done")
        await book.journal.flush()
        assert [(await book.entry(call)).attempts for call in (effect, read)] == [2, 2]


async def test_what_a_lost_instance_left_under_way_becomes_unknown_once(
    open_book: Callable[..., Any], clock: Any, made: Callable[..., Call]
) -> None:
    from toolcrib.broker.journal import queries

    async with open_book("gone") as gone, open_book("living") as living:
        lost, told = await gone.begin(), await gone.begin()
        await gone.journal.ended(told, "done")
        unsent = made()
        await gone.journal.stopped(unsent, "waiting", Decision("ask"))
        await gone.journal.flush()
        asking = await gone.begin()
        await gone.journal.ended(asking, "waiting")
        clock.now += 20
        other = await living.begin()
        with living.store.transaction(write=True) as connection:  # as its lease does
            connection.execute(text("UPDATE instances SET expires_at = expires_at + 60 WHERE id = 'living'"))
        clock.now += 20
        async with open_book("next") as book:
            await book.begin()
            states = {name: (await book.entry(call)).state for name, call in locals().items() if isinstance(call, Call)}
            assert states == {
                "lost": "unknown",
                "told": "done",
                "unsent": "cancelled",
                "asking": "unknown",
                "other": "started",
            }
            assert await book.store.write(queries.recover, clock.now) == 0
            # It lives after all, as after a sleep of the computer, and knows better.
            await gone.journal.ended(lost, "done")
            assert (await book.entry(lost)).state == "done"


@pytest.fixture
def dead_pid() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        process.wait()
    return process.pid


async def test_what_a_dead_process_left_is_settled_at_once_though_its_lease_holds(
    open_book: Callable[..., Any], dead_pid: int
) -> None:
    async with open_book("dead") as dead, open_book("living") as living:
        lost, other = await dead.begin(), await living.begin()
        with dead.store.transaction(write=True) as connection:
            connection.execute(text("UPDATE instances SET pid = :pid WHERE id = 'dead'"), {"pid": dead_pid})
        async with open_book("next") as book:
            assert [each.state for each in await book.reader.entries()] == ["started", "unknown"]
            assert [each.id for each in await book.reader.entries()] == [other.id, lost.id]
            # Also what is left later is found by whoever looks.
            late = await dead.begin()
            assert (await book.entry(late)).state == "started"
            assert (await book.reader.entry(late.id)).state == "unknown"


async def test_the_next_call_like_one_of_unknown_outcome_is_told_of_it_once(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        asked = {"to": "a@example.com", "text": "hello"}
        first = await book.begin("s.send", arguments=asked)
        await book.journal.ended(first, "unknown", "no answer")

        async def again(principal: str, arguments: dict[str, Any]) -> Any:
            call = Call(
                "tools/call",
                "s.send",
                "s",
                {"name": "send", "arguments": arguments},
                Caller(Principal(principal), "another conversation"),
                None,
                "write",
            )
            return call, await book.journal.started(call, ALLOW)

        assert (await again("local", {**asked, "text": "bye"}))[1] is None
        assert (await again("someone else", asked))[1] is None
        repeat, told = await again("local", dict(reversed(asked.items())))
        assert told.id == first.id
        assert told.started_at == (await book.entry(first)).started_at
        assert (await book.entry(first)).repeated_by == repeat.id
        assert (await again("local", asked))[1] is None


async def test_names_that_no_database_can_hold_are_mended(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        # Python reads both from JSON, and a client may call its conversation so.
        call = await book.begin(caller=Caller(conversation="half \ud83d of a pair, and \0"))
        await book.journal.ended(call, "failed", "the server said \udc00\0")
        entry = await book.entry(call)
        assert entry.conversation == "half ? of a pair, and \ufffd"
        assert entry.error == "the server said ?\ufffd"


async def test_clocks_that_jump_do_no_harm(open_book: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_800_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    async with open_book() as book:
        call = await book.begin()
        now[0] -= 3600
        await book.journal.ended(call, "done")
        entry = await book.entry(call)
        assert entry.started_at - entry.ended_at == 3600
        assert 0 <= entry.duration_ms < 60_000
        later = await book.begin()
        assert [each.id for each in await book.reader.entries()] == [later.id, call.id]


async def test_old_records_and_too_many_are_deleted_and_what_is_under_way_stays(
    open_book: Callable[..., Any], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolcrib.broker.journal import queries

    monkeypatch.setattr(time, "time", clock)
    async with open_book() as book:
        under_way = await book.begin()
        for _ in range(5):
            await book.journal.ended(await book.begin(), "done")
        clock.now += 10
        young = [await book.begin() for _ in range(4)]
        for call in young:
            await book.journal.ended(call, "done")

        assert await book.store.write(queries.prune, clock.now - 5, None, 3) == 3
        assert await book.store.write(queries.prune, clock.now - 5, None, 3) == 2
        assert await book.store.write(queries.prune, clock.now - 5, None, 3) == 0
        assert await book.states() == ["started", "done", "done", "done", "done"]
        assert await book.store.write(queries.prune, None, 3, 100) == 1
        left = [each.id for each in await book.reader.entries()]
        assert left == [call.id for call in reversed(young[1:])] + [under_way.id]


async def test_retention_is_kept_in_the_background(
    open_book: Callable[..., Any], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.broker.journal.writer._IDLE_SECONDS", 0.01)
    async with open_book() as book:
        for _ in range(4):
            await book.journal.ended(await book.begin(), "done")
    async with open_book("two", Rules(max_rows=3)) as book:
        await book.journal.ended(await book.begin(), "done")
        while len(await book.states()) > 3:
            await anyio.lowlevel.checkpoint()
        assert await book.states() == ["done"] * 3


async def test_a_cancelled_call_that_was_not_sent_says_so(open_book: Callable[..., Any]) -> None:
    async with open_book() as book:
        await book.begin()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await book.begin()
        assert await book.states() == ["started", "cancelled"]


async def test_full_sync_is_asked_of_the_database(open_book: Callable[..., Any], target: str) -> None:
    if "://" in target:
        pytest.skip("a PostgreSQL server sees to that itself")
    async with open_book() as book:
        # https://sqlite.org/pragma.html: synchronous 2 is FULL
        with book.store.held(power_safe=True) as held, held.transaction() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        with book.store.held() as held, held.transaction() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 1


async def test_once_it_is_closed_an_effect_is_refused_and_nobody_waits_for_ever(
    open_book: Callable[..., Any],
) -> None:
    async with open_book() as book:
        call = await book.begin()
        await book.journal.close()
        with pytest.raises(StoreError, match="The crib is closed"):
            await book.begin()
        await book.journal.ended(call, "done")  # no error of the call


async def test_that_a_call_waited_takes_nothing_back_when_it_is_written_after_the_call_was_sent(
    open_book: Callable[..., Any], made: Callable[..., Call]
) -> None:
    async with open_book() as book:
        call = made()
        await book.journal.stopped(call, "waiting", Decision("ask"))
        late, book.journal._whole = book.journal._whole, {}  # a batch that is being written, and will fail
        await book.journal.started(call, ALLOW)
        await book.journal.ended(call, "done", result=RESULT)
        book.journal._put_back(late, [], {})
        await book.journal.flush()
        entry = await book.entry(call)
        assert (entry.state, entry.attempts) == ("done", 1)
