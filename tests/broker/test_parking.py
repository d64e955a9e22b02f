"""Parked calls: sealed tokens, one dispatch, and an end in time."""

from typing import Any

import anyio
import pytest

from toolcrib.broker import Call, Caller, Options, Outcome, Parking, Principal, UnknownTokenError
from toolcrib.broker.parking import KEPT, MOST_PARKED
from toolcrib.errors import DeniedError, UnknownOutcomeError

pytestmark = pytest.mark.anyio

ASKED = "0" * 32


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_call(caller: Caller | None = None) -> Call:
    return Call("tools/call", "s.t", "s", {"name": "t", "arguments": {}}, caller or Caller(), None, "write")


async def done(options: Options) -> Outcome:
    return Outcome("result", {"content": []}, a_call())


def test_a_token_opens_until_its_time_is_over() -> None:
    clock = Clock()
    parking = Parking(clock)
    parked = parking.add(a_call(), ASKED, done, 60.0)
    token = parking.token(parked)
    clock.now += 60.0 + KEPT - 1
    assert parking.opened(token, Caller(), ASKED) is parked
    clock.now += 1
    with pytest.raises(UnknownTokenError):
        parking.opened(token, Caller(), ASKED)


@pytest.mark.parametrize(("caller", "asked"), [(Caller(Principal("eve")), ASKED), (Caller(), "1" * 32), (Caller(), "")])
def test_a_token_opens_for_its_principal_and_its_request_alone(caller: Caller, asked: str) -> None:
    parking = Parking()
    token = parking.token(parking.add(a_call(), ASKED, done, 60.0))
    with pytest.raises(UnknownTokenError):
        parking.opened(token, caller, asked)


def test_no_character_of_a_token_can_be_changed() -> None:
    parking = Parking()
    token = parking.token(parking.add(a_call(), ASKED, done, 60.0))
    for place, character in enumerate(token):
        altered = token[:place] + ("A" if character != "A" else "B") + token[place + 1 :]
        with pytest.raises(UnknownTokenError):
            parking.opened(altered, Caller(), ASKED)


def test_tokens_of_another_process_do_not_open() -> None:
    one, other = Parking(), Parking()
    parked = one.add(a_call(), ASKED, done, 60.0)
    twin = other.add(parked.call, ASKED, done, 60.0)
    twin.id, twin.expires_at = parked.id, parked.expires_at
    other._lots[parked.id] = twin
    with pytest.raises(UnknownTokenError):
        other.opened(one.token(parked), Caller(), ASKED)


async def test_progress_reaches_who_is_there_and_a_broken_listener_ends_nothing() -> None:
    seen: list[float] = []

    async def send(options: Options) -> Outcome:
        assert options.on_progress is not None
        await options.on_progress(1, 2, None)
        return await done(options)

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)
        raise ConnectionResetError

    async with anyio.create_task_group() as tasks:
        parking = Parking()
        parking.start(tasks)
        parked = parking.add(a_call(), ASKED, send, 60.0)
        assert (await parking.go_on(parked, Options(on_progress=listen))).kind == "result"
        tasks.cancel_scope.cancel()
    assert seen == [1]


async def test_all_who_wait_get_the_error() -> None:
    async def send(options: Options) -> Outcome:
        raise DeniedError("no")

    errors: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        parking = Parking()
        parking.start(tasks)
        parked = parking.add(a_call(), ASKED, send, 60.0)

        async def wait() -> None:
            with pytest.raises(DeniedError) as caught:
                await parking.go_on(parked, Options())
            errors.append(caught.value)

        async with anyio.create_task_group() as waiters:
            waiters.start_soon(wait)
            waiters.start_soon(wait)
        tasks.cancel_scope.cancel()
    assert len(errors) == 2


async def test_who_waits_when_all_is_closed_is_told_that_nobody_knows() -> None:
    entered = anyio.Event()

    async def send(options: Options) -> Outcome:
        entered.set()
        await anyio.sleep_forever()
        raise AssertionError

    caught: list[Any] = []
    async with anyio.create_task_group() as outer, anyio.create_task_group() as tasks:
        parking = Parking()
        parking.start(tasks)
        parked = parking.add(a_call(), ASKED, send, 60.0)

        async def wait() -> None:
            with pytest.raises(UnknownOutcomeError) as error:
                await parking.go_on(parked, Options())
            caught.append(error.value)

        outer.start_soon(wait)
        await entered.wait()
        tasks.cancel_scope.cancel()
    assert "was closed" in str(caught[0])


async def test_what_nobody_comes_back_to_is_told_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    told = anyio.Event()

    async def expired(parked: Any) -> None:
        told.set()

    async def slept(seconds: float) -> None:
        clock.now += seconds
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr("toolcrib.broker.parking.anyio.sleep", slept)
    async with anyio.create_task_group() as tasks:
        parking = Parking(clock)
        parking.on_expired = expired
        parking.start(tasks)
        parked = parking.add(a_call(), ASKED, done, 60.0)
        token = parking.token(parked)
        with anyio.fail_after(20):
            await told.wait()
    with pytest.raises(UnknownTokenError):
        parking.opened(token, Caller(), ASKED)


async def test_no_more_than_a_bound_of_calls_wait_and_told_ones_make_room() -> None:
    parking = Parking()
    lots = [parking.add(a_call(), ASKED, done, 60.0) for _ in range(MOST_PARKED)]
    with pytest.raises(DeniedError, match="waiting already"):
        parking.add(a_call(), ASKED, done, 60.0)
    parking.add(a_call(Caller(Principal("eve"))), ASKED, done, 60.0)  # those of others are not in the way
    await parking.go_on(lots[7], Options())
    parking.add(a_call(), ASKED, done, 60.0)
