"""Skills of a crib: found beside the tools, read, used; never more than the policy and the configuration allow."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.broker import Caller, Principal
from toolcrib.config import config_from_mapping, load_config
from toolcrib.errors import DeniedError, ProtocolError, UnknownToolError, UsageError
from toolcrib.skills import SkillError, UnknownSkillError

pytestmark = pytest.mark.anyio

HERE = Path(__file__).resolve().parent.parent / "stubs"
Write = Callable[..., Path]

CRM = [
    {"name": name, "description": about, "inputSchema": {"type": "object"}}
    for name, about in (("find_contact", "Find a contact."), ("secret_export", "Export all contacts."))
]


def look(ticket: str) -> str:
    """Look at a ticket."""
    return ticket


def close(ticket: str) -> str:
    """Close a ticket."""
    return ticket


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a skill into the folder `skills`, and gives its own folder."""

    def skill(name: str, description: str, text: str = "Do it.", head: str = "", *, folder: str = "") -> Path:
        path = tmp_path / "skills" / (folder or name)
        path.mkdir(parents=True, exist_ok=True)
        (path / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n{head}---\n{text}\n")
        return path

    return skill


REPORT = "Write the weekly report of a project from its tickets. Use when asked for the status of a project."
MEETING = "Find a time for a meeting of several people and put it into their calendars."


@pytest.fixture
async def crib(anyio_backend: str, tmp_path: Path, write: Write) -> AsyncIterator[Crib]:
    """A crib of functions, over a folder of two skills."""
    folder = write("weekly-report", REPORT, "# Weekly\n\nLook first.", "allowed-tools: tracker.look\n")
    (folder / "FORMAT.md").write_text("three lines")
    write("plan-meeting", MEETING)
    config = {"mcpServers": {}, "toolcrib": {"skills": [str(tmp_path / "skills")]}}
    async with Crib.open(config, state_dir=tmp_path / "state") as opened:
        opened.add_functions(look, close, server="tracker")
        yield opened


def ids(found: Any) -> list[str]:
    return [each.id for each in found]


async def test_skills_are_found_beside_the_tools(crib: Crib) -> None:
    answer = await crib.search("write the weekly report")
    assert ids(answer.skills) == ["skill:weekly-report"]
    assert ids((await crib.search("close a ticket")).skills) == []
    answer = await crib.search("the weekly report\na meeting of several people")
    assert set(ids(answer.skills)) == {"skill:weekly-report", "skill:plan-meeting"}
    assert ids((await crib.search("/meeting/")).skills) == ["skill:plan-meeting"]
    assert ids((await crib.search("")).skills) == ["skill:plan-meeting", "skill:weekly-report"]
    assert ids((await crib.search("weekly report", server="tracker")).skills) == []
    only = await crib.search("weekly report", server="skills")
    assert (ids(only.skills), only.found) == (["skill:weekly-report"], [])


async def test_a_skill_is_selected_by_its_id_beside_tools(crib: Crib) -> None:
    answer = await crib.search("select:skill:weekly-report,tracker.look,skill:weekly-repot,tracker.nothing")
    assert ids(answer.skills) == ["skill:weekly-report"]
    assert [each.tool.id for each in answer.found] == ["tracker.look"]
    assert any("skill:weekly-report?" in each for each in answer.unknown)
    assert len(answer.unknown) == 2


async def test_skills_change_nothing_about_which_tools_are_found(crib: Crib, tmp_path: Path) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path / "plain") as plain:
        plain.add_functions(look, close, server="tracker")
        for query in ("ticket", "status of a project", "look at it", ""):
            with_skills, without = await crib.search(query), await plain.search(query)
            assert [(each.tool.id, each.hit) for each in with_skills.found] == [
                (each.tool.id, each.hit) for each in without.found
            ]
            assert ids(with_skills.sources or ()) == ids(without.sources or ())
    assert crib.configured() == [("tracker", "")]


async def test_a_skill_is_no_tool(crib: Crib) -> None:
    for ask in (crib.tool("skill:weekly-report"), crib.call("skill:weekly-report")):
        with pytest.raises(UnknownToolError, match="A skill is no tool"):
            await ask
    for taken in ("skills", "scripts"):
        with pytest.raises(UsageError, match=f"{taken} is the id of the"):
            crib.add_functions(look, server=taken)


