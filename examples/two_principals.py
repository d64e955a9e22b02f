"""One gateway over HTTP for two people, each with a token and with tools of their own.

Run it with: python examples/two_principals.py
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from toolcrib import Crib
from toolcrib.config import digest_of, new_token
from toolcrib.demo import demo_config
from toolcrib.gateway import Gateway, serve_http

TOKENS = {"ann": new_token(), "build": new_token()}

SETTINGS = {
    "http": {
        "tokens": [{"name": name, "principal": name, "sha256": digest_of(token)} for name, token in TOKENS.items()]
    },
    "principals": {
        "ann": {"roles": ["staff"]},
        "build": {"allow": ["tickets.list_*"], "calls_per_minute": 3},
    },
    "roles": {"staff": {"allow": ["notes.*", "tickets.*"], "deny": ["*.delete_*"]}},
}


async def visit(url: str, name: str) -> None:
    """Say what one of them sees and can do."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKENS[name]}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        for tool in ("notes.list_notes", "tickets.list_people", "tickets.delete_ticket", "tickets.list_projects"):
            result = await client.call_tool("call_tool", {"name": tool, "arguments": {}})
            said = getattr(result.content[0], "text", "") if result.is_error else "called"
            print(f"{name}: {tool}: {said.splitlines()[0]}")


async def main() -> None:
    with TemporaryDirectory() as folder:
        config = {**demo_config(Path(folder) / "data"), "toolcrib": SETTINGS}
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with Crib.open(config, state_dir=folder) as crib:
            await crib.refresh()
            serving = asyncio.create_task(serve_http(Gateway(crib), port=0, on_ready=address.set_result))
            url = await address
            async with httpx2.AsyncClient() as nobody:
                print("without a token:", (await nobody.post(url)).status_code)
            for name in TOKENS:
                await visit(url, name)
            serving.cancel()
            await asyncio.wait([serving])


if __name__ == "__main__":
    asyncio.run(main())
