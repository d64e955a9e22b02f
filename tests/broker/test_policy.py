"""The configured policy: which rule decides, what holds without one, what is hidden, and why."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.broker import Call, Caller, ConfiguredPolicy, Effect, ListedTool, Principal, Trace
from toolcrib.catalog import JsonObject, Tool
from toolcrib.config import config_from_mapping

SERVERS: dict[str, Any] = {
    "mail": {"command": "x", "toolcrib": {"tags": ["office", "External"]}},
    "HR-Data": {"command": "x", "toolcrib": {"tags": ["office"]}},
    "files": {"command": "x", "toolcrib": {"deny": ["wipe_*"], "allow": ["read_*", "write_*", "wipe_*"]}},
    "lab": {"command": "x", "toolcrib": {"trust": "trusted"}},
}


class Flow:
    """Labels read and values traced, as a test says; counts how often it was asked."""

    def __init__(self, labels: Sequence[str] = (), traced: Sequence[str] = ()) -> None:
        self.read = frozenset(labels)
        self.traced = [Trace(tool, "c1", "/to", "ada") for tool in traced]
        self.asked = 0

    def labels(self, caller: Caller) -> frozenset[str]:
        return self.read

    def traces(self, call: Call) -> Sequence[Trace]:
        self.asked += 1
        return self.traced

    def learned(self, call: Call, result: JsonObject) -> None:
        raise AssertionError("a policy takes nothing in")


def policy(*rules: dict[str, Any], flow: Any = None, **switches: Any) -> ConfiguredPolicy:
    config = config_from_mapping({"mcpServers": SERVERS, "toolcrib": {"policy": {"rules": list(rules), **switches}}})
    return ConfiguredPolicy(config, effects, flow)


def effects(source: str) -> tuple[Mapping[str, Effect], bool]:
    return {}, source == "lab"


def call(
    target: str = "mail.send", effect: Effect = "write", arguments: JsonObject | None = None, **caller: Any
) -> Call:
    server, _, name = target.partition(".")
    principal = Principal(caller.pop("principal", "local"))
    tool = Tool(target, server, name, {"name": name}) if name else None
    method: Any = "tools/call" if name else "resources/read"
    return Call(method, target, server, {"arguments": arguments or {}}, Caller(principal, **caller), tool, effect)


def listed(tool_id: str, annotations: JsonObject | None = None) -> ListedTool:
    server, _, name = tool_id.partition(".")
    return ListedTool(tool_id, name, lambda: Tool(tool_id, server, name, {"annotations": annotations}))


def unread(tool_id: str) -> ListedTool:
    def read() -> Tool:
        raise AssertionError(f"{tool_id} was read for nothing")

    return ListedTool(tool_id, tool_id.partition(".")[2], read)


@pytest.mark.parametrize("effect", ["read", "write", "unknown", "destructive"])
def test_without_rules_only_what_destroys_asks_and_only_from_scripts_and_over_http(effect: Effect) -> None:
    plain = policy()
    for origin, face in itertools.product(["direct", "script", "console"], ["library", "stdio", "http", "cli"]):
        verdict = plain.decide(call(effect=effect, origin=origin, face=face)).verdict
        asks = effect == "destructive" and (origin == "script" or face == "http")
        assert verdict == ("ask" if asks else "allow"), (origin, face)


@pytest.mark.parametrize(
    ("condition", "holds", "fails"),
    [
        ({"tools": ["mail.s*", "x.y"]}, call("mail.send"), call("mail.read")),
        ({"tools": ["mail.send"]}, call("mail.send"), call("mail.sends")),
        ({"tools": ["*.send"]}, call("hr_data.send"), call("hr_data.Send")),
        ({"tools": ["mail.*"]}, call("mail"), call("hr_data")),
        ({"tools": ["*"]}, call("mail"), None),
        ({"tools": ["mail.send"]}, call("mail.send"), call("mail")),
        ({"servers": ["HR-Data"]}, call("hr_data.a"), call("mail.send")),
        ({"servers": ["hr_*"]}, call("hr_data"), call("mail")),
        ({"tags": ["external"]}, call("mail.send"), call("hr_data.a")),
        ({"effects": ["write", "unknown"]}, call(effect="unknown"), call(effect="read")),
        ({"principals": ["guest-*"]}, call(principal="guest-7"), call()),
        ({"sources": ["script", "console"]}, call(origin="script"), call()),
        ({"faces": ["http"]}, call(face="http"), call(face="stdio")),
        ({"arguments": [{"at": "/n", "minimum": 10}]}, call(arguments={"n": 10}), call(arguments={"n": 9})),
        ({"arguments": [{"at": "/a", "equals": 1}, {"at": "/b", "equals": 2}]}, call(arguments={"a": 1, "b": 2}),
         call(arguments={"a": 1})),
        ({}, call(), None),
    ],
)  # fmt: skip
def test_each_condition(condition: dict[str, Any], holds: Call, fails: Call | None) -> None:
    made = policy({**condition, "then": "deny", "reason": "because"})
    assert made.decide(holds).verdict == "deny"
    assert (made.decide(holds).reason, made.decide(holds).rule) == ("because", "rule 1")
    if fails is not None:
        assert made.decide(fails).verdict == "allow"


def test_all_conditions_of_a_rule_must_hold() -> None:
    made = policy({"servers": ["mail"], "effects": ["write"], "faces": ["http"], "then": "deny"})
    assert made.decide(call(face="http")).verdict == "deny"
    assert made.decide(call(face="http", effect="read")).verdict == "allow"
    assert made.decide(call("hr_data.a", face="http")).verdict == "allow"
    assert made.decide(call(face="stdio")).verdict == "allow"


def test_the_first_rule_that_holds_decides() -> None:
    made = policy(
        {"tools": ["mail.send"], "arguments": [{"at": "/to", "pattern": "@example.org$"}], "then": "allow"},
        {"name": "mail asks", "tools": ["mail.*"], "then": "ask"},
        {"then": "deny"},
    )
    assert made.decide(call(arguments={"to": "ada@example.org"})).verdict == "allow"
    assert made.decide(call(arguments={"to": "eve@example.com"})).rule == "mail asks"
    assert made.decide(call("hr_data.read")).rule == "rule 3"


def test_a_rule_can_allow_what_would_ask() -> None:
    made = policy({"tools": ["mail.delete"], "then": "allow"})
    assert made.decide(call("mail.delete", "destructive", origin="script")).verdict == "allow"
    assert made.decide(call("hr_data.delete", "destructive", origin="script")).verdict == "ask"


def test_labels_and_origins_of_values() -> None:
    rules = (
        {"labels": ["private", "secret"], "effects": ["write"], "then": "ask"},
        {"tools": ["mail.*"], "from": ["hr_data.*"], "then": "deny"},
    )
    assert policy(*rules, flow=Flow()).decide(call()).verdict == "allow"
    assert policy(*rules, flow=Flow(labels=["private"])).decide(call()).verdict == "ask"
    assert policy(*rules, flow=Flow(labels=["public"], traced=["hr_data.list"])).decide(call()).verdict == "deny"
    assert policy(*rules, flow=Flow(traced=["files.read_a"])).decide(call()).verdict == "allow"


def test_earlier_results_are_searched_only_for_a_rule_that_asks_and_once() -> None:
    flow = Flow(traced=["lab.x"])
    made = policy(
        {"tools": ["mail.*"], "from": ["hr_data.*"], "then": "deny"},
        {"tools": ["mail.*"], "arguments": [{"at": "/a", "exists": True}], "from": ["lab.*"], "then": "ask"},
        {"tools": ["mail.*"], "from": ["files.*"], "then": "deny"},
        flow=flow,
    )
    made.decide(call("files.read_a"))
    assert flow.asked == 0
    assert made.decide(call()).verdict == "allow"
    assert flow.asked == 1


def test_the_lists_of_a_server_come_before_every_rule() -> None:
    made = policy({"then": "allow"})
    for name, verdict in (("read_a", "allow"), ("wipe_a", "deny"), ("other", "deny")):
        decision = made.decide(call(f"files.{name}"))
        assert decision.verdict == verdict
        assert made.hides(Principal(), "files", unread(f"files.{name}")) is (verdict == "deny")
    assert made.decide(call("files")).verdict == "allow"


def test_read_only_denies_and_hides_all_that_is_not_known_to_read_whatever_the_rules_say() -> None:
    made = policy({"then": "allow"}, read_only=True)
    assert [made.decide(call(effect=each)).verdict for each in ("read", "write", "unknown", "destructive")] == [
        "allow", "deny", "deny", "deny",
    ]  # fmt: skip
    hint = {"readOnlyHint": True}
    assert not made.hides(Principal(), "lab", listed("lab.look", hint))
    assert made.hides(Principal(), "lab", listed("lab.look"))
    # The word of a server that is not trusted counts for nothing, so nothing is read for it.
    assert made.hides(Principal(), "mail", unread("mail.look"))


def test_ask_all_asks_about_every_call_of_a_tool_and_changes_no_denial() -> None:
    made = policy({"tools": ["mail.*"], "then": "deny"}, ask_all=True)
    assert made.decide(call()).verdict == "deny"
    assert made.decide(call("lab.look", "read")).verdict == "ask"
    assert made.decide(call("lab.look", "read")).rule == "ask_all"
    assert made.decide(call("lab", "read")).verdict == "allow"


HIDING: list[tuple[list[dict[str, Any]], str, bool]] = [
    ([{"tools": ["mail.send"], "then": "deny"}], "mail.send", True),
    ([{"tools": ["mail.send"], "then": "deny"}], "mail.read", False),
    ([{"servers": ["mail"], "then": "deny"}], "mail.send", True),
    ([{"tags": ["office"], "then": "deny"}], "hr_data.read", True),
    ([{"then": "deny"}], "mail.send", True),
    ([{"then": "ask"}], "mail.send", False),
    ([{"tools": ["mail.send"], "then": "allow"}, {"then": "deny"}], "mail.send", False),
    ([{"tools": ["mail.send"], "then": "ask"}, {"then": "deny"}], "mail.send", False),
    ([{"tools": ["mail.read"], "then": "allow"}, {"then": "deny"}], "mail.send", True),
    ([{"faces": ["http"], "then": "deny"}], "mail.send", False),
    ([{"faces": ["http"], "then": "deny"}, {"then": "deny"}], "mail.send", True),
    ([{"faces": ["http"], "then": "allow"}, {"then": "deny"}], "mail.send", False),
    ([{"faces": ["library", "stdio", "http", "cli"], "then": "deny"}], "mail.send", True),
    ([{"sources": ["script"], "then": "deny"}], "mail.send", False),
    ([{"labels": ["private"], "then": "deny"}], "mail.send", False),
    ([{"from": ["hr_data.*"], "then": "deny"}], "mail.send", False),
    ([{"arguments": [{"at": "/a", "exists": True}], "then": "deny"}], "mail.send", False),
    ([{"arguments": [{"at": "/a", "exists": True}], "then": "allow"}, {"then": "deny"}], "mail.send", False),
    ([{"principals": ["guest"], "then": "deny"}], "mail.send", False),
    ([{"principals": ["l*"], "then": "deny"}], "mail.send", True),
    ([{"effects": ["destructive"], "then": "deny"}], "mail.delete_all", True),
    ([{"effects": ["destructive"], "then": "deny"}], "mail.send", False),
    ([{"effects": ["read"], "then": "allow"}, {"then": "deny"}], "mail.send", True),
    ([{"effects": ["read"], "then": "allow"}, {"then": "deny"}], "lab.look", False),
]


@pytest.mark.parametrize(("rules", "tool_id", "hidden"), HIDING)
def test_what_is_wholly_denied_is_hidden(rules: list[dict[str, Any]], tool_id: str, hidden: bool) -> None:
    made = policy(*rules)
    server = tool_id.partition(".")[0]
    assert made.hides(Principal(), server, listed(tool_id, {"readOnlyHint": True})) is hidden


@pytest.mark.parametrize(
    ("rules", "hidden"),
    [
        ([{"servers": ["mail"], "then": "deny"}], True),
        ([{"tools": ["mail.*"], "then": "deny"}], True),
        ([{"tools": ["ma*"], "then": "deny"}], True),
        ([{"tools": ["mail.s*"], "then": "deny"}], False),
        ([{"tools": ["mail.send"], "then": "allow"}, {"servers": ["mail"], "then": "deny"}], False),
        ([{"tools": ["lab.send"], "then": "allow"}, {"servers": ["mail"], "then": "deny"}], True),
        ([{"effects": ["write"], "then": "deny"}], False),
        ([{"effects": ["read"], "then": "allow"}, {"then": "deny"}], False),
        ([{"servers": ["mail"], "faces": ["http"], "then": "deny"}], False),
        ([{"servers": ["mail"], "principals": ["guest"], "then": "deny"}], False),
        ([{"servers": ["mail"], "then": "ask"}], False),
    ],
)
def test_a_source_is_hidden_when_everything_of_it_is_denied_whatever_it_has(
    rules: list[dict[str, Any]], hidden: bool
) -> None:
    made = policy(*rules)
    assert made.hides(Principal(), "mail", None) is hidden
    if hidden:
        assert made.decide(call("mail", "read")).verdict == "deny"


def test_a_definition_is_read_only_for_a_rule_about_effects_that_nothing_else_settles() -> None:
    about = {"effects": ["destructive"], "then": "deny"}
    assert not policy({"tools": ["mail.x"], "then": "deny"}).hides(Principal(), "mail", unread("mail.send"))
    assert not policy({"servers": ["lab"], **about}).hides(Principal(), "mail", unread("mail.send"))
    assert policy(about).hides(Principal(), "mail", unread("mail.delete_all"))
    assert policy(about).hides(Principal(), "mail", listed("mail.send", {"destructiveHint": True}))


GLOBS = st.sampled_from(["mail.*", "mail.send", "*.read", "lab.*", "*"])
RULES = st.fixed_dictionaries(
    {"then": st.sampled_from(["allow", "ask", "deny"])},
    optional={
        "tools": st.lists(GLOBS, min_size=1, max_size=2),
        "servers": st.lists(st.sampled_from(["mail", "lab", "m*", "HR-Data"]), min_size=1, max_size=2),
        "tags": st.lists(st.sampled_from(["office", "external"]), min_size=1, max_size=2),
        "effects": st.lists(st.sampled_from(["read", "write", "destructive", "unknown"]), min_size=1, max_size=4),
        "principals": st.lists(st.sampled_from(["local", "g*"]), min_size=1, max_size=2),
        "sources": st.lists(st.sampled_from(["direct", "script", "console"]), min_size=1, max_size=3),
        "faces": st.lists(st.sampled_from(["library", "stdio", "http", "cli"]), min_size=1, max_size=4),
        "labels": st.lists(st.sampled_from(["private", "other"]), min_size=1, max_size=2),
        "from": st.lists(GLOBS, min_size=1, max_size=2),
        "arguments": st.just([{"at": "/a", "equals": 1}]),
    },
)
CALLS = st.builds(
    call,
    st.sampled_from(["mail.send", "mail.read", "hr_data.read", "lab.look", "files.read_a", "files.wipe_a", "mail"]),
    st.sampled_from(["read", "write", "destructive", "unknown"]),
    st.sampled_from([{}, {"a": 1}, {"a": 2}]),
    principal=st.sampled_from(["local", "guest"]),
    origin=st.sampled_from(["direct", "script", "console"]),
    face=st.sampled_from(["library", "stdio", "http", "cli"]),
)


@given(st.lists(RULES, max_size=6), CALLS, st.booleans(), st.booleans())
def test_the_explanation_is_what_is_decided_and_what_is_hidden_is_denied(
    rules: list[dict[str, Any]], asked: Call, read_only: bool, ask_all: bool
) -> None:
    made = policy(*rules, flow=Flow(["private"], ["hr_data.read"]), read_only=read_only, ask_all=ask_all)
    decision = made.decide(asked)
    assert made.decide(asked) == decision
    explained = made.explain(asked)
    assert explained.decision == decision
    assert [step.why == "" for step in explained.steps] == [False] * (len(explained.steps) - 1) + [True]
    assert explained.steps[-1].verdict == decision.verdict
    if made.hides(asked.caller.principal, asked.source, None):
        assert decision.verdict == "deny"


def test_an_explanation_tells_of_each_rule_before_why_it_does_not_hold() -> None:
    made = policy(
        {"tools": ["mail.read"], "then": "deny"},
        {"servers": ["HR-Data"], "then": "deny"},
        {"tags": ["secret"], "then": "deny"},
        {"effects": ["read"], "then": "deny"},
        {"principals": ["guest"], "then": "deny"},
        {"sources": ["script"], "then": "deny"},
        {"faces": ["http"], "then": "deny"},
        {"arguments": [{"at": "/to", "pattern": "x"}], "then": "deny"},
        {"labels": ["private"], "then": "deny"},
        {"from": ["hr_data.*"], "then": "deny"},
        {"name": "the last", "then": "ask", "reason": "to be sure"},
    )
    explained = made.explain(call())
    assert [(step.rule, step.why) for step in explained.steps] == [
        ("lists", "the lists of its server leave it in"),
        ("rule 1", "tools: mail.read is not mail.send"),
        ("rule 2", "servers: hr_data is not mail"),
        ("rule 3", "tags: mail has none of secret"),
        ("rule 4", "effects: read is not write"),
        ("rule 5", "principals: guest is not local"),
        ("rule 6", "sources: script is not direct"),
        ("rule 7", "faces: http is not library"),
        ("rule 8", "arguments: /to is not there"),
        ("rule 9", "labels: nothing was read that is private"),
        ("rule 10", "from: no argument holds a value from hr_data.*"),
        ("the last", ""),
    ]
    assert (explained.decision.verdict, explained.decision.reason) == ("ask", "to be sure")
    assert not explained.hidden


def test_a_source_that_no_configuration_has_is_decided_about_too() -> None:
    made = policy({"tools": ["local.*"], "effects": ["write"], "then": "ask"})
    assert made.decide(call("local.add")).verdict == "ask"
    assert made.decide(call("local.add", "read")).verdict == "allow"
