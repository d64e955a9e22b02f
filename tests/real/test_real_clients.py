"""A client that shares no code with Toolcrib, and what is left of the servers when a gateway has ended."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

pytestmark = pytest.mark.anyio


class Foreign:
    """The command `mcporter`, which talks to the gateway over HTTP or starts one over stdio."""

    def __init__(self, program, workplace, target):
        self._program = program
        self._workplace = workplace
        self._target = target

    def run(self, verb, *args):
        done = subprocess.run(
            [self._program, verb, *self._target, *args],
            env=self._workplace.env,
            cwd=self._workplace.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def call(self, tool, arguments):
        return self.run("call", "--tool", tool, "--args", json.dumps(arguments), "--output", "json")


@pytest.fixture(params=["http", "stdio"])
def foreign(request, installed, workplace, gateway):
    program = str(installed / "npm" / "node_modules" / ".bin" / "mcporter")
    if request.param == "http":
        target = ["--http-url", gateway, "--allow-http"]
    else:
        target = ["--stdio", shlex.join(workplace.serve)]
    return Foreign(program, workplace, target)


def test_a_foreign_client_lists_searches_and_calls(foreign):
    listed = foreign.run("list", "--json")
    assert {"search_tools", "get_tool_details", "call_tool"} <= {tool["name"] for tool in listed["tools"]}
    found = foreign.call("search_tools", {"query": "add two numbers"})
    assert "everything.get_sum" in found["content"][0]["text"]
    arguments = {"name": "everything.get_sum", "arguments": {"a": 2, "b": 40}}
    assert foreign.call("call_tool", arguments)["content"][0]["text"] == "The sum of 2 and 40 is 42."


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
