"""Approvals and a server's own questions through the gateway: both protocol eras, over memory and HTTP."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from toolcrib import Crib
from toolcrib.gateway import Gateway
from toolcrib.servers.wire import raw_request

pytestmark = pytest.mark.anyio

LIMIT = 20.0
ONCE, LASTING, DENY = "allow this call", "allow this tool in this conversation", "deny"


class Disk:
    """What the tools act on."""

    def __init__(self) -> None:
        self.wiped: list[str] = []

    async def wipe(self, path: str) -> str:
        """Wipe a path."""
        self.wiped.append(path)
        return f"wiped {path}"

    async def format(self, path: str) -> str:
        """Format a path."""
        return f"formatted {path}"


@dataclass
class Person:
    """Who sits at the client: answers forms, and keeps what was asked."""

    says: list[Any] = field(default_factory=list[Any])
    asked: list[Any] = field(default_factory=list[Any])

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> Any:
        self.asked.append(params)
        said = self.says.pop(0) if self.says else ONCE
        if said == "hang":
            await anyio.sleep_forever()
        if isinstance(said, types.ElicitResult | types.ErrorData):
            return said
        return types.ElicitResult(action="accept", content={"decision": said})


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture(params=[("memory", "auto"), ("memory", "legacy"), ("http", "auto"), ("http", "legacy")], ids="-".join)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    """How the client reaches the gateway, and in which era."""
    return request.param


@pytest.fixture
def connected(disk: Disk, tmp_path: Path, over_http: Callable[..., Any]) -> Callable[..., Any]:
    """A client of a gateway whose policy asks about everything."""

    @asynccontextmanager
    async def connecting(
        way: tuple[str, str], person: Person | None, upstream: Server[Any] | None = None, **approvals: Any
    ) -> AsyncIterator[tuple[Client, Crib]]:
        rules = [{"name": "all", "tools": ["local.*"], "then": "ask"}]
        settings = {"approvals": {"patience": LIMIT if person else 0.01, **approvals}, "policy": {"rules": rules}}
        crib = Crib.open({"mcpServers": {}, "toolcrib": settings}, state_dir=tmp_path)
        crib.add_functions(disk.wipe, disk.format)
        async with AsyncExitStack() as stack:
            stack.enter_context(anyio.fail_after(LIMIT))
            if upstream is not None:
                behind = await stack.enter_async_context(Client(upstream))
                crib = Crib.from_clients({"up": behind})
            await stack.enter_async_context(crib)
            gateway = Gateway(crib)
            target = await stack.enter_async_context(over_http(gateway)) if way[0] == "http" else gateway.server
            mode: Any = way[1]
            client = await stack.enter_async_context(Client(target, mode=mode, elicitation_callback=person))
            yield client, crib

    return connecting


async def wipe(client: Client, path: str = "/a", tool: str = "local.wipe") -> tuple[str, bool]:
    result = await client.call_tool("call_tool", {"name": tool, "arguments": {"path": path}})
    return result.content[0].text, bool(result.is_error)


# A client that can ask its user


async def test_the_client_is_asked_with_the_whole_call_and_a_flat_choice(
    connected: Any, way: tuple[str, str], disk: Disk
) -> None:
    person = Person()
    async with connected(way, person) as (client, _):
        assert await wipe(client) == ("wiped /a", False)
    [asked] = person.asked
    assert "local.wipe" in asked.message
    assert '"path": "/a"' in asked.message
    assert asked.requested_schema["properties"]["decision"]["enum"] == [ONCE, LASTING, DENY]
    assert asked.requested_schema["required"] == ["decision"]
    assert disk.wiped == ["/a"]


@pytest.mark.parametrize(
    "said",
    [
        DENY,
        "something else",
        None,
        types.ElicitResult(action="decline"),
        types.ElicitResult(action="cancel"),
        types.ElicitResult(action="accept"),
        types.ElicitResult(action="accept", content={"verdict": ONCE}),
    ],
    ids=lambda said: str(getattr(said, "action", said)),
)
async def test_everything_but_a_clear_yes_is_a_no(connected: Any, way: tuple[str, str], disk: Disk, said: Any) -> None:
    async with connected(way, Person([said])) as (client, _):
        text, is_error = await wipe(client)
    assert is_error
    assert "was not approved" in text
    assert disk.wiped == []


async def test_a_yes_for_the_conversation_holds_for_that_tool_alone(connected: Any, way: tuple[str, str]) -> None:
    person = Person([LASTING])
    async with connected(way, person) as (client, _):
        assert await wipe(client, "/a") == ("wiped /a", False)
        assert await wipe(client, "/b") == ("wiped /b", False)
        assert len(person.asked) == 1
        assert await wipe(client, "/c", "local.format") == ("formatted /c", False)
        assert len(person.asked) == 2


async def test_a_yes_holds_in_no_other_conversation(connected: Any, disk: Disk, tmp_path: Path) -> None:
    person = Person([LASTING, DENY])
    async with connected(("memory", "legacy"), person) as (client, crib):
        assert await wipe(client) == ("wiped /a", False)
        async with Client(Gateway(crib).server, mode="legacy", elicitation_callback=person) as other:
            assert (await wipe(other))[1]
    assert disk.wiped == ["/a"]


async def test_a_client_that_does_not_answer_leaves_the_question_in_the_inbox(connected: Any, disk: Disk) -> None:
    person = Person(["hang", "hang"])
    async with connected(("memory", "legacy"), person, patience=0.05) as (client, crib):
        text, is_error = await wipe(client)
        [approval] = await crib.approvals.list()
        assert is_error
        assert f"waiting for approval {approval.id}" in text
        await crib.approvals.decide(approval.id, True)
        assert await wipe(client) == ("wiped /a", False)
    assert disk.wiped == ["/a"]


async def test_a_client_that_refuses_to_ask_leaves_the_question_in_the_inbox(connected: Any) -> None:
    person = Person([types.ErrorData(code=-32601, message="no forms here")])
    async with connected(("memory", "legacy"), person, patience=0.05) as (client, crib):
        text, is_error = await wipe(client)
        [approval] = await crib.approvals.list()
    assert is_error
    assert f"waiting for approval {approval.id}" in text


async def test_a_console_may_answer_while_the_clients_dialog_is_open(connected: Any, disk: Disk) -> None:
    person = Person(["hang"])
    async with connected(("memory", "legacy"), person) as (client, crib), anyio.create_task_group() as tasks:
        got: list[Any] = []

        async def call() -> None:
            got.append(await wipe(client))

        tasks.start_soon(call)
        while not person.asked:
            await anyio.lowlevel.checkpoint()
        [approval] = await crib.approvals.list()
        decided = await crib.approvals.decide(approval.id, True, by="console ann")
        assert (decided.status, decided.decided_by) == ("approved", "console ann")
    assert got == [("wiped /a", False)]
    assert disk.wiped == ["/a"]


async def test_two_calls_alike_at_once_ask_once_and_are_sent_once(connected: Any, disk: Disk) -> None:
    """As long as nobody has answered: the second call comes while the first is asked about."""
    both = anyio.Event()

    class Slow(Person):
        async def __call__(self, context: Any, params: types.ElicitRequestParams) -> Any:
            await both.wait()
            return await super().__call__(context, params)

    person = Slow()
    async with connected(("memory", "legacy"), person) as (client, crib):
        got: list[Any] = []

        async def tell_when_both_wait() -> None:
            asking = crib.approvals._asking  # pyright: ignore[reportPrivateUsage] - nothing tells of one that joins
            while not any(each.dialog.statistics().tasks_waiting for each in asking.open.values()):  # noqa: ASYNC110
                await anyio.sleep(0.001)
            both.set()

        async def call() -> None:
            got.append(await wipe(client))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tell_when_both_wait)
            tasks.start_soon(call)
            tasks.start_soon(call)
    assert got == [("wiped /a", False)] * 2
    assert (len(person.asked), disk.wiped) == (1, ["/a"])


async def test_a_client_that_leaves_before_it_answers_has_not_approved(connected: Any, disk: Disk) -> None:
    person = Person(["hang", ONCE])
    async with connected(("memory", "legacy"), person) as (client, _):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wipe, client)
            while not person.asked:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert disk.wiped == []
        assert await wipe(client) == ("wiped /a", False)  # who comes back is asked the same question again
    assert len(person.asked) == 2
    assert disk.wiped == ["/a"]


# A client that can't


async def test_a_client_that_cannot_ask_is_told_to_wait_and_comes_back(
    connected: Any, way: tuple[str, str], disk: Disk
) -> None:
    async with connected(way, None) as (client, crib):
        text, is_error = await wipe(client)
        [approval] = await crib.approvals.list()
        assert is_error
        assert f"waiting for approval {approval.id}" in text
        assert (await wipe(client))[0] == text
        assert disk.wiped == []
        await crib.approvals.decide(approval.id, True)
        assert await wipe(client) == ("wiped /a", False)
    assert disk.wiped == ["/a"]


# The stateless era on the wire


async def test_a_sealed_state_leads_back_once_however_often_it_is_brought(connected: Any, disk: Disk) -> None:
    async with connected(("memory", "auto"), Person()) as (client, _):
        asked = await _call(client)
        assert asked["resultType"] == "input_required"
        [(key, request)] = asked["inputRequests"].items()
        assert request["method"] == "elicitation/create"
        answers = {key: {"action": "accept", "content": {"decision": ONCE}}}
        state = asked["requestState"]
        again = await _call(client, requestState=state)  # without an answer: asked again, and not sent
        assert again["inputRequests"] == asked["inputRequests"]
        assert disk.wiped == []

        got: list[Any] = []

        async def come_back() -> None:
            got.append(await _call(client, requestState=state, inputResponses=answers))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(come_back)
            tasks.start_soon(come_back)
        no = {key: {"action": "decline"}}
        got.append(await _call(client, requestState=state, inputResponses=no))  # a second answer is too late
    assert [each["content"][0]["text"] for each in got] == ["wiped /a"] * 3
    assert disk.wiped == ["/a"]


async def test_a_state_that_was_tampered_with_is_an_invalid_param(connected: Any, disk: Disk) -> None:
    async with connected(("memory", "auto"), Person()) as (client, _):
        asked = await _call(client)
        [key] = asked["inputRequests"]
        answers = {key: {"action": "accept", "content": {"decision": ONCE}}}
        for state in (asked["requestState"][:-1], "x", asked["requestState"].swapcase()):
            with pytest.raises(MCPError) as caught:
                await _call(client, requestState=state, inputResponses=answers)
            assert caught.value.error.code == -32602
        with pytest.raises(MCPError):  # for another call
            await _call(client, "/b", requestState=asked["requestState"], inputResponses=answers)
    assert disk.wiped == []


async def test_an_answer_without_the_state_is_none(connected: Any, disk: Disk) -> None:
    async with connected(("memory", "auto"), Person()) as (client, _):
        asked = await _call(client)
        [key] = asked["inputRequests"]
        answers = {key: {"action": "accept", "content": {"decision": ONCE}}}
        again = await _call(client, inputResponses=answers)
        assert again["resultType"] == "input_required"
    assert disk.wiped == []


async def _call(client: Client, path: str = "/a", **members: Any) -> dict[str, Any]:
    params = {"name": "call_tool", "arguments": {"name": "local.wipe", "arguments": {"path": path}}, **members}
    return await raw_request(client.session, "tools/call", params)


# What an upstream asks of its own


def booking(rounds: int = 1, method: str = "elicitation/create") -> Server[Any]:
    """A server that asks for a seat as often as is said, then books it; it keeps what it was sent."""
    server = Server[Any]("up", version="1", on_list_tools=_list_book, on_call_tool=_stand_in)
    calls: list[dict[str, Any]] = []

    async def book(ctx: Any, call_next: Any) -> Any:
        envelope = await call_next(ctx)
        if ctx.method != "tools/call":
            return envelope
        calls.append(dict(ctx.params))
        seen = int(ctx.params.get("requestState") or 0)
        if seen < rounds:
            schema = {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}
            params = {"mode": "form", "message": f"Which seat? ({seen})", "requestedSchema": schema}
            request = {"method": method, "params": params if method == "elicitation/create" else {}}
            return {"resultType": "input_required", "inputRequests": {"seat": request}, "requestState": str(seen + 1)}
        answer = (ctx.params.get("inputResponses") or {}).get("seat")
        return {**envelope, "content": [{"type": "text", "text": f"booked {answer}"}]}

    server.middleware.append(book)
    server.calls = calls  # type: ignore[attr-defined]
    return server


async def _list_book(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="book", input_schema={"type": "object"})])


async def _stand_in(ctx: Any, params: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[])


class Traveller:
    """Answers which seat."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        return types.ElicitResult(action="accept", content={"seat": f"{len(self.asked)}A"})