async def test_files_are_resources(crib: Crib) -> None:
    listed = await crib.resources(server="skills")
    assert [each.uri for each in listed.found] == [
        "skill://plan-meeting/SKILL.md",
        "skill://weekly-report/FORMAT.md",
        "skill://weekly-report/SKILL.md",
    ]
    outcome = await crib.read_resource("skill://weekly-report/FORMAT.md")
    assert outcome.result["contents"] == [
        {"uri": "skill://weekly-report/FORMAT.md", "mimeType": "text/markdown", "text": "three lines"}
    ]
    assert await crib.offers_resources()
    for wrong in (
        "skill://weekly-report/../../state/x",
        "skill://weekly-report/%2e%2e/x",
        "skill://no/SKILL.md",
        "x:y",
    ):
        with pytest.raises(ProtocolError):
            await crib.request("resources/read", "skills", {"uri": wrong})
    with pytest.raises(ProtocolError, match="not offered"):
        await crib.request("prompts/get", "skills", {"name": "x"})


async def test_bytes_are_a_blob_and_a_name_of_any_letters_is_an_address(crib: Crib, write: Write) -> None:
    folder = write("brötchen-2", "Bake rolls.")
    (folder / "two words.bin").write_bytes(b"\0\xff")
    skill = crib.skills.get("brötchen-2")
    [path] = crib.skills.files(skill)
    outcome = await crib.skills.read(skill, path)
    assert outcome.result["contents"][0]["blob"] == "AP8="  # base64 of 00 FF
    assert skill.uri(path) == "skill://br%C3%B6tchen-2/two%20words.bin"


async def test_files_that_change_come_and_go_are_followed(crib: Crib, write: Write) -> None:
    write("bake-bread", "Bake bread.")
    assert ids((await crib.search("bake bread")).skills) == ["skill:bake-bread"]
    folder = write("bake-bread", "Bake a cake.", "Take sugar.")
    assert ids((await crib.search("bake a cake")).skills) == ["skill:bake-bread"]
    assert crib.skills.get("skill:bake-bread").text == "Take sugar."
    (folder / "SKILL.md").write_text("no front matter")
    assert "no front matter" in crib.skills.problems[str(folder)]
    with pytest.raises(UnknownSkillError):
        crib.skills.get("bake-bread")
    (folder / "SKILL.md").unlink()
    assert str(folder) not in crib.skills.problems


async def test_of_two_that_have_one_name_the_first_counts(crib: Crib, write: Write) -> None:
    second = write("weekly-report", "Another one.", folder="z-copy")
    assert crib.skills.get("weekly-report").description == REPORT
    assert "counts, not this one" in crib.skills.problems[str(second)]
    # what is used counts before what only is in a folder
    await crib.use_skill(second)
    assert crib.skills.get("weekly-report").description == "Another one."


async def test_links_that_lead_in_circles_end(crib: Crib, tmp_path: Path) -> None:
    (tmp_path / "skills" / "round").symlink_to(tmp_path / "skills")
    (tmp_path / "skills" / "self").symlink_to(tmp_path / "skills" / "self")
    (tmp_path / "skills" / "broken").mkdir()
    (tmp_path / "skills" / "broken" / "SKILL.md").symlink_to("nowhere")
    assert ids(crib.skills.known()) == ["skill:plan-meeting", "skill:weekly-report"]
    assert list(crib.skills.problems) == [str(tmp_path / "skills" / "broken")]


async def test_folders_below_folders_are_looked_into_and_missing_ones_told(tmp_path: Path, write: Write) -> None:
    write("deep", "Deep down.", folder="group/sub/deep")
    write("too-deep", "Too deep.", folder="group/a/b/c/too-deep")
    (tmp_path / "empty").mkdir()
    places = [str(tmp_path / name) for name in ("skills", "empty", "none")]
    async with Crib.open({"mcpServers": {}, "toolcrib": {"skills": places}}, state_dir=tmp_path / "state") as crib:
        assert ids(crib.skills.known()) == ["skill:deep"]
        assert list(crib.skills.problems.values()) == ["There are no skills.", "There is no such folder."]


