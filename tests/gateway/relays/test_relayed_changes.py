"""What a server says with a change, as it stands on the wire: whole."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.gateway import Gateway
from toolcrib.servers.wire import overheard

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]

STUBS = Path(__file__).resolve().parents[2] / "stubs"
sys.path.insert(0, str(STUBS))

from tells import CHANGES  # noqa: E402

LIMIT = 30.0
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def literal(method: str, params: Mapping[str, Any]) -> str:
    """As text, in which 1 and 1.0 differ, without what belongs to the hop to the client."""
    words = json.loads(json.dumps(params))
    words["_meta"].pop(SUBSCRIPTION, None)
    return json.dumps([method, words], sort_keys=True)


@pytest.mark.parametrize("upstream_era", ["handshake", "modern"])
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_what_a_server_says_with_a_change_comes_whole_to_its_clients(
    era: str, upstream_era: str, tmp_path: Path
) -> None:
    protocol = {"handshake": "legacy", "modern": "modern"}[upstream_era]
    server = {
        "command": sys.executable,
        "args": ["-S", str(STUBS / "tells.py"), upstream_era],
        "toolcrib": {"protocol": protocol},
    }
    mode: Any = {"handshake": "legacy", "modern": "auto"}[era]
    expected = {literal(method, words) for method, words in CHANGES}
    came: set[str] = set()
    enough = anyio.Event()

    def hear(method: str, params: Mapping[str, Any]) -> None:
        if "_changed" in method or "updated" in method:
            came.add(literal(method, params))
            assert era == "handshake" or SUBSCRIPTION in params["_meta"]
        if len(came) >= len(expected):
            enough.set()

    with anyio.fail_after(LIMIT):
        async with (
            Crib.open({"mcpServers": {"up": server}}, state_dir=tmp_path) as crib,
            Client(Gateway(crib, "all").server, mode=mode) as client,
        ):
            await client.list_tools()
            await client.list_resources()
            with overheard(client.session, hear):
                if era == "handshake":
                    await client.session.subscribe_resource("up://fixed")
                    await client.call_tool("up__change", {})
                    await enough.wait()
                else:
                    async with client.listen(
                        tools_list_changed=True,
                        resources_list_changed=True,
                        prompts_list_changed=True,
                        resource_subscriptions=["up://fixed"],
                    ):
                        await client.call_tool("up__change", {})
                        await enough.wait()

    assert came == expected
