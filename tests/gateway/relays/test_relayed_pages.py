"""Pages that a server wants its user to visit before it answers: the error -32042 of 2025-11-25, and the word that the
user is done there (specification 2025-11-25, elicitation, URL mode), which 2026-07-28 has no more."""

from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitCompleteNotification

from toolcrib.errors import ToolcribError
from toolcrib.servers.wire import raw_request

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]

LIMIT = 40.0
URL = "https://example.com/login"
PAGE = {"mode": "url", "message": "Log in there.", "url": URL, "elicitationId": "e1"}

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "direct": ("up__{}", {}),
    "call_tool": ("call_tool", {"name": "up.{}"}),
    "script": ("run_code", {"code": "await up.{}()"}),
}


@pytest.fixture(params=CALLS)
def way(request: pytest.FixtureRequest) -> str:
    return request.param


def called(way: str, tool: str) -> dict[str, Any]:
    name, arguments = CALLS[way]
    return {"name": name.format(tool), "arguments": {key: value.format(tool) for key, value in arguments.items()}}


def profile(way: str) -> str:
    return "all" if way == "direct" else "discover"


def visiting(relay: Any) -> dict[str, Any]:
    """A user who goes to the page at once."""

    async def elicit(context: Any, params: Any) -> Any:
        relay.upstream.visited = relay.user.action == "accept"
        return await relay.user.elicit(context, params)

    return {**relay.user.callbacks, "elicitation_callback": elicit}


async def test_a_client_is_sent_to_the_page_by_what_its_revision_has_for_it(relay: Any, way: str) -> None:
    async with relay.connect(profile(way), **visiting(relay)) as client:
        if relay.era == "handshake" and way != "script":
            with pytest.raises(MCPError) as refused:
                await client.call_tool(*called(way, "page").values())
            error = refused.value.error
            # as the server sent it: the client visits the page, and calls again
            assert (error.code, error.message, error.data) == (-32042, "Log in first.", {"elicitations": [PAGE]})
            assert relay.user.asked == []
            relay.upstream.visited = True
        result = await client.call_tool(*called(way, "page").values())

    assert "visited" in result.content[0].text
    assert relay.upstream.refused == ["page"]
    if relay.era == "modern" or way == "script":
        assert [(each["mode"], each["url"], each["message"]) for each in relay.user.asked] == [
            ("url", URL, "Log in there.")
        ]


async def test_a_page_that_the_user_declines_is_not_asked_for_again(relay: Any, way: str) -> None:
    relay.user.action = "decline"
    async with relay.connect(profile(way), **visiting(relay)) as client:
        if relay.era == "handshake" and way != "script":
            return  # it gets the error, and sees to it itself
        result = await client.call_tool(*called(way, "page").values())

    assert result.is_error
    assert "the user did not agree to" in result.content[0].text
    assert len(relay.user.asked) == 1
    assert relay.upstream.refused == ["page"]
    states = [entry.state for entry in await relay.crib.journal.entries() if entry.tool == "up.page"]
    assert set(states) <= {"waiting", "failed"}


async def test_a_client_that_can_not_be_sent_there_is_told_the_address(relay: Any, way: str) -> None:
    async with relay.connect(profile(way), list_roots_callback=relay.user.roots) as client:
        try:
            text = (await client.call_tool(*called(way, "page").values())).content[0].text
        except MCPError as error:
            assert (relay.era, way) == ("handshake", "direct")
            text = f"{error.error.code} {error.error.data}"

    assert URL in text
    assert "-32042" in text


async def test_prompts_need_pages_too(relay: Any) -> None:
    params = {"name": "up__write", "arguments": {"topic": "page"}}
    async with relay.connect("all", **visiting(relay)) as client:
        if relay.era == "handshake":
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(**params)
            assert refused.value.error.data == {"elicitations": [PAGE]}
            return
        relay.user.action = "decline"
        with pytest.raises(MCPError, match="did not agree"):
            await client.get_prompt(**params)
    async with relay.connect("all", list_roots_callback=relay.user.roots) as client:
        with pytest.raises(MCPError) as refused:
            await raw_request(client.session, "prompts/get", params)
        error = refused.value.error
        # specification 2026-07-28, basic: the error of a capability that a request lacks
        assert (error.code, error.data) == (-32021, {"requiredCapabilities": {"elicitation": {"url": {}}}})
        assert URL in error.message


async def test_a_program_without_a_client_is_told_the_address(relay: Any) -> None:
    with pytest.raises(ToolcribError) as refused:
        await relay.crib.call("up.page")

    assert refused.value.code == "page_needed"
    assert URL in str(refused.value)


@pytest.mark.parametrize("asking", ["ask_url", "page"])
async def test_who_was_sent_to_a_page_is_told_once_that_it_is_done(relay: Any, way: str, asking: str) -> None:
    other = type(relay.user)([], [], [])
    async with (
        relay.connect(profile(way), **visiting(relay)) as client,
        relay.connect(profile(way), **other.callbacks) as beside,
    ):
        await beside.list_tools()
        with anyio.fail_after(LIMIT):
            with suppress(MCPError):  # that of the page, to a client that knows it
                await client.call_tool(*called(way, asking).values())
            await client.call_tool(*called(way, "done").values())
            told = done(relay.user)
            while relay.era == relay.upstream_era == "handshake" and not told:
                await anyio.lowlevel.checkpoint()
                told = done(relay.user)
            # What was told after it has come, so a second one would have come too.
            await client.call_tool(*called(way, "trace").values())

    # 2026-07-28 has no such notification: a server of it never says so, and a client of it must not be told.
    expected = ["e1"] if relay.era == relay.upstream_era == "handshake" else []
    assert done(relay.user) == expected
    assert done(other) == []


def done(user: Any) -> list[str]:
    return [each.params.elicitation_id for each in user.heard if isinstance(each, ElicitCompleteNotification)]
