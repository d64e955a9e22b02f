"""The meta-tools as a model uses them, over the demo servers."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client

from toolcrib import Crib, MetaTools
from toolcrib.catalog import as_sent
from toolcrib.demo.calendar import APP as CALENDAR
from toolcrib.demo.files import APP as FILES
from toolcrib.demo.notes import APP as NOTES
from toolcrib.demo.tickets import APP as TICKETS
from toolcrib.errors import UsageError
from toolcrib.metatools.definitions import meta_tools
from toolcrib.tokens import count_tokens

pytestmark = pytest.mark.anyio


@pytest.fixture
async def doors() -> AsyncIterator[MetaTools]:
    apps = {"tickets": TICKETS, "notes": NOTES, "calendar": CALENDAR, "files": FILES}
    async with (
        Client(apps["tickets"].server()) as tickets,
        Client(apps["notes"].server()) as notes,
        Client(apps["calendar"].server()) as calendar,
        Client(apps["files"].server()) as files,
        Crib.from_clients({"tickets": tickets, "notes": notes, "calendar": calendar, "files": files}) as crib,
    ):
        yield MetaTools(crib)


def text(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


async def test_four_tools_are_shown_and_never_change(doors: MetaTools) -> None:
    before = json.dumps(doors.definitions())
    await doors.call("search_tools", {"query": "create a ticket"})
    await doors.call("call_tool", {"name": "tickets.list_projects"})
    assert json.dumps(doors.definitions()) == before
    assert [each["name"] for each in doors.definitions()] == [
        "search_tools",
        "get_tool_details",
        "call_tool",
        "read_result",
        "run_code",
    ]
    assert "Servers: tickets, notes, calendar, files." in doors.definitions()[0]["description"]


def test_the_surface_stays_small_however_many_servers_there_are() -> None:
    for count in (30, 300, 3000):
        servers = [(f"server_{number}", f"Does everything about subject {number}") for number in range(count)]
        definitions = meta_tools(servers, token_budget=300, languages=["python"])
        assert sum(count_tokens(as_sent(each)) for each in definitions) <= 1000
        assert "server_0" in definitions[0]["description"]
    assert "and 29" in meta_tools(servers, token_budget=300)[0]["description"]


def test_descriptions_are_shown_while_they_fit() -> None:
    [search, *_] = meta_tools([("a", "first\nline"), ("b", "")], token_budget=300)
    assert search["description"].endswith("Servers: a (first line), b.")
    [search, *_] = meta_tools([], token_budget=300)
    assert "Servers" not in search["description"]


async def test_a_search_shows_signatures_that_can_be_pasted(doors: MetaTools) -> None:
    answer = text(await doors.call("search_tools", {"query": "create a ticket"}))
    first = answer.splitlines()[0]
    assert first.startswith("tickets.create_ticket(")
    assert "title: str" in first
    assert answer.splitlines()[1].startswith("  ")


@pytest.mark.parametrize("detail", ["name", "brief", "signature", "full"])
async def test_every_detail_names_the_tool(doors: MetaTools, detail: str) -> None:
    answer = text(await doors.call("search_tools", {"query": "create a ticket", "detail": detail, "limit": 1}))
    assert "tickets.create_ticket" in answer.splitlines()[0]
    if detail == "name":
        assert answer.splitlines()[0] == "tickets.create_ticket"


async def test_pages_are_reached_by_the_cursor_of_the_answer(doors: MetaTools) -> None:
    first = text(await doors.call("search_tools", {"query": "ticket", "limit": 3, "detail": "name"}))
    *hits, more = first.splitlines()
    cursor = more.split('"')[1]
    second = text(await doors.call("search_tools", {"query": "ticket", "limit": 3, "detail": "name", "cursor": cursor}))
    assert len(hits) == 3
    assert not set(hits) & set(second.splitlines())
    forged = await doors.call("search_tools", {"query": "note", "cursor": cursor})
    assert forged["isError"]


async def test_a_request_that_nothing_fits_says_so_above_the_nearest(doors: MetaTools) -> None:
    answer = text(await doors.call("search_tools", {"query": "unclog the kitchen sink with a plunger"}))
    assert answer.startswith(("Probably nothing here does this", "Nothing found"))


async def test_details_hold_the_definition_with_the_servers_values(doors: MetaTools) -> None:
    async with Client(TICKETS.server()) as client:
        sent = {
            tool.name: tool.model_dump(by_alias=True, mode="json", exclude_none=True)
            for tool in (await client.list_tools()).tools
        }
    for name, definition in sent.items():
        document = json.loads(text(await doors.call("get_tool_details", {"name": f"tickets.{name}"})))
        assert document["definition"] == definition
        assert document["id"] == f"tickets.{name}"
        assert document["example"]["name"] == f"tickets.{name}"


async def test_details_take_several_names_and_name_the_unknown(doors: MetaTools) -> None:
    result = await doors.call("get_tool_details", {"name": "tickets.create_ticket, notes.nothing"})
    assert not result["isError"]
    assert [block["text"].startswith("{") for block in result["content"]] == [True, False]
    assert (await doors.call("get_tool_details", {"name": "notes.nothing"}))["isError"]
    assert (await doors.call("get_tool_details", {}))["isError"]


async def test_a_name_given_twice_is_answered_once(doors: MetaTools) -> None:
    result = await doors.call("get_tool_details", {"name": "notes.list_tags, notes.list_tags\nnotes.list_tags"})
    assert len(result["content"]) == 1


async def test_the_example_of_the_details_can_be_called(doors: MetaTools) -> None:
    document = json.loads(text(await doors.call("get_tool_details", {"name": "tickets.list_projects"})))
    assert not (await doors.call("call_tool", document["example"])).get("isError")


async def test_wrong_arguments_are_answered_with_problems_and_schema(doors: MetaTools) -> None:
    result = await doors.call("call_tool", {"name": "tickets.create_ticket", "arguments": {"titel": "x"}})
    assert result["isError"]
    answer = text(result)
    assert "nothing was called" in answer
    assert "title" in answer
    assert "Signature: tickets.create_ticket(" in answer
    assert '"properties":' in answer


async def test_mended_arguments_are_told_in_meta(doors: MetaTools) -> None:
    result = await doors.call("call_tool", {"name": "tickets.search_tickets", "arguments": {"limit": "3"}})
    assert not result.get("isError")
    assert len(result["_meta"]["toolcrib/changes"]) == 1


@pytest.mark.parametrize(
    "query",
    [
        "",
        None,
        "null",
        "创建工单",
        "создать тикет",
        "tạo vé",
        "🎫🎫🎫",
        "\x00",
        "\ud800",
        "a " * 50_000,
        "(((",
        "select:x",
    ],
)
async def test_odd_queries_are_answered(doors: MetaTools, query: Any) -> None:
    result = await doors.call("search_tools", {"query": query})
    assert text(result)
    assert len(text(result)) < 20_000


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_tools", {"query": {"a": 1}}),
        ("search_tools", {"query": "x", "limit": "many"}),
        ("search_tools", {"query": "x", "detail": "everything"}),
        ("search_tools", {"query": "x", "server": "nowhere"}),
        ("search_tools", {"query": "select:"}),
        ("search_tools", {"query": "select:" + ",".join(f"tickets.t{number}" for number in range(3000))}),
        ("get_tool_details", {"name": ",".join(f"tickets.t{number}" for number in range(3000))}),
        ("search_tools", {"query": "/((a+)+/"}),
        ("call_tool", {}),
        ("call_tool", {"name": "tickets.create_tickets"}),
        ("call_tool", {"name": "call_tool"}),
        ("call_tool", {"name": "x" * 100_000}),
        ("call_tool", {"name": "tickets.create_ticket", "arguments": "title=x"}),
        ("call_tool", {"name": "tickets.create_ticket", "arguments": [1]}),
    ],
)
async def test_what_is_used_wrongly_is_an_error_to_act_on(doors: MetaTools, name: str, arguments: Any) -> None:
    result = await doors.call(name, arguments)
    assert result["isError"]
    assert 0 < len(text(result)) < 2_000
    assert "Traceback" not in text(result)


async def test_a_name_that_is_nearly_right_gets_the_right_one(doors: MetaTools) -> None:
    assert "tickets.create_ticket" in text(await doors.call("call_tool", {"name": "tickets.create_tickets"}))


async def test_other_names_are_no_meta_tools(doors: MetaTools) -> None:
    with pytest.raises(UsageError, match="call_tool"):
        await doors.call("tickets.create_ticket", {})


async def test_half_a_surrogate_pair_in_a_definition_can_still_be_sent() -> None:
    class Odd:
        id = "odd"
        description = ""

        async def ensure(self, context: Any = None) -> None: ...

        async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
            return [{"name": "emoji", "description": "Half \ud83d of a pair.", "inputSchema": {"type": "object"}}]

        async def request(self, method: str, params: Any, context: Any = None) -> dict[str, Any]:
            return {"content": []}

    async with Crib.from_clients({}) as crib:
        await crib.add_source(Odd())
        doors = MetaTools(crib)
        for name, arguments in [
            ("search_tools", {"query": "emoji"}),
            ("search_tools", {"query": "emoji", "detail": "full"}),
            ("get_tool_details", {"name": "odd.emoji"}),
            ("call_tool", {"name": "odd.\ud83d"}),
        ]:
            assert text(await doors.call(name, arguments)).encode()
        document = json.loads(text(await doors.call("get_tool_details", {"name": "odd.emoji"})))
        assert document["definition"]["description"] == "Half \ud83d of a pair."


async def test_a_meta_that_is_no_object_does_not_cost_the_answer() -> None:
    class Odd:
        id = "odd"
        description = ""

        async def ensure(self, context: Any = None) -> None: ...

        async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
            schema = {"type": "object", "properties": {"count": {"type": "integer"}}}
            return [{"name": "create", "inputSchema": schema}]

        async def request(self, method: str, params: Any, context: Any = None) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": "created"}], "_meta": [1]}

    async with Crib.from_clients({}) as crib:
        await crib.add_source(Odd())
        result = await MetaTools(crib).call("call_tool", {"name": "odd.create", "arguments": {"count": "5"}})

    assert text(result) == "created"
    assert result["_meta"] == {"toolcrib/changes": ['/count: "5" → 5']}