async def test_using_a_skill_tells_what_is_there_and_what_is_not(crib: Crib, write: Write) -> None:
    tools = "tracker.* tracker.lok nobody.x trakcer.look mcp__tracker__close Read"
    head = f"allowed-tools: {tools}\nmetadata:\n  toolcrib.servers: none\n"
    used = await crib.use_skill(write("all", "All of it.", head=head) / "SKILL.md")
    assert used.enabled == ("tracker",)
    assert used.tools == ("tracker.look", "tracker.close")
    assert used.missing == {
        "none": "There is no server 'none'.",
        "nobody": "There is no server 'nobody'.",
        "trakcer": "There is no server 'trakcer'. Did you mean tracker?",
        "tracker.lok": "There is no tool 'tracker.lok'. Did you mean tracker.look?",
    }
    assert crib.skills.used == [used]
    assert (await crib.use_skill("skill:all")).tools == used.tools


async def test_a_server_of_which_no_tool_is_named_has_all_its_tools_there(crib: Crib, write: Write) -> None:
    used = await crib.use_skill(write("whole", "All of it.", head="allowed-tools: mcp__tracker\n"))
    assert used.tools == ("tracker.look", "tracker.close")


@pytest.mark.parametrize(
    ("path", "told"), [("none", "no skill at"), ("skills", r"SKILL\.md.* can't be read"), ("skill:no", "no skill 'no'")]
)
async def test_what_is_no_skill_can_not_be_used(crib: Crib, tmp_path: Path, path: str, told: str) -> None:
    with pytest.raises(SkillError, match=told):
        await crib.use_skill(path if ":" in path else tmp_path / path)


async def test_a_crib_without_a_folder_of_skills_uses_one_all_the_same(tmp_path: Path, write: Write) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path / "state") as crib:
        crib.add_functions(look, server="tracker")
        assert not crib.has_skills
        assert not (await crib.search("weekly report")).skills
        assert not await crib.offers_resources()
        await crib.use_skill(write("weekly-report", REPORT))
        assert ids((await crib.search("weekly report")).skills) == ["skill:weekly-report"]


async def test_the_policy_hides_skills_as_it_hides_tools(tmp_path: Path, write: Write) -> None:
    write("weekly-report", REPORT, head="allowed-tools: tracker.look tracker.close\n")
    write("plan-meeting", MEETING)
    settings = {
        "skills": [str(tmp_path / "skills")],
        "policy": {"rules": [{"tools": ["tracker.close"], "then": "deny"}]},
        "principals": {
            "ann": {"allow": ["skills.plan-*", "tracker.*"]},
            "bob": {"allow": ["tracker.*"]},
            "eve": {"deny": ["skills.weekly-report"]},
        },
    }
    async with Crib.open({"mcpServers": {}, "toolcrib": settings}, state_dir=tmp_path / "state") as crib:
        crib.add_functions(look, close, server="tracker")
        known = {name: ids(crib.skills.known(Caller(Principal(name)))) for name in ("ann", "bob", "eve")}
        assert known == {"ann": ["skill:plan-meeting"], "bob": [], "eve": ["skill:plan-meeting"]}
        eve = Caller(Principal("eve"))
        assert not (await crib.search("the weekly report", caller=eve)).skills
        selected = await crib.search("select:skill:weekly-report", caller=eve)
        assert "Did you mean" not in selected.unknown[0]
        with pytest.raises(UnknownSkillError):
            crib.skills.get("weekly-report", eve)
        with pytest.raises(ProtocolError):
            await crib.request("resources/read", "skills", {"uri": "skill://weekly-report/SKILL.md"}, eve)
        with pytest.raises(DeniedError):
            await crib.use_skill(tmp_path / "skills" / "weekly-report", caller=eve)
        # A tool that a rule hides is not there, whatever a skill names or its `allowed-tools` would allow.
        used = await crib.use_skill("skill:weekly-report")
        assert used.tools == ("tracker.look",)
        assert used.missing == {"tracker.close": "There is no tool 'tracker.close'. Did you mean tracker.look?"}


