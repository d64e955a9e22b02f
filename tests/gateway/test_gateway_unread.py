"""Posts that can't be read: what each era answers, and that neither tells how it is parsed."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib import Crib
from toolcrib.gateway import Gateway
from toolcrib.gateway.unread import refusals

pytestmark = pytest.mark.anyio

LIMIT = 20.0
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ERAS = {
    "none said": {},
    "handshake": {"mcp-protocol-version": "2025-11-25"},
    "modern": {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list"},
}
LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
WRONG_ID = "Its `id` is neither a text nor an integer."
BATCH = "It is a batch, and each message has to be sent by itself."


@pytest.fixture
async def url(over_http: Callable[..., Any]) -> AsyncIterator[str]:
    with anyio.fail_after(LIMIT):
        async with Crib.from_clients({}) as crib, over_http(Gateway(crib)) as address:
            yield address


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient() as client:
        yield client


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("profile", ["", "/all"])
async def test_what_cannot_be_read_is_answered_alike_in_each_era(
    url: str, web: httpx2.AsyncClient, era: str, profile: str
) -> None:
    # JSON-RPC 2.0, 5.1: -32700 for no JSON, -32600 for no request; 5: the id, or null where there is none to be read
    for content, number, code, reason in (
        (b"[]", None, -32600, BATCH),
        (json.dumps([LIST]).encode(), None, -32600, BATCH),
        (b"null", None, -32600, "It is no object."),
        (b'{"jsonrpc":"2.0","id":7}', 7, -32600, "It has no `method`."),
        (json.dumps({**LIST, "jsonrpc": "1.0"}).encode(), 7, -32600, 'Its `jsonrpc` is not "2.0".'),
        (json.dumps({**LIST, "method": 7}).encode(), 7, -32600, "Its `method` is no text."),
        (json.dumps({**LIST, "params": [1]}).encode(), 7, -32600, "Its `params` are no object."),
        (
            json.dumps({**LIST, "id": 1.5, "params": [1]}).encode(),
            None,
            -32600,
            WRONG_ID,
        ),
        (json.dumps({**LIST, "id": 1.5}).encode(), None, -32600, WRONG_ID),
        (json.dumps({**LIST, "id": None}).encode(), None, -32600, WRONG_ID),
        (b'{"id":', None, -32700, "It is no JSON in UTF-8."),
        (b"", None, -32700, "It is no JSON in UTF-8."),
        ('{"id":7,"method":"ä"}'.encode("latin-1"), None, -32700, "It is no JSON in UTF-8."),
    ):
        answer = await web.post(f"{url}{profile}", content=content, headers={**HEADERS, **ERAS[era]})
        error = {"code": code, "message": f"This request can't be read. {reason}"}
        assert (answer.status_code, answer.json()) == (400, {"jsonrpc": "2.0", "id": number, "error": error}), content


async def test_a_refusal_of_what_can_be_read_stays_as_it_is(url: str, web: httpx2.AsyncClient) -> None:
    answer = await web.post(url, content=json.dumps(LIST), headers={**HEADERS, **ERAS["modern"]})

    assert (answer.status_code, answer.json()["id"], answer.json()["error"]["code"]) == (400, 7, -32602)


@pytest.mark.parametrize("charset", ["latin-1", "utf-8", "utf-16", "no-such"])
@pytest.mark.parametrize("era", ["none said", "modern"])
async def test_a_charset_has_no_effect(url: str, web: httpx2.AsyncClient, era: str, charset: str) -> None:
    # RFC 8259, 11: no charset is defined for application/json, one given has no effect; 8.1: it is UTF-8
    odd = json.dumps({**LIST, "method": "tools/größe"}, ensure_ascii=False)
    headers = {**HEADERS, **ERAS[era], "content-type": f"application/json; charset={charset}"}
    read = await web.post(url, content=odd.encode(), headers=headers)
    unread = await web.post(url, content=odd.encode("latin-1"), headers=headers)

    assert (unread.status_code, unread.json()["error"]["code"]) == (400, -32700)
    assert read.status_code in (400, 404)
    assert read.json()["error"]["code"] != -32700


# JSON-RPC 2.0, 5: the id of the request, or null where there is none to be read
@pytest.mark.parametrize(
    ("message", "answered"),
    [
        ({**LIST, "params": [1]}, [(7, "Its `params` are no object.")]),
        ({**LIST, "id": None}, [(None, WRONG_ID)]),
        ({**LIST, "id": 1.5}, [(None, WRONG_ID)]),
        ([LIST, {"jsonrpc": "2.0", "method": "notifications/x"}, {**LIST, "id": "b"}], [(7, BATCH), ("b", BATCH)]),
        ([], []),
        ({"jsonrpc": "2.0", "method": 7}, []),
        ({"jsonrpc": "2.0", "id": 7, "result": 3}, []),
        ("some words", []),
    ],
)
def test_over_stdio_each_request_is_answered_in_the_same_words(message: Any, answered: list[Any]) -> None:
    answers = refusals(json.dumps(message))

    assert answers is not None
    assert [(each["id"], each["error"]["message"]) for each in answers] == [
        (number, f"This request can't be read. {reason}") for number, reason in answered
    ]


def test_over_stdio_no_json_gets_no_answer_and_what_can_be_read_is_handed_on() -> None:
    assert refusals("{") == []
    assert refusals(json.dumps(LIST)) is None
