"""Resources, listed and read by scripts of every language, under the rules that hold for a model."""

from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.config import config_from_mapping
from toolcrib.errors import SandboxError
from toolcrib.metatools import MetaTools

pytestmark = pytest.mark.anyio

TEXT = {"uri": "shelf://atlas", "mimeType": "text/plain", "text": "maps"}
BYTES = {"uri": "shelf://cover", "mimeType": "image/png", "blob": "AAAA"}


class Shelf:
    """A source with two resources, a template, and no tools."""

    description = ""

    def __init__(self, source_id: str = "shelf") -> None:
        self.id = source_id
        self.read: list[str] = []

    async def ensure(self, context: Any = None) -> None:
        pass

    async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
        if method == "resources/list":
            return [{"uri": "shelf://atlas", "name": "atlas"}, {"uri": "shelf://cover", "name": "cover"}]
        return [{"uriTemplate": "shelf://page/{n}", "name": "page"}] if method == "resources/templates/list" else []

    async def request(self, method: str, params: Any, context: Any = None) -> dict[str, Any]:
        assert method == "resources/read"
        self.read.append(params["uri"])
        return {"contents": [BYTES if params["uri"] == "shelf://cover" else {**TEXT, "uri": params["uri"]}]}


PYTHON = """
known = await mcp_list_resources("shelf")
atlas = (await mcp_read_resource("atlas"))[0]
page = await mcp_read_resource(uri="shelf://page/7", server="shelf")
await show(await mcp_read_resource("shelf://cover"))
[[(each["uri"], each["is_template"]) for each in known], atlas["text"], page[0]["uri"]]
"""
TYPESCRIPT = """
const known = await mcp_list_resources({ server: "shelf" });
const atlas = (await mcp_read_resource("atlas"))[0];
const page = await mcp_read_resource({ uri: "shelf://page/7", server: "shelf" });
await show(await mcp_read_resource("shelf://cover"));
[known.map((each) => [each.uri, each.is_template]), atlas.text, page[0].uri];
"""
LISTED = [["shelf://atlas", False], ["shelf://cover", False], ["shelf://page/{n}", True]]


@pytest.mark.parametrize(
    ("language", "code", "first_line"),
    [
        ("python", PYTHON, ""),
        ("python", PYTHON, "class Full(dict): pass"),  # which only full Python has
        ("typescript", TYPESCRIPT, ""),
        ("javascript", TYPESCRIPT, ""),
    ],
)
async def test_resources_are_listed_read_and_shown(tmp_path: Path, language: Any, code: str, first_line: str) -> None:
    settings = {"scripts": {"typescript": True, "full_python": True}}
    shelf = Shelf()
    async with Crib.open(config_from_mapping({"mcpServers": {}, "toolcrib": settings}), state_dir=tmp_path) as crib:
        await crib.add_source(shelf)  # type: ignore[arg-type]
        try:
            outcome = await crib.run_code(first_line + code, language=language)
        except SandboxError as error:
            pytest.skip(str(error))
    assert outcome.ok, (outcome.fault, outcome.findings)
    assert outcome.value == [LISTED, "maps", "shelf://page/7"]
    assert outcome.shown == ({"type": "resource", "resource": BYTES},)
    assert [(call.name, call.effect, call.state) for call in outcome.calls if call.name != "show"] == [
        ("mcp_list_resources", "read", "done"),
        *[("mcp_read_resource", "read", "done")] * 3,
    ]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("await mcp_read_resource('shelf://none')", "There is no resource"),
        ("await mcp_list_resources('nobody')", "There is no server"),
        ("await call_tool('mcp_read_resource')", "mcp_read_resource"),
        ("await mcp_read_resource(json.loads('5'))", "takes texts"),
        ("await mcp_read_resource({})", "needs a resource's uri"),
    ],
)
async def test_what_is_not_there_can_be_caught(tmp_path: Path, code: str, told: str) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(Shelf())  # type: ignore[arg-type]
        outcome = await crib.run_code(f"said = ''\ntry:\n    {code}\nexcept Exception as e:\n    said = str(e)\nsaid")
    assert told in str(outcome.value), outcome
    assert [call.state for call in outcome.calls] == ["failed"]


async def test_wrong_types_are_told_before_anything_is_called(tmp_path: Path) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(Shelf())  # type: ignore[arg-type]
        found = await crib.check_code("await mcp_read_resource()\nawait mcp_list_resources(server='shelf', page=2)")
    assert [(each.line, each.rule) for each in found] == [(1, "missing-argument"), (2, "unknown-argument")]


async def test_a_denied_read_ends_the_script_whatever_it_catches(tmp_path: Path) -> None:
    rules = [{"name": "closed", "servers": ["shelf"], "sources": ["script"], "then": "ask"}]
    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": rules}, "approvals": {"inbox": False}}}
    shelf = Shelf()
    async with Crib.open(config, state_dir=tmp_path) as crib:
        await crib.add_source(shelf)  # type: ignore[arg-type]
        code = "try:\n    await mcp_read_resource('atlas')\nexcept BaseException:\n    pass\n'went on'"
        outcome = await crib.run_code(code)
    assert (outcome.status, outcome.value, shelf.read) == ("stopped", None, [])
    assert [(call.name, call.state) for call in outcome.calls] == [("mcp_read_resource", "denied")]


async def test_a_hidden_server_has_no_resources(tmp_path: Path) -> None:
    rules = [{"name": "closed", "servers": ["shelf"], "then": "deny"}]
    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": rules}}}
    shelf = Shelf()
    async with Crib.open(config, state_dir=tmp_path) as crib:
        await crib.add_source(shelf)  # type: ignore[arg-type]
        assert (await crib.run_code("await mcp_list_resources()")).value == []
        result = await MetaTools(crib).call("run_code", {"code": "await mcp_read_resource('atlas')"})
    assert "There is no resource" in str(result["content"])
    assert shelf.read == []
