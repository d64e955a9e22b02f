"""Requests of the stateless era (specification 2026-07-28), sent to a gateway over HTTP by hand."""

import json
from typing import Any

import httpx2

VERSION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


async def ask(
    web: httpx2.AsyncClient,
    url: str,
    method: str = "tools/list",
    token: str | None = None,
    headers: dict[str, str] | None = None,
    meta: dict[str, Any] | None = None,
    **params: Any,
) -> httpx2.Response:
    """One request with the headers that belong to it."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**params, "_meta": {**ENVELOPE, **(meta or {})}},
    }
    named = {"mcp-name": params["name"]} if "name" in params else {}
    about = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": method,
        **named,
        **bearer(token),
        **(headers or {}),
    }
    return await web.post(url, content=json.dumps(message), headers=about)


async def call(
    web: httpx2.AsyncClient, url: str, name: str, arguments: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """The result of calling a tool behind the gateway."""
    inner = {"name": name, "arguments": arguments or {}}
    answer = await ask(web, url, "tools/call", name="call_tool", arguments=inner, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def text_of(result: dict[str, Any]) -> str:
    return result["content"][0]["text"]
