"""What passes in the middle of a call, by each way to make one: directly, by `call_tool`, and in a script."""

from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from toolcrib.servers.wire import raw_request

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]

WAYS = ["direct", "call_tool", "script"]
TRACE = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "a=1",
    "baggage": "b=2",
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return request.param


def called(way: str, tool: str) -> tuple[str, dict[str, Any]]:
    """A call of a tool of the server as a client makes it."""
    if way == "direct":
        return f"up__{tool}", {}
    if way == "call_tool":
        return "call_tool", {"name": f"up.{tool}"}
    return "run_code", {"code": f"await up.{tool}()"}


async def said(relay: Any, way: str, tool: str, **callbacks: Any) -> str:
    """What a call came to."""
    async with relay.connect("all" if way == "direct" else "discover", **callbacks) as client:
        result = await client.call_tool(*called(way, tool))
        return result.content[0].text


ANSWERS = {
    "ask_form": "accept:green",
    "ask_url": "accept:",
    "ask_model": "word",
    "ask_roots": "file:///home",
    "ask_twice": "accept:green word",
}


@pytest.mark.parametrize("tool", ANSWERS)
async def test_what_a_server_asks_is_answered_by_the_client(relay: Any, way: str, tool: str) -> None:
    assert ANSWERS[tool] in await said(relay, way, tool)
    assert len(relay.user.asked) == (2 if tool == "ask_twice" else 1)
    if tool == "ask_form":
        assert relay.user.asked[0]["message"] == "Which colour?"
    if tool == "ask_url":
        assert relay.user.asked[0]["url"] == "https://example.com/login"


async def test_a_client_is_asked_for_nothing_that_it_has_not_declared(relay: Any, way: str) -> None:
    only_roots = {"list_roots_callback": relay.user.roots}

    async with relay.connect("all" if way == "direct" else "discover", **only_roots) as client:
        try:
            text = (await client.call_tool(*called(way, "ask_model"))).content[0].text
        except MCPError as error:
            text = error.error.message

    assert "word" not in text
    assert relay.user.asked == []


async def test_progress_is_told(relay: Any, way: str) -> None:
    told: list[Any] = []

    async def on_progress(*report: Any) -> None:
        told.append(report)

    async with relay.connect("all" if way == "direct" else "discover") as client:
        await client.call_tool(*called(way, "steps"), progress_callback=on_progress)

    if way != "script":
        assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
    else:  # a script counts its calls, and parts of them
        assert [report[2].rpartition(": ")[2] for report in told[:3]] == ["step 1", "step 2", "step 3"]
        assert [report[0] for report in told] == sorted({report[0] for report in told})


async def test_a_call_that_is_given_up_is_given_up_at_the_server(relay: Any, way: str) -> None:
    async with relay.connect("all" if way == "direct" else "discover") as client:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, *called(way, "hang"))
                await relay.upstream.started.wait()
                scope.cancel()
        await relay.upstream.cancelled.wait()


async def test_trace_context_is_passed_on(relay: Any, way: str) -> None:
    async with relay.connect("all" if way == "direct" else "discover") as client:
        result = await client.call_tool(*called(way, "trace"), meta=TRACE)

    assert "0af7651916cd43dd8448eb211c80319c" in result.content[0].text
    assert "a=1" in result.content[0].text


async def test_log_messages_come_at_the_level_that_the_client_wants(relay: Any, way: str) -> None:
    async with relay.connect("all" if way == "direct" else "discover") as client:
        meta: dict[str, Any] = {}
        if relay.era == "handshake":
            await client.set_logging_level("warning")
        else:
            meta = {"io.modelcontextprotocol/logLevel": "warning"}
        await client.call_tool(*called(way, "log"), meta=meta)
        while len(relay.user.logs) < 2:
            await anyio.lowlevel.checkpoint()

    assert [(each["level"], each["data"]) for each in relay.user.logs] == [
        ("warning", {"said": "warning"}),
        ("error", {"said": "error"}),
    ]
    if relay.upstream_era == "handshake":
        assert relay.upstream.level == "warning"


async def test_a_client_of_the_stateless_era_that_wants_no_log_messages_gets_none(relay: Any) -> None:
    assert await said(relay, "direct", "log") == "logged"
    if relay.era == "modern":
        assert relay.user.logs == []
    else:
        assert {each["level"] for each in relay.user.logs} <= {"debug", "info", "warning", "error"}


async def test_what_a_user_declines_reaches_the_server(relay: Any, way: str) -> None:
    relay.user.action = "decline"

    assert "decline:" in await said(relay, way, "ask_form")


@pytest.mark.parametrize("connection", ["caller"])
async def test_a_question_that_nobody_answers_keeps_no_other_call_from_asking(relay: Any) -> None:
    if relay.era != "modern":
        return  # a client of the handshake era is asked at once, and its request lasts as long as the question
    async with relay.connect("all") as client:
        asked = await raw_request(client.session, "tools/call", {"name": "up__ask_form", "arguments": {}})
        assert asked["resultType"] == "input_required"
        assert (await client.call_tool("up__ask_model", {})).content[0].text == "word"


async def test_an_answer_is_taken_with_the_token_of_its_question_alone(relay: Any) -> None:
    if relay.era != "modern":
        return
    params = {"name": "up__ask_form", "arguments": {}}
    async with relay.connect("all") as client:
        asked = await raw_request(client.session, "tools/call", params)
        answers = {key: {"action": "accept", "content": {"colour": "red"}} for key in asked["inputRequests"]}
        for state in (f"{asked['requestState']}x", "nonsense"):
            again = {**params, "inputResponses": answers, "requestState": state}
            with pytest.raises(MCPError):
                await raw_request(client.session, "tools/call", again)
        again = {**params, "inputResponses": answers, "requestState": asked["requestState"]}
        result = await raw_request(client.session, "tools/call", again)
        assert result["content"][0]["text"] == "accept:red"
