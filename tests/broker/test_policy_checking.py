"""What is odd about rules, told when they are loaded."""

import time
from typing import Any

import pytest

from toolcrib.broker.policy import with_policy_warnings
from toolcrib.broker.policy.checking import MOST_COMPARED, unfitting
from toolcrib.config import Config, config_from_mapping

SERVERS: dict[str, Any] = {
    "mail": {"command": "x", "toolcrib": {"tags": ["office", "External"]}},
    "HR-Data": {"command": "x", "toolcrib": {"tags": ["office"]}},
}


def config(*rules: dict[str, Any], **switches: Any) -> Config:
    policy = {"rules": list(rules), **switches}
    return config_from_mapping({"mcpServers": SERVERS, "toolcrib": {"policy": policy}})


def warnings(*rules: dict[str, Any], **switches: Any) -> list[str]:
    return list(with_policy_warnings(config(*rules, **switches)).warnings)


def test_rules_that_are_sound_are_not_warned_of() -> None:
    assert warnings() == []
    assert (
        warnings(
            {"tools": ["mail.send"], "arguments": [{"at": "/to", "pattern": "@example.org$"}], "then": "allow"},
            {"tools": ["mail.send"], "then": "ask"},
            {"servers": ["HR-Data"], "tags": ["OFFICE"], "faces": ["http"], "then": "deny"},
            {"servers": ["hr_*"], "then": "ask"},
            {"from": ["hr_data.*"], "labels": ["private"], "then": "deny"},
            {"effects": ["destructive"], "then": "ask"},
            {"tools": ["*.read_*"], "principals": ["guest-*"], "then": "allow"},
            {"principals": ["guest-*"], "then": "deny"},
        )
        == []
    )


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"servers": ["mial"]}, "servers: no server is called 'mial'. Did you mean mail?"),
        ({"servers": ["x*"]}, "servers: no server is called 'x*'."),
        ({"tags": ["ofice"]}, "tags: no server has the tag 'ofice'. Did you mean office?"),
        ({"tools": ["mial.send"]}, "tools: 'mial.send' names a tool of mial, which is no configured server. "
                                   "Did you mean mail?"),
        ({"tools": ["HR-Data.read"]}, "tools: 'HR-Data.read' names a tool of HR-Data, which is no configured server. "
                                      "Did you mean hr_data?"),
        ({"tools": ["mail"]}, "tools: 'mail' is no tool id, which is server.tool. Did you mean mail.*?"),
        ({"from": ["hr.*"]}, "from: 'hr.*' names a tool of hr, which is no configured server."),
        ({"tools": ["mail.*"], "servers": ["HR-Data"]}, "no configured server fits all of its conditions, so it never "
                                                        "holds."),
        ({"tags": ["external"], "servers": ["HR-Data"]}, "no configured server fits all of its conditions, so it never "
                                                         "holds."),
    ],
)  # fmt: skip
def test_names_that_nothing_has(rule: dict[str, Any], told: str) -> None:
    assert warnings({**rule, "then": "deny"}) == [f"toolcrib.policy.rules.0 (rule 1): {told}"]


