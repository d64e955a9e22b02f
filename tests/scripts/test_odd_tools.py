"""Tools whose results or schemas are unusual, called by scripts."""

from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.metatools import MetaTools

pytestmark = pytest.mark.anyio


class Odd:
    """A source with one tool that says nothing of its parameters, and answers with lists in lists."""

    id, description = "odd", ""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def ensure(self, context: Any = None) -> None:
        pass

    async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
        return [{"name": "nest", "inputSchema": {"type": "object"}}]

    async def request(self, method: str, params: Any, context: Any = None) -> dict[str, Any]:
        self.sent.append(params["arguments"])
        nested: list[Any] = []
        for _ in range(params["arguments"]["depth"]):
            nested = [nested]
        return {"content": [], "structuredContent": {"nested": nested}}


@pytest.mark.parametrize("depth", [10, 100_000])
async def test_a_result_that_is_nested_too_deep_is_a_failure_that_is_accounted_for(tmp_path: Path, depth: int) -> None:
    source = Odd()
    code = f"""said = 'whole'
try:
    await odd.nest(depth={depth})
except ToolError as e:
    said = e.message
said"""
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(source)  # type: ignore[arg-type]
        outcome = await crib.run_code(code)
    assert outcome.ok, outcome
    assert ("nested too deep" in str(outcome.value)) == (depth > 1_000)
    assert [call.name for call in outcome.calls] == ["odd.nest"]
    assert source.sent == [{"depth": depth}]


async def test_a_value_that_is_an_image_comes_back_as_one(tmp_path: Path) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.scripts.save("drawn", f"[{image}]")
        for code in (f"{image}", f"[{image}]", "await scripts.drawn()"):
            result = await MetaTools(crib).call("run_code", {"code": code})
            assert result["content"][:-1] == [image], code
        result = await MetaTools(crib).call("call_tool", {"name": "scripts.drawn", "arguments": {}})
        assert (result["content"][:-1], "structuredContent" in result) == ([image], False)
        plain = await MetaTools(crib).call("run_code", {"code": "[{'type': 'bug'}]"})
    assert plain["content"][0] == {"type": "text", "text": '[{"type":"bug"}]'}


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("{}['a']", "Print the keys first"),
        ("x = json.loads('{}')\nx.text", "value['text']"),
        ("x = json.loads('5')\nx['a']", "print it first"),
        ("while True:\n    pass", "split the work"),
        ("for _ in range(5):\n    await search_tools('x')", "Get more with each call"),
    ],
)
async def test_a_failure_says_what_to_do(tmp_path: Path, code: str, told: str) -> None:
    config = {"mcpServers": {}, "toolcrib": {"scripts": {"seconds": 0.5, "calls": 3}}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        outcome = await crib.run_code(code)
    assert outcome.fault is not None, outcome
    assert told in outcome.fault.hint


async def test_what_is_hidden_in_a_block_that_a_script_shows_is_told(tmp_path: Path) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        tools = MetaTools(crib)
        code = f"await show({{'type': 'text', 'text': 'plain{hidden}'}})\n'value{hidden}'"
        result = await tools.call("run_code", {"code": code})
    assert [each["path"] for each in result["_meta"]["toolcrib/hidden"]] == ["/content/1/text"]
    value, shown, _, remark = (each["text"] for each in result["content"])
    assert (value.isascii(), shown) == (False, f"plain{hidden}")
    assert hidden not in value
    assert "people can't see" in remark
