"""From ready to gone: changes of the listing, idleness, ends of every kind, and what stays on disk."""

import anyio
import pytest

from toolcrib.errors import ServerStartError

pytestmark = pytest.mark.anyio

RESTS = (0.05, 0.1, 0.2, 0.4)
"""Seconds between two listings that follow on each other, the first two apart."""


async def test_a_promise_of_freshness_that_has_run_out_lists_again_at_the_next_use(stub, open_pool, call):
    async with open_pool(one=stub("ShortTtl")) as opened:
        await call(opened["one"], "change")
        listed = len(opened.listings)
        while len(opened.listings) == listed:
            await call(opened["one"], "other")
        assert "after" in opened.listings[-1].definitions.names


async def test_what_a_server_says_of_itself_is_asked_again_once_its_promise_has_run_out(stub, open_pool, call):
    async with open_pool(one=stub("Discovered")) as opened:
        await opened["one"].ensure()
        assert opened["one"].snapshot.instructions == "Asked 1 times."
        while opened["one"].snapshot.instructions == "Asked 1 times.":
            await opened["one"].relist()
    assert opened["one"].snapshot.instructions == "Asked 2 times."


@pytest.mark.parametrize("mode", ["Changing", "ModernChanging"])
async def test_a_change_of_the_listing_is_taken_over_in_both_eras(stub, open_pool, call, mode):
    server = stub(mode)
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert list(opened["one"].snapshot.definitions.names) == ["change", "before"]
        # At once: what changes before a subscription is there is told to nobody, and yet seen.
        await call(opened["one"], "change")
        await opened.until(lambda: "after" in opened.listings[-1].definitions.names)
        assert list(opened.listings[-1].definitions.names) == ["change", "after"]
        assert list(opened["one"].snapshot.definitions.names) == ["change", "after"]
    assert server.starts == 1


async def test_a_server_that_reports_change_after_change_is_listed_ever_more_seldom(stub, open_pool):
    server = stub("Restless")
    async with open_pool(one=server) as opened:
        with anyio.fail_after(20):
            await opened["one"].ensure()
            await opened.until(lambda: len(opened.listings) >= 6)
    asked = [
        each["at"]
        for each in server.records
        if each["event"] == "received" and each["message"].get("method") == "tools/list"
    ]
    assert [later - earlier > rest for earlier, later, rest in zip(asked[1:], asked[2:], RESTS, strict=False)] == [
        True
    ] * len(RESTS)


async def test_a_server_is_told_of_no_subscription_it_did_not_offer(stub, open_pool, call):
    server = stub("Modern")
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo")
    assert "subscriptions/listen" not in server.methods


async def test_an_idle_server_is_stopped_and_started_again_when_it_is_needed(stub, open_pool, call, alive):
    server = stub("Normal", idle_stop=0.05)
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo")
        await opened.until(lambda: opened["one"].status.state == "dormant")
        assert not alive(server.pid("start"))
        assert opened["one"].status.reason == ""
        await call(opened["one"], "echo")
        assert server.starts == 2


async def test_a_call_under_way_keeps_a_server_from_being_idle(stub, open_pool, call):
    server = stub("SlowProgress", idle_stop=0.05)  # answers after 0.8 s
    async with open_pool(one=server) as opened:
        assert (await call(opened["one"], "echo"))["isError"] is False
    assert server.starts == 1


async def test_a_server_that_is_always_wanted_is_not_stopped_for_idleness(stub, open_pool):
    server = stub("Normal", idle_stop=0.05, start="always")
    idle = stub("Normal", idle_stop=0.15)
    async with open_pool(one=server, other=idle) as opened:
        await opened["one"].ensure()
        await opened["other"].ensure()
        await opened.until(lambda: opened["other"].status.state == "dormant")
        assert opened["one"].status.state == "ready"


async def test_calls_that_come_while_an_idle_server_stops_are_answered_by_a_new_one(stub, open_pool, call):
    server = stub("SlowToExit", idle_stop=0.05)  # a moment passes between the stop and the end
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo")
        await opened.until(lambda: server.records[-1]["event"] == "end of input" or not opened["one"].running)
        assert (await call(opened["one"], "echo"))["isError"] is False
    assert server.starts == 2


