"""The policy in a configuration: what is refused, and where the message says it stands."""

from typing import Any

import pytest

from toolcrib.config import PolicySettings, config_from_mapping
from toolcrib.errors import ConfigError


def load(policy: Any) -> PolicySettings:
    return config_from_mapping({"mcpServers": {}, "toolcrib": {"policy": policy}}).settings.policy


def test_without_one_there_are_no_rules() -> None:
    settings = config_from_mapping({"mcpServers": {}}).settings
    assert settings.policy == PolicySettings()
    assert (settings.policy.rules, settings.policy.read_only, settings.policy.ask_all) == ((), False, False)


def test_a_rule_with_every_condition() -> None:
    [rule] = load(
        {
            "rules": [
                {
                    "name": "no mail from hr",
                    "tools": ["mail.*"],
                    "servers": ["mail"],
                    "tags": ["office"],
                    "effects": ["write", "unknown"],
                    "principals": ["guest-*"],
                    "sources": ["script"],
                    "faces": ["http"],
                    "labels": ["private"],
                    "from": ["hr.*"],
                    "arguments": [{"at": "/to", "pattern": "@", "equals": None}],
                    "then": "deny",
                    "reason": "people's data stays in the house",
                }
            ]
        }
    ).rules
    assert rule.from_ == ("hr.*",)
    assert rule.arguments is not None
    assert rule.arguments[0].tests_equality
    assert rule.then == "deny"


def rule(**members: Any) -> dict[str, Any]:
    return {"rules": [{"then": "deny", **members}]}


def test_a_pointer_may_have_any_key() -> None:
    assert load(rule(arguments=[{"at": "/a~1b/0", "exists": True}])).rules[0].arguments is not None


@pytest.mark.parametrize(
    ("policy", "path", "says"),
    [
        ([], "policy", "must be an object"),
        ({"rules": {}}, "policy.rules", "tuple"),
        ({"rules": ["deny all"]}, "policy.rules.0", "must be an object"),
        ({"rules": [{}]}, "policy.rules.0.then", "required"),
        ({"rules": [{"then": "maybe"}]}, "policy.rules.0.then", "'allow', 'ask' or 'deny'"),
        ({"rules": [{"then": "deny"}, {"then": "allow", "tool": ["a.b"]}]}, "policy.rules.1.tool", "not permitted"),
        ({"readonly": True}, "policy.readonly", "not permitted"),
        ({"read_only": "yes"}, "policy.read_only", "boolean"),
        ({"ask_all": 1}, "policy.ask_all", "boolean"),
        (rule(tools=[]), "policy.rules.0.tools", "at least 1"),
        (rule(tools="a.*"), "policy.rules.0.tools", "tuple"),
        (rule(tools=[""]), "policy.rules.0.tools.0", "at least 1"),
        (rule(tools=[7]), "policy.rules.0.tools.0", "string"),
        (rule(effects=["delete"]), "policy.rules.0.effects.0", "'read', 'write', 'destructive' or 'unknown'"),
        (rule(sources=["model"]), "policy.rules.0.sources.0", "'direct', 'script' or 'console'"),
        (rule(faces=["tcp"]), "policy.rules.0.faces.0", "'library', 'stdio', 'http' or 'cli'"),
        (rule(from_=["a.*"]), "policy.rules.0.from_", "not permitted"),
        (rule(reason=7), "policy.rules.0.reason", "string"),
        (rule(arguments=[]), "policy.rules.0.arguments", "at least 1"),
        (rule(arguments=[{"at": "/a"}]), "policy.rules.0.arguments.0", "needs one of equals"),
        (rule(arguments=[{"at": "/a", "minimum": None}]), "policy.rules.0.arguments.0", "needs one of equals"),
        (rule(arguments=[{"at": "a", "equals": 1}]), "policy.rules.0.arguments.0.at", "JSON Pointer"),
        (rule(arguments=[{"at": "/a~", "equals": 1}]), "policy.rules.0.arguments.0.at", "~0"),
        (rule(arguments=[{"at": "/a", "is": 1}]), "policy.rules.0.arguments.0.is", "not permitted"),
        (rule(arguments=[{"at": "/a", "one_of": []}]), "policy.rules.0.arguments.0.one_of", "at least 1"),
        (rule(arguments=[{"at": "/a", "minimum": "1"}]), "policy.rules.0.arguments.0.minimum", "number"),
        (rule(arguments=[{"at": "/a", "minimum": 2, "maximum": 1}]), "policy.rules.0.arguments.0", "can never hold"),
        (rule(arguments=[{"at": "/a", "exists": False, "equals": 1}]), "policy.rules.0.arguments.0", "can never hold"),
        (rule(arguments=[{"at": "/a", "pattern": "("}]), "policy.rules.0.arguments.0.pattern", "used: unclosed"),
        (rule(arguments=[{"at": "/a", "pattern": "(?=a)"}]), "policy.rules.0.arguments.0.pattern", "look-around"),
        (rule(arguments=[{"at": "/a", "pattern": "x" * 1001}]), "policy.rules.0.arguments.0.pattern", "at most 1000"),
    ],
)  # fmt: skip
def test_what_can_not_be_meant_is_an_error_with_its_place(policy: Any, path: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(policy)
    assert f"toolcrib.{path}: " in caught.value.message
    assert says in caught.value.message
