"""What the journal says of calls that came in through the gateway."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.broker import Filter
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_two_conversations_are_told_apart_and_what_they_spent_is_known(tmp_path: Path, mode: Any) -> None:
    with anyio.fail_after(30):
        async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
            crib.add_functions(greet)
            gateway = Gateway(crib)
            for name in ("ann", "bob"):
                async with Client(gateway.server, mode=mode) as client:
                    meta: Any = {"toolcrib/conversation": name}
                    await client.call_tool("search_tools", {"query": "greet"}, meta=meta)
                    call = {"name": "local.greet", "arguments": {"name": name}}
                    answer = await client.call_tool("call_tool", call, meta=meta)
                    assert getattr(answer.content[0], "text", "") == f"Hello {name}"
            bob, ann = await crib.journal.entries()
            assert (ann.arguments, bob.arguments) == ('{"name":"ann"}', '{"name":"bob"}')
            assert (ann.face, ann.origin, ann.state) == ("stdio", "direct", "done")
            assert "ann" in ann.conversation
            assert ann.conversation != bob.conversation
            assert await crib.journal.entries(Filter(caller=bob.conversation)) == [bob]
            spent = await crib.journal.discoveries()
            assert [each.conversation for each in spent] == [bob.conversation, ann.conversation]
            assert all(each.answers == 1 and each.spent > 0 for each in spent)


async def test_a_call_that_cannot_be_recorded_is_told_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "toolcrib.db").write_bytes(b"no database" * 1000)
    greeted: list[str] = []

    def remember(name: str) -> None:
        """Remember a name."""
        greeted.append(name)

    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        crib.add_functions(remember)
        async with Client(Gateway(crib).server) as client:
            call = {"name": "local.remember", "arguments": {"name": "ann"}}
            result = await client.call_tool("call_tool", call)
            assert result.is_error
            text = getattr(result.content[0], "text", "")
            assert "local.remember was not called, since the call can't be recorded" in text
            assert "Move it away" in text
    assert greeted == []
