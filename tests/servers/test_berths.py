"""Only so many servers run at once: the one used least recently makes room, and none with a request under way."""

import anyio
import pytest

pytestmark = pytest.mark.anyio


def running(opened, names):
    return [name for name in names if opened[name].status.state in {"ready", "idle"}]


async def test_one_more_server_stops_the_one_used_least_recently(stub, open_pool, call):
    names = ["a", "b", "c"]
    async with open_pool({"max_running": 2}, **{name: stub("Normal") for name in names}) as opened:
        for name in ("a", "b", "a", "c"):
            await call(opened[name], "echo")
        assert running(opened, names) == ["a", "c"]
        await call(opened["b"], "echo")
        assert running(opened, names) == ["b", "c"]


async def test_many_servers_at_once_are_all_served_by_few_processes(stub, open_pool, call):
    names = [f"s{number}" for number in range(8)]
    most = 0
    async with open_pool({"max_running": 3}, **{name: stub("Normal") for name in names}) as opened:

        async def one(name):
            nonlocal most
            assert (await call(opened[name], "echo"))["isError"] is False
            most = max(most, sum(opened[each].status.pid is not None for each in names))

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)
    assert most <= 3


async def test_a_server_with_a_request_under_way_is_not_stopped(stub, open_pool, call):
    async with open_pool({"max_running": 1}, slow=stub("HangInCall"), other=stub("Normal")) as opened:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, opened["slow"], "hang")
            await opened.until(lambda: opened["slow"].status.state == "ready")
            tasks.start_soon(call, opened["other"], "echo")
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            assert opened["slow"].status.state == "ready"
            assert opened["other"].status.state == "starting"
            tasks.cancel_scope.cancel()
        assert (await call(opened["other"], "echo"))["isError"] is False
        assert running(opened, ["slow", "other"]) == ["other"]


async def test_servers_that_are_always_to_run_take_no_room(stub, open_pool, call):
    always = stub("Normal", start="always")
    async with open_pool({"max_running": 1}, always=always, other=stub("Normal")) as opened:
        await call(opened["always"], "echo")
        await call(opened["other"], "echo")
        assert running(opened, ["always", "other"]) == ["always", "other"]
