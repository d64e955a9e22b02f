"""Skills on the command line: `--skill`, and the folders of the configuration."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

HEAD = """---
name: file-issues
description: File an issue for each complaint of a customer. Use when a customer complains.
allowed-tools: workshop.create_issue workshop.none Read
---
"""


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "file-issues"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"{HEAD}\nOne issue for each.\n")
    (folder / "TONE.md").write_text("Be kind.\n")
    return folder


@pytest.fixture
def configured(workshop: Path, skill: Path, tmp_path: Path) -> Path:
    """The workshop with a folder of skills, one of them broken."""
    config = json.loads(workshop.read_text(encoding="utf-8"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "SKILL.md").write_text("no front matter")
    path = tmp_path / "with-skills.json"
    path.write_text(json.dumps({**config, "toolcrib": {"skills": ["."]}}), encoding="utf-8")
    return path


def test_a_search_finds_skills_beside_tools(cli: Cli, configured: Path) -> None:
    ran = cli("search", "-c", configured, "file an issue for a complaint")
    assert [line.split()[:2] for line in ran.out.splitlines()[:3]] == [
        ["tool", "effect"],
        ["skill:file-issues", "skill"],
        ["workshop.create_issue", "write"],
    ]
    found = cli("search", "-c", configured, "customer complaint", "--json").json
    assert [each["id"] for each in found["skills"]] == ["skill:file-issues"]
    brief = cli("search", "-c", configured, "customer complaint", "--detail", "signature").out
    assert brief.startswith("skill:file-issues  [skill]\n  File an issue for each complaint of a customer.\n")
    assert "skill:file-issues" in cli("search", "-c", configured).out


def test_show_tells_what_a_skill_says_its_tools_and_files(cli: Cli, configured: Path, skill: Path) -> None:
    ran = cli("show", "-c", configured, "skill:file-issues", "workshop.say")
    assert "  One issue for each.\n" in ran.out
    assert "Its tools:\n  workshop.create_issue\n" in ran.out
    assert "Not there:\n  workshop.none: There is no tool 'workshop.none'." in ran.out
    assert "Its other files:\n  TONE.md\n" in ran.out
    assert "workshop.say" in ran.out
    told = cli("show", "-c", configured, "skill:file-issues", "--json").json
    assert (told["text"], told["tools"], told["other_tools"]) == (
        "One issue for each.",
        ["workshop.create_issue"],
        ["Read"],
    )
    assert told["folder"] == str(skill)
    both = cli("show", "-c", configured, "skill:file-issues", "workshop.say", "--json").json
    assert list(both) == ["skill:file-issues", "workshop.say"]


def test_a_skill_is_used_by_its_path(cli: Cli, workshop: Path, skill: Path) -> None:
    assert cli("show", "-c", workshop, "skill:file-issues").code != 0
    for path in (skill, skill / "SKILL.md"):
        ran = cli("search", "-c", workshop, "--skill", path, "customer complaint")
        assert "skill:file-issues" in ran.out
        assert "skill:file-issues names 'workshop.none', which is not there" in ran.err
    assert cli("show", "-c", workshop, "--skill", skill, "skill:file-issues").code == 0
    ran = cli("run", "-c", workshop, "--skill", skill, "--code", "(await search_tools('customer complaint'))[0]['id']")
    assert "skill:file-issues" in ran.out


@pytest.mark.parametrize("command", [("search", "x"), ("show", "x"), ("run", "--code", "1")])
def test_what_is_no_skill_is_misuse(cli: Cli, workshop: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "SKILL.md").write_bytes(b"\xff\xfe")
    for path, told in ((tmp_path / "none", "no skill at"), (tmp_path, "not text in UTF-8")):
        ran = cli(*command, "-c", workshop, "--skill", path)
        assert ran.code == 2
        assert told in ran.err


def test_serve_refuses_what_is_no_skill_and_uses_what_is_one(program: Cli, workshop: Path, skill: Path) -> None:
    ran = program("serve", "-c", workshop, "--skill", skill.parent / "none", stdin="")
    assert (ran.code, "no skill at" in ran.err) == (2, True)
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "serve", "-c", str(workshop), "--skill", str(skill)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked: list[dict[str, Any]] = [{"id": 1, "method": "initialize", "params": params}]
    for number, name in ((2, "skill:file-issues"), (3, "skill:file-issues/TONE.md")):
        arguments = {"name": "get_tool_details", "arguments": {"name": name}}
        asked.append({"id": number, "method": "tools/call", "params": arguments})
    contents: list[Any] = []
    for request in asked:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
        process.stdin.flush()
        contents.append(json.loads(process.stdout.readline())["result"].get("content"))
        if request["id"] == 1:
            process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    process.communicate(timeout=20)
    assert "One issue for each." in contents[1][0]["text"]
    assert contents[2][0]["resource"]["text"] == "Be kind.\n"


def test_doctor_tells_which_skills_can_not_be_used(cli: Cli, configured: Path) -> None:
    findings = cli("doctor", "-c", configured, "--offline", "--json").json["findings"]
    told = {each["level"]: each["message"] for each in findings if each["check"] == "skills"}
    assert told["ok"] == "1 skill can be found and read."
    assert "no front matter" in told["warning"]
