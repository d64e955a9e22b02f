"""What the user does with servers through a crib: starting and stopping, switching, what is told of them alone."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.errors import UnknownToolError, UsageError
from toolcrib.events import ServerStateChanged
from toolcrib.tokens import count_tokens

pytestmark = pytest.mark.anyio

STUB = str(Path(__file__).resolve().parent.parent / "stubs" / "misbehave.py")
LEAKY = str(Path(STUB).with_name("leaky.py"))


def entry(mode: str = "Normal", **options: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", STUB, mode], "toolcrib": options}


def config(**servers: Any) -> dict[str, Any]:
    return {"mcpServers": servers, "toolcrib": {"first_listing_wait": 60}}


def state(crib: Crib, server: str) -> str:
    return next(each.state for each in crib.servers if each.id == server)


async def until(crib: Crib, is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(30), crib.events.subscribe() as events:
        while not is_so():
            assert isinstance(await anext(events), object)


async def test_a_server_that_is_stopped_is_started_by_the_next_need(tmp_path: Path) -> None:
    async with Crib.open(config(one=entry(), other=entry()), state_dir=tmp_path) as crib:
        [before] = await crib.refresh("one")
        assert (before.state, before.tools) == ("ready", 1)
        assert before.pid is not None
        stopped = await crib.stop("one")
        assert (stopped.state, stopped.pid, stopped.connections) == ("dormant", None, 0)
        with pytest.raises(ProcessLookupError):
            os.kill(before.pid, 0)
        assert (await crib.stop("other")).state == "dormant"  # it never ran
        await crib.call("one.echo", {"text": "x"})
        assert state(crib, "one") == "ready"
        with pytest.raises(UsageError, match="There is no server 'two'"):
            await crib.stop("two")


async def test_what_is_always_to_run_stays_stopped_and_runs_on_once_it_is_started_again(tmp_path: Path) -> None:
    async with Crib.open(config(one=entry(start="always")), state_dir=tmp_path) as crib:
        await until(crib, lambda: state(crib, "one") == "ready")
        await crib.stop("one")
        with anyio.move_on_after(0.8), crib.events.subscribe() as events:  # it would be back after half a second
            async for event in events:
                assert not isinstance(event, ServerStateChanged), event
        [started] = await crib.refresh("one")
        assert started.pid is not None
        os.kill(started.pid, signal.SIGKILL)
        await until(crib, lambda: crib.servers[0].pid not in {None, started.pid})
        await crib.switch("one", on=False)
        await until(crib, lambda: state(crib, "one") == "disabled")
        await crib.switch("one", on=True)
        await until(crib, lambda: state(crib, "one") == "ready")


async def test_a_switch_holds_for_all_cribs_of_the_folder_and_leaves_the_configuration_alone(tmp_path: Path) -> None:
    servers = config(one=entry(), off={**entry(), "disabled": True}, late=entry(start="on_request"))
    async with Crib.open(servers, state_dir=tmp_path) as here, Crib.open(servers, state_dir=tmp_path) as there:
        await here.refresh("one")
        assert (await here.switch("one", on=False)).id == "one"
        await until(here, lambda: state(here, "one") == "disabled")
        assert "one.echo" not in here.registry
        with pytest.raises(UnknownToolError):
            await there.call("one.echo", {"text": "x"})
        assert [there.is_off(each) for each in ("one", "off", "late")] == [True, True, True]
        for each in ("one", "off", "late"):
            assert (await here.switch(each, on=True)).state == "dormant"
        assert [here.is_off(each) for each in ("one", "off", "late")] == [False, False, False]
        await there.call("one.echo", {"text": "x"})
        await there.call("late.echo", {"text": "x"})
    # Only what the configuration does not say is kept: `one` is on there.
    kept = json.loads((tmp_path / "switches.json").read_text())["servers"]
    assert sorted((name.rpartition("#")[2], on) for name, on in kept.items()) == [("late", True), ("off", True)]


async def test_what_a_server_writes_is_told_while_it_runs_and_afterwards_without_secrets(tmp_path: Path) -> None:
    running = {"command": sys.executable, "args": ["-S", LEAKY], "env": {"LEAK_TOKEN": "T0kenThatIsSecret"}}
    failing = entry("CrashOnStart")
    async with Crib.open(config(one=running, bad=failing), state_dir=tmp_path) as crib:
        assert list(crib.output_of("one")) == []
        await crib.refresh()
        assert list(crib.output_of("one")) == ["starting with ***"]
        await crib.stop("one")
        assert list(crib.output_of("one")) == ["starting with ***"]
        # 40 lines: the first 5 and the last 15 are kept.
        lines = crib.output_of("bad")
        assert (lines[0], lines[5], lines[-1]) == (
            "line 1 of the traceback",
            "… 20 more lines …",
            "line 40 of the traceback",
        )


async def test_the_weight_of_tools_is_that_of_what_a_client_sends_and_of_what_is_visible(tmp_path: Path) -> None:
    def add(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    denied = {"command": sys.executable, "args": ["-S", LEAKY], "toolcrib": {"deny": ["fail", "d*"]}}
    async with Crib.open(config(one=denied), state_dir=tmp_path) as crib:
        crib.add_functions(add)
        assert set(await crib.weights()) == {"local.add"}  # nothing is started for it
        await crib.refresh()
        found = await crib.weights()
        assert set(found) == {"local.add", "one.tell", "one.refuse"}
        tool = crib.registry.tool("local.add")
        schema = json.dumps(tool.definition["inputSchema"], ensure_ascii=False, separators=(",", ":"))
        sent = f'{{"name":"local__add","description":"Add two numbers.","inputSchema":{schema}}}'
        assert found["local.add"] == count_tokens(sent)


async def test_a_login_is_offered_where_there_can_be_one(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/mcp"
    servers = config(one=entry(), web={"url": url}, keyed={"url": url, "headers": {"authorization": "Bearer x"}})
    async with Crib.open(servers, state_dir=tmp_path) as crib:
        assert [crib.takes_login(each) for each in ("one", "web", "keyed")] == [False, True, False]
        assert await crib.log_out("web") is False
        with pytest.raises(UsageError, match="knows no login"):
            await crib.log_out("one")
