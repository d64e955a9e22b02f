"""Resources as tools: there by themselves where a server offers some, on every surface, in each vendor's form (the
pattern's tests C1 to C9, and T25 to T29 of those it lacks)."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from mcp_types import (
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
    Tool,
)

from toolcrib import Crib
from toolcrib.broker import LOCAL
from toolcrib.llm import (
    LlmClient,
    LlmConfiguration,
    Message,
    Request,
    ScriptedProvider,
    ToolResult,
    ToolUse,
    Traits,
    use,
)
from toolcrib.llm.account import MEDIA_TOKENS, Accountant
from toolcrib.llm.naming import provider_by_name
from toolcrib.llm.surfaces import NativeTools

pytestmark = pytest.mark.anyio

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n not a whole picture").decode()
PAPER = base64.b64encode(b"%PDF-1.7 not a whole paper").decode()
TABLE = base64.b64encode(b"a,b").decode()
SURFACES = ("all", "deferred", "search", "native")


def library(name: str, *uris: str, pages: int = 1, templates: tuple[str, ...] = ()) -> Server[Any]:
    """A server with one tool and texts to read, whose URIs end in their names."""
    read: list[str] = []

    async def tools(_: Any, __: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="run", input_schema={"type": "object"})])

    async def listing(_: Any, params: Any) -> ListResourcesResult:
        place = int(params.cursor) if params and params.cursor else 0
        share = [Resource(uri=uri, name=uri.rpartition("/")[2], description=f"About {uri}.") for uri in uris]
        following = str(place + 1) if place + 1 < pages else None
        return ListResourcesResult(resources=share[place::pages], next_cursor=following)

    async def templating(_: Any, __: Any) -> ListResourceTemplatesResult:
        made = [ResourceTemplate(uri_template=each, name=f"template {each}") for each in templates]
        return ListResourceTemplatesResult(resource_templates=made)

    async def reading(_: Any, params: Any) -> ReadResourceResult:
        uri = str(params.uri)
        read.append(uri)
        kind = uri.rpartition(".")[2]
        if kind in ("png", "pdf", "bin", "csv"):
            mime = {"png": "image/png", "pdf": "application/pdf", "csv": "text/csv"}.get(kind)
            small = {"png": PIXEL, "pdf": PAPER, "csv": TABLE}.get(kind, "AAAA")
            blob = "A" * 1_400_000 if "large" in uri else small
            return ReadResourceResult(contents=[BlobResourceContents(uri=uri, mime_type=mime, blob=blob)])
        text = "\n".join(f"line {number}" for number in range(50_000)) if "long" in uri else f"{name} says {uri}"
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text)])

    return Server(
        name,
        on_list_tools=tools,
        on_list_resources=listing,
        on_list_resource_templates=templating,
        on_read_resource=reading,
    )


def without_resources(name: str) -> Server[Any]:
    async def tools(_: Any, __: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="run", input_schema={"type": "object"})])

    return Server(name, on_list_tools=tools)


@asynccontextmanager
async def asked(
    servers: dict[str, Server[Any]], *script: Any, **options: Any
) -> AsyncIterator[tuple[LlmClient, ScriptedProvider]]:
    """A client over connected servers, and its model."""
    provider = ScriptedProvider(script, traits=Traits(200_000, media=True))
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(Client(server)) for name, server in servers.items()}
        crib = await stack.enter_async_context(Crib.from_clients(clients))
        yield await stack.enter_async_context(LlmClient(provider, crib, **options)), provider


def told(request: Request) -> str:
    """The results in a request's newest message, as text."""
    blocks = [block for result in request.messages[-1].results for block in result.content]
    return "\n".join(str(block.get("text") or block["resource"].get("text")) for block in blocks)


@pytest.mark.parametrize("surface", SURFACES)
async def test_c1_both_tools_are_there_by_themselves_on_every_surface(surface: Any) -> None:
    servers = {"a": library("a", "doc://a/one"), "b": without_resources("b")}
    async with asked(servers, "hello", surface=surface, use_deferred_loading=surface == "deferred") as (client, model):
        await client.chat("hi")
    told = {tool.name: tool for tool in model.requests[0].tools}
    assert {"mcp_list_resources", "mcp_read_resource"} <= set(told)
    assert set(told["mcp_read_resource"].input_schema["properties"]) == {"uri", "name", "server"}
    assert "required" not in told["mcp_read_resource"].input_schema


@pytest.mark.parametrize("surface", SURFACES)
async def test_they_are_not_there_where_no_server_offers_any_or_they_are_not_wanted(surface: Any) -> None:
    for servers, wanted in (({"b": without_resources("b")}, True), ({"a": library("a", "doc://a/one")}, False)):
        async with asked(servers, "hello", surface=surface, resources=wanted) as (client, model):
            await client.chat("hi")
        assert not any("resource" in tool.name for tool in model.requests[0].tools)


