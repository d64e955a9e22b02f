"""ToolRegistry and ToolMetadata: the cases A1 to A22 of the deferred-loading pattern, and what goes beyond them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp_types import ListToolsResult
from mcp_types import Tool as SdkTool

from toolcrib import Tool, ToolMetadata, ToolRegistry
from toolcrib.catalog.definitions import MemoryDefinitions
from toolcrib.catalog.parts import part_name
from toolcrib.errors import UnknownToolError, UsageError

ADD: dict[str, Any] = {
    "name": "add",
    "description": "Adds two numbers.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "First"},
            "b": {"type": "number", "description": "Second"},
        },
        "required": ["a", "b"],
    },
    "annotations": {"readOnlyHint": True, "x-own": 1},
    "unknownMember": [None, 1.0],
}
PING: dict[str, Any] = {"name": "ping", "inputSchema": {"type": "object"}}


def sdk_tool(definition: Mapping[str, Any]) -> SdkTool:
    return SdkTool.model_validate(definition)


def test_metadata_keeps_name_and_description() -> None:
    metadata = ToolMetadata("add", "Adds.")
    assert (metadata.name, metadata.description) == ("add", "Adds.")


def test_metadata_from_a_tool_object_ignores_the_schema() -> None:
    assert ToolMetadata.from_tool(sdk_tool(ADD)) == ToolMetadata("add", "Adds two numbers.")
    assert ToolMetadata.from_tool(Tool("s.add", "s", "add", ADD)) == ToolMetadata("add", "Adds two numbers.")


def test_metadata_without_a_description_has_an_empty_one() -> None:
    assert ToolMetadata.from_map(PING) == ToolMetadata("ping", "")
    assert ToolMetadata.from_map({"name": "x", "description": None}).description == ""
    assert ToolMetadata.from_tool(sdk_tool(PING)).description == ""


@pytest.mark.parametrize("broken", [{}, {"name": None}, {"name": 3}])
def test_metadata_needs_a_name(broken: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="string as its name"):
        ToolMetadata.from_map(broken)


def test_metadata_as_json_has_exactly_two_members() -> None:
    assert ToolMetadata.from_map(ADD).to_json() == {"name": "add", "description": "Adds two numbers."}


def test_metadata_is_equal_by_value_and_shows_itself() -> None:
    assert ToolMetadata("a", "b") == ToolMetadata("a", "b")
    assert hash(ToolMetadata("a", "b")) == hash(ToolMetadata("a", "b"))
    assert len({ToolMetadata("a", "b"), ToolMetadata("a", "c"), ToolMetadata("x", "b")}) == 3
    assert repr(ToolMetadata("a", "b")) == "ToolMetadata(name='a', description='b')"


def test_a_new_registry_is_empty_and_not_initialized() -> None:
    registry = ToolRegistry()
    assert not registry.is_initialized
    assert (registry.count, len(registry), registry.tool_names, list(registry)) == (0, 0, [], [])
    assert registry.get_all_metadata() == []
    assert registry.get_metadata("add") is None
    assert registry.get_schema("add") is None
    assert not registry.has_tool("add")


@pytest.mark.parametrize(
    "tools",
    [
        [sdk_tool(ADD), sdk_tool(PING)],
        ListToolsResult(tools=[sdk_tool(ADD), sdk_tool(PING)]),
        [Tool("s.add", "s", "add", ADD), Tool("s.ping", "s", "ping", PING)],
        [ADD, PING],
    ],
    ids=["sdk tools", "sdk result", "own tools", "maps"],
)
def test_tools_of_any_kind_are_cached(tools: Any) -> None:
    registry = ToolRegistry()
    registry.cache_from_tools(tools)
    assert registry.is_initialized
    assert registry.tool_names == ["add", "ping"]
    assert registry.get_metadata("add") == ToolMetadata("add", "Adds two numbers.")
    schema = registry.get_schema("add")
    assert schema is not None
    assert schema["inputSchema"]["required"] == ["a", "b"]


def test_maps_are_kept_with_every_member() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([ADD])
    assert registry.get_schema("add") == ADD


def test_what_is_handed_out_or_in_can_be_changed_without_harm() -> None:
    given = json.loads(json.dumps(ADD))
    registry = ToolRegistry()
    registry.cache_from_maps([given])
    given["inputSchema"]["properties"].clear()
    handed = registry.get_schema("add")
    assert handed is not None
    handed["inputSchema"]["properties"].clear()
    registry.tool_names.clear()
    assert registry.get_schema("add") == ADD
    assert registry.tool_names == ["add"]


def test_caching_again_replaces_and_an_empty_list_counts() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([ADD])
    registry.cache_from_maps([])
    assert registry.is_initialized
    assert registry.count == 0
    assert not registry.has_tool("add")


def test_invalidating_forgets_everything() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([ADD], server="s")
    registry.invalidate_all()
    assert not registry.is_initialized
    assert (registry.count, registry.get_all_metadata(), registry.get_schema("s.add")) == (0, [], None)


def test_of_equal_names_the_last_counts_at_the_place_of_the_first() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([{"name": "a", "description": "1"}, PING, {"name": "a", "description": "2"}])
    assert registry.tool_names == ["a", "ping"]
    assert registry.get_metadata("a") == ToolMetadata("a", "2")


def test_an_entry_without_a_name_is_left_out() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([{"description": "nameless"}, PING])
    assert registry.tool_names == ["ping"]


def test_metadata_is_much_smaller_than_the_definitions() -> None:
    # The pattern's own claim: at least half of the characters saved on a described tool.
    registry = ToolRegistry()
    registry.cache_from_maps([ADD])
    full = len(json.dumps(registry.get_schema("add")))
    assert len(json.dumps([each.to_json() for each in registry.get_all_metadata()])) < full / 2


def test_parts_of_several_servers_are_replaced_on_their_own() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([ADD], server="one")
    registry.cache_from_maps([ADD, PING], server="two")
    assert registry.tool_names == ["one.add", "two.add", "two.ping"]
    registry.cache_from_maps([PING], server="one")
    assert registry.tool_names == ["one.ping", "two.add", "two.ping"]
    registry.remove("two")
    assert registry.tool_names == ["one.ping"]


def test_a_server_is_there_for_as_long_as_it_has_a_part_be_it_of_one_principal_alone() -> None:
    registry = ToolRegistry()
    listed = MemoryDefinitions([ADD])
    registry.put(listed, server="math")
    registry.put(listed, server="notes", private=True, owner="ann")
    registry.put(listed, server="notes", private=True, owner="bob")

    assert [registry.has(each) for each in ("math", "notes", "note", "add")] == [True, True, False, False]

    registry.remove(part_name("notes", "ann"))
    assert registry.has("notes")
    registry.remove("notes")
    registry.remove("math")
    assert not registry.has("notes")
    assert not registry.has("math")

    registry.put(listed, server="notes", private=True, owner="ann")
    registry.invalidate_all()
    assert not registry.has("notes")
    registry.put(listed, server="notes", private=True, owner="ann")
    registry.put(listed)
    assert not registry.has("notes")


def test_a_bare_name_resolves_when_it_is_unique() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([ADD], server="one")
    registry.cache_from_maps([ADD, PING], server="two")
    assert registry.get_metadata("ping") == ToolMetadata("two.ping", "")
    assert "ping" in registry
    assert registry.get_metadata("add") is None
    assert "add" not in registry
    assert registry.tool("two.add").server == "two"
    with pytest.raises(UnknownToolError):
        registry.tool("add")


def test_a_server_keeps_its_version_while_only_others_change() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([{"name": "a"}], server="one")
    first = registry.version_of("one")
    registry.cache_from_maps([{"name": "a"}], server="other")
    assert registry.version_of("one") == first < registry.version_of("other") == registry.version
    registry.cache_from_maps([{"name": "a"}], server="one")
    assert registry.version_of("one") > registry.version_of("other")
    registry.remove("one")
    assert registry.version_of("one") == registry.version_of("nobody") == -1


def test_every_change_raises_the_version() -> None:
    registry = ToolRegistry()
    versions = [registry.version]
    registry.cache_from_maps([ADD], server="one")
    versions.append(registry.version)
    registry.remove("one")
    versions.append(registry.version)
    registry.remove("one")
    assert versions[0] < versions[1] < versions[2] == registry.version


def test_lone_surrogates_and_large_numbers_survive() -> None:
    odd = {"name": "odd", "description": "half \ud83d of a pair", "x": 2**70, "y": 1e300}
    registry = ToolRegistry()
    registry.cache_from_maps([odd])
    assert registry.get_schema("odd") == odd


def test_the_tools_used_last_stay_parsed_and_no_more_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.catalog.registry._PARSED_TOOLS", 2)
    registry = ToolRegistry()
    registry.cache_from_maps([{**PING, "name": name} for name in ("a", "b", "c")])
    a, b = registry.tool("a"), registry.tool("b")
    assert registry.tool("a") is a
    registry.tool("c")
    assert registry.tool("a") is a
    assert registry.tool("b") is not b
