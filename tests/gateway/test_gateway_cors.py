"""Web pages of other origins: what their browsers are told (Fetch, 3.3 and 4.9), and what the pages may read."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib import Crib
from toolcrib.config import digest_of, new_token
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

LIMIT = 20.0
PAGE = "https://app.example"
TOKEN = new_token()

# What the browser clients of the TypeScript SDK send, in either era, as browsers name it: in lower case, sorted.
ASKED = (
    "authorization,content-type,last-event-id,mcp-method,mcp-name,mcp-param-city,mcp-protocol-version,mcp-session-id"
)

HTTP: dict[str, Any] = {
    "allowed_origins": [PAGE, "http://localhost:*"],
    "tokens": [{"name": "ann", "sha256": digest_of(TOKEN), "principal": "ann"}],
}
OLD_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"}}


@pytest.fixture
async def url(tmp_path: Path, over_http: Callable[..., Any]) -> AsyncIterator[str]:
    settings = {"http": HTTP, "principals": {"ann": {"requests_per_minute": 3}}}
    config = {"mcpServers": {}, "toolcrib": settings}
    with anyio.fail_after(LIMIT):
        async with Crib.open(config, state_dir=tmp_path) as crib, over_http(Gateway(crib)) as address:
            yield address


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client


async def preflight(
    web: httpx2.AsyncClient, url: str, origin: str = PAGE, headers: str = ASKED, method: str = "POST"
) -> httpx2.Response:
    """What a browser asks before it lets a page make a request: never with the page's own headers."""
    about = {"origin": origin, "access-control-request-method": method, "access-control-request-headers": headers}
    return await web.options(url, headers=about)


def listed(answer: httpx2.Response, header: str) -> set[str]:
    return {each.strip().lower() for each in answer.headers.get(header, "").split(",") if each.strip()}


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("path", ["", "/all", "/discover"])
async def test_a_page_of_an_allowed_origin_may_ask_what_clients_ask(
    url: str, web: httpx2.AsyncClient, path: str, method: str
) -> None:
    answer = await preflight(web, url + path, method=method)

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == PAGE
    assert answer.headers["vary"] == "Origin"
    assert method.lower() in listed(answer, "access-control-allow-methods")
    assert listed(answer, "access-control-allow-headers") == set(ASKED.split(","))
    assert int(answer.headers["access-control-max-age"]) > 0
    # Nothing that a browser adds by itself counts here, so none is asked for.
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://LOCALHOST:1"])
async def test_any_port_may_be_allowed(url: str, web: httpx2.AsyncClient, origin: str) -> None:
    assert (await preflight(web, url, origin)).headers["access-control-allow-origin"] == origin


async def test_headers_that_no_client_sends_are_not_allowed(url: str, web: httpx2.AsyncClient) -> None:
    answer = await preflight(web, url, headers="content-type, cookie, x-other, mcp-param-, mcp-param-a\tb, *")

    assert listed(answer, "access-control-allow-headers") == {"content-type"}


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "https://app.example.evil.example", "http://app.example", "null", "*", ""]
)
async def test_pages_of_other_origins_are_told_nothing(url: str, web: httpx2.AsyncClient, origin: str) -> None:
    asked = await preflight(web, url, origin)
    made = await web.post(url, content=b"{}", headers={"origin": origin, "authorization": f"Bearer {TOKEN}"})

    assert (asked.status_code, made.status_code) == (403, 403)
    for answer in (asked, made):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_a_page_may_read_the_session_and_the_answer(talking: Any, url: str, web: httpx2.AsyncClient) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    about = {**OLD_HEADERS, "origin": PAGE, **talking.bearer(TOKEN)}
    hello = await web.post(url, content=json.dumps(message), headers=about)
    modern = await talking.ask(web, url, token=TOKEN, headers={"origin": PAGE})

    for answer in (hello, modern):
        assert answer.status_code == 200
        assert answer.headers.get_list("access-control-allow-origin") == [PAGE]
        assert "Origin" in answer.headers["vary"]
        assert "access-control-allow-credentials" not in answer.headers
    assert hello.headers["mcp-session-id"]
    assert "mcp-session-id" in listed(hello, "access-control-expose-headers")


async def test_a_page_may_read_why_it_is_refused(talking: Any, url: str, web: httpx2.AsyncClient) -> None:
    unknown = await talking.ask(web, url, headers={"origin": PAGE})
    for _ in range(4):
        too_many = await talking.ask(web, url, token=TOKEN, headers={"origin": PAGE})

    assert (unknown.status_code, too_many.status_code) == (401, 429)
    for answer, header in ((unknown, "www-authenticate"), (too_many, "retry-after")):
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert answer.headers[header]
        assert header in listed(answer, "access-control-expose-headers")


async def test_asking_beforehand_costs_no_token_and_no_request(talking: Any, url: str, web: httpx2.AsyncClient) -> None:
    for _ in range(5):
        assert (await preflight(web, url)).status_code == 204

    assert (await talking.ask(web, url, token=TOKEN, headers={"origin": PAGE})).status_code == 200


@pytest.mark.parametrize("path", ["/metrics", "/other", "/mcpother"])
async def test_what_is_no_part_of_the_protocol_is_not_for_pages(url: str, web: httpx2.AsyncClient, path: str) -> None:
    asked = await preflight(web, url.replace("/mcp", path))
    read = await web.get(url.replace("/mcp", path), headers={"origin": PAGE, "authorization": f"Bearer {TOKEN}"})

    for answer in (asked, read):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_without_given_origins_pages_of_this_machine_are_told_nothing(
    over_http: Any, web: httpx2.AsyncClient
) -> None:
    async with Crib.from_clients({}) as crib, over_http(Gateway(crib)) as url:
        answer = await preflight(web, url, "http://localhost:3000")

    assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_a_page_may_read_where_to_get_a_token(over_http: Any, web: httpx2.AsyncClient, tmp_path: Path) -> None:
    oauth = {"issuer": "https://login.example", "audience": ["https://tools.example/mcp"]}
    config = {"mcpServers": {}, "toolcrib": {"http": {"allowed_origins": [PAGE], "oauth": oauth}}}
    async with Crib.open(config, state_dir=tmp_path) as crib, over_http(Gateway(crib)) as url:
        where = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        # The TypeScript SDK asks with the revision that it speaks, so its browser asks beforehand.
        asked = await preflight(web, where, headers="mcp-protocol-version", method="GET")
        read = await web.get(where, headers={"origin": PAGE, "mcp-protocol-version": "2025-11-25"})

    assert asked.status_code == 204
    assert read.headers.get_list("access-control-allow-origin") == [PAGE]
    assert read.json()["authorization_servers"] == ["https://login.example"]
