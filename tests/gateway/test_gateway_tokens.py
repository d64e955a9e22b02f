"""Bearer tokens over HTTP: who is let in, as whom, and what one principal can't have of another."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import Subscription, SubscriptionLost, ToolsListChanged
from pydantic import Field

from toolcrib import Crib, ToolcribError
from toolcrib.config import TokenFile, TokenSettings, digest_of, new_token
from toolcrib.gateway import Gateway, http_app

pytestmark = pytest.mark.anyio

LIMIT = 20.0

ALICE, BOB, OLD = new_token(), new_token(), new_token()


def token(name: str, value: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "sha256": digest_of(value), "principal": name, **more}


SETTINGS: dict[str, Any] = {
    "http": {
        "tokens": [
            token("alice", ALICE),
            token("bob", BOB),
            token("carl", OLD, expires=(datetime.now(UTC) - timedelta(seconds=1)).isoformat()),
        ]
    },
    "principals": {"alice": {}, "bob": {"allow": ["notes.*"]}},
}


def ping() -> str:
    """Answer."""
    return "pong"


def secret() -> str:
    """Tell a secret."""
    return "gold"


def long_list() -> list[int]:
    """Tell many numbers."""
    return list(range(100_000))


@pytest.fixture
async def crib(tmp_path: Path) -> AsyncIterator[Crib]:
    with anyio.fail_after(LIMIT):
        async with Crib.open({"mcpServers": {}, "toolcrib": SETTINGS}, state_dir=tmp_path) as crib:
            crib.add_functions(ping, long_list, server="notes")
            crib.add_functions(secret, server="vault")
            yield crib


@pytest.fixture
async def url(crib: Crib, over_http: Callable[..., Any]) -> AsyncIterator[str]:
    async with over_http(Gateway(crib)) as address:
        yield address


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": f"Basic {ALICE}"},
        {"authorization": ALICE},
        {"cookie": f"token={ALICE}"},
    ],
    ids=["none", "empty", "no token", "Basic", "no scheme", "cookie"],
)
async def test_without_a_bearer_token_nobody_is_let_in(
    talking: Any, url: str, web: httpx2.AsyncClient, headers: dict[str, str]
) -> None:
    answer = await talking.ask(web, url, headers=headers)

    # RFC 6750, 3.1: without credentials the challenge has no error code
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="toolcrib"')


@pytest.mark.parametrize(
    "wrong",
    [OLD, ALICE[:-1], ALICE + "x", new_token(), "ü", "a b", digest_of(ALICE)],
    ids=["expired", "cut", "longer", "another", "not ASCII", "two words", "digest"],
)
async def test_a_token_that_is_unknown_or_has_expired_is_refused(
    talking: Any, url: str, web: httpx2.AsyncClient, wrong: str
) -> None:
    answer = await talking.ask(web, url, headers={"authorization": f"Bearer {wrong}".encode("latin-1")})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_token"')


async def test_a_token_in_the_url_is_not_looked_at(talking: Any, url: str, web: httpx2.AsyncClient) -> None:
    assert (await talking.ask(web, f"{url}?access_token={ALICE}")).status_code == 401


async def test_two_tokens_at_once_are_none(talking: Any, url: str, web: httpx2.AsyncClient) -> None:
    twice = httpx2.Headers([("authorization", f"Bearer {ALICE}"), ("authorization", f"Bearer {BOB}")])
    assert (await web.post(url, headers=twice)).status_code == 401


async def test_the_holder_of_a_token_is_its_principal(
    talking: Any, crib: Crib, url: str, web: httpx2.AsyncClient
) -> None:
    for each in (ALICE, BOB):
        assert talking.text_of(await talking.call(web, url, "notes.ping", token=each)) == "pong"

    journal = await crib.journal.entries()
    assert [entry.principal for entry in journal][::-1] == ["alice", "bob"]


async def test_principals_see_what_their_lists_allow(talking: Any, url: str, web: httpx2.AsyncClient) -> None:
    assert talking.text_of(await talking.call(web, url, "vault.secret", token=ALICE)) == "gold"
    hidden = talking.text_of(await talking.call(web, url, "vault.secret", token=BOB))
    never = talking.text_of(await talking.call(web, url, "vault.nothing", token=BOB))
    lists = [(await talking.ask(web, url, token=each)).text for each in (ALICE, BOB)]

    assert hidden.replace("secret", "nothing") == never
    assert ["vault" in each for each in lists] == [True, False]


async def test_a_token_that_is_made_is_let_in_and_one_that_is_removed_is_not_any_more(
    talking: Any, crib: Crib, url: str, web: httpx2.AsyncClient
) -> None:
    fresh = new_token()
    file = TokenFile(crib.tokens.file)  # as another process does
    assert (await talking.ask(web, url, token=fresh)).status_code == 401
    file.add(TokenSettings(name="laptop", sha256=digest_of(fresh), principal="dora"))
    assert (await talking.ask(web, url, token=fresh)).status_code == 200
    file.remove("dora", None)
    assert (await talking.ask(web, url, token=fresh)).status_code == 401


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at again at once who is let in."""
    monkeypatch.setattr("toolcrib.gateway.door.LOOK_AGAIN_SECONDS", 0.01)


