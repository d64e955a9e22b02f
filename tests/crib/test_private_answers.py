"""What a server marks as private is for nobody but the principal that it was fetched for, on disk too."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.broker import LOCAL, Caller, Principal
from toolcrib.errors import UnknownToolError

pytestmark = pytest.mark.anyio

STUB = Path(__file__).resolve().parent.parent / "stubs" / "misbehave.py"
WORDS = {1: "walrus", 2: "pelican", 3: "hedgehog"}
ALICE, BOB = Caller(Principal("alice")), Caller(Principal("bob"))


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Crib]:
    """Opens cribs over one server, all on one state directory."""

    def make(mode: str, **options: Any) -> Crib:
        command = ["-S", str(STUB), mode, "--log", str(tmp_path / "log")]
        entry = {"command": sys.executable, "args": command, "toolcrib": options}
        settings = {"first_listing_wait": 60}
        return Crib.open({"mcpServers": {"one": entry}, "toolcrib": settings}, state_dir=tmp_path / "state")

    return make


@pytest.fixture
def received(tmp_path: Path) -> Callable[[str], int]:
    """Counts the requests of a method that reached the server."""

    def count(method: str) -> int:
        records = map(json.loads, (tmp_path / "log").read_text().splitlines())
        return sum(each["event"] == "received" and each["message"].get("method") == method for each in records)

    return count


async def found(crib: Crib, caller: Caller, query: str = "") -> set[str]:
    if not query:
        return {tool.id for tool in await crib.tools(caller=caller)}
    return {each.tool.id for each in (await crib.search(query, caller=caller)).found}


def ids(number: int) -> set[str]:
    return {"one.echo", f"one.seen_{number}", "one.change"}


async def test_each_principal_sees_what_was_listed_for_it_and_nobody_else(opened):
    async with opened("Private") as crib:
        assert await found(crib, ALICE) == ids(2)  # the first listing is nobody's in particular
        assert await found(crib, BOB) == ids(3)
        assert await found(crib, LOCAL) == ids(1)
        assert await found(crib, ALICE) == ids(2)
        for caller, number in ((ALICE, 2), (BOB, 3), (LOCAL, 1)):
            assert await found(crib, caller, "seen") == {f"one.seen_{number}"}
            # One id, and for each its own definition; no word of another's finds anything.
            assert (await crib.tool("one.echo", caller=caller)).description == f"Made for the {WORDS[number]}."
            assert await found(crib, caller, WORDS[number]) == {"one.echo"}
            assert not await found(crib, caller, WORDS[number % 3 + 1])
            assert (await crib.search("select:one.seen_1,one.seen_2,one.seen_3", caller=caller)).total == 1
            assert (await crib.search("/seen_/", caller=caller)).total == 1
            [about] = crib.overview(caller)
            assert about.tools == 3


async def test_a_principal_can_call_what_was_listed_for_it_and_is_told_of_no_other(opened):
    async with opened("Private") as crib:
        await found(crib, ALICE)
        await found(crib, BOB)
        for spelling in ("one.seen_2", "one__seen_2", "seen_2"):
            outcome = await crib.call(spelling, {}, caller=ALICE)
            assert outcome.result["structuredContent"]["name"] == "seen_2"
            assert outcome.call.target == "one.seen_2"
            with pytest.raises(UnknownToolError) as caught:
                await crib.call(spelling, {}, caller=BOB)
            assert "one.seen_2" not in caught.value.candidates


async def test_a_first_call_lists_for_whom_it_is(opened):
    async with opened("Private") as crib:
        outcome = await crib.call("one.seen_2", {}, caller=ALICE)
        assert outcome.result["structuredContent"]["name"] == "seen_2"


async def test_no_file_holds_what_is_for_two_and_each_finds_its_own_again_without_a_start(opened, tmp_path, received):
    async with opened("Private") as crib:
        for caller, number in ((ALICE, 2), (BOB, 3), (LOCAL, 1)):
            assert await found(crib, caller) == ids(number)
            await crib.search("seen", caller=caller)
        # A change of what is everybody's writes the index anew.
        crib.add_functions(received, server="more")
        await crib.search("seen", caller=ALICE)
    files = [path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert len([content for content in files if b"seen_2" in content]) == 2  # header and definitions
    assert not [content for content in files if sum(f"seen_{n}".encode() in content for n in (1, 2, 3)) > 1]
    listings = received("tools/list")
    async with opened("Private") as crib:
        for caller, number in ((BOB, 3), (ALICE, 2), (LOCAL, 1)):
            assert await found(crib, caller) == ids(number)
    assert received("tools/list") == listings


async def test_what_is_public_is_listed_once_for_all(opened, received):
    async with opened("Public") as crib:
        for caller in (ALICE, BOB, LOCAL):
            assert await found(crib, caller) == ids(1)
    assert received("tools/list") == 1


@pytest.mark.parametrize(("mode", "numbers"), [("Private", "1122"), ("Public", "1111")])
async def test_a_resource_is_read_once_while_it_is_fresh_and_again_for_another_where_it_is_private(
    opened, received, mode, numbers
):
    async with opened(mode) as crib:
        read = ""
        for caller in (ALICE, ALICE, BOB, BOB):
            outcome = await crib.request("resources/read", "one", {"uri": "a:b"}, caller)
            read += outcome.result["contents"][0]["text"]
            outcome.result["contents"].clear()  # what is handed out is nobody else's
        other = await crib.request("resources/read", "one", {"uri": "c:d"}, ALICE)
    assert read == numbers
    assert other.result["contents"][0]["uri"] == "c:d"
    assert received("resources/read") == len(set(numbers)) + 1


@pytest.mark.parametrize("connection", ["shared", "caller"])
async def test_a_change_lists_anew_for_each_and_outdates_what_was_read(opened, connection):
    async with opened("Private", connection=connection) as crib:
        seen = {caller: await found(crib, caller) for caller in (ALICE, BOB, LOCAL)}
        await anyio.wait_all_tasks_blocked()  # a subscription is on its way

        async def read() -> str:
            return (await crib.request("resources/read", "one", {"uri": "a:b"}, ALICE)).result["contents"][0]["text"]

        assert [await read(), await read()] == ["1", "1"]
        await crib.call("one.change", {}, caller=ALICE)
        with anyio.fail_after(20):
            for caller in (ALICE, BOB, LOCAL) if connection == "shared" else (ALICE,):
                while await found(crib, caller) == seen[caller]:
                    await anyio.lowlevel.checkpoint()
                assert len(await found(crib, caller)) == 3
            while await read() == "1":
                await anyio.lowlevel.checkpoint()


async def test_connections_of_callers_keep_what_they_list_apart_too(opened):
    async with opened("Private", connection="caller") as crib:
        assert await found(crib, ALICE) == {"one.echo", "one.seen_1", "one.change"}  # the first of its own connection
        await crib.call("one.seen_1", {}, caller=ALICE)
        assert await found(crib, BOB) == {"one.echo", "one.seen_1", "one.change"}


async def test_a_server_that_is_off_tells_of_private_tools_only_whom_they_were_listed_for(tmp_path):
    command = ["-S", str(STUB), "Private"]
    entry = {"command": sys.executable, "args": command, "toolcrib": {"start": "on_request"}}
    config = {"mcpServers": {"one": entry}, "toolcrib": {"dynamic": {"enabled": True}}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        await crib.enable("one")
    async with Crib.open(config, state_dir=tmp_path) as crib:
        for caller, tools in ((LOCAL, 3), (ALICE, None)):
            [about] = (await crib.available(caller=caller)).found
            assert (about.name, about.state, about.tools) == ("one", "off", tools)
        assert (await crib.search("walrus")).off
        assert not (await crib.search("walrus", caller=ALICE)).off
        assert set((await crib.enable("one", caller=ALICE)).tools) == ids(2)
        assert await found(crib, LOCAL) == ids(1)
