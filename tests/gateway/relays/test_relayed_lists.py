"""Resources, prompts, completions and changes, through both profiles."""

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from toolcrib.events import OffersChanged

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]


@pytest.fixture(params=["all", "discover"])
def profile(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_resources_are_listed_and_read(relay: Any, profile: str) -> None:
    async with relay.connect(profile) as client:
        [found] = (await client.list_resources()).resources
        [template] = (await client.list_resource_templates()).resource_templates
        assert (found.uri, found.name, found.size) == ("up://fixed", "fixed", 5)
        assert template.uri_template == "up://item/{id}"
        for uri in ("up://fixed", "up://item/7", "up://unlisted"):
            [content] = (await client.read_resource(uri)).contents
            assert (content.uri, content.text) == (uri, f"content of {uri}")
        with pytest.raises(MCPError, match="Resource not found") as caught:
            await client.read_resource("up://none")
        assert caught.value.error.data == {"uri": "up://none"}


async def test_prompts_are_listed_and_got(relay: Any, profile: str) -> None:
    async with relay.connect(profile) as client:
        [prompt] = (await client.list_prompts()).prompts
        assert (prompt.name, prompt.arguments[0].name) == ("up__write", "topic")
        result = await client.get_prompt("up__write", {"topic": "bread"})
        assert result.messages[0].content.text == "Write about bread."
        with pytest.raises(MCPError, match="There is no prompt") as caught:
            await client.get_prompt("up__read", {})
        assert caught.value.error.code == -32602  # specification 2026-07-28, server/prompts, error handling


async def test_completions_are_asked_of_whose_they_are(relay: Any, profile: str) -> None:
    async with relay.connect(profile) as client:
        of_prompt = await client.complete(types.PromptReference(name="up__write"), {"name": "topic", "value": "b"})
        of_template = await client.complete(
            types.ResourceTemplateReference(uri="up://item/{id}"), {"name": "id", "value": "1"}
        )
        assert of_prompt.completion.values == ["write:topic=b!"]
        assert of_template.completion.values == ["up://item/{id}:id=1!"]


CHANGES = {
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/updated",
}


async def test_a_list_that_is_as_it_was_is_not_told_to_have_changed(relay: Any) -> None:
    """A server may say that its lists have changed whenever it likes; here only that of its tools has."""
    changed: list[str] = []

    async def note(heard: Any) -> None:
        async for event in heard:
            if isinstance(event, OffersChanged):
                changed.append(event.kind)

    with relay.crib.events.subscribe() as heard:
        async with relay.connect("all") as client, anyio.create_task_group() as tasks:
            tasks.start_soon(note, heard)
            await client.list_resources()
            await client.list_resource_templates()
            await client.list_prompts()
            relay.upstream.lists.clear()
            await client.call_tool("up__change", {})
            await settled(relay)
            assert changed == []
            relay.upstream.more_prompts = True
            await client.call_tool("up__change", {})
            while not changed:
                await anyio.lowlevel.checkpoint()
            await settled(relay)
            assert set(changed) == {"prompts"}
            assert len((await client.list_prompts()).prompts) == 2
            tasks.cancel_scope.cancel()


async def settled(relay: Any) -> None:
    """Wait until the server was asked for all its lists since it said that they have changed, and answered."""
    asked = relay.upstream.lists
    while not {"resources", "templates", "prompts"} <= asked:
        await anyio.lowlevel.checkpoint()
    asked.clear()
    await relay.crib.call("up.trace")


async def test_changes_reach_a_client_whose_own_lists_change(relay: Any, profile: str) -> None:
    expected = CHANGES if profile == "all" else CHANGES - {"notifications/tools/list_changed"}
    async with relay.connect(profile) as client:
        call = ("up__change", {}) if profile == "all" else ("call_tool", {"name": "up.change"})
        await client.list_tools()
        if relay.era == "handshake":
            await client.session.subscribe_resource("up://fixed")
            await client.call_tool(*call)
            heard: set[str] = set()
            while not expected <= heard:
                await anyio.lowlevel.checkpoint()
                heard = {each.method for each in relay.user.heard}
            assert heard == expected
            await client.session.unsubscribe_resource("up://fixed")
            while relay.upstream.followed:
                await anyio.lowlevel.checkpoint()
            return
        async with client.listen(
            tools_list_changed=True,
            resources_list_changed=True,
            prompts_list_changed=True,
            resource_subscriptions=["up://fixed", "nobody://has/this"],
        ) as events:
            assert "up://fixed" in events.honored.resource_subscriptions
            await client.call_tool(*call)
            kinds: set[str] = set()
            async for event in events:
                kinds.add(type(event).__name__)
                if len(kinds) == len(expected):
                    break
            assert kinds == {
                *({"ToolsListChanged"} if profile == "all" else ()),
                "ResourcesListChanged",
                "PromptsListChanged",
                "ResourceUpdated",
            }