@pytest.mark.usefixtures("soon")
async def test_a_subscription_ends_when_its_token_is_removed_and_those_of_others_stay(crib: Crib, url: str) -> None:
    fresh = new_token()
    file = TokenFile(crib.tokens.file)
    file.add(TokenSettings(name="laptop", sha256=digest_of(fresh), principal="dora"))
    async with AsyncExitStack() as stack:

        async def listening(value: str) -> Subscription:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers={"authorization": f"Bearer {value}"}))
            client = await stack.enter_async_context(Client(streamable_http_client(f"{url}/all", http_client=http)))
            return await stack.enter_async_context(client.listen(tools_list_changed=True))

        hers, alices = await listening(fresh), await listening(ALICE)
        file.remove("dora", None)
        with pytest.raises(SubscriptionLost):
            await anext(aiter(hers))
        crib.add_functions(secret, server="safe")
        assert await anext(aiter(alices)) == ToolsListChanged()


@pytest.mark.usefixtures("soon")
async def test_a_stream_of_a_session_ends_when_its_token_is_removed(
    crib: Crib, url: str, web: httpx2.AsyncClient
) -> None:
    fresh = new_token()
    file = TokenFile(crib.tokens.file)
    file.add(TokenSettings(name="laptop", sha256=digest_of(fresh), principal="dora"))
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {"authorization": f"Bearer {fresh}", "accept": "application/json, text/event-stream"}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    begun = await web.post(url, json=first, headers=headers)
    headers |= {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    async with web.stream("GET", url, headers=headers) as stream:
        assert stream.status_code == 200
        file.remove("dora", None)
        assert [chunk async for chunk in stream.aiter_raw() if b"data: {" in chunk] == []  # to its proper end


async def test_a_damaged_file_of_tokens_lets_nobody_in(
    talking: Any, crib: Crib, url: str, web: httpx2.AsyncClient
) -> None:
    crib.tokens.file.write_text("{}")
    answer = await talking.ask(web, url, token=ALICE)

    assert answer.status_code == 503
    assert "tokens.json" not in answer.text


async def test_an_open_server_asks_for_tokens_as_soon_as_there_are_any_and_from_then_on(
    talking: Any, tmp_path: Path, over_http: Any, web: httpx2.AsyncClient
) -> None:
    fresh = new_token()
    with anyio.fail_after(LIMIT):
        async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib, over_http(Gateway(crib)) as url:
            statuses = [(await talking.ask(web, url)).status_code]
            TokenFile(crib.tokens.file).add(TokenSettings(name="a", sha256=digest_of(fresh), principal="a"))
            statuses.append((await talking.ask(web, url)).status_code)
            TokenFile(crib.tokens.file).remove("a", None)
            statuses.append((await talking.ask(web, url)).status_code)

    assert statuses == [200, 401, 401]


async def test_a_session_of_one_principal_is_not_found_by_another(url: str, web: httpx2.AsyncClient) -> None:
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    accept = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting})
    opened = await web.post(url, content=body, headers={**accept, "authorization": f"Bearer {ALICE}"})
    session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    listing = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})

    async def use(token: str, content: str, method: str = "POST") -> int:
        headers = {**accept, **session, "authorization": f"Bearer {token}"}
        return (await web.request(method, url, content=content, headers=headers)).status_code

    assert await use(BOB, listing) == 404
    assert await use(BOB, "", "DELETE") == 404
    assert await use(ALICE, ready) == 202
    assert await use(ALICE, listing) == 200


async def test_a_kept_result_is_unknown_to_another_principal(talking: Any, url: str, web: httpx2.AsyncClient) -> None:
    told = talking.text_of(await talking.call(web, url, "notes.long_list", token=ALICE))
    handle = told.partition(" as r_")[2].partition(";")[0]

    async def read(token: str, name: str) -> dict[str, Any]:
        answer = await talking.ask(
            web, url, "tools/call", token=token, name="read_result", arguments={"handle": name, "limit": 2}
        )
        return answer.json()["result"]

    mine, theirs, forged = await read(ALICE, f"r_{handle}"), await read(BOB, f"r_{handle}"), await read(BOB, "r_x")
    assert not mine.get("isError")
    assert theirs["isError"] is True
    assert talking.text_of(theirs).replace(handle, "x") == talking.text_of(forged)


async def test_a_call_that_waits_for_one_principal_can_not_be_taken_up_by_another(
    talking: Any, tmp_path: Path, over_http: Any, web: httpx2.AsyncClient
) -> None:
    asks = {**SETTINGS, "policy": {"ask_all": True}}
    elicits = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    with anyio.fail_after(LIMIT):
        async with Crib.open({"mcpServers": {}, "toolcrib": asks}, state_dir=tmp_path) as crib:
            crib.add_functions(ping, server="notes")
            async with over_http(Gateway(crib)) as url:
                asked = await talking.call(web, url, "notes.ping", token=ALICE, meta=elicits)
                (key,) = asked["inputRequests"]
                answers = {key: {"action": "accept", "content": {"decision": "once"}}}
                back = {"requestState": asked["requestState"], "inputResponses": answers, "name": "call_tool"}
                back["arguments"] = {"name": "notes.ping", "arguments": {}}
                theirs = await talking.ask(web, url, "tools/call", token=BOB, meta=elicits, **back)
                journal = await crib.journal.entries()

    assert theirs.json()["error"]["code"] == -32602
    assert {entry.principal for entry in journal} == {"alice"}
    assert "done" not in {entry.state for entry in journal}