async def test_what_an_upstream_asks_reaches_the_user_and_the_answer_reaches_it(
    connected: Any, way: tuple[str, str]
) -> None:
    person, upstream = Traveller(), booking(rounds=2)
    async with connected(way, person, upstream) as (client, _):
        result = await client.call_tool("call_tool", {"name": "up.book"})
    assert person.asked == ["Which seat? (0)", "Which seat? (1)"]
    assert result.content[0].text == "booked {'action': 'accept', 'content': {'seat': '2A'}}"
    assert [each.get("requestState") for each in upstream.calls] == [None, "1", "2"]


async def test_the_upstreams_own_state_is_not_shown(connected: Any) -> None:
    async with connected(("memory", "auto"), Traveller(), booking()) as (client, _):
        params = {"name": "call_tool", "arguments": {"name": "up.book"}}
        asked = await raw_request(client.session, "tools/call", params)
        assert asked["requestState"] != "1"
        assert asked["inputRequests"]["seat"]["params"]["message"] == "Which seat? (0)"
        upstream_state = {**params, "requestState": "1", "inputResponses": {"seat": {"action": "accept"}}}
        with pytest.raises(MCPError) as caught:
            await raw_request(client.session, "tools/call", upstream_state)
    assert caught.value.error.code == -32602


async def test_two_who_answer_an_upstream_at_once_go_on_once(connected: Any) -> None:
    upstream = booking()
    async with connected(("memory", "auto"), Traveller(), upstream) as (client, _):
        params = {"name": "call_tool", "arguments": {"name": "up.book"}}
        asked = await raw_request(client.session, "tools/call", params)
        answer = {"requestState": asked["requestState"], "inputResponses": {"seat": {"action": "decline"}}}
        got: list[Any] = []

        async def come_back() -> None:
            got.append(await raw_request(client.session, "tools/call", {**params, **answer}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(come_back)
            tasks.start_soon(come_back)
    assert [each["content"][0]["text"] for each in got] == ["booked {'action': 'decline'}"] * 2
    assert len(upstream.calls) == 2


async def test_a_client_is_not_asked_for_what_it_cannot_do(connected: Any, way: tuple[str, str]) -> None:
    for person, method in ((None, "elicitation/create"), (Traveller(), "roots/list")):
        async with connected(way, person, booking(method=method)) as (client, _):
            result = await client.call_tool("call_tool", {"name": "up.book"})
        assert result.is_error
        assert method in result.content[0].text
        assert "can't answer" in result.content[0].text
