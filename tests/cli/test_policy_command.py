"""`toolcrib policy`: what decides about a call, and what is odd about the rules."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

RULES: list[dict[str, Any]] = [
    {"name": "no ratios", "tools": ["workshop.create_issue"], "then": "deny", "reason": "ratios are not ours",
     "arguments": [{"at": "/ratio", "minimum": 0.5}]},
    {"tools": ["workshop.create_*"], "faces": ["http"], "then": "ask"},
    {"tools": ["workshop.text"], "then": "deny"},
]  # fmt: skip


@pytest.fixture
def ruled(workshop: Path, tmp_path: Path) -> Callable[..., Path]:
    """Writes the configuration of the workshop, which was listed before, with a policy."""

    def write(*rules: Any, **policy: Any) -> Path:
        document = json.loads(workshop.read_text())
        document["toolcrib"] = {"policy": {"rules": list(rules), **policy}}
        path = tmp_path / "ruled.json"
        path.write_text(json.dumps(document))
        return path

    return write


def test_explain_tells_the_rule_that_decides_and_why_none_before_did(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled(*RULES)
    ran = cli(
        "policy", "explain", "workshop.create_issue", '{"title": "x", "ratio": 0.4}', "--over", "http", "-c", path
    )
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "workshop.create_issue is asked about: rule 2 of the policy"
    assert lines[1] == "Its effect is write: the server says that it may change things."
    table = [tuple(line.split(maxsplit=2)) for line in lines[3:]]
    assert table[1:] == [
        ("lists", "deny", "no: the lists of its server leave it in"),
        ("no", "ratios", "deny  no: arguments: /ratio is less than the minimum"),
        ("rule", "2", "ask   yes, it decides"),
    ]


def test_explain_as_a_document(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled(*RULES)
    ran = cli("policy", "explain", "create_issue", '{"ratio": "0.7"}', "--config", path, "--json", "--source", "script")
    assert ran.code == 0
    assert ran.json == {
        "tool": "workshop.create_issue",
        "verdict": "deny",
        "reason": "ratios are not ours",
        "rule": "no ratios",
        "hidden": False,
        "effect": "write",
        "effect_told_by": "the server says that it may change things",
        "arguments": {"ratio": 0.7},
        "source": "script",
        "over": "stdio",
        "principal": "local",
        "steps": [
            {"rule": "lists", "then": "deny", "why": "the lists of its server leave it in"},
            {"rule": "no ratios", "then": "deny", "why": ""},
        ],
    }


def test_explain_takes_arguments_as_call_does(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled(*RULES)
    for typed in (["ratio=0.7"], ["ratio:=0.7"], ['{"ratio": 0.7}']):
        ran = cli("policy", "explain", "workshop.create_issue", *typed, "--config", path)
        assert ran.out.splitlines()[0].startswith("workshop.create_issue is denied"), typed
    assert "is allowed" in cli("policy", "explain", "workshop.create_issue", "ratio=0.2", "--config", path).out


def test_explain_knows_what_is_hidden_and_from_whom(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled({"tools": ["workshop.create_issue"], "principals": ["guest"], "then": "deny"})
    ran = cli("policy", "explain", "workshop.create_issue", "--principal", "guest", "--config", path)
    assert ran.out.splitlines()[:2] == [
        "workshop.create_issue is denied: rule 1 of the policy",
        "It is hidden from guest, and answered as if it did not exist.",
    ]
    ran = cli("policy", "explain", "workshop.create_issue", "--config", path)
    assert ran.out.splitlines()[0] == "workshop.create_issue is allowed."
    assert "hidden" not in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["explain", "workshop.nobody"], "There is no tool 'workshop.nobody'."),
        (["explain", "workshop.create_issue", "[1]"], "is no argument for workshop.create_issue"),
        (["explain", "workshop.create_issue", "{"], "is not JSON"),
        (["explain", "workshop.create_issue", "--over", "tcp"], "'--over': 'tcp' is not one of"),
        (["explain"], "ID"),
        (["explode"], "explode"),
    ],
)
def test_what_was_typed_wrong_exits_with_2(cli: Cli, workshop: Path, words: list[str], message: str) -> None:
    ran = cli("policy", *words, "--config", workshop)
    assert ran.code == 2
    assert message in ran.err


def test_list_shows_everything_that_decides_in_order(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled(*RULES, read_only=True, ask_all=True)
    ran = cli("policy", "list", "--config", path)
    assert ran.out.splitlines()[1:] == [
        "read_only  deny   what is not known to read",
        'no ratios  deny   tools workshop.create_issue; arguments {"at": "/ratio", "minimum": 0.5}',
        "rule 2     ask    tools workshop.create_*; faces http",
        "rule 3     deny   tools workshop.text",
        "default    ask    what destroys, from a script or over http",
        "default    allow  everything else",
        "ask_all    ask    every call that is allowed so far",
    ]
    document = cli("policy", "--config", path, "--json").json
    assert document == {"lists": {}, "read_only": True, "rules": RULES, "ask_all": True}


def test_check_finds_what_never_decides_and_what_fits_nothing(cli: Cli, ruled: Callable[..., Path]) -> None:
    assert cli("policy", "check", "--config", ruled(RULES[0])).out == "1 rule, nothing odd.\n"
    path = ruled({"tools": ["workshop.*"], "then": "ask"}, {"tools": ["workshop.create_isue"], "then": "allow"})
    ran = cli("policy", "check", "--config", path)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines() == [
        "toolcrib.policy.rules.1 (rule 2): it contradicts rule 1, which comes first and holds whenever it does: it "
        "would allow, and never decides.",
        "toolcrib.policy.rules.1 (rule 2): tools: 'workshop.create_isue' fits no tool that is known. "
        "Did you mean workshop.create_issue?",
    ]
    assert cli("policy", "check", "--config", path, "--json").json == {"rules": 2, "warnings": ran.out.splitlines()}


def test_every_command_warns_of_what_is_odd_when_it_loads_the_rules(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled({"servers": ["wrkshop"], "then": "deny"})
    told = "toolcrib.policy.rules.0 (rule 1): servers: no server is called 'wrkshop'. Did you mean workshop?"
    assert cli("search", "issue", "--config", path).err.splitlines()[0] == f"toolcrib: warning: {told}"
    ran = cli("doctor", "--offline", "--config", path, "--json")
    assert told in [each["message"] for each in ran.json["findings"] if each["level"] == "warning"]


def test_the_doctor_finds_rules_about_tools_that_are_not_there(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled({"tools": ["workshop.create_isue"], "then": "deny"})
    ran = cli("doctor", "--offline", "--config", path, "--json")
    assert [each["message"] for each in ran.json["findings"] if "create_isue" in each["message"]] == [
        "toolcrib.policy.rules.0 (rule 1): tools: 'workshop.create_isue' fits no tool that is known. "
        "Did you mean workshop.create_issue?"
    ]


def test_a_rule_that_can_not_be_read_ends_every_command_with_2(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled({"tools": ["workshop.*"], "then": "deny", "arguments": [{"at": "/a", "pattern": "("}]})
    for words in (["policy", "check"], ["search", "x"], ["serve"]):
        ran = cli(*words, "--config", path)
        assert ran.code == 2
        assert f"{path}: toolcrib.policy.rules.0.arguments.0.pattern: can't be used: " in ran.err


def test_rules_of_a_later_file_take_the_place_of_earlier_ones_and_that_is_told(
    cli: Cli, ruled: Callable[..., Path], tmp_path: Path
) -> None:
    first = ruled(RULES[2])
    second = tmp_path / "second.json"
    second.write_text(json.dumps({"toolcrib": {"policy": {"rules": [{"tools": ["workshop.*"], "then": "ask"}]}}}))
    ran = cli("policy", "list", "--config", first, "--config", second, "--json")
    assert [rule["then"] for rule in ran.json["rules"]] == ["ask"]
    assert ran.err == f"toolcrib: warning: {second}: toolcrib.policy.rules replaces the rules of an earlier file.\n"


def test_effects_are_shown(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled()
    [hit] = cli("search", "create an issue", "-n", "1", "--config", path, "--json").json["found"]
    assert hit["effect"] == "write"
    assert "effect" not in cli("search", "issue", "-d", "name", "-n", "1", "--config", path, "--json").json["found"][0]
    shown = cli("search", "create an issue", "-n", "1", "-d", "signature", "--config", path).out.splitlines()[0]
    assert shown.endswith("  [write]")
    assert (
        "\nEffect: write (the server says that it may change things)\n"
        in cli("show", "workshop.create_issue", "--config", path).out
    )
    document = json.loads(path.read_text())
    document["mcpServers"]["workshop"]["toolcrib"] = {"effects": {"create_*": "destructive"}}
    path.write_text(json.dumps(document))
    ran = cli("call", "workshop.create_issue", "title=x", "--config", path)
    assert (ran.code, ran.err.splitlines()[0]) == (0, "toolcrib: workshop.create_issue may destroy something.")


def test_a_call_can_be_kept_to_what_reads(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled()
    ran = cli("call", "workshop.create_issue", "title=x", "--read-only", "--config", path)
    assert ran.code == 2
    assert ran.err.startswith("toolcrib: There is no tool 'workshop.create_issue'.")
    assert "toolcrib policy explain workshop.create_issue tells what is known." in ran.err
    assert "policy explain" not in cli("call", "workshop.create_isue", "title=x", "--read-only", "--config", path).err


def test_a_denied_tool_is_unknown_to_the_command_line_too(cli: Cli, ruled: Callable[..., Path]) -> None:
    path = ruled({"tools": ["workshop.create_issue"], "then": "deny"})
    for words in (["show", "workshop.create_issue"], ["call", "workshop.create_issue", "title=x"],
                  ["call", "workshop.create_issue", "nothing=x"]):  # fmt: skip
        ran = cli(*words, "--config", path)
        assert ran.code == 2
        assert ran.err.startswith("toolcrib: There is no tool 'workshop.create_issue'.")
    assert "create_issue" not in cli("search", "create an issue", "--config", path, "--json").out
