"""Servers that are off: not there until they are enabled, by whom that is allowed, and gone when they are disabled."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.config import Switches
from toolcrib.crib import SWITCHES_FILE
from toolcrib.errors import DeniedError, ServerError, StoreError, UnknownToolError, UsageError
from toolcrib.events import CatalogChanged, ServerStateChanged

pytestmark = pytest.mark.anyio

STUBS = Path(__file__).resolve().parent.parent / "stubs"
HOLD = f"""
import sys
sys.path.insert(0, {str(STUBS)!r})
from replay import Replay
import json
class Held(Replay):
    def call(self, name, arguments, params, request_id):
        if name == "hold":
            open(arguments["pipe"]).read()
        return super().call(name, arguments, params, request_id)
Held(json.load(open(sys.argv[1]))).run()
"""


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": description, "inputSchema": schema}


CRM = [
    tool("find_contact", "Find a customer contact by name or company."),
    tool("create_contact", "Create a customer contact."),
    tool("hold", "Wait for a pipe.", pipe={"type": "string"}),
    tool("secret_export", "Export all customer contacts."),
]
NOTES = [tool("create_note", "Write a note."), tool("search_notes", "Search the notes.")]

Entry = Callable[..., dict[str, Any]]


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    """Makes the entry of a server that lists these tools; further members are those of `toolcrib`."""
    (tmp_path / "held.py").write_text(HOLD)

    def make(name: str, tools: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        catalog = tmp_path / f"{name}.catalog"
        catalog.write_text(json.dumps({"server": name, "tools": tools}))
        args = ["-S", str(tmp_path / "held.py"), str(catalog)]
        return {"command": sys.executable, "args": args, "toolcrib": {"protocol": "legacy", **options}}

    return make


@pytest.fixture
def config(entry: Entry) -> dict[str, Any]:
    """Notes that are there, and a CRM that starts on request."""
    return {
        "mcpServers": {
            "notes": entry("notes", NOTES),
            "crm": entry("crm", CRM, start="on_request", description="customer relations", deny=["secret_*"]),
        },
        "toolcrib": {"first_listing_wait": 60, "dynamic": {"enabled": True}},
    }


def names(answer: Any) -> list[str]:
    return [each.tool.id for each in answer.found]


async def test_what_is_off_is_outside_the_visible_set(config: dict[str, Any], tmp_path: Path) -> None:
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            assert (await crib.enable("crm")).tools == ["crm.find_contact", "crm.create_contact", "crm.hold"]
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            assert not [each for each in names(await crib.search("find a contact", limit=50)) if "crm" in each]
            assert (await crib.search("select:crm.find_contact")).found == []
            assert [each.id for each in crib.overview()] == ["notes"]
            assert crib.registry.servers == ["notes"]
            with pytest.raises(UnknownToolError, match=r'enable_server\("crm"\)'):
                await crib.call("crm.find_contact")
            with pytest.raises(UnknownToolError):
                await crib.tool("crm__find_contact")
        assert {each.id: each.state for each in crib.servers}["crm"] == "dormant"


async def test_enabling_makes_the_tools_findable_at_once(config: dict[str, Any], tmp_path: Path) -> None:
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60), crib.events.subscribe() as events:
            enabled = await crib.enable("crm")
            assert names(await crib.search("find a contact"))[0] == "crm.find_contact"
            assert (await crib.call("crm.find_contact")).kind == "result"
            assert enabled == await crib.enable("crm")
            async for event in events:
                if isinstance(event, CatalogChanged) and event.server == "crm":
                    assert set(enabled.tools) < set(event.added)
                    break


async def test_a_search_tells_of_servers_that_are_off_what_is_known(config: dict[str, Any], tmp_path: Path) -> None:
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            unlisted = await crib.search("customer relations")
            assert [(each.id, each.tools) for each in unlisted.off] == [("crm", None)]
            await crib.enable("crm")
            assert (await crib.search("find a contact")).off == []
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            # find_contact and create_contact; what the policy denies counts for nothing.
            assert [(each.id, each.tools) for each in (await crib.search("customer contact")).off] == [("crm", 2)]
            assert (await crib.search("write a note")).off == []
            assert (await crib.search("customer contact", server="notes")).off == []
            assert not (await crib.search("customer contact", offset=8)).off
            assert (await crib.search("customer contact", server="crm")).off != []


async def test_where_nothing_is_left_to_the_model_a_search_tells_of_nothing(
    config: dict[str, Any], tmp_path: Path
) -> None:
    del config["toolcrib"]["dynamic"]
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            answer = await crib.search("customer contact")
            assert "crm" not in {each.partition(".")[0] for each in names(answer)}
            assert answer.off == []
            with pytest.raises(UnknownToolError) as caught:
                await crib.call("crm.find_contact")
    assert "enable_server" not in str(caught.value)


async def test_disabling_takes_tools_out_of_searches_and_lets_the_server_stop(
    config: dict[str, Any], tmp_path: Path
) -> None:
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60), crib.events.subscribe() as events:
            await crib.enable("crm")
            assert await crib.disable("crm") == "crm"
            answer = await crib.search("find a contact")
            assert not [each for each in names(answer) if "crm" in each]
            assert [each.id for each in answer.off] == ["crm"]
            assert "crm" not in [each.id for each in (await crib.search("")).sources or ()]
            async for event in events:
                if isinstance(event, ServerStateChanged) and (event.server, event.state) == ("crm", "dormant"):
                    break
            # Another conversation that knows the tool goes on with it.
            assert (await crib.call("crm.find_contact")).kind == "result"
            await crib.enable("crm")
            assert names(await crib.search("find a contact"))[0] == "crm.find_contact"


async def test_a_call_under_way_outlives_the_disabling(config: dict[str, Any], tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    outcomes: list[Any] = []
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60), crib.events.subscribe() as events:
            await crib.enable("crm")

            async def hold() -> None:
                outcomes.append(await crib.call("crm.hold", {"pipe": pipe}))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hold)
                # Opening for writing waits until the server reads: the call is under way.
                writer = await anyio.to_thread.run_sync(lambda: open(pipe, "w"))  # noqa: SIM115
                switches = Switches(tmp_path / SWITCHES_FILE)
                switches.put(crib.config.servers["crm"], False)
                with pytest.raises(UnknownToolError):
                    await crib.call("crm.find_contact")
                assert {each.id: each.state for each in crib.servers}["crm"] == "ready"
                writer.close()
            assert outcomes[0].kind == "result"
            async for event in events:
                if isinstance(event, ServerStateChanged) and (event.server, event.state) == ("crm", "disabled"):
                    break


async def test_what_the_user_switches_off_no_model_can_enable(config: dict[str, Any], tmp_path: Path) -> None:
    switches = Switches(tmp_path / SWITCHES_FILE)
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            await crib.enable("crm")
            switches.put(crib.config.servers["crm"], False)
            with pytest.raises(UnknownToolError):
                await crib.call("crm.find_contact")
            with pytest.raises(DeniedError, match="disabled by the user"):
                await crib.enable("crm")
            with pytest.raises(DeniedError):
                await crib.disable("crm")
            answer = await crib.search("customer contact")
            assert (names(answer), answer.off) == (names(answer), [])
            assert [each.name for each in (await crib.available("")).found] == ["notes"]
            switches.put(crib.config.servers["notes"], False)
            assert (await crib.search("write a note")).found == []
            switches.put(crib.config.servers["notes"], None)
            assert names(await crib.search("write a note"))[0] == "notes.create_note"
            switches.put(crib.config.servers["crm"], True)
            assert names(await crib.search("find a contact"))[0] == "crm.find_contact"


async def test_a_damaged_file_of_switches_lets_nothing_run(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / SWITCHES_FILE).write_text('{"format": 1, "servers": {"x": "off"}}')
    with pytest.raises(StoreError, match="switched on and off"):
        async with Crib.open(config, state_dir=tmp_path):
            pass


async def test_only_what_the_configuration_leaves_to_a_model_is_enabled(config: dict[str, Any], tmp_path: Path) -> None:
    config["mcpServers"]["old-crm"] = {**config["mcpServers"]["crm"], "disabled": True}
    config["mcpServers"]["hr"] = {**config["mcpServers"]["crm"], "disabled": True}
    config["toolcrib"]["dynamic"]["allow"] = ["old-*"]
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            with pytest.raises(DeniedError, match="disabled by the user"):
                await crib.enable("hr")
            assert {each.name for each in (await crib.available("")).found} == {"notes", "crm", "old_crm"}
            assert (await crib.enable("old-crm")).id == "old_crm"
            assert (await crib.call("old_crm.find_contact")).kind == "result"
            with pytest.raises(DeniedError, match="always on"):
                await crib.disable("notes")
            with pytest.raises(UsageError, match="no server"):
                await crib.enable("salesforce")
            with pytest.raises(DeniedError, match="not configured") as caught:
                await crib.enable("com.example/salesforce")
    assert "toolcrib servers add com.example/salesforce" in caught.value.hint


async def test_a_server_that_does_not_start_stays_off(config: dict[str, Any], tmp_path: Path) -> None:
    config["mcpServers"]["crm"]["args"] = ["-c", "import sys; sys.exit('no licence')"]
    config["mcpServers"]["erp"] = {**config["mcpServers"]["crm"], "disabled": True}
    config["toolcrib"]["dynamic"]["allow"] = ["erp"]
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            for name in ("crm", "erp"):
                with pytest.raises(ServerError, match="no licence"):
                    await crib.enable(name)
            found = {each.name: each.state for each in (await crib.available("")).found}
            assert found == {"notes": "on", "crm": "off", "erp": "off"}


async def test_many_that_enable_one_server_start_it_once(config: dict[str, Any], tmp_path: Path) -> None:
    answers: list[Any] = []
    async with Crib.open(config, state_dir=tmp_path) as crib:

        async def enable() -> None:
            answers.append(await crib.enable("crm"))

        with anyio.fail_after(60), crib.events.subscribe() as events:
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(enable)
            starts = 0
            crib.events.publish(CatalogChanged("end"))
            async for event in events:
                if isinstance(event, CatalogChanged) and event.server == "end":
                    break
                starts += isinstance(event, ServerStateChanged) and event.state == "starting"
    assert len(answers) == 20
    assert all(each == answers[0] for each in answers)
    assert starts == 1


async def test_available_servers_are_found_by_their_words_and_tools(config: dict[str, Any], tmp_path: Path) -> None:
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            [first, *_] = (await crib.available("customer relations")).found
            assert (first.name, first.state, first.tools, first.may_enable) == ("crm", "off", None, True)
            await crib.enable("crm")
            await crib.search("note")
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            [first, *_] = (await crib.available("find contact")).found
            assert (first.name, first.state, first.tools) == ("crm", "off", 3)
            [first, *_] = (await crib.available("notes")).found
            assert (first.name, first.state, first.tools) == ("notes", "on", 2)


@pytest.fixture
def registry(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry on disk with an npm package, and an `npx` that starts the CRM in its place."""
    crm = entry("crm", CRM)
    folder = tmp_path / "bin"
    folder.mkdir()
    runner = folder / "npx"
    words = " ".join([crm["command"], *crm["args"]])
    runner.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/npx.log\necho "key=$CRM_KEY" >> {tmp_path}/npx.log\nexec {words}\n'
    )
    runner.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    package = {
        "registryType": "npm",
        "identifier": "crm-mcp",
        "version": "2.1.0",
        "environmentVariables": [{"name": "CRM_KEY", "isRequired": True, "isSecret": True}],
    }
    document = {"name": "com.example/crm", "description": "Customers, contacts and deals.", "version": "2.1.0"}
    other = {**document, "name": "com.example/hr", "description": "Staff and holidays."}
    path = tmp_path / "registry.json"
    path.write_text(json.dumps([{**document, "packages": [package]}, {**other, "packages": [package]}]))
    return path


