"""Names for a provider's `tools` array."""

import re

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.schema import WireNames, server_ids, tool_ids, wire_name

# the stricter of OpenAI's and Anthropic's rules for tool names
ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_a_short_plain_name_is_server_and_tool() -> None:
    assert wire_name("github", "create_issue") == "github__create_issue"


def test_a_name_of_64_characters_is_whole_and_a_longer_one_is_cut_with_a_hash() -> None:
    assert wire_name("s", "x" * 61) == f"s__{'x' * 61}"
    first, second = wire_name("s", "x" * 62), wire_name("s", "x" * 63)
    assert len(first) == len(second) == 64
    assert first != second


def test_other_characters_are_replaced_and_told_apart_by_a_hash() -> None:
    first, second = wire_name("s", "名前"), wire_name("s", "前名")
    assert ALLOWED.fullmatch(first)
    assert first != second


def test_ids_that_would_share_a_name_get_names_of_their_own() -> None:
    names = WireNames(["a.b__c", "a__b.c", "x.y"])
    assert names.name_of("x.y") == "x__y"
    assert len({names.name_of("a.b__c"), names.name_of("a__b.c"), "a__b__c"}) == 3
    assert names.id_of("a__b__c") is None


@given(st.dictionaries(st.text(max_size=8), st.lists(st.text(max_size=70), max_size=4), max_size=4))
def test_names_are_allowed_unique_and_reversible_for_any_servers_and_tools(servers: dict[str, list[str]]) -> None:
    keys = server_ids(servers)
    ids = [tool_id for key, raws in servers.items() for tool_id in tool_ids(keys[key], raws).values()]
    names = WireNames(ids)
    assert len(names) == len(ids)
    assert {name: names.id_of(name) for name in names} == {names.name_of(tool_id): tool_id for tool_id in ids}
    assert all(ALLOWED.fullmatch(name) for name in names)
    assert all(WireNames(reversed(ids)).name_of(tool_id) == names.name_of(tool_id) for tool_id in ids)
