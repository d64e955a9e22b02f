"""Resources, prompts and completions of several servers that have the same, each with its own words."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
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

LIMIT = 30.0
MODES: dict[str, Any] = {"handshake": "legacy", "modern": "auto"}
KEPT: dict[str, dict[str, Any]] = {
    "long": {"ttl_ms": 90_000, "cache_scope": "public"},
    "short": {"ttl_ms": 30_000, "cache_scope": "public"},
    "own": {"ttl_ms": 60_000, "cache_scope": "private"},
}
SHARED, TEMPLATE = "note://today", "note://{day}"
UPSTREAM = Path(__file__).resolve().parent / "upstream.py"


def server(name: str) -> Server[Any]:
    """One that has the resource, the template and the prompt that the others have too."""

    async def resources(ctx: Any, params: Any) -> types.ListResourcesResult:
        own = types.Resource(uri=f"{name}://only", name="only")
        return types.ListResourcesResult(resources=[types.Resource(uri=SHARED, name=name), own], **KEPT[name])

    async def templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
        found = types.ResourceTemplate(uri_template=TEMPLATE, name=name)
        return types.ListResourceTemplatesResult(resource_templates=[found], **KEPT[name])

    async def read(ctx: Any, params: Any) -> types.ReadResourceResult:
        text = types.TextResourceContents(uri=str(params.uri), text=f"{name} has {params.uri}")
        return types.ReadResourceResult(contents=[text])

    async def prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name="write")], **KEPT[name])

    async def complete(ctx: Any, params: Any) -> types.CompleteResult:
        about = getattr(params.ref, "name", None) or str(params.ref.uri)
        return types.CompleteResult(completion=types.Completion(values=[f"{name} {about} {params.argument.value}"]))

    return Server(
        name,
        version="1",
        on_list_resources=resources,
        on_list_resource_templates=templates,
        on_read_resource=read,
        on_list_prompts=prompts,
        on_completion=complete,
    )


@pytest.fixture(params=[(a, b) for a in MODES for b in MODES], ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
async def several(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """Makes a client of a gateway over some of the servers, and the eras of the two sides."""
    era, upstream_era = request.param
    with anyio.fail_after(LIMIT):
        async with AsyncExitStack() as stack:

            async def connect(*names: str) -> Client:
                clients = {
                    name: await stack.enter_async_context(Client(server(name), mode=MODES[upstream_era]))
                    for name in names
                }
                crib = await stack.enter_async_context(Crib.from_clients(clients, state_dir=tmp_path))
                return await stack.enter_async_context(Client(Gateway(crib).server, mode=MODES[era]))

            yield connect, era, upstream_era


async def test_a_uri_that_several_have_is_listed_and_read_by_one_name_each(several: Any) -> None:
    client = await several[0]("long", "short")
    listed = [str(each.uri) for each in (await client.list_resources()).resources]
    templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]

    assert listed == ["long://only", f"toolcrib://long/{SHARED}", "short://only", f"toolcrib://short/{SHARED}"]
    assert templates == [f"toolcrib://long/{TEMPLATE}", f"toolcrib://short/{TEMPLATE}"]
    for name in ("long", "short"):
        [content] = (await client.read_resource(f"toolcrib://{name}/{SHARED}")).contents
        assert content.text == f"{name} has {SHARED}"
        [only] = (await client.read_resource(f"{name}://only")).contents
        assert only.text == f"{name} has {name}://only"
    with pytest.raises(MCPError) as refused:
        await client.read_resource(SHARED)
    assert all(f"toolcrib://{name}/{SHARED}" in refused.value.error.message for name in ("long", "short"))


async def test_what_is_completed_is_asked_of_whose_it_is(several: Any) -> None:
    client = await several[0]("long", "short")

    async def completed(ref: Any) -> list[str]:
        return (await client.complete(ref, {"name": "day", "value": "mon"})).completion.values

    for name in ("long", "short"):
        of_prompt = types.PromptReference(name=f"{name}__write")
        of_template = types.ResourceTemplateReference(uri=f"toolcrib://{name}/{TEMPLATE}")
        assert await completed(of_prompt) == [f"{name} write mon"]
        assert await completed(of_template) == [f"{name} {TEMPLATE} mon"]
    with pytest.raises(MCPError):
        await completed(types.PromptReference(name="nobody__write"))


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
@pytest.mark.parametrize(
    ("names", "scope"), [(("long", "short"), "public"), (("long", "own"), "private")], ids=["public", "one private"]
)
async def test_a_list_of_several_may_be_kept_as_long_as_the_strictest_says(
    several: Any, method: str, names: tuple[str, ...], scope: str
) -> None:
    connect, era, upstream_era = several
    raw = await raw_request((await connect(*names)).session, method, {})

    if era == "handshake":  # which knows no such members
        assert not {"ttlMs", "cacheScope"} & raw.keys()
    elif upstream_era == "handshake":  # whose servers promise nothing
        assert (raw["ttlMs"], raw["cacheScope"]) == (0, "private")
    else:
        shortest = min(KEPT[name]["ttl_ms"] for name in names)
        # Some of it has passed since the first of them was asked.
        assert shortest - 20_000 < raw["ttlMs"] <= shortest
        assert raw["cacheScope"] == scope


@pytest.mark.parametrize("era", MODES)
async def test_what_a_server_listed_in_an_earlier_run_is_told_without_starting_it(tmp_path: Path, era: str) -> None:
    entry = {"command": sys.executable, "args": [str(UPSTREAM)], "toolcrib": {"protocol": "legacy"}}
    config = {"mcpServers": {"one": entry, "two": entry}, "toolcrib": {"first_listing_wait": 60}}

    async def lists() -> tuple[list[Any], list[str]]:
        async with (
            Crib.open(config, state_dir=tmp_path) as crib,
            Client(Gateway(crib).server, mode=MODES[era]) as client,
        ):
            resources = [str(each.uri) for each in (await client.list_resources()).resources]
            templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
            prompts = [each.name for each in (await client.list_prompts()).prompts]
            return [resources, templates, prompts], [each.state for each in crib.servers]

    with anyio.fail_after(60):
        first, _ = await lists()
        again, states = await lists()
    assert first == again
    assert first[2] == ["one__write", "two__write"]
    assert states == ["dormant", "dormant"]
