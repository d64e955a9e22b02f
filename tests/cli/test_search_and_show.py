"""`servers`, `search`, `show` and `tokens`: what is known without a running server."""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


def started(log: Path) -> int:
    """How often a stub was started."""
    return log.read_text().count('"event": "start"') if log.exists() else 0


@pytest.fixture
def logged(config: Callable[..., Path], workshop_entry: Any, tmp_path: Path) -> tuple[Path, Path]:
    """The workshop, never listed, marked to be always running, and the log of its starts."""
    log = tmp_path / "log"
    entry = {**workshop_entry, "args": [*workshop_entry["args"], str(log)], "toolcrib": {"start": "always"}}
    return config(workshop=entry), log


def test_servers_starts_nothing_and_says_what_was_never_listed(cli: Cli, logged: tuple[Path, Path]) -> None:
    path, log = logged
    ran = cli("servers", "-c", path)
    assert ran.code == 0
    assert ran.out.split() == ["server", "state", "protocol", "tools", "about", "workshop", "dormant", "-", "-"]
    assert "servers --refresh" in ran.err
    assert started(log) == 0


def test_refresh_lists_and_what_it_listed_is_known_afterwards(cli: Cli, logged: tuple[Path, Path]) -> None:
    path, log = logged
    assert cli("servers", "--refresh", "-c", path, "--json").json["servers"][0]["tools"] == 11
    known = cli("servers", "-c", path, "--json").json["servers"][0]
    assert (known["tools"], known["era"], known["state"]) == (11, "handshake", "dormant")
    assert cli("search", "-c", path, "issue").code == 0
    assert cli("show", "-c", path, "workshop.say").code == 0
    assert cli("tokens", "-c", path).code == 0
    assert started(log) == 1


def test_the_first_search_lists_what_was_never_listed(cli: Cli, logged: tuple[Path, Path]) -> None:
    path, log = logged
    assert cli("search", "-c", path, "create", "issue", "--json").json["found"][0]["id"] == "workshop.create_issue"
    assert started(log) == 1


def test_a_search_names_servers_that_were_never_listed_and_waits_for_none(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any, misbehaving: Callable[..., Any]
) -> None:
    path = config(workshop=workshop_entry, mute=misbehaving("Mute"))
    assert cli("servers", "--refresh", "workshop", "-c", path).code == 0
    ran = cli("search", "-c", path, "issue", "--json")
    assert ran.code == 0
    assert list(ran.json["not_searched"]) == ["mute"]
    assert "mute" in ran.err
    assert cli("search", "-c", path, "select:workshop.create_issue").err == ""
    assert "mute" in cli("search", "-c", path, "select:mute.tool").err
    servers = cli("search", "-c", path)
    assert (servers.err, servers.out.splitlines()[2].split()[:2]) == ("", ["mute", "-"])


def test_each_failure_is_its_server_s_own_with_its_reason_and_last_words(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any, misbehaving: Callable[..., Any]
) -> None:
    path = config(
        crash=misbehaving("CrashOnStart"),
        missing={"command": "no-such-program-anywhere"},
        unset={"command": "x", "env": {"TOKEN": "${TOOLCRIB_TEST_UNSET}"}},
        both={"command": "x", "url": "http://localhost/"},
        number={"command": 5},
        transport={"command": "x", "type": "pigeon"},
        off={"command": "x", "disabled": True},
        workshop=workshop_entry,
    )
    ran = cli("servers", "--refresh", "-c", path)
    assert ran.code == 1
    for told in (
        "exit code 3",
        "line 40 of the traceback",
        "no-such-program-anywhere",
        "TOOLCRIB_TEST_UNSET",
        "both a command and a url",
        "command must be a text",
        "pigeon",
    ):
        assert told in ran.out
    states = {each["id"]: each["state"] for each in cli("servers", "-c", path, "--json").json["servers"]}
    assert states["workshop"] == "dormant"
    assert states["off"] == "disabled"
    assert cli("call", "-c", path, "workshop.say", "text=still here").out == "still here\n"
    assert cli("call", "-c", path, "unset.anything").code == 1
    assert cli("servers", "--refresh", "-c", path, "workshop").code == 0