MANY: dict[str, Any] = {
    "tools": ["mail.send", "mail.read"], "principals": ["guest-7"], "faces": ["http"], "effects": ["write"],
    "labels": ["private"], "from": ["hr_data.read"], "arguments": [{"at": "/a", "equals": 1}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({}, MANY),
        (MANY, MANY),
        ({"tools": ["mail.*"]}, MANY),
        ({"tools": ["*"]}, {"servers": ["mail"]}),
        ({"tools": ["mail.*"]}, {"servers": ["mail"]}),
        ({"servers": ["mail"]}, {"tools": ["mail.s*"]}),
        ({"servers": ["m*", "hr_data"]}, {"servers": ["mail", "HR-Data"]}),
        ({"tags": ["Office"]}, {"tags": ["office"], "servers": ["mail"]}),
        ({"principals": ["guest-*"], "faces": ["stdio", "http"]}, MANY),
        (
            {"effects": ["read", "write", "destructive", "unknown"], "labels": ["private", "x"], "from": ["*.read"]},
            MANY,
        ),
        ({"arguments": [{"at": "/a", "equals": 1}]}, MANY),
    ],
)
def test_a_rule_after_one_that_always_holds_with_it(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    assert warnings({**earlier, "then": "deny"}, {**later, "then": "deny"}) == [
        "toolcrib.policy.rules.1 (rule 2): it never decides, since rule 1 comes first and holds whenever it does."
    ]
    assert warnings({**earlier, "name": "the first", "then": "deny"}, {**later, "then": "allow"}) == [
        "toolcrib.policy.rules.1 (rule 2): it contradicts the first, which comes first and holds whenever it does: it "
        "would allow, and never decides."
    ]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"tools": ["mail.?"]}, {"tools": ["mail.*"]}),
        ({"tools": ["mail.[ab]*"]}, {"tools": ["mail.*"]}),
        ({"tools": ["mail.send"]}, {"servers": ["mail"]}),
        ({"tools": ["mail.send"]}, {"tools": ["mail.send", "mail.read"]}),
        ({"servers": ["mail"]}, {"tools": ["*.send"]}),
        ({"servers": ["mail"]}, {}),
        ({"effects": ["write"]}, {"effects": ["write", "read"]}),
        ({"effects": ["write"]}, {}),
        ({"labels": ["private"]}, {"labels": ["private", "other"]}),
        ({"arguments": [{"at": "/a", "equals": 1}]}, {"arguments": [{"at": "/a", "equals": True}]}),
        ({"tags": ["external"]}, {"tags": ["office"]}),
        ({"principals": ["guest"]}, {"principals": ["guest-*"]}),
    ],
)
def test_a_rule_that_may_still_decide_is_not_warned_of(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    assert warnings({**earlier, "then": "deny"}, {**later, "then": "allow"}) == []


def test_switches_and_names() -> None:
    assert warnings({"effects": ["write"], "then": "allow"}, read_only=True) == [
        "toolcrib.policy.rules.0 (rule 1): read_only denies whatever it is about, so it never decides."
    ]
    named = [{"name": "x", "tools": [f"mail.{each}"], "then": "ask"} for each in "ab"]
    assert warnings(*named) == ["toolcrib.policy.rules.1 (rule 2): 'x' is the name of rule 1 too."]


def test_globs_that_fit_no_known_tool() -> None:
    made = config(
        {"tools": ["mail.send", "mail.snd", "hr_data.x", "*.nothing", "*.send"], "from": ["mail.q*"], "then": "deny"}
    )
    listed = {"mail": True, "hr_data": False}
    assert list(unfitting(made, ["mail.send", "mail.read"], listed)) == [
        "toolcrib.policy.rules.0 (rule 1): tools: 'mail.snd' fits no tool that is known. Did you mean mail.send?",
        "toolcrib.policy.rules.0 (rule 1): from: 'mail.q*' fits no tool that is known.",
    ]
    everything = {"mail": True, "hr_data": True}
    assert sum("'*.nothing'" in each for each in unfitting(made, ["mail.send"], everything)) == 1


def test_of_very_many_rules_the_first_are_compared() -> None:
    rules = [{"tools": [f"mail.{number}"], "then": "ask"} for number in range(MOST_COMPARED)]
    assert len(warnings(rules[0], *rules)) == 1
    begun = time.process_time()
    assert warnings(*rules, *({"tools": [f"mail.x{number}"], "then": "ask"} for number in range(8_000))) == []
    assert time.process_time() - begun < 30


def test_a_thousand_rules_are_checked_quickly() -> None:
    rules = [{"tools": [f"mail.{number}_*"], "effects": ["write"], "then": "ask"} for number in range(1_000)]
    begun = time.process_time()
    assert warnings(*rules) == []
    assert time.process_time() - begun < 5  # a slow machine is none of its business
