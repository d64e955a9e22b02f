"""Results that are too large for a model, through gateways as processes: kept, read by pages, and shared by those of
one state folder."""

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from toolcrib.servers.wire import raw_request

pytestmark = pytest.mark.anyio

LARGE = Path(__file__).resolve().parent.parent / "stubs" / "large.py"
BUDGET = 32_000


class Model:
    """Calls the tools of a gateway."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        with anyio.fail_after(30):
            return await raw_request(self._client.session, "tools/call", {"name": tool, "arguments": arguments})

    async def handle(self, tool: str) -> str:
        return (await self.call("call_tool", name=f"large.{tool}"))["_meta"]["toolcrib/handle"]


def process(folder: Path) -> StdioServerParameters:
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"large": {"command": sys.executable, "args": ["-S", str(LARGE)]}}}))
    program = "import sys; from toolcrib.gateway import run_stdio; run_stdio(sys.argv[1])"
    env = {
        "TOOLCRIB_STATE_DIR": str(folder),
        "TOOLCRIB_CONFIG_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return StdioServerParameters(command=sys.executable, args=["-c", program, str(config)], env=env)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large")


@pytest.fixture(scope="module")
async def model(anyio_backend: str, folder: Path) -> AsyncIterator[Model]:
    async with Client(process(folder)) as client:
        yield Model(client)


def size(result: dict[str, Any]) -> int:
    return len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())


async def test_a_large_result_is_previewed_and_read_by_pages(model: Model) -> None:
    preview = await model.call("call_tool", name="large.rows")
    assert size(preview) < BUDGET
    assert "[5,000 × {id: integer, name: string}]" in preview["content"][0]["text"]

    handle = preview["_meta"]["toolcrib/handle"]
    page = await model.call("read_result", handle=handle, select="[0].rows[?id > `4704997`].name")
    assert page["content"][0]["text"] == '"row 4998"\n"row 4999"'
    page = await model.call("read_result", handle=handle, select="[0].rows")
    assert BUDGET * 0.8 < size(page) <= BUDGET
    assert "go on with offset=" in page["content"][1]["text"]


async def test_another_process_of_the_same_folder_reads_the_handle(model: Model, folder: Path) -> None:
    handle = await model.handle("rows")
    async with Client(process(folder), mode="legacy") as client:
        page = await Model(client).call("read_result", handle=handle, select="length([0].rows)")
    assert page["content"][0]["text"] == "5000"


async def test_an_image_is_never_text_and_never_broken(model: Model) -> None:
    preview = await model.call("call_tool", name="large.picture")
    assert [block["type"] for block in preview["content"]] == ["text"]
    assert "image (image/png, 3,000,000 bytes)" in preview["content"][0]["text"]
    page = await model.call("read_result", handle=preview["_meta"]["toolcrib/handle"])
    assert page["content"][0] == {"type": "image", "mimeType": "image/png", "data": "A" * 4_000_000}


async def test_an_error_keeps_its_mark(model: Model) -> None:
    preview = await model.call("call_tool", name="large.failing")
    assert preview["isError"] is True
    assert "toolcrib/handle" in preview["_meta"]


@pytest.mark.parametrize("handle", ["r_aaaaaaaaaaaaaaaa", "../mcp.json", 7])
async def test_a_forged_handle_is_unknown(model: Model, handle: Any) -> None:
    answer = await model.call("read_result", handle=handle)
    assert answer["isError"] is True
    assert answer["content"][0]["text"].startswith(f"There is no stored result {str(handle)!r}.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "needs the `handle`"),
        ({"offset": "x"}, "offset must be a whole number"),
        ({"offset": 10**30}, "There are only"),
        ({"select": "["}, "can't be used"),
        ({"select": "|".join(["[@,@]"] * 60)}, "copies"),
        ({"grep": "(?=x)"}, "can't be used"),
    ],
)
async def test_bad_arguments_are_told(model: Model, arguments: dict[str, Any], said: str) -> None:
    handle = {"handle": await model.handle("rows")} if arguments else {}
    answer = await model.call("read_result", **handle, **arguments)
    assert answer["isError"] is True
    assert said in answer["content"][0]["text"]


async def test_null_and_text_stand_for_what_was_meant(model: Model) -> None:
    page = await model.call(
        "read_result", handle=await model.handle("rows"), select="[0].rows", offset="4999", limit=None, grep=None
    )
    assert page["content"][0]["text"] == '{"id":4704999,"name":"row 4999"}'
