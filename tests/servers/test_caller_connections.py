"""Connections of single callers: what is declared on them, who is asked over them, and how they end."""

import json
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from toolcrib.catalog import JsonObject, RequestContext
from toolcrib.errors import ProtocolError

pytestmark = pytest.mark.anyio


@dataclass
class Client:
    """A client with roots, or with whatever it declares."""

    root: str
    capabilities: dict[str, Any] = field(default_factory=lambda: {"roots": {"listChanged": True}})

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        assert method == "roots/list"
        if not self.root:
            raise ProtocolError("client", "none of your business", rpc_code=-32001, data={"why": 7})
        return {"roots": [{"uri": self.root}], "more": "kept"}


def own(key: str, client: Client | None = None) -> RequestContext:
    return RequestContext(connection_key=key, client=client)


async def call(server, name, context):
    return await server.request("tools/call", {"name": name, "arguments": {}}, context)


async def told(server, context):
    return json.loads((await call(server, "echo", context))["content"][0]["text"])


def declared(server):
    return [each["params"]["capabilities"] for each in server.received if each.get("method") == "initialize"]


async def test_each_caller_is_asked_over_a_connection_of_its_own_and_nobody_over_the_shared_one(stub, open_pool):
    server = stub("AsksInCall")
    alice, bob = own("alice", Client("file:///alice")), own("bob", Client("file:///bob"))
    async with open_pool(one=server) as opened:
        assert await told(opened["one"], alice) == {"roots": [{"uri": "file:///alice"}], "more": "kept"}
        assert await told(opened["one"], bob) == {"roots": [{"uri": "file:///bob"}], "more": "kept"}
        assert await told(opened["one"], alice) == {"roots": [{"uri": "file:///alice"}], "more": "kept"}
        assert (await told(opened["one"], RequestContext()))["code"] == -32600
        assert opened["one"].status.connections == 3
    assert server.starts == 3
    assert declared(server) == [{"roots": {"listChanged": True}}, {"roots": {"listChanged": True}}, {}]


async def test_callers_that_ask_at_once_never_get_each_others_roots(stub, open_pool):
    server = stub("AsksInCall")
    heard: dict[str, list[str]] = {"a": [], "b": [], "c": []}

    async def ask(name):
        answer = await told(opened["one"], own(name, Client(f"file:///{name}")))
        heard[name].append(answer["roots"][0]["uri"])

    async with open_pool(one=server) as opened, anyio.create_task_group() as tasks:
        for name in ("a", "b", "c") * 5:
            tasks.start_soon(ask, name)
    assert heard == {name: [f"file:///{name}"] * 5 for name in ("a", "b", "c")}
    assert server.starts == 3


async def test_what_a_client_did_not_declare_is_not_asked_of_it_and_only_what_is_handed_on_is_declared(stub, open_pool):
    server = stub("AsksInCall")
    client = Client("file:///", {"elicitation": {"form": {}}, "experimental": {"x": {}}})
    async with open_pool(one=server) as opened:
        assert (await told(opened["one"], own("alice", client)))["code"] == -32600
    assert declared(server) == [{"elicitation": {"form": {}}}]


async def test_a_clients_refusal_reaches_the_server_as_it_is(stub, open_pool):
    async with open_pool(one=stub("AsksInCall")) as opened:
        answer = await told(opened["one"], own("alice", Client("")))
    assert answer == {"code": -32001, "message": "none of your business", "data": {"why": 7}}


async def test_a_client_that_declares_something_else_gets_another_connection(stub, open_pool):
    server = stub("AsksInCall")
    async with open_pool(one=server) as opened:
        await told(opened["one"], own("alice", Client("file:///1")))
        assert (await told(opened["one"], own("alice", Client("file:///2"))))["roots"][0]["uri"] == "file:///2"
        await told(opened["one"], own("alice", Client("file:///3", {})))
    assert declared(server) == [{"roots": {"listChanged": True}}, {}]


async def test_a_change_of_roots_is_told_over_the_connections_of_whom_it_concerns(stub, open_pool):
    server = stub("AsksInCall")
    alice, bob, carol = Client("file:///a"), Client("file:///b"), Client("file:///c", {"roots": {}})
    async with open_pool(one=server) as opened:
        for name, client in (("alice", alice), ("bob", bob), ("carol", carol)):
            await told(opened["one"], own(name, client))
        alice.root = "file:///other"
        for name in ("alice", "carol"):
            await opened.pool.roots_changed(name)
        assert (await told(opened["one"], own("alice", alice)))["roots"][0]["uri"] == "file:///other"
        await told(opened["one"], own("carol", carol))
        await told(opened["one"], own("bob", bob))
    assert server.methods.count("notifications/roots/list_changed") == 1


