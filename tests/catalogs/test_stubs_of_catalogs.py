"""Typed functions for every tool of 69 real servers: the checkers of scripts take them, and sample calls with them."""

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from pydantic_monty import Monty

from toolcrib.sandbox.monty.checking import types_of
from toolcrib.sandbox.monty.prelude import STUBS
from toolcrib.schema import compile_validator, declared, example_call, parameter_identifiers, server_ids, tool_ids
from toolcrib.schema.stubs import StubTool, python_stubs, typescript_stubs

pytestmark = pytest.mark.shared

HEAD_LINES = 2


@pytest.fixture(scope="module")
def tools(catalogs: dict[str, dict[str, Any]]) -> dict[str, list[StubTool]]:
    """The tools of each server as stubs need them, by the server's id."""
    found: dict[str, list[StubTool]] = {}
    for key, server in server_ids(catalogs).items():
        listed = catalogs[key]["tools"]
        ids = tool_ids(server, [each["name"] for each in listed])
        found[server] = [
            StubTool(ids[each["name"]], each["inputSchema"], each.get("outputSchema"), each.get("description") or "")
            for each in listed
        ]
    return found


def sample(tool: StubTool) -> str:
    """A call of a tool with the least that its schema accepts."""
    arguments = example_call(tool.input_schema)
    # its one parameter must be one of no values: nothing is accepted
    if tool.id != "netlify.netlify_coding_rules":
        assert compile_validator(tool.input_schema).is_valid(arguments), tool.id
    names = parameter_identifiers(list(declared(tool.input_schema, tool.input_schema)))
    return f"await {tool.id}({', '.join(f'{names.get(name, name)}={value!r}' for name, value in arguments.items())})"


def test_monty_takes_every_stub_and_every_sample_call(tools):
    with Monty(request_timeout=60) as pool:
        for server, own in tools.items():
            calls = [f"x = {sample(tool)}" for tool in own]
            wrong = f"await {server}.there_is_no_such_tool_()"
            stubs = STUBS + python_stubs(own)
            with pool.checkout(type_check=True, type_check_stubs=stubs, type_check_format="json") as session:
                found = types_of(session, "\n".join([*calls, wrong]))
            # that the last line alone is reported shows that the checker knew the rest
            assert [(finding.rule, finding.line) for finding in found] == [("unresolved-attribute", len(calls) + 1)], (
                server
            )


def test_pyright_takes_the_stubs(tools, tmp_path):
    # every sixth server: it is slow
    (tmp_path / "pyrightconfig.json").write_text("{}")
    for server, own in list(tools.items())[::6]:
        (tmp_path / f"{server}.pyi").write_text(python_stubs(own), encoding="utf-8")
    pyright = Path(sysconfig.get_path("scripts")) / "pyright"
    result = subprocess.run([pyright], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout[-3_000:]


def test_typescript_takes_the_stubs(tools, tmp_path):
    deno = shutil.which("deno", path=sysconfig.get_path("scripts")) or shutil.which("deno")
    if deno is None:
        pytest.skip("Deno is not installed")
    lines = ["export {};"]
    for server, own in list(tools.items())[::3]:
        text = typescript_stubs(own)
        head = text.splitlines()[:HEAD_LINES]
        lines += [] if len(lines) > 1 else head
        lines += text.splitlines()[HEAD_LINES:]
        first = own[0]
        lines.append(f"const _r_{server} = await {first.id}({json.dumps(example_call(first.input_schema))});")
    lines.append("// @ts-expect-error the checker must find this one")
    lines.append(f"await {next(iter(tools))}.there_is_no_such_tool_();")
    path = tmp_path / "all.ts"
    path.write_text("\n".join(lines), encoding="utf-8")
    env = {"DENO_DIR": str(tmp_path / "deno"), "NO_COLOR": "1"}
    argv = [deno, "check", "--no-remote", "--no-npm", "--no-lock", str(path)]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False, env=env)
    assert result.returncode == 0, result.stderr[-3_000:]