def test_one_server_is_named_by_id_or_key_and_a_typing_error_finds_it(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any
) -> None:
    path = config(**{"My Shop": workshop_entry})
    assert cli("servers", "my_shop", "-c", path).code == 0
    assert cli("servers", "My Shop", "-c", path).code == 0
    ran = cli("servers", "my_shpo", "-c", path)
    assert ran.code == 2
    assert "Did you mean my_shop?" in ran.err


def test_no_servers_are_told_as_such(cli: Cli, config: Callable[..., Path]) -> None:
    path = config()
    assert cli("servers", "-c", path).out == "No servers are configured.\n"
    assert cli("servers", "-c", path, "--json").json == {"servers": []}
    assert cli("search", "-c", path, "x").code == 1
    assert cli("tokens", "-c", path).code == 0
    assert cli("demo", "-c", path).code == 1


@pytest.mark.parametrize(
    ("detail", "first"),
    [
        ("name", "workshop.create_issue"),
        ("signature", "workshop.create_issue(title: str,"),
        ("full", "workshop.create_issue"),
    ],
)
def test_search_says_as_much_as_is_asked_for(cli: Cli, workshop: Path, detail: str, first: str) -> None:
    ran = cli("search", "-c", workshop, "create", "an", "issue", "--detail", detail, "-n", "1")
    assert ran.code == 0
    assert ran.out.startswith(first)
    assert ("parameter" in ran.out) == (detail == "full")


def test_search_prints_a_table_of_ids_and_first_sentences(cli: Cli, workshop: Path) -> None:
    lines = cli("search", "-c", workshop, "create an issue", "-n", "1").out.splitlines()
    assert lines == [
        "tool                   effect  about",
        "workshop.create_issue  write   Create an issue in a repository.",
    ]


def test_the_parts_of_a_score_add_up_to_it(cli: Cli, workshop: Path) -> None:
    assert "score" in cli("search", "-c", workshop, "issue", "--why").out
    for hit in cli("search", "-c", workshop, "issue", "--json").json["found"]:
        assert sum(hit["why"].values()) == pytest.approx(hit["score"], abs=1e-4)


def test_search_without_words_lists_the_servers(cli: Cli, workshop: Path) -> None:
    assert cli("search", "-c", workshop).code == 0
    assert cli("search", "-c", workshop, "", "--json").json["servers"] == [
        {"id": "workshop", "description": "workshop", "tools": 11}
    ]


@pytest.mark.parametrize(
    "query", ["x" * 100_000, "bug report " * 10_000, "创建一个问题", "🐛🐛🐛", "\x1b[31m", "--", "'\"", "%s"]
)
def test_any_query_is_answered(cli: Cli, workshop: Path, query: str) -> None:
    ran = cli("search", "-c", workshop, "--json", "--", query)
    assert ran.code == (0 if ran.json["found"] else 1)


def test_nothing_found_is_exit_code_1_and_nothing_fitting_is_not(cli: Cli, workshop: Path) -> None:
    assert cli("search", "-c", workshop, "zzqqxxyy").code == 1
    ran = cli("search", "-c", workshop, "translate the repository into Klingon")
    assert ran.code == 0


def test_a_search_of_an_unknown_server_or_a_broken_form_is_misuse(cli: Cli, workshop: Path) -> None:
    assert cli("search", "-c", workshop, "x", "--server", "nowhere").code == 2
    assert cli("search", "-c", workshop, "select:").code == 2
    assert cli("search", "-c", workshop, "/(/").code == 2


def test_show_with_json_is_the_definition_exactly_as_it_was_sent(cli: Cli, workshop: Path) -> None:
    definition = cli("show", "-c", workshop, "workshop.create_issue", "--json").json
    assert definition["x-vendor"] == {"kept": [1, None]}
    assert list(definition) == ["name", "description", "inputSchema", "annotations", "x-vendor"]
    several = cli("show", "-c", workshop, "workshop.say", "workshop.create_issue", "--json").json
    assert several["workshop.create_issue"] == definition
    assert list(several) == ["workshop.say", "workshop.create_issue"]


