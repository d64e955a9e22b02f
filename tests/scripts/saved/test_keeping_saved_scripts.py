"""Saved scripts as files: their names, what can be saved, several instances, and files that are broken."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest
from saving import WRITTEN, call, write

from toolcrib import Crib
from toolcrib.errors import UsageError
from toolcrib.scripts import SavedScript, ScriptFolder

pytestmark = pytest.mark.anyio


async def test_tools_that_have_gone_are_told_before_anything_is_called(crib: Crib, tmp_path: Path) -> None:
    await crib.scripts.save("both", "await box.write(title='x')\nawait box.write(title='y')")
    path = tmp_path / "scripts" / "both.json"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({**stored, "code": "await box.write(title='x')\nawait box.gone()"}))
    text, result = await call(crib, "call_tool", name="scripts.both", arguments={})
    assert (result["isError"], WRITTEN) == (True, [])
    assert "line 2: box has no tool 'gone'" in text


@pytest.mark.parametrize(
    ("name", "code", "options", "told"),
    [
        ("Upper", "1", {}, "can't be the name"),
        ("two words", "1", {}, "can't be the name"),
        ("../up", "1", {}, "can't be the name"),
        ("", "1", {}, "can't be the name"),
        ("class", "1", {}, "can't be the name"),
        ("a" * 65, "1", {}, "can't be the name"),
        ("empty", " \n", {}, "empty"),
        ("large", "1" * 300_000, {}, "at most"),
        ("broken", "x = = 1", {}, "can't be read (line 1)"),
        ("wrong", "await box.rite(title='x')", {}, "box has no tool 'rite'"),
        ("by_place", "def main(a, /):\n    pass", {}, "by position"),
        ("rest", "def main(*a):\n    pass", {}, "by position"),
        ("odd", "def main(a: Path):\n    pass", {}, "main's parameter a, Path"),
        ("odd", "def main(a: dict[int, str]):\n    pass", {}, "can't be said as a schema"),
        ("no_main", "1", {"parameters": {"type": "object", "properties": {"a": {}}}}, "no function main"),
        (
            "strange",
            "def main(a):\n    pass",
            {"parameters": {"type": "object", "properties": {"b": {}}}},
            "no parameter",
        ),
        ("needs", "def main(a):\n    pass", {"parameters": {"type": "object", "properties": {"a": {}}}}, "needs a"),
        ("schema", "1", {"parameters": {"type": "array"}}, "of type object"),
        ("language", "1", {"language": "cobol"}, "can't be written in cobol"),
    ],
)
async def test_what_can_t_be_saved(crib: Crib, name: str, code: str, options: Any, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        await crib.scripts.save(name, code, **options)
    assert told in str(raised.value)
    assert crib.scripts.list() == []


async def test_a_name_is_taken_until_it_is_replaced_or_removed(crib: Crib) -> None:
    await crib.scripts.save("one", "1")
    with pytest.raises(UsageError, match="already"):
        await crib.scripts.save("one", "2")
    await crib.scripts.save("one", "3", replace=True)
    assert (await crib.scripts.run("one")).result["structuredContent"] == 3
    crib.scripts.remove("one")
    with pytest.raises(UsageError, match="no script"):
        crib.scripts.remove("one")
    text, _ = await call(crib, "call_tool", name="scripts.one", arguments={})
    assert "There is no tool" in text


async def test_instances_see_each_other_s_scripts_and_one_of_two_that_save_a_name_wins(
    crib: Crib, tmp_path: Path
) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as other:
        other.add_functions(write, server="box")
        await crib.scripts.save("mine", "'first'")
        assert (await other.scripts.run("mine")).result["structuredContent"] == "first"
        await other.scripts.save("mine", "'second'", replace=True)
        assert (await crib.scripts.run("mine")).result["structuredContent"] == "second"
        saved: list[str] = []

        async def save(each: Crib, code: str) -> None:
            try:
                await each.scripts.save("race", code)
            except UsageError:
                return
            saved.append(code)

        async with anyio.create_task_group() as tasks:
            for n in range(4):
                tasks.start_soon(save, crib if n % 2 else other, str(n))
        assert [crib.scripts.get("race").code] == saved
        assert other.scripts.get("race") == crib.scripts.get("race")
        other.scripts.remove("mine")
        assert [each.name for each in crib.scripts.list()] == ["race"]


async def test_files_are_private_and_a_broken_one_costs_only_its_own_script(crib: Crib, tmp_path: Path) -> None:
    await crib.scripts.save("good", "1")
    await crib.scripts.save("bad", "2")
    folder = tmp_path / "scripts"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "good.json").stat().st_mode) == 0o600
    assert sorted(each.name for each in folder.iterdir()) == ["bad.json", "good.json"]
    for content, told in [
        ("{", "damaged"),
        ("[]", "another form"),
        (json.dumps({"format": 99, "name": "bad"}), "another form"),
        (json.dumps({"format": 1, "name": "other"}), "another form"),
        (json.dumps({"format": 1, "name": "bad", "code": 5}), "missing"),
        ("[" * 100_000, "damaged"),
    ]:
        (folder / "bad.json").write_text(content)
        assert told in crib.scripts.broken()["bad"], content[:50]
    assert [each.name for each in crib.scripts.list()] == ["good"]
    with pytest.raises(UsageError, match="can't be used"):
        crib.scripts.get("bad")
    assert (await crib.scripts.run("good")).result["structuredContent"] == 1
    await crib.scripts.save("bad", "3", replace=True)
    assert crib.scripts.broken() == {}


async def test_the_id_belongs_to_saved_scripts_alone(crib: Crib, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="saved scripts"):
        crib.add_functions(write, server="scripts")
    with pytest.raises(UsageError, match="saved scripts"):
        Crib.from_clients({"scripts": None}, state_dir=tmp_path)  # type: ignore[dict-item]
    entry = {"mcpServers": {"scripts": {"command": "false"}}}
    async with Crib.open(entry, state_dir=tmp_path, lists_first=False) as other:
        assert [each.id for each in other.servers] == ["scripts_"]


async def test_where_scripts_are_off_there_are_none(crib: Crib, tmp_path: Path) -> None:
    await crib.scripts.save("one", "1")
    off = {"mcpServers": {}, "toolcrib": {"scripts": {"enabled": False}}}
    async with Crib.open(off, state_dir=tmp_path) as other:
        text, _ = await call(other, "call_tool", name="scripts.one", arguments={})
    assert "There is no tool" in text


def test_the_folder_is_read_only_when_it_has_changed(tmp_path: Path) -> None:
    folder = ScriptFolder(tmp_path / "none")
    assert folder.changed()
    assert not folder.changed()


def test_a_link_to_nothing_or_a_pipe_costs_only_its_own_script(tmp_path: Path) -> None:
    """A file that another instance removes while the folder is looked at is such a one too."""
    folder = ScriptFolder(tmp_path)
    folder.save(SavedScript("good", "1"), replace=False)
    (tmp_path / "gone.json").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.json")
    assert folder.changed()
    assert list(folder.scripts) == ["good"]
    assert sorted(folder.broken) == ["gone", "pipe"]