async def test_clients_of_both_eras_work_with_a_token(url: str) -> None:
    for mode in ("auto", "legacy"):
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {BOB}"}) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            result = await client.call_tool("call_tool", {"name": "notes.ping"})
            assert result.content[0].text == "pong"


async def test_a_token_is_not_passed_on(talking: Any, tmp_path: Path, over_http: Any, web: httpx2.AsyncClient) -> None:
    """The upstream is a gateway too: what it is sent is what any server over HTTP is sent."""
    seen: list[dict[str, str]] = []

    async def note(ctx: Any, call_next: Any) -> Any:
        seen.append(dict(ctx.request.headers) | {"meta": json.dumps((ctx.params or {}).get("_meta"))})
        return await call_next(ctx)

    with anyio.fail_after(LIMIT):
        async with Crib.from_clients({}, state_dir=tmp_path / "behind") as behind:
            behind.add_functions(ping)
            upstream = Gateway(behind)
            upstream.server.middleware.append(note)
            async with over_http(upstream) as upstream_url:
                up = {"url": upstream_url, "toolcrib": {"effects": {"*": "read"}}}
                config = {"mcpServers": {"up": up}, "toolcrib": {"http": SETTINGS["http"]}}
                async with Crib.open(config, state_dir=tmp_path) as crib, over_http(Gateway(crib)) as url:
                    arguments = {"name": "local.ping"}
                    told = await talking.call(web, url, "up.call_tool", arguments, token=ALICE)

    assert talking.text_of(told) == "pong"
    assert len(seen) > 1
    assert not [each for each in seen if "authorization" in each or ALICE in json.dumps(each)]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "tools.example"])
async def test_other_machines_are_served_with_tokens_or_when_it_is_said_so(crib: Crib, host: str) -> None:
    assert http_app(Gateway(crib), host=host, allowed_hosts=["tools.example"])
    async with Crib.from_clients({}) as unguarded:
        with pytest.raises(ToolcribError, match="nobody would be asked for a token"):
            http_app(Gateway(unguarded), host=host, allowed_hosts=["tools.example"])
        assert http_app(Gateway(unguarded), host=host, allowed_hosts=["tools.example"], allow_unauthenticated=True)


async def test_one_principal_asks_too_often_and_another_does_not(
    talking: Any, tmp_path: Path, over_http: Any, web: httpx2.AsyncClient
) -> None:
    bounds = {**SETTINGS, "principals": {"*": {"requests_per_minute": 3}, "alice": {"calls_per_minute": 1}}}
    with anyio.fail_after(LIMIT):
        async with Crib.open({"mcpServers": {}, "toolcrib": bounds}, state_dir=tmp_path) as crib:
            crib.add_functions(ping, server="notes")
            async with over_http(Gateway(crib)) as url:
                bobs = [await talking.ask(web, url, token=BOB) for _ in range(4)]
                calls = [await talking.call(web, url, "notes.ping", token=ALICE) for _ in range(2)]
                code = {"code": "await notes.ping()"}
                script = await talking.ask(web, url, "tools/call", token=ALICE, name="run_code", arguments=code)

    assert [each.status_code for each in bobs] == [200, 200, 200, 429]
    assert 1 <= int(bobs[3].headers["retry-after"]) <= 20  # one in 20 seconds is three a minute
    assert [each.get("isError", False) for each in calls] == [False, True]
    assert "alice may make 1 call a minute" in talking.text_of(calls[1])
    assert "alice may make 1 call a minute" in script.text


async def test_headers_of_a_hidden_tool_are_looked_at_no_more_than_those_of_none(
    crib: Crib, talking: Any, over_http: Callable[..., Any], web: httpx2.AsyncClient
) -> None:
    def guarded(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """Look into a region."""
        return region

    crib.add_functions(guarded, server="safe")
    answers: dict[str, httpx2.Response] = {}
    async with over_http(Gateway(crib, "all")) as url:
        for who in (ALICE, BOB):
            for name in ("safe__guarded", "safe__nothing"):
                answers[f"{name} {who}"] = await talking.ask(
                    web,
                    url,
                    "tools/call",
                    headers={"authorization": f"Bearer {who}", "mcp-param-region": "eu"},
                    name=name,
                    arguments={"region": "us"},
                )
    # The header contradicts the argument: 400 (specification 2026-07-28, transports), for whoever may know of the tool.
    assert answers[f"safe__guarded {ALICE}"].status_code == 400
    hidden, none = answers[f"safe__guarded {BOB}"], answers[f"safe__nothing {BOB}"]
    assert hidden.status_code == none.status_code
    assert hidden.text.replace("guarded", "nothing") == none.text
