"""What the doctor says of schemas, names, sizes and texts that servers list."""

import os
import socket
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from toolcrib.doctor.definitions import Here

pytestmark = pytest.mark.anyio

ANY = {"type": "object"}


def tool(name: str, schema: Any = ANY, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


async def test_odd_schemas_are_told_by_what_is_odd(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any]
) -> None:
    outside = {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}}
    entry = lists(
        tool("fine", {"type": "object", "properties": {"a": {"type": "string"}}}, outputSchema=ANY),
        tool("outside", outside),
        tool("outside_too", outside),
        tool("rootless", {"type": "string"}),
        tool("broken", {"type": "objekt"}),
        tool("pattern", {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?P<x"}}}),
        {"name": "bare", "description": "Has none."},
        tool("answers", outputSchema={"type": "objekt"}),
        tool("answers_list", outputSchema={"type": "array"}),
    )
    findings = found(await diagnose({"odd": entry}), "schema")
    told = {each.message.partition(":")[0]: (each.level, each.message.partition(": ")[2]) for each in findings}
    assert set(told) == {
        "odd.outside, odd.outside_too",
        "odd.rootless",
        "odd.broken",
        "odd.pattern",
        "odd.bare",
        "odd.answers",
        "odd.answers_list",
    }
    level, message = told["odd.outside, odd.outside_too"]
    assert level == "warning"
    assert "refers to https://example.com/schema.json, which is outside of it" in message
    assert told["odd.rootless"] == (
        "warning",
        "the input schema can't be used: it takes string, but arguments are an object.",
    )
    assert told["odd.broken"][0] == "warning"
    assert told["odd.pattern"] == ("note", "patterns in no known dialect are not checked: /properties/a/pattern.")
    assert told["odd.bare"][0] == "note"
    assert told["odd.answers"][0] == "note"
    assert told["odd.answers_list"][0] == "note"


async def test_definitions_that_are_too_large_are_named_with_their_tokens(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any]
) -> None:
    # A token is at least one character and rarely more than twenty: 120,000 characters of words are above 5,000
    # and 20,000 tokens by any counter, 400 characters below.
    words = " ".join(f"word{number}" for number in range(13_000))
    entry = lists(tool("huge", description=words), tool("small", description="word " * 80))
    diagnosis = await diagnose({"large": entry})
    definition, server = found(diagnosis, "size")
    assert (definition.server, definition.level) == ("large", "warning")
    assert definition.message.startswith("The definition of large.huge takes ")
    assert (server.server, server.level) == ("large", "note")
    [whole] = [each for each in diagnosis.findings if each.check == "size" and each.level == "ok"]
    assert [line.partition(":")[0] for line in whole.details] == ["large.huge", "large.small"]


async def test_names_that_clash_are_told(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any]
) -> None:
    servers = {
        "one": lists(tool("a-b"), tool("a.b"), tool("search"), tool("getUser"), tool("get_user"), name="one"),
        "two": lists(tool("Search"), tool("other"), name="two"),
        "three": lists(tool("search"), tool("third"), name="three"),
    }
    hashed, alike, shared = found(await diagnose(servers), "names")
    assert (hashed.server, hashed.level) == ("one", "note")
    # the first digits of the SHA-256 of "a-b" and of "a.b", by sha256sum
    assert hashed.details == ("one.a_b_d44362", "one.a_b_2e7336")
    assert alike.message == "Names that differ only in case or punctuation: a-b = a.b, getUser = get_user."
    assert (shared.server, shared.level) == (None, "note")
    assert shared.message == "1 name in several servers: search (one, two, three)."


async def test_one_server_under_two_keys_is_a_warning(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any]
) -> None:
    servers = {"one": lists(tool("a"), tool("b"), name="one"), "again": lists(tool("b"), tool("a"), name="again")}
    assert [(each.level, each.message) for each in found(await diagnose(servers), "names")] == [
        ("warning", "one and again list tools of the same names.")
    ]


async def test_keys_that_look_alike_are_told_with_the_ids_that_they_got(
    diagnose: Callable[..., Any], found: Callable[..., Any], lists: Callable[..., Any]
) -> None:
    servers = {"My Server": lists(tool("a"), name="one"), "my-server": lists(tool("b"), name="two")}
    findings = found(await diagnose(servers, offline=True), "names")
    assert [each.level for each in findings] == ["note", "note"]
    assert all("my_server_" in each.message for each in findings)


async def test_todays_date_is_a_warning_and_folders_and_names_of_the_machine_are_notes(
    diagnose: Callable[..., Any],
    found: Callable[..., Any],
    lists: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "workbench-7")
    monkeypatch.chdir(tmp_path)
    entry = lists(
        tool("dated", description=f"It is {date.today().isoformat()} now."),
        tool("placed", {"type": "object", "properties": {"p": {"description": f"Below {os.getcwd()}/data"}}}),
        tool("hosted", description="Runs on workbench-7."),
        tool("fine", description="Dates such as 2001-02-03 and paths such as /home/user/file.txt; not workbench-77."),
    )
    findings = found(await diagnose({"here": entry}), "cache")
    assert [(each.level, each.message) for each in findings] == [
        ("warning", "here.dated: the definition holds today's date."),
        ("note", "here.placed: the definition holds a folder of this machine."),
        ("note", "here.hosted: the definition holds the name of this machine."),
    ]


def test_short_folders_and_host_names_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "pc")
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/tmp")
    monkeypatch.chdir("/")
    texts = Here.now().texts
    assert "the name of this machine" not in texts
    assert not texts["a folder of this machine"].search("/root and /tmp and / are everywhere")
