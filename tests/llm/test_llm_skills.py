"""Skills in conversations: tools at hand at no search, texts once, with the question that they fit."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.llm import (
    ChatResponse,
    Conversation,
    LlmClient,
    Request,
    ScriptedProvider,
    SkillGiven,
    Traits,
    first_difference,
    use,
)
from toolcrib.skills import SkillError

pytestmark = pytest.mark.anyio

PAINTING = "Paint the walls of a room in the colors of the house. Use when somebody wants a room painted."
PAINT = use("local__paint", {"color": "red"})


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "paint-room"
    folder.mkdir()
    head = f"---\nname: paint-room\ndescription: {PAINTING}\nallowed-tools: local.paint local.none\n---\n"
    (folder / "SKILL.md").write_text(f"{head}Red is for kitchens.\n")
    (folder / "COLORS.md").write_text("red, green\n")
    return folder


@pytest.fixture
async def used(crib: Crib, skill: Path) -> Crib:
    await crib.use_skill(skill)
    return crib


def words(request: Request) -> str:
    return request.messages[-1].text


def client_over(crib: Crib, *script: Any, **options: Any) -> tuple[LlmClient, ScriptedProvider]:
    provider = ScriptedProvider(script, traits=options.pop("traits", None))
    return LlmClient(provider, crib, **options), provider


async def test_a_skill_is_given_once_with_the_first_question_that_it_fits(crib: Crib, skill: Path) -> None:
    client, provider = client_over(crib, "hi", PAINT, "done", "again", surface="search", skills=[skill])
    async with client:
        await client.chat("hello")
        events = [event async for event in client.stream("I want the kitchen painted. Which color for the room?")]
        await client.chat("And paint the room next to it, its walls too.")
    assert [event for event in events if isinstance(event, SkillGiven)] == [SkillGiven("paint-room")]
    first, second, third, fourth = provider.requests
    assert words(first) == "hello"
    assert words(second).startswith("I want the kitchen painted. Which color for the room?\n\nHow requests like this")
    assert "Red is for kitchens." in words(second)
    assert words(fourth) == "And paint the room next to it, its walls too."
    assert sum("Red is for kitchens." in message.text for message in fourth.messages) == 1
    assert third.messages[: len(second.messages)] == second.messages


async def test_every_request_begins_with_the_bytes_of_the_one_before(crib: Crib, skill: Path) -> None:
    client, provider = client_over(crib, "hi", PAINT, "done", "bye", surface="search", skills=[skill])
    async with client:
        for question in ("hello", "paint the walls of the room", "thanks"):
            await client.chat(question)
            (skill / "SKILL.md").write_text(f"---\nname: paint-room\ndescription: {PAINTING}\n---\nChanged.\n")
    payloads = [provider.payload(request) for request in provider.requests]
    for before, after in pairwise(payloads):
        assert first_difference(before, after) is None
        assert after["tools"] == before["tools"]


async def test_tools_that_a_skill_names_are_called_at_no_search(crib: Crib, skill: Path, calls: list[Any]) -> None:
    client, provider = client_over(crib, PAINT, "red", surface="search", skills=[skill])
    async with client:
        response = await client.chat("paint the walls of the room")
        assert list(client.skills[0].missing) == ["local.none"]
    assert calls == [("paint", "red")]
    assert [call.kind for call in response.tool_calls] == ["called"]
    tools = {tool.name: tool for tool in provider.requests[0].tools}
    assert tools["local__paint"].input_schema == crib.registry.tool("local.paint").input_schema
    assert "local__add" not in tools
    # It is told by the name that the model calls it by, and its files by the tool that reads them.
    assert "Its tools:\nlocal__paint\n" in words(provider.requests[0])
    assert "get_tool_details reads by these names:\nskill:paint-room/COLORS.md" in words(provider.requests[0])


async def test_the_constant_tools_before_them_stay_the_same(crib: Crib, skill: Path) -> None:
    plain, before = client_over(crib, "hi", surface="search", skills=[], resources=False)
    await plain.chat("hello")
    client, provider = client_over(crib, "hi", surface="search", skills=[skill], resources=False)
    await client.chat("hello")
    assert provider.requests[0].tools[:-1] == before.requests[0].tools


async def test_deferred_tools_that_a_skill_names_have_their_schemas(crib: Crib, skill: Path) -> None:
    client, provider = client_over(crib, "hi", use_deferred_loading=True, skills=[skill])
    await client.chat("paint the walls of a room")
    schemas = {tool.name: tool.input_schema for tool in provider.requests[0].tools}
    assert schemas["local__paint"] == crib.registry.tool("local.paint").input_schema
    assert schemas["local__add"] == {"type": "object"}
    # Here resources are what files are read by.
    assert "mcp_read_resource reads by these names:\nskill://paint-room/COLORS.md" in words(provider.requests[0])


@pytest.mark.parametrize("search", ["ours", "platform"])
async def test_native_tools_that_a_skill_names_are_not_held_back(crib: Crib, skill: Path, search: Any) -> None:
    traits = Traits(window=200_000, references=True)
    client, provider = client_over(crib, "hi", surface="native", native_search=search, traits=traits, skills=[skill])
    await client.chat("hello")
    deferred = {tool.name: tool.deferred for tool in provider.requests[0].tools}
    assert (deferred["local__paint"], deferred["local__add"]) == (False, True)


async def test_a_search_on_the_native_surface_says_how_a_skill_is_read(used: Crib) -> None:
    look = use("search_tools", {"query": "paint the walls of a room"})
    traits = Traits(window=200_000, references=True)
    client, provider = client_over(used, look, "ok", surface="native", traits=traits, skills=[])
    await client.chat("hello")
    told = str(provider.requests[1].messages[-1].results[0].content[0]["text"])
    assert "skill:paint-room" in told
    assert "mcp_read_resource reads a skill" in told


async def test_what_has_no_room_is_not_told_up_front(crib: Crib, skill: Path) -> None:
    client, provider = client_over(
        crib, "hi", surface="search", skills=[skill], traits=Traits(window=4_000), threshold=0.01
    )
    await client.chat("paint the walls of a room")
    assert "local__paint" not in {tool.name for tool in provider.requests[0].tools}
    assert "Its tools:\nlocal.paint(color:" in words(provider.requests[0])


async def test_none_takes_the_skills_that_the_crib_uses_and_a_list_its_own(used: Crib) -> None:
    client, provider = client_over(used, "hi")
    await client.chat("paint the walls of a room")
    assert "Red is for kitchens." in words(provider.requests[0])
    client, provider = client_over(used, "hi", skills=[])
    await client.chat("paint the walls of a room")
    assert words(provider.requests[0]) == "paint the walls of a room"


async def test_a_stored_conversation_knows_what_was_given(used: Crib) -> None:
    client, _ = client_over(used, "done", surface="search")
    await client.chat("paint the walls of a room")
    stored = Conversation.load(client.conversation.save())
    again, provider = client_over(used, PAINT, "done")
    response = await again.chat("paint the walls of another room", conversation=stored)
    assert words(provider.requests[0]) == "paint the walls of another room"
    assert response.tool_calls[0].name == "local.paint"


async def test_what_was_trimmed_away_may_be_given_again(used: Crib) -> None:
    client, provider = client_over(used, "one", "two", "three")
    for question in ("paint the walls of a room", "thanks"):
        await client.chat(question)
    client.conversation.trim(1)
    await client.chat("paint the walls of a room")
    assert "Red is for kitchens." in words(provider.requests[2])


async def test_a_skill_that_changed_or_went_is_read_as_it_is_now(used: Crib, skill: Path) -> None:
    client, provider = client_over(used, "one", "two")
    (skill / "SKILL.md").write_text(f"---\nname: paint-room\ndescription: {PAINTING}\n---\nGreen is for kitchens.\n")
    await client.chat("paint the walls of a room")
    assert "Green is for kitchens." in words(provider.requests[0])
    (skill / "SKILL.md").unlink()
    other = client.new_conversation()
    assert (await client.chat("paint the walls of a room", conversation=other)).text == "two"
    assert words(provider.requests[1]) == "paint the walls of a room"


async def test_guided_steps_are_given_the_text_too(used: Crib) -> None:
    client, provider = client_over(used, "Red.", guided=True, traits=Traits(window=8_000))
    response: ChatResponse = await client.chat("paint the walls of a room")
    assert response.text == "Red."
    assert "Red is for kitchens." in provider.requests[0].messages[0].text


async def test_a_skill_that_can_not_be_used_is_told_when_the_client_opens(crib: Crib, tmp_path: Path) -> None:
    client, _ = client_over(crib, "hi", skills=[tmp_path / "none"])
    with pytest.raises(SkillError, match="no skill at"):
        async with client:
            pass
    with pytest.raises(SkillError, match="no skill at"):
        await client.chat("hello")
