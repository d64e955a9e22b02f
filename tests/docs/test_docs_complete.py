"""The documentation leaves nothing out: commands, options, keys, public names, error codes; and its links lead on."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel

import toolcrib
from toolcrib.cli import program
from toolcrib.cli.program import COMMANDS
from toolcrib.config import ServerOptions, Settings
from toolcrib.errors import ToolcribError
from toolcrib.metatools.definitions import meta_tools

LANGUAGES = {"python", "json", "toml", "yaml", "console", "text"}
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """The text under a heading of the second level."""
    return text_of(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_every_block_says_what_is_done_with_it(blocks: list[Any]) -> None:
    for block in blocks:
        assert block.language in LANGUAGES, block.where
        if not block.is_run:
            assert len(block.comment) > len("not run: ") + 10, f"{block.where} gives no reason"


def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for match in _LINK.finditer(_CODE.sub("", page.read_text(encoding="utf-8"))):
        target, _, anchor = match["target"].partition("#")
        if "://" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), match["target"]
        if anchor:
            headings = _HEADING.finditer(_CODE.sub("", path.read_text(encoding="utf-8")))
            assert anchor in {slug(heading["text"]) for heading in headings}, match["target"]


def slug(heading: str) -> str:
    """A heading as mkdocs and GitHub make an anchor of it."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_each_of_its_options_is_told(command: str) -> None:
    shared = section("commands.md", "What all commands share")
    assert f"(#{command})" in text_of("commands.md")
    told = section("commands.md", command)
    assert told
    for option in options(command):
        assert f"`{option}" in told + shared or f" {option}" in told, option


def options(command: str) -> Iterator[str]:
    """The long names of the options of a command, or of all commands of a group."""
    function: Any = program.command(command)
    app = function if isinstance(function, typer.Typer) else typer.Typer(add_completion=False)
    if app is not function:
        app.command(command)(function)
    made: Any = typer.main.get_command(app)
    for each in getattr(made, "commands", {command: made}).values():
        for parameter in each.params:
            yield from (name for name in parameter.opts if name.startswith("--") and name != "--help")


@pytest.mark.parametrize(("heading", "model"), [("Toolcrib's keys of a server", ServerOptions), ("Settings", Settings)])
def test_every_key_is_told_with_its_default(heading: str, model: Any) -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| `([^`]*)` \|", section("configuration.md", heading), re.MULTILINE))
    assert rows == dict(keys(model))


def keys(model: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each key with its default as JSON has it."""
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            yield from keys(type(default), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", json_of(default)


def json_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case tuple():
            items: tuple[Any, ...] = value
            return f"[{', '.join(map(json_of, items))}]"
        case float():
            return f"{value:g}"
        case dict():
            return "{}" if not value else str(value)
        case _:
            return str(value)


@pytest.mark.parametrize(
    "tool",
    meta_tools([], token_budget=0, split=True, languages=["python"], resources=True),
    ids=lambda tool: tool["name"],
)
def test_every_argument_of_the_constant_tools_is_told(tool: dict[str, Any]) -> None:
    told = text_of("gateway.md").partition(f"\n### {tool['name']}\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE)
    assert set(rows) == set(tool["inputSchema"]["properties"])


def test_every_public_name_is_told() -> None:
    told = section("python.md", "The names of `toolcrib`")
    assert [name for name in toolcrib.__all__ if f"`{name}`" not in told] == []


def test_every_error_is_told_with_its_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", section("python.md", "Errors"), re.MULTILINE)
    importlib.import_module("toolcrib.broker")
    importlib.import_module("toolcrib.schema")
    importlib.import_module("toolcrib.skills")
    importlib.import_module("toolcrib.llm")
    importlib.import_module("toolcrib.gateway")
    importlib.import_module("toolcrib.skills")
    assert dict(rows) == {each.code: each.__name__ for each in errors(ToolcribError)}


def errors(base: type[ToolcribError]) -> Iterator[type[ToolcribError]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("toolcrib.") and not each.__module__.startswith("toolcrib.demo"):
            yield each
            yield from errors(each)


def test_the_pages_of_the_site_are_those_of_the_folder() -> None:
    named = re.findall(r"[:-] ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