def with_registry(entry: Entry, registry: Path, *allow: str) -> dict[str, Any]:
    dynamic = {"enabled": True, "allow": list(allow)}
    settings = {"registries": [str(registry)], "dynamic": dynamic, "first_listing_wait": 60}
    return {"mcpServers": {"notes": entry("notes", NOTES)}, "toolcrib": settings}


async def test_the_allow_list_lets_a_model_take_a_server_from_a_registry(
    entry: Entry, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_INPUT_CRM_CRM_KEY", "sesame")
    monkeypatch.setenv("CRM_KEY", "not this one")
    async with Crib.open(with_registry(entry, registry, "com.example/crm@2.*"), state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            found = {each.name: each.may_enable for each in (await crib.available("customers staff")).found}
            assert found == {"com.example/crm": True, "com.example/hr": False}
            enabled = await crib.enable("com.example/crm")
            assert enabled.id == "crm"
            assert names(await crib.search("find a contact"))[0] == "crm.find_contact"
            assert (await crib.call("crm.find_contact")).kind == "result"
            assert await crib.enable("com.example/crm") == enabled
            assert "com.example/crm" not in {each.name for each in (await crib.available("customers")).found}
            await crib.disable("com.example/crm")
            assert not [each for each in names(await crib.search("find a contact")) if "crm" in each]
    log = (tmp_path / "npx.log").read_text().splitlines()
    assert log[:2] == ["-y crm-mcp@2.1.0", "key=sesame"]


async def test_another_version_than_the_allowed_one_is_refused(entry: Entry, registry: Path, tmp_path: Path) -> None:
    async with Crib.open(with_registry(entry, registry, "com.example/crm@1.*"), state_dir=tmp_path) as crib:
        with anyio.fail_after(60), pytest.raises(DeniedError, match=r"Version 2\.1\.0"):
            await crib.enable("com.example/crm")
    assert not (tmp_path / "npx.log").exists()


async def test_a_value_that_nobody_gave_is_named(entry: Entry, registry: Path, tmp_path: Path) -> None:
    async with Crib.open(with_registry(entry, registry, "com.example/*"), state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            with pytest.raises(ServerError, match="TOOLCRIB_INPUT_CRM_CRM_KEY"):
                await crib.enable("com.example/crm")
            with suppress(ServerError):
                await crib.enable("com.example/crm")
            assert [each.id for each in crib.servers] == ["notes", "crm"]
    assert not (tmp_path / "npx.log").exists()


async def test_a_registry_that_fails_is_told(entry: Entry, tmp_path: Path) -> None:
    config = with_registry(entry, tmp_path / "nothing.json")
    async with Crib.open(config, state_dir=tmp_path) as crib:
        with anyio.fail_after(60):
            answer = await crib.available("customers")
    assert "nothing.json" in answer.problems[0]
    assert answer.unread == []
