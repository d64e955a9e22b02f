"""The lists of principals and roles."""

from typing import Any

import pytest

from toolcrib.broker import Call, Caller, ConfiguredPolicy, ListedTool, Principal, with_policy_warnings
from toolcrib.catalog import Tool
from toolcrib.config import config_from_mapping

ROLES = {"reader": {"allow": ["notes.get_*"]}, "careful": {"deny": ["*.delete_*"]}, "boss": {"allow": ["*"]}}


def policy(principals: dict[str, Any], roles: dict[str, Any] | None = None) -> ConfiguredPolicy:
    settings = {"principals": principals, "roles": ROLES if roles is None else roles}
    return ConfiguredPolicy(config_from_mapping({"mcpServers": {}, "toolcrib": settings}), lambda _: ({}, False))


def tool(tool_id: str) -> Tool:
    server, _, name = tool_id.partition(".")
    return Tool(tool_id, server, name, {"name": name, "inputSchema": {"type": "object"}})


def sees(given: ConfiguredPolicy, principal: Principal, tool_id: str) -> bool:
    """Whether a principal knows of a tool; calls are decided alike."""
    made = tool(tool_id)
    hidden = given.hides(principal, made.server, ListedTool(tool_id, made.name, lambda: made))
    call = Call("tools/call", tool_id, made.server, {"name": made.name}, Caller(principal), made, "read")
    decision = given.decide(call)
    assert (decision.verdict == "deny") is hidden
    assert given.explain(call).decision == decision
    return not hidden


@pytest.mark.parametrize(
    ("entry", "roles", "seen", "unseen"),
    [
        ({}, (), "notes.delete_note", None),
        ({"allow": []}, (), None, "notes.get_note"),
        ({"allow": ["notes.*"]}, (), "notes.get_note", "vault.get_note"),
        ({"allow": ["notes.*"], "deny": ["notes.delete_*"]}, (), "notes.get_note", "notes.delete_note"),
        ({"deny": ["vault.*"]}, (), "notes.get_note", "vault.get_note"),
        ({"roles": ["reader"]}, (), "notes.get_note", "notes.put_note"),
        ({"allow": ["vault.*"], "roles": ["reader"]}, (), "vault.open", "notes.put_note"),
        ({}, ("reader",), "notes.get_note", "notes.put_note"),
        ({"allow": ["vault.*"]}, ("reader",), "notes.get_note", "notes.put_note"),
        ({"allow": ["*"]}, ("careful",), "notes.get_note", "notes.delete_note"),
        ({"deny": ["vault.*"]}, ("boss",), "notes.get_note", "vault.open"),
        ({}, ("nobody",), None, "notes.get_note"),
        ({"allow": ["*.get_*"]}, (), "vault.get_it", "vault.put_it"),
        ({"allow": ["n*s.get_note"]}, (), "notes.get_note", "vault.get_note"),
    ],
    ids=str,
)
def test_lists_add_up_and_what_is_denied_is_not_allowed(
    entry: dict[str, Any], roles: tuple[str, ...], seen: str | None, unseen: str | None
) -> None:
    given, ann = policy({"ann": entry}), Principal("ann", roles)
    assert seen is None or sees(given, ann, seen)
    assert unseen is None or not sees(given, ann, unseen)


def test_everybody_is_whoever_has_no_entry_but_not_the_local_user() -> None:
    given = policy({"*": {"allow": []}, "ann": {"allow": ["notes.*"]}})
    assert sees(given, Principal("ann"), "notes.get_note")
    assert not sees(given, Principal("ben"), "notes.get_note")
    assert sees(given, Principal(), "notes.get_note")


def test_a_role_of_a_token_counts_where_nothing_is_configured() -> None:
    assert not sees(policy({}, {}), Principal("ann", ("admin",)), "notes.get_note")
    assert sees(policy({}, {}), Principal("ann"), "notes.get_note")


@pytest.mark.parametrize(
    ("entry", "hidden", "readable"),
    [
        ({}, False, True),
        ({"allow": ["notes.*"]}, False, True),
        ({"allow": ["no*"]}, False, True),
        ({"allow": ["notes.get_*"]}, False, False),
        ({"allow": ["notes_too.*"]}, True, False),
        ({"allow": ["vault.*"]}, True, False),
        ({"deny": ["notes.delete_*"]}, False, True),
        ({"deny": ["notes.*"]}, True, False),
        ({"allow": []}, True, False),
    ],
    ids=str,
)
def test_a_server_without_anything_allowed_is_hidden_and_its_resources_need_all_of_it(
    entry: dict[str, Any], hidden: bool, readable: bool
) -> None:
    given, ann = policy({"ann": entry}), Principal("ann")
    read = Call("resources/read", "notes", "notes", {"uri": "x:y"}, Caller(ann), None, "read")
    assert given.hides(ann, "notes", None) is hidden
    assert (given.decide(read).verdict == "allow") is readable


def test_roles_that_nobody_configured_are_warned_of() -> None:
    settings = {
        "principals": {"ann": {"roles": ["reader", "raeder"]}},
        "roles": ROLES,
        "http": {"oauth": {"issuer": "https://a.example", "audience": ["b"], "roles": {"all": ["bos"]}}},
    }
    warnings = with_policy_warnings(config_from_mapping({"mcpServers": {}, "toolcrib": settings})).warnings
    assert [each.partition(" so ")[0] for each in warnings] == [
        "toolcrib.principals.ann: there is no role 'raeder',",
        "toolcrib.http.oauth.roles.all: there is no role 'bos',",
    ]
