"""Calls that go wrong in every way a server can think of, and what its caller and the server are told."""

import os
import signal
import sys

import anyio
import pytest

from toolcrib.catalog import RequestContext
from toolcrib.errors import CallTimeoutError, ProtocolError, ServerError, UnknownOutcomeError
from toolcrib.servers.progress import MOST_AT_ONCE, PER_SECOND

pytestmark = pytest.mark.anyio

HANG = {"name": "hang", "arguments": {}}


async def test_a_crash_in_mid_call_leaves_its_outcome_unknown_and_the_next_call_starts_the_server_again(
    stub, open_pool, call
):
    server = stub("CrashInCall", protocol="legacy")
    async with open_pool(one=server) as opened:
        for starts in (1, 2):
            with pytest.raises(UnknownOutcomeError, match="one ended its connection while tools/call was under way"):
                await call(opened["one"], "echo")
            await opened.until(lambda: opened["one"].status.state == "failed")
            assert opened["one"].status.reason == "one ended on its own (exit code 7)."
            assert opened["one"].status.output == ("fatal: out of paper",)
            assert server.starts == starts


async def test_all_calls_under_way_learn_of_a_crash(stub, open_pool, call):
    failures = []

    async def one(name):
        with pytest.raises(UnknownOutcomeError) as caught:
            await call(opened["one"], name)
        failures.append(caught.value)

    async with open_pool(one=stub("HangOrCrash")) as opened:
        await opened["one"].ensure()
        async with anyio.create_task_group() as calls:
            for name in ("hang", "hang", "crash"):
                calls.start_soon(one, name)
    assert len(failures) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
async def test_calls_that_were_never_taken_by_a_dead_server_are_made_of_a_new_one(stub, open_pool, call, alive):
    server = stub("Normal")
    ends = []

    async def one(number):
        try:
            result = await call(opened["one"], "echo", {"n": number})
        except UnknownOutcomeError as error:
            ends.append(error.code)
        else:
            ends.append(result["structuredContent"]["arguments"]["n"])

    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        os.kill(server.pid("start"), signal.SIGKILL)
        while alive(server.pid("start")):
            pass  # without the loop, so that nobody has noticed when the calls are made
        async with anyio.create_task_group() as calls:
            for number in range(20):
                calls.start_soon(one, number)
    assert server.starts == 2
    # One was on its way to the server when that was found dead.
    assert ends.count("outcome_unknown") <= 1
    assert len(set(ends)) == len(ends) == 20


async def test_a_server_that_ends_as_soon_as_it_has_listed_is_not_started_again_and_again_for_one_call(
    stub, open_pool, call
):
    server = stub("CrashAfterList", protocol="legacy")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()  # as the broker does
        with pytest.raises(ServerError):
            await call(opened["one"], "echo")
    assert server.starts <= 2


async def test_a_server_that_answers_between_its_crashes_is_never_left_alone(stub, open_pool, call):
    server = stub("ExitsLater", protocol="legacy")
    async with open_pool(one=server) as opened:
        for _ in range(5):
            await call(opened["one"], "echo")
            await call(opened["one"], "leave")
            await opened.until(lambda: not opened["one"].running)
            assert opened["one"].status.state == "failed"
    assert server.starts == 5


async def test_half_a_line_and_then_nothing_is_an_unknown_outcome(stub, open_pool, call):
    async with open_pool(one=stub("HalfLine")) as opened:
        with pytest.raises(UnknownOutcomeError):
            await call(opened["one"], "echo")


@pytest.mark.parametrize("mode", ["ClosesInput", "Wrapper"])
async def test_a_call_learns_soon_that_nobody_reads_though_the_output_stays_open(stub, open_pool, call, alive, mode):
    server = stub(mode)
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        with anyio.fail_after(10), pytest.raises(UnknownOutcomeError, match="one ended its connection"):
            await call(opened["one"], "echo")  # with a limit of 60 s
        await opened.until(lambda: opened["one"].status.state == "failed")
        assert not alive(server.pid("start"))


async def test_a_call_that_hangs_is_given_up_and_cancelled_at_the_server(stub, open_pool, call):
    server = stub("HangInCall", timeout=0.2)
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        with pytest.raises(CallTimeoutError, match=r"one did not answer tools/call within 0\.2 s") as caught:
            await call(opened["one"], "hang")
        assert "timeout" in caught.value.hint
        # The same connection goes on; what it answers next, it read after the cancellation.
        params = {"name": "echo", "arguments": {}}
        result = await opened["one"].request("tools/call", params, RequestContext(timeout=20))
        assert result["structuredContent"]["name"] == "echo"
    assert server.starts == 1
    assert_cancelled(server)


async def test_a_caller_that_gives_up_cancels_its_call_at_the_server(stub, open_pool, call):
    server = stub("HangInCall")
    async with open_pool(one=server) as opened, anyio.create_task_group() as calls:
        await opened["one"].ensure()
        await call(opened["one"], "echo")
        calls.start_soon(call, opened["one"], "hang")
        await anyio.wait_all_tasks_blocked()
        calls.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await call(opened["one"], "echo")
    assert_cancelled(server)


