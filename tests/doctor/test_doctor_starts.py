"""What the doctor says of servers that it starts, and of what they list at one start and the next."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.demo import demo_config

pytestmark = pytest.mark.anyio

RESTLESS = Path(__file__).resolve().parent / "restless.py"


def tool(name: str, about: str = "Does it.") -> dict[str, Any]:
    return {"name": name, "description": about, "inputSchema": {"type": "object"}}


async def test_demo_servers_are_well(diagnose: Callable[..., Any]) -> None:
    servers = demo_config()["mcpServers"]
    diagnosis = await diagnose({name: servers[name] for name in ("notes", "calendar")})
    assert [each for each in diagnosis.findings if each.level != "ok"] == []
    assert diagnosis.verdict == "All is well in 2 servers."


async def test_a_server_that_dies_is_a_problem_with_the_ends_of_what_it_wrote(
    diagnose: Callable[..., Any], found: Callable[..., Any], stub: Callable[..., Any]
) -> None:
    diagnosis = await diagnose({"dying": stub("CrashOnStart"), "fine": stub("Normal", log="fine")})
    [finding] = found(diagnosis, "start")
    assert (finding.server, finding.level) == ("dying", "problem")
    assert "exit code 3" in finding.message
    assert finding.details[0] == "line 1 of the traceback"
    assert finding.details[-1] == "line 40 of the traceback"
    assert diagnosis.worst("fine") == "ok"


async def test_a_server_that_is_silent_is_given_up_after_its_limit(
    diagnose: Callable[..., Any], found: Callable[..., Any], stub: Callable[..., Any]
) -> None:
    diagnosis = await diagnose({"mute": stub("Mute", toolcrib={"start_timeout": 0.5})})
    [finding] = found(diagnosis, "start")
    assert (finding.level, "did not answer within 0.5 s" in finding.message) == ("problem", True)


@pytest.mark.parametrize(("mode", "level"), [("ListError", "problem"), ("NoTools", "note")])
async def test_a_server_without_tools_is_told_by_whether_it_fails(
    diagnose: Callable[..., Any], found: Callable[..., Any], stub: Callable[..., Any], mode: str, level: str
) -> None:
    findings = found(await diagnose({"bare": stub(mode)}), "start")
    assert [each.level for each in findings] == [level]


async def test_offline_starts_nothing_and_looks_at_what_was_listed_last(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any], starts: Callable[[str], int]
) -> None:
    entry = lists({**tool("odd"), "inputSchema": {"type": "string"}})
    before = await diagnose({"odd": entry}, offline=True)
    assert starts("listed") == 0
    assert [(each.server, each.level) for each in found(before, "start")] == [("odd", "note")]
    assert found(before, "schema") == []
    await diagnose({"odd": entry})
    ran = starts("listed")
    after = await diagnose({"odd": entry}, offline=True)
    assert starts("listed") == ran
    assert found(after, "start") == []
    assert [each.level for each in found(after, "schema")] == ["warning"]


async def test_a_stable_server_is_started_twice_at_first_and_once_from_then_on(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any], starts: Callable[[str], int]
) -> None:
    entry = lists(tool("a"), tool("b"))
    for expected in (2, 3):
        assert found(await diagnose({"stable": entry}), "cache") == []
        assert starts("listed") == expected


async def test_what_changed_since_the_last_listing_is_named(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any]
) -> None:
    entry = lists(tool("kept"), tool("left"), tool("moved"))
    await diagnose({"growing": entry})
    lists(tool("kept"), tool("moved", "Does it otherwise."), tool("new"))
    [finding] = found(await diagnose({"growing": entry}), "cache")
    assert (finding.server, finding.level) == ("growing", "note")
    assert finding.message == (
        "It lists something else than the last time: growing.new is new; growing.left is gone; "
        "growing.moved is changed."
    )


@pytest.mark.parametrize(
    ("habit", "difference"),
    [("text", "restless.one, restless.two are changed."), ("order", "the same tools in another order.")],
)
async def test_a_server_that_lists_something_else_at_each_start_is_a_warning(
    diagnose: Callable[..., Any], found: Callable[..., Any], tmp_path: Path, habit: str, difference: str
) -> None:
    entry = {"command": sys.executable, "args": ["-S", str(RESTLESS), habit, str(tmp_path / "starts")]}
    [finding] = found(await diagnose({"restless": entry}), "cache")
    assert finding.level == "warning"
    assert finding.message == f"It lists something else at each start: {difference}"


async def test_what_a_failing_server_says_of_its_secrets_is_not_shown(
    diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    secret = "s3cr3t-Value-4711"
    say = "import os, sys; sys.exit('no access with ' + os.environ['API_KEY'] + ' at x?key=' + os.environ['API_KEY'])"
    entry = {"command": sys.executable, "args": ["-c", say], "env": {"API_KEY": "${API_KEY}"}}
    diagnosis = await diagnose({"teller": entry}, environ={"API_KEY": secret})
    [finding] = found(diagnosis, "start")
    assert any("no access with ***" in line for line in finding.details)
    assert secret not in json.dumps(diagnosis.to_json())