async def test_skills_are_there_where_only_reading_is_allowed(tmp_path: Path, write: Write) -> None:
    write("weekly-report", REPORT)
    settings = {"skills": [str(tmp_path / "skills")], "policy": {"read_only": True}}
    async with Crib.open({"mcpServers": {}, "toolcrib": settings}, state_dir=tmp_path / "state") as crib:
        assert ids(crib.skills.known()) == ["skill:weekly-report"]


def crm(tmp_path: Path, **options: Any) -> dict[str, Any]:
    catalog = tmp_path / "crm.catalog"
    catalog.write_text(json.dumps({"server": "crm", "tools": CRM}))
    args = ["-S", str(HERE / "replay.py"), str(catalog)]
    return {"command": sys.executable, "args": args, "toolcrib": {"protocol": "legacy", **options}}


async def test_a_server_that_starts_on_request_is_enabled_and_its_lists_hold(tmp_path: Path, write: Write) -> None:
    path = write("contacts", "Find contacts.", head="allowed-tools: crm.find_contact crm.secret_export\n")
    server = crm(tmp_path, start="on_request", deny=["secret_*"])
    config = {"mcpServers": {"crm": server}, "toolcrib": {"skills": [str(path)], "dynamic": {"enabled": True}}}
    async with Crib.open(config, state_dir=tmp_path / "state") as crib:
        with anyio.fail_after(30):
            needs = await crib.skills.needs(crib.skills.get("contacts"))
            assert needs.tools == ()
            assert 'enable_server("crm")' in needs.missing["crm.find_contact"]
            assert crib.servers[0].state == "dormant"  # reading a skill enables nothing
            used = await crib.use_skill("skill:contacts")
        assert (used.enabled, used.tools) == (("crm",), ("crm.find_contact",))
        assert list(used.missing) == ["crm.secret_export"]
        assert used.missing["crm.secret_export"].startswith("There is no tool 'crm.secret_export'.")


async def test_a_disabled_server_is_enabled_only_where_the_allow_list_has_it(tmp_path: Path, write: Write) -> None:
    path = write("contacts", "Find contacts.", head="allowed-tools: crm.find_contact\n")
    for allowed in (False, True):
        config = {
            "mcpServers": {"crm": {**crm(tmp_path), "disabled": True}},
            "toolcrib": {"dynamic": {"allow": ["crm"] if allowed else []}},
        }
        async with Crib.open(config, state_dir=tmp_path / "state") as crib:
            with anyio.fail_after(30):
                used = await crib.use_skill(path)
            assert used.tools == (("crm.find_contact",) if allowed else ())
            assert list(used.missing) == ([] if allowed else ["crm"])
            assert allowed or "disabled by the user" in used.missing["crm"]


async def test_a_server_that_can_not_start_is_told_and_costs_nothing_else(tmp_path: Path, write: Write) -> None:
    path = write("contacts", "Find contacts.", head="allowed-tools: crm.find_contact tracker.look\n")
    server = {"command": "no-such-program-anywhere", "toolcrib": {"start": "on_request"}}
    async with Crib.open({"mcpServers": {"crm": server}}, state_dir=tmp_path / "state") as crib:
        crib.add_functions(look, server="tracker")
        used = await crib.use_skill(path)
    assert used.tools == ("tracker.look",)
    assert "no-such-program-anywhere" in used.missing["crm"]


async def test_scripts_find_and_read_skills(crib: Crib) -> None:
    code = """
found = await search_tools("write the weekly report")
skill = await get_tool_details(found[0]["id"])
[found[0]["id"], skill["text"], [tool["id"] for tool in skill["tools"]], skill["files"]]
"""
    outcome = await crib.run_code(code)
    assert outcome.value == [
        "skill:weekly-report",
        "# Weekly\n\nLook first.",
        ["tracker.look"],
        ["skill://weekly-report/FORMAT.md"],
    ]


def test_folders_of_a_file_begin_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {}, "toolcrib": {"skills": ["skills", "~/skills", "/opt/skills"]}}))
    assert load_config(path).settings.skills == (str(tmp_path / "skills"), "~/skills", "/opt/skills")
    assert config_from_mapping({"mcpServers": {}}).settings.skills == ()
    assert os.sep in str(tmp_path)