async def test_constant_tools_are_never_held_back_on_native() -> None:
    async with asked({"a": library("a", "doc://a/one")}, "hello", surface="search") as (client, _):
        tools = await NativeTools(client.crib).tools(LOCAL)
    assert {tool.name: tool.deferred for tool in tools} == {
        "search_tools": False,
        "a__run": True,
        "read_result": False,
        "mcp_list_resources": False,
        "mcp_read_resource": False,
    }


@pytest.mark.parametrize("surface", ["all", "search"])
async def test_t25_t27_all_servers_are_listed_over_all_pages_templates_included(surface: Any) -> None:
    uris = tuple(f"doc://a/{number}" for number in range(60))
    servers = {"a": library("a", *uris, pages=7, templates=("doc://a/{id}/page",)), "b": library("b", "doc://b/one")}
    script = (use("mcp_list_resources"), use("mcp_list_resources", {"offset": 50}), "62")
    async with asked(servers, *script, surface=surface) as (client, model):
        response = await client.chat("What is there to read?")
    pages = [told(request).splitlines() for request in model.requests[1:]]
    assert pages[0][-1] == "12 more from offset 50 on."
    assert len(pages[0]) == 51
    assert [line.partition(" (")[0] for line in pages[1][-2:]] == ["b: doc://b/one", "a: doc://a/{id}/page"]
    assert (response.rounds, [call.kind for call in response.tool_calls]) == (0, ["looked", "looked"])


@pytest.mark.parametrize(
    "arguments",
    [{"uri": "doc://b/two"}, {"name": "two"}, {"resourceName": "two"}, {"uri": None, "name": "two"}],
    ids=["uri", "name", "the pattern's own word", "null beside"],
)
async def test_t26_t29_one_is_read_from_the_server_that_has_it(arguments: dict[str, Any]) -> None:
    servers = {"a": library("a", "doc://a/one"), "b": library("b", "doc://b/two")}
    async with asked(servers, use("mcp_read_resource", arguments), "done", surface="all") as (client, model):
        await client.chat("Read two.")
    assert told(model.requests[1]) == "b says doc://b/two"


async def test_t26_a_name_that_fits_several_and_one_that_fits_none_are_told_with_what_there_is() -> None:
    servers = {"a": library("a", "doc://x/same"), "b": library("b", "doc://x/same", "doc://b/reprot")}
    same = use("mcp_read_resource", {"uri": "doc://x/same"})
    script = (
        same,
        use("mcp_read_resource", {"uri": "doc://x/same", "server": "b"}),
        use("mcp_read_resource", {"uri": "toolcrib://b/doc://x/same"}),
        use("mcp_read_resource", {"name": "report"}),
        use("mcp_read_resource", {}),
        "done",
    )
    async with asked(servers, *script, surface="all", max_tool_rounds=6) as (client, model):
        await client.chat("Read.")
    several, right, named, none, nothing = (told(request) for request in model.requests[1:6])
    assert "toolcrib://a/doc://x/same, toolcrib://b/doc://x/same" in several
    assert right == named == "b says doc://x/same"
    assert "There is no resource 'report'" in none
    assert none.index("doc://b/reprot (reprot)") < none.index("doc://x/same")  # the nearest first
    assert "needs a resource's `uri` or `name`" in nothing


async def test_t27_what_a_template_stands_for_is_read() -> None:
    servers = {"a": library("a", templates=("doc://a/{id}/page",))}
    script = (use("mcp_read_resource", {"uri": "doc://a/7/page"}), "done")
    async with asked(servers, *script, surface="all") as (client, model):
        await client.chat("Read page 7.")
    assert told(model.requests[1]) == "a says doc://a/7/page"


async def test_t28_a_text_that_is_too_long_becomes_a_handle_and_is_read_in_pages() -> None:
    def page(request: Request) -> Any:
        handle = next(word for word in told(request).split() if word.startswith("r_")).strip(";,.")
        return use("read_result", {"handle": handle, "grep": "line 49999"})

    script = (use("mcp_read_resource", {"uri": "doc://a/long"}), page, "done")
    async with asked({"a": library("a", "doc://a/long")}, *script, surface="all") as (client, model):
        await client.chat("What is the last line?")
    assert len(told(model.requests[1])) < 5_000
    assert "line 49999" in told(model.requests[2])


def test_t28_an_image_counts_by_its_area_and_not_by_its_bytes() -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": "A" * 1_400_000}
    request = Request((Message("user", (ToolResult("c", "draw", (picture,)),)),))
    seen, unseen = (Accountant(media=media).account(request).results for media in (True, False))
    assert MEDIA_TOKENS < seen < MEDIA_TOKENS + 100
    assert unseen < 100


