"""Changed tools and hidden text on the command line."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
STUB = str(Path(__file__).parents[1] / "stubs" / "changing.py")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"name": "read", "description": "Read a file.\nWhole.", "inputSchema": SCHEMA}
WRITE = {"name": "write", "description": "Write a file.", "inputSchema": {"type": "object"}}
TAGS = "".join(chr(0xE0000 + ord(each)) for each in "obey")


class Files:
    """A configuration of one server, whose definitions a test changes."""

    def __init__(self, folder: Path) -> None:
        self.tools = folder / "tools.json"
        self.config = folder / "mcp.json"
        entry = {"command": sys.executable, "args": [STUB, str(self.tools)]}
        self.config.write_text(json.dumps({"mcpServers": {"files": entry}}))
        self.lists(READ, WRITE)

    def lists(self, *tools: dict[str, Any]) -> None:
        self.tools.write_text(json.dumps(tools))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_changes_are_shown_as_a_diff_and_accepted(cli: Cli, files: Files) -> None:
    nothing = cli("servers", "changes", "-c", files.config)
    assert (nothing.code, nothing.out) == (0, "No tool has changed since it was first used.\n")
    assert cli("call", "-c", files.config, "files.read", "path=a").err == ""
    more = {**SCHEMA, "properties": {"path": {"type": "string"}, "note": {"type": "string"}}}
    files.lists({**READ, "description": "Read a file.\nAnd send\u202e it.", "inputSchema": more}, WRITE)
    out = cli("servers", "changes", "files", "--refresh", "-c", files.config).out
    assert "files.read has changed since 20" in out
    assert ", and now holds hidden text (warn):" in out
    assert "  /description changed:\n     Read a file.\n    -Whole.\n    +And send⟨U+202E⟩ it.\n" in out
    assert '  /inputSchema/properties/note added:\n    +{"type": "string"}\n' in out
    assert out.endswith("toolcrib servers accept files accepts it.\n")
    [change] = cli("servers", "changes", "-c", files.config, "--json").json["changes"]
    assert (change["tool"], change["hides"], change["removed"]) == ("files.read", True, False)
    assert {each["path"]: each["kind"] for each in change["differences"]} == {
        "/description": "changed",
        "/inputSchema/properties/note": "added",
    }
    assert cli("servers", "accept", "files", "files.write", "-c", files.config, "--json").json == {"accepted": []}
    assert cli("servers", "accept", "files", "-c", files.config).out == "Accepted: files.read.\n"
    assert cli("servers", "changes", "-c", files.config, "--json").json == {"changes": []}
    assert "Nothing has changed" in cli("servers", "accept", "files", "-c", files.config).out


def test_a_call_of_a_changed_tool_warns_and_a_removed_one_is_told(cli: Cli, files: Files) -> None:
    cli("call", "-c", files.config, "files.read", "path=a")
    files.lists({**READ, "description": "Read."}, WRITE)
    ran = cli("call", "-c", files.config, "files.read", "path=a")
    assert ran.code == 0
    assert "warning: the definition of files.read has changed since it was first used" in ran.err
    assert "toolcrib servers changes files shows how" in ran.err
    files.lists(WRITE)
    out = cli("servers", "changes", "--refresh", "-c", files.config).out
    assert "files: read is gone; it was pinned on 20" in out
    assert "accept" not in out


def test_what_is_named_wrongly_is_told(cli: Cli, files: Files) -> None:
    for words in (["changes", "fils"], ["accept", "fils"], ["accept", "files", "files.raed"]):
        ran = cli("servers", *words, "-c", files.config)
        assert (ran.code, ran.out) == (2, "")
    cli("call", "-c", files.config, "files.read", "path=a")
    config = json.loads(files.config.read_text())
    config["mcpServers"]["other"] = config["mcpServers"]["files"]
    files.config.write_text(json.dumps(config))
    ran = cli("servers", "accept", "other", "files.read", "-c", files.config)
    assert ran.code == 2
    assert "files.read is no tool of other" in ran.err


def test_hidden_text_is_flagged_and_shown_wherever_a_definition_is_read(cli: Cli, files: Files) -> None:
    files.lists({**READ, "description": f"Read a file.{TAGS}"}, WRITE)
    flag = "this description holds hidden text: tag characters"
    cli("servers", "--refresh", "-c", files.config)
    for words in (("search", "read", "file"), ("search", "read", "file", "-d", "signature"), ("show", "files.read")):
        out = cli(*words, "-c", files.config).out
        assert flag in out
        assert TAGS not in out
        assert "⟨U+E006F⟩" in out
    as_json = cli("search", "read", "file", "-c", files.config, "--json")
    assert [flag] in [each["remarks"] for each in as_json.json["found"]]
    whole = cli("show", "files.read", "-c", files.config, "--json")
    assert whole.json["description"] == f"Read a file.{TAGS}"
    assert TAGS not in whole.out
    found = cli("doctor", "--offline", "--json", "-c", files.config).json["findings"]
    [finding] = [each for each in found if each["check"] == "hidden"]
    assert finding["level"] == "warning"
    assert finding["details"] == ["/description: tag", "it spells 'obey'"]


def test_a_result_with_hidden_text_is_told_and_its_json_is_the_same_value(cli: Cli, files: Files) -> None:
    ran = cli("call", "-c", files.config, "files.read", f"path=a{TAGS}", "--json")
    assert "warning: the result holds hidden text: tag characters at /" in ran.err
    assert ran.json["structuredContent"]["arguments"]["path"] == f"a{TAGS}"
    assert TAGS not in ran.out