def test_show_tells_a_person_what_it_takes_to_call(cli: Cli, workshop: Path) -> None:
    out = cli("show", "-c", workshop, "workshop.create_issue").out
    assert "workshop.create_issue(title: str," in out
    assert "Its number is answered." in out
    assert "A parameter that is a keyword of Python." in out
    assert "it only adds" in out
    assert "inputSchema" not in out
    assert '"additionalProperties": false' in cli("show", "-c", workshop, "workshop.create_issue", "--schema").out


def test_the_example_that_show_prints_can_be_run(cli: Cli, workshop: Path) -> None:
    line = cli("show", "-c", workshop, "workshop.create_issue").out.splitlines()[-1].strip()
    words = shlex.split(line)
    assert words[:3] == ["toolcrib", "call", "workshop.create_issue"]
    assert cli("call", "-c", workshop, *words[2:]).code == 0


def test_control_codes_in_definitions_are_shown_and_not_sent(cli: Cli, workshop: Path) -> None:
    for words in (["show", "select"], ["search", "hide control codes"], ["search", "hide control codes", "-d", "full"]):
        tool = cli("search", "-c", workshop, "hide control codes", "--json").json["found"][0]["id"]
        out = cli(words[0], "-c", workshop, *([tool] if words[0] == "show" else words[1:])).out
        assert "⟨U+001B⟩" in out
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(out)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("workshop.create_isue", "workshop.create_issue"),
        ("create_issu", "workshop.create_issue"),
        ("workshop.create-issue", None),
        ("workshop/say", None),
        ("qq.zz", "toolcrib search"),
        ("", "toolcrib search"),
        ("x" * 100_000, "toolcrib search"),
        ("问题🐛", "toolcrib search"),
    ],
)
def test_names_nearly_right_are_taken_or_answered_with_the_nearest(
    cli: Cli, workshop: Path, name: str, told: str | None
) -> None:
    ran = cli("show", "-c", workshop, name)
    assert ran.code == (0 if told is None else 2)
    assert told is None or told in ran.err
    assert len(ran.err) < 1_000


def test_a_tool_of_a_disabled_server_is_answered_with_how_to_enable_it(cli: Cli, config: Callable[..., Path]) -> None:
    path = config(**{"my-old": {"command": "x", "disabled": True}})
    for name in ("my_old.x", "my-old.x"):
        for command in ("call", "show"):
            ran = cli(command, name, "-c", path)
            assert ran.code == 2
            assert "Server my_old is disabled; toolcrib servers enable my_old turns it on." in ran.err


def test_tokens_add_up_and_name_their_counter(cli: Cli, workshop: Path) -> None:
    body = cli("tokens", "-c", workshop, "--json", "--top", "3").json
    assert sum(body["servers"].values()) == body["definitions"]["tokens"]
    assert body["definitions"]["average"] == pytest.approx(body["definitions"]["tokens"] / 11, abs=0.1)
    assert body["saved"] == pytest.approx(1 - body["toolcrib"]["tokens"] / body["definitions"]["tokens"], abs=1e-3)
    assert len(body["heaviest"]) == 3
    per_conversation = body["toolcrib"]["tokens"] + body["toolcrib"]["search_answer"]
    average = body["definitions"]["tokens"] / 11
    assert (body["pays_from_tools"] - 1) * average < per_conversation <= body["pays_from_tools"] * average
    assert body["counter"] in cli("tokens", "-c", workshop).out


def test_a_definition_costs_what_a_client_sends_of_it(cli: Cli, workshop: Path) -> None:
    from toolcrib.tokens import count_tokens

    say = cli("show", "-c", workshop, "workshop.say", "--json").json
    sent = {"name": "workshop__say", "description": say["description"], "inputSchema": say["inputSchema"]}
    text = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
    heaviest = cli("tokens", "-c", workshop, "--json", "--top", "99").json["heaviest"]
    assert heaviest["workshop.say"] == count_tokens(text)