async def test_a_callers_connection_stops_when_it_is_idle_and_is_forgotten(stub, open_pool, alive):
    server = stub("Normal", idle_stop=0.05)
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo", own("alice"))
        await opened.until(lambda: opened["one"].status.connections == 0 and not opened["one"].running)
        assert not alive(server.pid("start"))
        assert opened["one"].status.state == "dormant"
        await call(opened["one"], "echo", own("alice"))
    assert server.starts == 2


async def test_a_callers_connection_counts_among_those_that_run(stub, open_pool):
    server = stub("Normal")
    async with open_pool({"max_running": 2}, one=server) as opened:
        for name in ("a", "b", "c", "d"):
            await call(opened["one"], "echo", own(name))
            assert len(opened["one"].pids) <= 2
        assert len(opened["one"].pids) == 2
    assert server.starts == 4


async def test_releasing_a_caller_ends_its_connections_and_no_others(stub, open_pool, alive):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo", own("alice"))
        of_alice = server.pid("start")
        await call(opened["one"], "echo", own("bob"))
        of_bob = server.pid("start")
        opened.pool.release("alice")
        await opened.until(lambda: opened["one"].status.connections == 1 and len(opened["one"].pids) == 1)
        while alive(of_alice):
            await anyio.lowlevel.checkpoint()
        assert opened["one"].pids == {of_bob}


async def test_releasing_a_caller_lets_its_calls_under_way_finish(stub, open_pool):
    server = stub("SlowProgress")  # answers after 0.8 s
    async with open_pool(one=server) as opened:
        await opened["one"].ensure(own("alice"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, opened["one"], "echo", own("alice"))
            await anyio.wait_all_tasks_blocked()
            opened.pool.release("alice")
    assert server.starts == 2  # the shared one has listed


async def test_a_crash_of_one_callers_connection_touches_no_other_and_it_is_opened_anew(stub, open_pool):
    server = stub("ExitsLater")
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo", own("bob"))
        await call(opened["one"], "leave", own("alice"))
        await opened.until(lambda: opened["one"].status.connections == 1)
        await call(opened["one"], "echo", own("alice"))
        await call(opened["one"], "echo", own("bob"))
    assert server.starts == 3


async def test_callers_share_the_breaker_of_the_server(stub, open_pool):
    server = stub("CrashOnStart", protocol="legacy")
    async with open_pool(one=server) as opened:
        for name in ("a", "b", "c"):
            with pytest.raises(Exception, match="ended before it answered"):
                await call(opened["one"], "echo", own(name))
        assert opened["one"].status.state == "backing_off"
        with pytest.raises(Exception, match="is left alone for"):
            await call(opened["one"], "echo", own("d"))
    assert server.starts == 3


async def test_what_is_listed_to_nobody_in_particular_counts_and_stays_apart_from_what_callers_see(stub, open_pool):
    server = stub("ListsByCapabilities")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure(own("alice", Client("file:///")))
        assert [list(each.definitions.names) for each in opened.listings] == [["echo"]]
        assert list(opened["one"].snapshot.definitions.names) == ["echo"]
    async with open_pool(one=server) as opened:
        assert list(opened["one"].snapshot.definitions.names) == ["echo"]


async def test_where_only_a_caller_is_told_the_tools_that_is_what_counts(stub, open_pool):
    server = stub("ListsToCallersAlone")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure(own("alice", Client("file:///")))
        assert [list(each.definitions.names) for each in opened.listings] == [["echo", "in_roots"]]
        assert opened["one"].status.state == "ready"
        await call(opened["one"], "in_roots", own("alice", Client("file:///")))
        listed = await opened["one"].list("tools/list", own("alice", Client("file:///")))
        assert [each["name"] for each in listed] == ["echo", "in_roots"]
    assert server.starts == 2  # the shared one is tried once


async def test_all_connections_end_with_the_pool_and_on_stop(stub, open_pool, alive):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        for context in (own("a"), own("b"), RequestContext()):
            await call(opened["one"], "echo", context)
        pids = opened["one"].pids
        assert len(pids) == 3
        await opened["one"].stop()
        assert not any(alive(pid) for pid in pids)
        await call(opened["one"], "echo", own("a"))
        pid = server.pid("start")
    assert not alive(pid)


async def test_switching_a_server_off_ends_the_connections_of_callers_too(stub, open_pool):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo", own("a"))
        opened["one"].switch(on=False)
        with pytest.raises(Exception, match="is disabled"):
            await call(opened["one"], "echo", own("a"))
        await opened.until(lambda: not opened["one"].running)