async def test_t28_an_image_of_a_megabyte_is_read_as_an_image() -> None:
    """It neither exceeds the budget of a result nor fills the model's window."""
    script = (use("mcp_read_resource", {"uri": "doc://a/large.png"}), "nice")
    async with asked({"a": library("a", "doc://a/large.png")}, *script, surface="all") as (client, model):
        await client.chat("Show it.")
    (block,) = model.requests[1].messages[-1].results[0].content
    assert len(block["resource"]["blob"]) == 1_400_000


def payload(name: str, *blocks: dict[str, Any], model: str = "") -> Any:
    """How a provider sends these blocks as a result."""
    pytest.importorskip({"gemini": "google.genai", "anthropic": "anthropic"}.get(name, "openai"))
    provider = provider_by_name(name, LlmConfiguration(model, "key", "http://127.0.0.1:9"))
    messages = (
        Message("assistant", (ToolUse("c1", "mcp_read_resource", {}),)),
        Message("user", (ToolResult("c1", "mcp_read_resource", blocks),)),
    )
    return provider.payload(Request(messages))


def embedded(uri: str, mime: str, blob: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "blob": blob}}


BLOCKS = (
    embedded("file:///a.png", "image/png", PIXEL),
    embedded("file:///b.pdf", "application/pdf", PAPER),
    embedded("file:///c.csv", "text/csv", TABLE),
    embedded("file:///d.bin", "application/octet-stream", "AAAA"),
    {"type": "image", "mimeType": "image/svg+xml", "data": "AAAA"},
)
NAMED = "[file:///d.bin: application/octet-stream, 3 bytes, not shown]"
SVG = "[image: image/svg+xml, 3 bytes, not shown]"


def test_binary_goes_to_anthropic_as_images_and_documents() -> None:
    (result,) = payload("anthropic", *BLOCKS)["messages"][1]["content"]
    assert result["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PAPER}},
        {"type": "text", "text": "a,b"},
        {"type": "text", "text": NAMED},
        {"type": "text", "text": SVG},
    ]


def test_binary_goes_to_openai_as_images_and_files() -> None:
    result = payload("openai", *BLOCKS)["input"][1]
    assert result["output"] == [
        {"type": "input_text", "text": f"a,b\n{NAMED}\n{SVG}"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
        {"type": "input_file", "filename": "b.pdf", "file_data": f"data:application/pdf;base64,{PAPER}"},
    ]


def test_binary_goes_to_gemini_as_parts_where_its_models_take_them() -> None:
    response = payload("gemini", *BLOCKS)["contents"][1]["parts"][0]["functionResponse"]
    assert response["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
        {"inlineData": {"mimeType": "application/pdf", "data": PAPER}},
    ]
    assert response["response"] == {"output": f"a,b\n{NAMED}\n{SVG}"}
    older = payload("gemini", *BLOCKS, model="gemini-2.5-flash")["contents"][1]["parts"][0]["functionResponse"]
    assert "parts" not in older
    assert "[file:///a.png: image/png" in older["response"]["output"]


def test_binary_is_named_where_only_text_is_taken() -> None:
    message = payload("openai-chat", *BLOCKS)["messages"][1]
    assert message["content"].splitlines()[2:] == ["a,b", NAMED, SVG]
    assert "not shown" in message["content"].splitlines()[0]


def test_an_image_that_is_larger_than_vendors_take_is_named() -> None:
    """One that a vendor refuses would stay in the conversation, and end it."""
    large = {"type": "image", "mimeType": "image/png", "data": "A" * 5_000_004}
    (result,) = payload("anthropic", large)["messages"][1]["content"]
    assert result["content"][0] == {"type": "text", "text": "[image: image/png, 3,750,003 bytes, not shown]"}


async def test_what_a_server_offers_is_decided_at_the_start_of_a_conversation() -> None:
    """The tools of a conversation never change; a new one is told of what came later."""
    async with asked({"b": without_resources("b")}, "one", "two", "three", surface="all") as (client, model):
        await client.chat("hi")
        await client.crib.add_source(Claiming())
        await client.chat("again")
        await client.chat("anew", conversation=client.new_conversation())
    assert json.dumps(model.payload(model.requests[0])["tools"]) == json.dumps(
        model.payload(model.requests[1])["tools"]
    )
    assert "mcp_read_resource" in {tool.name for tool in model.requests[2].tools}


class Claiming:
    """A source of one's own that has something to read."""

    id = "mine"
    description = ""

    def offers(self, capability: str) -> bool:
        return capability == "resources"

    async def ensure(self, context: Any = None) -> None: ...

    async def list(self, method: Any, context: Any = None) -> list[Any]:
        return []

    async def request(self, method: Any, params: Any, context: Any = None) -> dict[str, Any]:
        return {}
