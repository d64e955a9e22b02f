"""What is left of real servers when a gateway has ended."""

import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.anyio


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
async def test_no_server_outlives_a_gateway_over_stdio(workplace):
    before = servers_of(workplace)
    command, *args = workplace.serve
    target = StdioServerParameters(command=command, args=args, env=workplace.env)
    async with Client(target) as client:
        for tool, arguments in (
            ("everything.echo", {"message": "x"}),
            ("memory.read_graph", {}),
            ("kubernetes.configuration_view", {}),
        ):
            result = await client.call_tool("call_tool", {"name": tool, "arguments": arguments})
            assert not result.is_error, result
        assert len(servers_of(workplace) - before) >= 3
    assert servers_of(workplace) - before == set()


def servers_of(workplace):
    """The processes of this process session that have Toolcrib's marker in their environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                environment = (folder / "environ").read_bytes().split(b"\0")
                dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            marked = any(variable.startswith(b"TOOLCRIB_INSTANCE=") for variable in environment)
            if marked and not dead and f"HOME={workplace.folder}".encode() in environment:
                found.add(int(folder.name))
    return found
