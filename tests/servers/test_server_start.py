"""Starting: once for all who wait, within its time, and a failure that says why and stays its server's own."""

import itertools
import os
import sys
import tracemalloc
from pathlib import Path

import anyio
import pytest

from toolcrib.errors import ProtocolError, ServerError, ServerStartError

pytestmark = pytest.mark.anyio


async def test_nothing_starts_before_it_is_needed(stub, open_pool):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        assert opened["one"].status.state == "dormant"
    assert server.starts == 0


async def test_fifty_waiters_share_one_start(stub, open_pool, call):
    server = stub("Normal")
    answers = []

    async def one(number):
        answers.append(await call(opened["one"], "echo", {"n": number}))

    async with open_pool(one=server) as opened:
        async with anyio.create_task_group() as waiters:
            for number in range(50):
                waiters.start_soon(one, number)
        assert opened["one"].status.state == "ready"
    assert server.starts == 1
    assert server.methods.count("tools/list") == 1
    assert sorted(answer["structuredContent"]["arguments"]["n"] for answer in answers) == list(range(50))


async def test_fifty_waiters_of_a_failing_start_each_get_its_error(stub, open_pool):
    server = stub("SilentExit", protocol="legacy")
    errors = []

    async def one():
        with pytest.raises(ServerStartError) as caught:
            await opened["one"].ensure()
        errors.append(caught.value)

    async with open_pool(one=server) as opened, anyio.create_task_group() as waiters:
        for _ in range(50):
            waiters.start_soon(one)
    assert len({id(error) for error in errors}) == 50
    assert server.starts == 1


async def test_a_waiter_that_gives_up_does_not_end_the_start_for_the_others(stub, open_pool):
    server = stub("Normal")
    async with open_pool(one=server) as opened, anyio.create_task_group() as waiters:
        with anyio.CancelScope() as hasty:
            waiters.start_soon(opened["one"].ensure)
            hasty.cancel()
            await opened["one"].ensure()
    assert server.starts == 1
    assert opened["one"].status.tools == 1


@pytest.mark.parametrize("protocol", ["auto", "legacy", "modern"])
async def test_a_server_that_never_answers_is_given_up_and_ended(stub, open_pool, alive, protocol):
    server = stub("Mute", start_timeout=1.0, protocol=protocol)
    async with open_pool(one=server) as opened:
        with pytest.raises(ServerStartError, match=r"one did not answer within 1 s of its start") as caught:
            await opened["one"].ensure()
        assert "start_timeout" in caught.value.hint
        assert opened["one"].status.state == "failed"
        assert not alive(server.pid("start"))


async def test_a_server_that_hangs_in_its_listing_is_given_up_too(stub, open_pool):
    server = stub("HangInList", start_timeout=0.4)
    async with open_pool(one=server) as opened:
        with pytest.raises(ServerStartError, match="did not answer"):
            await opened["one"].ensure()


async def test_a_start_that_dies_tells_the_exit_code_and_the_first_and_last_lines(stub, open_pool):
    async with open_pool(one=stub("CrashOnStart")) as opened:
        with pytest.raises(ServerStartError) as caught:
            await opened["one"].ensure()
        status = opened["one"].status
    assert caught.value.message == "one ended before it answered (exit code 3)."
    assert "line 40 of the traceback" in caught.value.hint
    assert status.state == "failed"
    assert "exit code 3" in status.reason
    # The first five lines and the last fifteen of forty.
    assert status.output[:6] == (
        *(f"line {number} of the traceback" for number in range(1, 6)),
        "… 20 more lines …",
    )
    assert status.output[6:] == tuple(f"line {number} of the traceback" for number in range(26, 41))


async def test_a_failure_is_remembered_by_later_runs_until_the_server_works_again(stub, open_pool, tmp_path):
    program = tmp_path / "server.py"
    entry = {"command": sys.executable, "args": ["-S", str(program)]}
    async with open_pool(one=entry) as opened:
        with pytest.raises(ServerStartError):
            await opened["one"].ensure()
        failed = opened["one"].status
    async with open_pool(one=entry) as opened:
        assert opened["one"].status == failed
        assert not opened["one"].running
        [stub_file, mode] = stub("Normal").entry["args"][1:3]
        lines = [
            f"import runpy, sys; sys.argv = {[stub_file, mode]!r}",
            f"sys.path.insert(0, {str(Path(stub_file).parent)!r})",
            f"runpy.run_path({stub_file!r}, run_name='__main__')",
        ]
        program.write_text("\n".join(lines))
        await opened["one"].ensure()
    async with open_pool(one=entry) as opened:
        assert (opened["one"].status.state, opened["one"].status.reason) == ("dormant", "")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"state": "ready", "reason": "", "output": []}'])
async def test_a_damaged_record_of_a_failure_is_none(stub, open_pool, tmp_path, content):
    server = stub("CrashOnStart")
    async with open_pool(one=server) as opened:
        with pytest.raises(ServerStartError):
            await opened["one"].ensure()
    [stored] = (tmp_path / "snapshots").glob("*.failed")
    stored.write_text(content)
    async with open_pool(one=server) as opened:
        assert opened["one"].status.state == "dormant"


async def test_a_start_that_dies_without_a_word_tells_the_exit_code(stub, open_pool):
    async with open_pool(one=stub("SilentExit")) as opened:
        with pytest.raises(ServerStartError, match=r"one ended before it answered \(exit code 4\)\."):
            await opened["one"].ensure()
        assert opened["one"].status.output == ()