def assert_cancelled(server):
    """Specification, basic/utilities/cancellation: the notification names the request by its id."""
    [hung] = [each for each in server.received if each.get("params", {}).get("name") == "hang"]
    [cancelled] = [each for each in server.received if each.get("method") == "notifications/cancelled"]
    assert cancelled["params"]["requestId"] == hung["id"]


async def test_a_call_that_hangs_holds_up_no_other(stub, open_pool, call):
    async with open_pool(one=stub("HangInCall")) as opened, anyio.create_task_group() as calls:
        calls.start_soon(call, opened["one"], "hang")
        for number in range(3):
            result = await call(opened["one"], "echo", {"n": number})
            assert result["structuredContent"]["arguments"] == {"n": number}
        calls.cancel_scope.cancel()


async def test_a_limit_given_with_a_request_wins_over_the_configured_one(stub, open_pool):
    async with open_pool(one=stub("HangInCall")) as opened:
        with pytest.raises(CallTimeoutError, match=r"within 0\.1 s"):
            await opened["one"].request("tools/call", HANG, RequestContext(timeout=0.1))


async def test_progress_is_reported_in_order_when_it_was_asked_for(stub, open_pool):
    server = stub("Progress")
    seen = []

    async def report(progress, total, message):
        seen.append((progress, total, message))

    async with open_pool(one=server) as opened:
        params = {"name": "echo", "arguments": {}}
        await opened["one"].request("tools/call", params, RequestContext(on_progress=report))
        assert seen == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
        await opened["one"].request("tools/call", params)
    assert "progressToken" not in server.received[-1]["params"].get("_meta", {})
    assert len(seen) == 3


async def test_each_progress_report_gives_a_call_its_time_anew(stub, open_pool):
    # Nine reports, each after 0.2 s: 1.8 s in all, with a limit of 1.7 s, which no single one takes on a busy machine.
    server = stub("SlowProgress")
    params = {"name": "echo", "arguments": {"steps": 9}}

    async def report(progress, total, message):
        pass

    async with open_pool(one=server) as opened:
        result = await opened["one"].request("tools/call", params, RequestContext(timeout=1.7, on_progress=report))
    assert result["structuredContent"]["name"] == "echo"


async def test_an_error_of_the_protocol_keeps_its_code_text_and_data(stub, open_pool, call):
    async with open_pool(one=stub("Refuses")) as opened:
        with pytest.raises(ProtocolError) as caught:
            await call(opened["one"], "echo")
        # -32000 is also the SDK's own code of a closed connection; this one the server sent.
        assert caught.value.rpc_code == -32000
        assert caught.value.rpc_message == "no such row"
        assert caught.value.data == {"row": 7, "table": None}
        assert opened["one"].status.state == "ready"


async def test_a_server_that_asks_for_what_was_never_declared_is_refused_and_answered(stub, open_pool, call):
    server = stub("Asks")
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo")
        await call(opened["one"], "echo")
    [initialize] = [each for each in server.received if each.get("method") == "initialize"]
    assert initialize["params"]["capabilities"] == {}
    answers = {each["id"]: each for each in server.received if "method" not in each}
    refused = {key: answers[key]["error"]["code"] for key in ("ask-1", "ask-2", "ask-3", "ask-4")}
    # -32600 is the SDK's answer for a capability that was not declared, -32601 that for an unknown method.
    assert refused == {"ask-1": -32600, "ask-2": -32600, "ask-3": -32600, "ask-4": -32601}
    assert answers["ask-5"]["result"] == {}


@pytest.mark.parametrize("name", ["null", "list", "text", "uncoded", "digits"])
async def test_an_answer_that_the_protocol_does_not_know_is_told_at_once(stub, open_pool, call, name):
    async with open_pool(one=stub("Malformed")) as opened:
        with anyio.fail_after(20), pytest.raises(ProtocolError, match="neither a result nor an error"):
            await call(opened["one"], name)


async def test_a_server_that_floods_with_notifications_is_heard_at_a_bearable_rate_and_holds_up_no_other(
    stub, open_pool, call
):
    seen, beside = [], []

    async def report(progress, total, message):
        seen.append(progress)

    async def others():
        while True:
            await call(opened["other"], "echo")
            beside.append(len(seen))

    async with open_pool(one=stub("Flood"), other=stub("Normal")) as opened:
        await opened["one"].ensure()
        begin = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(others)
            params = {"name": "flood", "arguments": {"reports": 10_000}}
            await opened["one"].request("tools/call", params, RequestContext(on_progress=report))
            tasks.cancel_scope.cancel()
        seconds = anyio.current_time() - begin
    assert seen == sorted(set(seen))
    assert (seen[0], seen[-1]) == (1, 10_000)
    assert len(seen) <= MOST_AT_ONCE + PER_SECOND * seconds + 2
    assert len(beside) > 50
