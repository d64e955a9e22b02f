"""Saved scripts: found, called with checked arguments by models and by each other, and accounted for."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from saving import BROKEN, WRITTEN, call, write

from toolcrib import Caller, Crib
from toolcrib.broker import Options, Question
from toolcrib.config import config_from_mapping
from toolcrib.errors import DeniedError, SandboxError
from toolcrib.metatools import MetaTools
from toolcrib.scripts import RUN_META, Purpose

pytestmark = pytest.mark.anyio


MANY = '''
async def main(title: str, times: int = 2) -> list[int]:
    """Write several drafts.

    Args:
        title: What they are called.
    """
    found = []
    for n in range(times):
        found.append((await box.write(title=f"{title} {n}"))["id"])
    print("wrote", len(found))
    return found
'''


async def test_a_saved_script_is_a_tool_that_is_found_shown_and_called(crib: Crib) -> None:
    await crib.scripts.save("write_many", MANY)
    text, _ = await call(crib, "search_tools", query="write several drafts")
    assert text.startswith("scripts.write_many(title: str, times?: int) -> list[int]\n  Write several drafts.")
    text, _ = await call(crib, "get_tool_details", name="scripts.write_many")
    told = json.loads(text)
    assert told["effect"] == "unknown"
    assert told["definition"]["inputSchema"] == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "What they are called."},
            "times": {"type": "integer", "default": 2},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    text, result = await call(crib, "call_tool", name="scripts.write_many", arguments={"title": "a", "times": "3"})
    assert text.splitlines()[:2] == ["wrote 3", "[1,2,3]"]
    assert "3 calls in" in text
    assert result["structuredContent"] == [1, 2, 3]
    assert WRITTEN == ["a 0", "a 1", "a 2"]
    (outer, *inner) = sorted(await crib.journal.entries(), key=lambda each: each.started_at)
    assert (outer.tool, outer.state, outer.run) == ("scripts.write_many", "done", "")
    assert {(each.tool, each.run) for each in inner} == {("box.write", result["_meta"][RUN_META]["id"])}


async def test_wrong_arguments_are_answered_with_what_would_be_right(crib: Crib) -> None:
    await crib.scripts.save("write_many", MANY)
    text, result = await call(crib, "call_tool", name="scripts.write_many", arguments={"titel": "a"})
    assert result["isError"]
    assert 'did you mean "title"' in text
    outcome = await crib.run_code("await scripts.write_many(title=1)")
    assert (outcome.status, WRITTEN) == ("rejected", [])


@pytest.mark.parametrize("form", ["scripts.write_many(title='x')", "scripts_write_many({'title': 'x'})"])
async def test_other_scripts_call_it_and_get_its_value(crib: Crib, form: str) -> None:
    await crib.scripts.save("write_many", MANY)
    await crib.scripts.save("nothing", "None")
    outcome = await crib.run_code(f"print(await scripts.nothing())\nsum(await {form})")
    assert (outcome.value, outcome.output) == (3, "None\n"), outcome
    assert [(each.name, each.state) for each in outcome.calls] == [
        ("scripts.nothing", "done"),
        ("scripts.write_many", "done"),
    ]


class Kinds:
    """A source with a tool of each kind, as its configuration would say it."""

    id, description = "kinds", ""

    async def ensure(self, context: Any = None) -> None:
        pass

    async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
        return [{"name": name, "inputSchema": {"type": "object"}} for name in ("look", "put", "delete_all")]


async def test_what_it_may_do_is_the_most_that_its_tools_may_do(tmp_path: Path) -> None:
    scripts = {
        "plain": ("1 + 1", "read"),
        "unknown": ("await kinds.put()", "unknown"),
        "destroying": ("await kinds.look()\nawait kinds.delete_all()", "destructive"),
        "aliased": ("k = kinds\nawait k.look()", "unknown"),
        "dynamic": ("await call_tool('kinds.look', {})", "unknown"),
        "reading": ("await scripts.plain()", "read"),
        "nested": ("await scripts.destroying()", "destructive"),
        "flat": ("await kinds_delete_all({})", "destructive"),
    }
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(Kinds())  # type: ignore[arg-type]
        for name, (code, _) in scripts.items():
            await crib.scripts.save(name, code)
        effects = {each.name: crib.effect(await crib.tool(f"scripts.{each.name}")) for each in crib.scripts.list()}
    assert effects == {name: effect for name, (_, effect) in scripts.items()}


async def test_one_that_only_reads_is_held_to_that(crib: Crib) -> None:
    """`read_tool` and `read_only` let it run for what its text says."""
    runner = crib.script_runner()
    outcome = await runner.run("await box.write(title='x')", "python", Caller(), purpose=Purpose(only_reads=True))
    assert (outcome.status, WRITTEN) == ("stopped", [])
    await crib.scripts.save("plain", "1 + 1")
    await crib.scripts.save("writes", "await box.write(title='x')")
    assert (await crib.request("tools/call", "scripts.plain", {}, options=Options(only_reads=True))).kind == "result"
    with pytest.raises(DeniedError):
        await crib.request("tools/call", "scripts.writes", {}, options=Options(only_reads=True))
    assert WRITTEN == []


async def test_a_failure_tells_what_was_done_and_is_gone_on_from(crib: Crib) -> None:
    await crib.scripts.save("write_many", MANY)
    BROKEN.add("a 1")
    text, result = await call(crib, "call_tool", name="scripts.write_many", arguments={"title": "a"})
    assert result["isError"]
    assert "failed at line 10: ToolError: ValueError: not now" in text
    assert "- box.write (line 10): done" in text
    run = result["_meta"][RUN_META]["id"]
    assert f'run_code(code="", retry_of="{run}")' in text
    BROKEN.clear()
    text, result = await call(crib, "run_code", code="", retry_of=run)
    assert not result["isError"]
    assert "done by the earlier run, not again" in text
    assert WRITTEN == ["a 0", "a 1"]


async def test_retried_by_the_library_with_its_own_arguments(crib: Crib) -> None:
    await crib.scripts.save("write_many", MANY)
    BROKEN.add("a 1")
    failed = await crib.scripts.run("write_many", {"title": "a"})
    BROKEN.clear()
    again = await crib.scripts.run("write_many", {"title": "a"}, retry_of=failed.result["_meta"][RUN_META]["id"])
    assert (again.is_error, WRITTEN) == (False, ["a 0", "a 1"])
    other = Caller(conversation="other")
    unknown = await crib.scripts.run("write_many", {"title": "a"}, retry_of="run_nothing", caller=other)
    assert "There is no run" in str(unknown.result)


async def test_what_a_script_inside_another_did_is_not_done_again_by_a_retry_of_the_outer_one(crib: Crib) -> None:
    await crib.scripts.save("write_many", MANY)
    BROKEN.add("b 1")
    code = "await box.write(title='first')\nfor name in ('a', 'b', 'a'):\n    await scripts.write_many(title=name)"
    first = await crib.run_code(code)
    assert [(each.name, each.state) for each in first.calls] == [
        ("box.write", "done"),
        ("scripts.write_many", "done"),
        ("scripts.write_many", "failed"),
    ]
    assert "box.write done, box.write failed" in first.calls[-1].detail
    second = await crib.run_code(code, retry_of=first.run)
    assert WRITTEN == ["first", "a 0", "a 1", "b 0"]
    BROKEN.clear()
    third = await crib.run_code(code, retry_of=second.run)
    assert third.ok, third
    assert WRITTEN == ["first", "a 0", "a 1", "b 0", "b 1", "a 0", "a 1"]
    assert [each.state for each in third.calls] == ["repeated", "repeated", "done", "done"]


async def test_the_account_of_a_caught_failure_still_tells_what_was_done_inside(crib: Crib) -> None:
    await crib.scripts.save("write_many", MANY)
    BROKEN.add("a 1")
    code = "try:\n    await scripts.write_many(title='a')\nexcept ToolError:\n    pass\nraise ValueError('late')"
    text, _ = await call(crib, "run_code", code=code)
    assert "scripts.write_many (line 2): failed: The script failed at line 10" in text
    assert "box.write done, box.write failed" in text
    assert "To go on without doing these again" in text


async def test_scripts_that_call_themselves_or_nest_too_deep_are_refused(crib: Crib) -> None:
    await crib.scripts.save("last", "await box.write(title='x')")
    for name, inner in (("d", "last"), ("c", "d"), ("b", "c"), ("a", "b")):
        await crib.scripts.save(name, f"await scripts.{inner}()")
    assert "at most 4" in str((await crib.scripts.run("a")).result)
    assert WRITTEN == []
    assert not (await crib.scripts.run("b")).is_error
    assert WRITTEN == ["x"]
    await crib.scripts.save("c", "await scripts.b()", replace=True)
    looped = str((await crib.scripts.run("b")).result)
    assert "calls itself (b → c → b)" in looped


async def test_a_denial_inside_ends_the_outer_script_too(tmp_path: Path) -> None:
    WRITTEN.clear()
    rules = [{"name": "no", "tools": ["box.write"], "sources": ["script"], "then": "ask"}]
    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": rules}, "approvals": {"inbox": False}}}
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        await crib.scripts.save("inner", "await box.write(title='x')")
        code = "try:\n    await scripts.inner()\nexcept BaseException:\n    pass\n'went on'"
        outcome = await crib.run_code(code)
        assert (outcome.status, outcome.value) == ("stopped", None)
        assert "box.write (line 1): denied" in str(outcome.fault)
        text, result = await call(crib, "call_tool", name="scripts.inner", arguments={})
    assert (result["isError"], "box.write (line 1): denied" in text, WRITTEN) == (True, True, [])


async def test_one_that_waits_for_an_approval_goes_on_when_it_is_called_again(tmp_path: Path) -> None:
    WRITTEN.clear()
    rules = [{"name": "ask", "tools": ["box.write"], "sources": ["script"], "then": "ask"}]
    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": rules}, "approvals": {"patience": 0.05}}}
    code = "async def main(title: str) -> int:\n    return (await box.write(title=title))['id']"
    async with Crib.open(config, state_dir=tmp_path) as crib:
        crib.add_functions(write, server="box")
        await crib.scripts.save("one", code)
        text, result = await call(crib, "call_tool", name="scripts.one", arguments={"title": "x"})
        assert result["isError"]
        (pending,) = await crib.approvals.list()
        assert f"toolcrib approve {pending.id}" in text
        assert "repeat this very call" in text
        await crib.approvals.decide(pending.id, approved=True, by="a test")
        text, result = await call(crib, "call_tool", name="scripts.one", arguments={"title": "x"})
        assert (result["isError"], result["structuredContent"], WRITTEN) == (False, 1, ["x"])
        # inside another script, which sleeps with it and is taken up with it
        outer = await crib.run_code("await scripts.one(title='y')")
        assert outer.status == "suspended"
        (pending,) = await crib.approvals.list()
        await crib.approvals.decide(pending.id, approved=True, by="a test")
        outer = await crib.run_code("", retry_of=outer.run)
    assert (outer.value, WRITTEN) == (2, ["x", "y"])


async def test_what_was_allowed_of_one_text_is_not_allowed_of_another(tmp_path: Path) -> None:
    WRITTEN.clear()
    rules = [{"name": "ask", "tools": ["scripts.*"], "then": "ask"}]
    asked: list[str] = []

    async def approver(question: Question) -> bool:
        asked.append(question.call.target)
        if len(asked) == 1:
            await crib.scripts.save("one", "await box.write(title='other')", replace=True)
            return True
        return False

    config = {"mcpServers": {}, "toolcrib": {"policy": {"rules": rules}}}
    async with Crib.open(config, state_dir=tmp_path, approver=approver) as crib:
        crib.add_functions(write, server="box")
        await crib.scripts.save("one", "await box.write(title='first')")
        with pytest.raises(DeniedError):
            await crib.scripts.run("one")
    assert (asked, WRITTEN) == (["scripts.one"] * 2, [])


async def test_a_script_that_is_removed_while_a_call_waits_for_its_turn_still_runs(crib: Crib) -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def hold() -> None:
        """Wait."""
        started.set()
        await go_on.wait()

    crib.add_functions(hold, server="door")
    await crib.scripts.save("holds", "await door.hold()")
    await crib.scripts.save("quick", "1")
    found: list[Any] = []

    async def run(name: str) -> None:
        found.append((await crib.scripts.run(name)).result.get("structuredContent"))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):  # as many as are run at once
                tasks.start_soon(run, "holds")
            await started.wait()
            tasks.start_soon(run, "quick")
            await anyio.wait_all_tasks_blocked()
            crib.scripts.remove("quick")
            go_on.set()
    assert found.count(1) == 1


async def test_many_at_once_inside_many_don_t_wait_for_each_other(crib: Crib) -> None:
    await crib.scripts.save("inner", "async def main(n: int) -> int:\n    return n")
    await crib.scripts.save("outer", "async def main(n: int) -> int:\n    return await scripts.inner(n=n)")
    with anyio.fail_after(60):
        code = "sum(await asyncio.gather(*[scripts.outer(n=n) for n in range(20)]))"
        outcome = await crib.run_code(code)
    assert outcome.value == sum(range(20)), outcome


async def test_a_schema_may_be_given(crib: Crib) -> None:
    schema = {"type": "object", "properties": {"from": {"type": "string"}, "n": {"enum": [1, 2]}}, "required": ["from"]}
    await crib.scripts.save("given", "def main(from_, n=1):\n    return [from_, n]", parameters=schema)
    assert (await crib.scripts.run("given", {"from": "x", "n": 2})).result["structuredContent"] == ["x", 2]
    assert (await crib.run_code("await scripts.given(from_='y')")).value == ["y", 1]


@pytest.mark.parametrize("language", ["typescript", "javascript"])
async def test_in_other_languages_main_takes_one_object(tmp_path: Path, language: Any) -> None:
    settings = {"scripts": {"typescript": True}}
    code = "async function main({ text, n }) {\n  return [text, (await scripts.inner()) + n];\n}"
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}
    async with Crib.open(config_from_mapping({"mcpServers": {}, "toolcrib": settings}), state_dir=tmp_path) as crib:
        try:
            await crib.scripts.save("inner", "40", language=language)
        except SandboxError as error:
            pytest.skip(str(error))
        await crib.scripts.save("outer", code, language=language, parameters=schema)
        arguments = {"text": '__proto__ \u2028 " ${1}', "n": 2}
        assert (await crib.scripts.run("outer", arguments)).result["structuredContent"] == [arguments["text"], 42]


async def test_the_constant_tools_say_nothing_of_them(crib: Crib) -> None:
    """Whether there are any is nothing that the configuration says, and prompt caches stay warm."""
    before = MetaTools(crib).definitions()
    await crib.scripts.save("one", "1")
    assert MetaTools(crib).definitions() == before


async def test_a_policy_decides_about_them_as_about_any_tool(tmp_path: Path) -> None:
    config = config_from_mapping(
        {"mcpServers": {}, "toolcrib": {"policy": {"rules": [{"tools": ["scripts.secret"], "then": "deny"}]}}}
    )
    async with Crib.open(config, state_dir=tmp_path) as crib:
        assert crib.config.warnings == ()
        await crib.scripts.save("secret", "1")
        await crib.scripts.save("open", "2")
        text, _ = await call(crib, "call_tool", name="scripts.secret", arguments={})
        assert "There is no tool" in text
        assert (await crib.run_code("await scripts.open()")).value == 2