async def test_the_next_need_tries_a_failed_server_again(stub, open_pool):
    server = stub("SilentExit", protocol="legacy")
    async with open_pool(one=server) as opened:
        for _ in range(2):
            with pytest.raises(ServerStartError):
                await opened["one"].ensure()
    assert server.starts == 2


async def test_one_server_that_fails_touches_no_other(stub, open_pool, call):
    async with open_pool(bad=stub("CrashOnStart"), mute=stub("Mute", start_timeout=0.4), good=stub("Normal")) as opened:
        failed = []

        async def fail(name):
            with pytest.raises(ServerStartError) as caught:
                await opened[name].ensure()
            failed.append(caught.value.server)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail, "bad")
            tasks.start_soon(fail, "mute")
            assert (await call(opened["good"], "echo"))["structuredContent"]["name"] == "echo"
        assert (await call(opened["good"], "echo"))["isError"] is False
        assert sorted(failed) == ["bad", "mute"]
        assert [opened[name].status.state for name in ("bad", "mute", "good")] == ["failed", "failed", "ready"]


async def test_starts_are_bounded_in_number(stub, open_pool):
    """Each begins when the one before has listed its tools."""
    named = {f"s{number}": stub("Normal", protocol="legacy") for number in range(3)}

    async with open_pool({"max_parallel_starts": 1}, **named) as opened, anyio.create_task_group() as tasks:
        for name in named:
            tasks.start_soon(opened[name].ensure)
    spans = sorted(
        (server.records[0]["at"], each["at"])
        for server in named.values()
        for each in server.records
        if each.get("message", {}).get("method") == "tools/list"
    )
    assert len(spans) == 3
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(spans))


@pytest.mark.parametrize(
    ("entry", "says", "hint"),
    [
        ({"command": "no-such-command-here"}, "The command of one was not found: no-such-command-here", "Install"),
        ({"command": "/etc/hostname"}, "The command of one can't be started: /etc/hostname", "command"),
        ({"command": sys.executable, "cwd": "/no/such/folder"}, "working directory of one does not exist", "cwd"),
        ({"command": "${TOOLCRIB_NO_SUCH_VARIABLE}"}, "TOOLCRIB_NO_SUCH_VARIABLE", ""),
    ],
)
async def test_what_cannot_be_started_says_why(open_pool, entry, says, hint):
    async with open_pool(one=entry) as opened:
        with pytest.raises(ServerStartError) as caught:
            await opened["one"].ensure()
        assert says in caught.value.message
        assert hint in caught.value.hint
        assert opened["one"].status.state == "failed"


async def test_a_disabled_server_is_never_started(stub, open_pool):
    server = stub("Normal")
    async with open_pool(one={**server.entry, "disabled": True}) as opened:
        with pytest.raises(ServerError, match="Server one is disabled"):
            await opened["one"].ensure()
        assert opened["one"].status.state == "disabled"
    assert server.starts == 0


async def test_a_child_sees_the_safe_environment_its_own_and_the_marker(stub, open_pool, call, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_PARENT", "s3cret")
    server = stub("Surroundings")
    server.entry["env"] = {"ITS_OWN": "1"}
    async with open_pool(one=server) as opened:
        seen = (await call(opened["one"], "echo"))["structuredContent"]["env"]
    # What the SDK inherits on POSIX (`mcp.client.stdio.DEFAULT_INHERITED_ENV_VARS`); LC_CTYPE is Python's own
    # doing in a child without a locale.
    safe = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
    assert seen.keys() - {"LC_CTYPE"} == (safe & os.environ.keys()) | {"ITS_OWN", "TOOLCRIB_INSTANCE"}
    assert (seen["ITS_OWN"], seen["TOOLCRIB_INSTANCE"]) == ("1", "an-instance")


async def test_a_child_runs_where_it_is_told_to_and_leads_its_own_process_group(stub, open_pool, call, tmp_path):
    server = stub("Surroundings")
    server.entry["cwd"] = str(tmp_path)
    async with open_pool(one=server) as opened:
        seen = (await call(opened["one"], "echo"))["structuredContent"]
        assert opened["one"].status.pid == seen["pid"]
    assert seen["cwd"] == str(tmp_path.resolve())
    assert seen["group"] == seen["pid"]


async def test_a_server_that_floods_standard_error_is_not_held_up(stub, open_pool, call):
    async with open_pool(one=stub("Talkative")) as opened:
        assert (await call(opened["one"], "echo"))["isError"] is False


async def test_a_line_without_end_on_standard_error_takes_no_memory(stub, open_pool, call):
    async with open_pool(one=stub("LineWithoutEnd")) as opened:
        await opened["one"].ensure()
        tracemalloc.start()
        try:
            assert (await call(opened["one"], "echo"))["isError"] is False
            assert tracemalloc.get_traced_memory()[1] < 10_000_000  # of 100 MB written
        finally:
            tracemalloc.stop()


async def test_a_listing_that_the_server_refuses_fails_its_start_with_its_words(stub, open_pool):
    async with open_pool(one=stub("ListError")) as opened:
        with pytest.raises(ServerStartError, match="one can't list its tools: the database is away"):
            await opened["one"].ensure()


async def test_a_server_that_claims_no_tools_is_not_asked_for_any(stub, open_pool):
    server = stub("NoTools")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert opened["one"].status.tools == 0
        with pytest.raises(ProtocolError) as caught:
            await opened["one"].list("prompts/list")
        assert caught.value.rpc_code == -32601
        assert opened["one"].status.state == "ready"
    assert "tools/list" not in server.methods