async def test_stopping_ends_whole_process_trees_and_lets_the_polite_clear_up(stub, open_pool, alive):
    slow, stubborn, parent = stub("SlowToExit"), stub("IgnoresSigterm"), stub("Grandchild")
    async with open_pool(slow=slow, stubborn=stubborn, parent=parent) as opened:
        for name in ("slow", "stubborn", "parent"):
            await opened[name].ensure()
        assert alive(parent.pid("grandchild"))
    assert slow.records[-1]["event"] == "cleared up"
    assert not alive(slow.pid("start"))
    assert not alive(stubborn.pid("start"))
    assert not alive(parent.pid("start"))
    assert not alive(parent.pid("grandchild"))


async def test_a_server_that_dies_by_itself_takes_its_descendants_along(stub, open_pool, call, alive):
    server = stub("Grandchild")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert alive(server.pid("grandchild"))
        with pytest.raises(Exception, match="ended its connection"):
            await call(opened["one"], "echo")
        await opened["one"].stop()
        assert not alive(server.pid("grandchild"))


async def test_a_server_that_ends_on_its_own_says_how_and_is_started_again_when_it_is_needed(stub, open_pool, call):
    server = stub("ExitsLater")
    async with open_pool(one=server) as opened:
        await call(opened["one"], "leave")
        await opened.until(lambda: opened["one"].status.state == "failed")
        status = opened["one"].status
        assert status.reason == "one ended on its own (exit code 9)."
        assert status.output == ("leaving now",)
        assert (await call(opened["one"], "echo"))["isError"] is False
        assert (opened["one"].status.state, opened["one"].status.output) == ("ready", ())


async def test_stopping_a_server_that_starts_ends_the_start_at_once(stub, open_pool, alive):
    server = stub("Mute", start_timeout=60)

    async def start():
        with pytest.raises(ServerStartError, match="one was stopped while it started"):
            await opened["one"].ensure()

    async with open_pool(one=server) as opened, anyio.create_task_group() as tasks:
        tasks.start_soon(start)
        await opened.until(lambda: opened["one"].status.state == "starting")
        while not server.starts:
            await anyio.lowlevel.checkpoint()
        with anyio.fail_after(15):
            await opened["one"].stop()
        assert opened["one"].status.state == "dormant"
        assert not alive(server.pid("start"))


async def test_states_are_reported_in_order(stub, open_pool):
    async with open_pool(one=stub("Normal")) as opened:
        await opened["one"].ensure()
        await opened["one"].stop()
        await opened["one"].stop()
    assert [status.state for status in opened.states] == ["starting", "ready", "dormant"]
    assert [status.pid is None for status in opened.states] == [True, False, True]


async def test_what_a_server_listed_is_known_later_without_starting_it(stub, open_pool):
    server = stub("Strange")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        listed = opened["one"].snapshot.definitions.read(0)
    async with open_pool(one=server) as opened:
        status = opened["one"].status
        assert (status.state, status.tools, status.era) == ("dormant", 1, "handshake")
        assert opened["one"].snapshot.definitions.read(0) == listed
    assert server.starts == 1


async def test_a_changed_configuration_is_another_server_to_the_snapshots(stub, open_pool):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
    server.entry["env"] = {"OTHER": "1"}
    async with open_pool(one=server) as opened:
        assert opened["one"].status.tools is None


@pytest.mark.parametrize("damage", [b"", b"{", b"\x00\xff", b"[]", b'{"format": 1}'])
async def test_a_damaged_snapshot_is_as_good_as_none_and_is_replaced(stub, open_pool, tmp_path, damage):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
    [header] = (tmp_path / "snapshots").glob("*.json")
    header.write_bytes(damage)
    async with open_pool(one=server) as opened:
        assert opened["one"].status.tools is None
        await opened["one"].ensure()
    async with open_pool(one=server) as opened:
        assert opened["one"].status.tools == 1


async def test_definitions_cut_short_on_disk_are_as_good_as_none(stub, open_pool, tmp_path):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
    [lines] = (tmp_path / "snapshots").glob("*.tools")
    lines.write_bytes(lines.read_bytes()[:-5])
    async with open_pool(one=server) as opened:
        assert opened["one"].status.tools is None


async def test_a_snapshot_folder_that_cannot_be_written_costs_nothing_now(stub, open_pool, call, tmp_path):
    (tmp_path / "snapshots").write_text("in the way")
    async with open_pool(one=stub("Normal")) as opened:
        assert (await call(opened["one"], "echo"))["isError"] is False
        assert opened["one"].status.tools == 1