def test_tokens_lists_what_was_never_listed_and_names_what_it_could_not_count(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any
) -> None:
    ran = cli("tokens", "-c", config(workshop=workshop_entry, gone={"command": "no-such-program"}), "--json")
    assert ran.code == 0
    assert ran.json["definitions"]["tools"] == 11
    assert "no-such-program" in ran.json["uncounted"]["gone"]
    assert cli("tokens", "-c", config(gone={"command": "no-such-program"})).code == 1


def test_a_state_directory_that_cannot_be_written_costs_only_the_next_start(
    cli: Cli, config: Callable[..., Path], workshop_entry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", os.path.join(os.devnull, "state"))
    assert cli("search", "-c", config(workshop=workshop_entry), "issue").code == 0


def test_a_saving_is_never_rounded_up() -> None:
    from toolcrib.cli.costs import Costs

    assert Costs("c", {"a.b": 100_000}, {"a": 100_000}, 20, 0).saved_percent == "99.9%"
    assert Costs("c", {"a.b": 1_000}, {"a": 1_000}, 50, 0).saved_percent == "95%"
    assert Costs("c", {"a.b": 100}, {"a": 100}, 400, 0).saved == -3.0


def test_a_tag_that_nothing_has_is_misuse_that_names_those_there_are(cli: Cli, workshop: Path, tmp_path: Path) -> None:
    servers = json.loads(workshop.read_text())["mcpServers"]
    servers["workshop"]["toolcrib"] = {"tags": ["Building", "wood"]}
    path = tmp_path / "tagged.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    assert cli("search", "issue", "--tag", "building", "-c", path).code == 0
    wrong = cli("search", "issue", "--tag", "bilding", "-c", path)
    assert wrong.code == 2
    assert "No server has the tag 'bilding'" in wrong.err
    assert "Did you mean Building?" in wrong.err
    assert "There are: Building, wood." in cli("search", "issue", "--tag", "nope", "-c", path).err
    assert cli("search", "teleportation", "--tag", "wood", "-c", path).code == 1  # the tag is there, the tool is not


def test_hidden_tools_are_counted_apart(cli: Cli, workshop: Path, tmp_path: Path) -> None:
    whole = cli("tokens", "-c", workshop, "--json").json
    servers = json.loads(workshop.read_text())["mcpServers"]
    path = tmp_path / "less.json"
    servers["workshop"]["toolcrib"] = {"deny": ["create_issue", "say"]}
    path.write_text(json.dumps({"mcpServers": servers}))
    ran = cli("tokens", "-c", path, "--json").json
    assert ran["hidden"]["tools"] == 2
    assert ran["definitions"]["tools"] == whole["definitions"]["tools"] - 2
    assert ran["definitions"]["tokens"] + ran["hidden"]["tokens"] == whole["definitions"]["tokens"]
    assert "hide them: 2 tools with " in cli("tokens", "-c", path).out
    [server] = cli("servers", "-c", path, "--json").json["servers"]
    assert (server["tools"], server["hidden"]) == (11, 2)
    head, row = cli("servers", "-c", path).out.splitlines()
    assert head.split() == ["server", "state", "protocol", "tools", "hidden", "about"]
    assert row.split()[3:5] == ["9", "2"]


def test_a_failure_is_told_until_the_server_works_again(
    cli: Cli, tmp_path: Path, misbehaving: Callable[..., dict[str, Any]]
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"bad": misbehaving("CrashOnStart")}}))
    assert cli("servers", "-c", path, "--json").json["servers"][0]["state"] == "dormant"
    failed = cli("servers", "--refresh", "-c", path, "--json")
    assert failed.code == 1
    later = cli("servers", "-c", path, "--json")
    assert later.code == 0  # it was asked what is known, and that is told
    [now], [before] = later.json["servers"], failed.json["servers"]
    assert (now["state"], now["reason"], now["output"]) == ("failed", before["reason"], before["output"])
    assert now["reason"] in cli("servers", "-c", path).out
    other = misbehaving("CrashOnStart", env={"ANOTHER": "1"})  # which may not fail
    path.write_text(json.dumps({"mcpServers": {"bad": other}}))
    assert cli("servers", "-c", path, "--json").json["servers"][0]["state"] == "dormant"
