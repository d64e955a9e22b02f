"""A failing server is left alone for longer and longer, and tried once after each pause."""

import pytest

from toolcrib.servers.breaker import FREE_FAILURES, LONGEST_PAUSE, Breaker


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def breaker(chance: float = 0.5) -> tuple[Breaker, Clock]:
    clock = Clock()
    return Breaker(clock, lambda: chance), clock


def test_the_first_failures_cost_no_pause_and_then_pauses_double() -> None:
    each, clock = breaker()
    pauses: list[float] = []
    for _ in range(6):
        each.failed()
        pauses.append(each.pause)
        clock.now += each.pause
    assert FREE_FAILURES == 2
    assert pauses == [0, 0, 1, 2, 4, 8]


def test_a_pause_runs_out_and_one_success_forgets_everything() -> None:
    each, clock = breaker()
    for _ in range(4):
        each.failed()
    clock.now += 1.5
    assert each.pause == pytest.approx(0.5)
    clock.now += 0.5
    assert each.pause == 0
    each.reset()
    each.failed()
    assert each.pause == 0


@pytest.mark.parametrize(("chance", "longest"), [(0.0, LONGEST_PAUSE * 0.5), (1.0, LONGEST_PAUSE * 1.5)])
def test_pauses_are_bounded_and_spread(chance: float, longest: float) -> None:
    each, _ = breaker(chance)
    for _ in range(200):
        each.failed()
    assert each.pause == longest


@pytest.mark.anyio
async def test_a_server_that_fails_again_and_again_is_started_no_more(stub, open_pool) -> None:
    from toolcrib.errors import ServerStartError

    server = stub("CrashOnStart", protocol="legacy")
    async with open_pool(one=server) as opened:
        for _ in range(FREE_FAILURES + 1):
            with pytest.raises(ServerStartError):
                await opened["one"].ensure()
        tried = server.starts
        assert tried == FREE_FAILURES + 1
        assert opened["one"].status.state == "backing_off"
        with pytest.raises(ServerStartError, match="left alone for"):
            await opened["one"].ensure()
        assert server.starts == tried
        opened["one"].forgive()
        with pytest.raises(ServerStartError):
            await opened["one"].ensure()
        assert server.starts == tried + 1
