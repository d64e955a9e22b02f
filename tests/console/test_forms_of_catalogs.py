"""The forms of recorded real tools, as a browser has them: each page comes, and what its form sends is valid."""

import html
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import anyio
import pytest

from toolcrib.catalog import NO_CONTEXT, JsonObject, RequestContext, RequestMethod
from toolcrib.functions import LocalFunctions
from toolcrib.schema import compile_validator, example_call

pytestmark = pytest.mark.anyio

LIMIT = 600.0
EVERY = 24
"""One of so many tools is looked at in the short form: those of a server have much the same kinds of parameters."""


class Form(HTMLParser):
    """What a browser sends of the form of a tool's page, as it is filled in (HTML Living Standard, 4.10.21.4)."""

    def __init__(self, page: str, action: str) -> None:
        super().__init__()
        self.values: list[tuple[str, str]] = []
        self._action = action
        self._inside = False
        self._area: str | None = None
        self._select: str | None = None
        self._options: list[tuple[str, bool]] = []
        self._text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = about.get("action") == self._action
        if not self._inside:
            return
        name = about.get("name", "")
        if tag == "textarea":
            self._area, self._text = name, ""
        elif tag == "select":
            self._select, self._options = name, []
        elif tag == "option" and self._select is not None:
            self._options.append((about.get("value", ""), "selected" in about))
        elif tag == "input" and (about.get("type") != "checkbox" or "checked" in about):
            self.values.append((name, about.get("value", "on")))

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "textarea" and self._area is not None:
            self.values.append((self._area, self._text.removeprefix("\n").replace("\n", "\r\n")))
            self._area = None
        elif tag == "select" and self._select is not None:
            chosen = next((value for value, selected in self._options if selected), self._options[0][0])
            self.values.append((self._select, chosen))
            self._select = None


class Recorded(LocalFunctions):
    """The tools of a recorded server."""

    def __init__(self, name: str, tools: list[JsonObject], calls: list[JsonObject]) -> None:
        super().__init__(name)
        self._tools = tools
        self._calls = calls

    @property
    def definitions(self) -> list[JsonObject]:
        return self._tools

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        self._calls.append(params)
        return {"content": []}


def chosen(catalogs: dict[str, dict[str, Any]], every: int) -> Iterator[tuple[str, list[JsonObject]]]:
    """Some of all tools, by server."""
    at = 0
    for name, catalog in catalogs.items():
        tools: list[JsonObject] = []
        for tool in catalog.get("tools") or []:
            if at % every == 0:
                tools.append(tool)
            at += 1
        if tools:
            yield name.replace("-", "_"), tools


@pytest.mark.parametrize("every", [EVERY, pytest.param(1, id="all", marks=pytest.mark.slow)])
async def test_every_recorded_tool_has_a_page_whose_form_sends_what_is_valid(
    browse: Any, catalogs: dict[str, dict[str, Any]], every: int
) -> None:
    calls: list[JsonObject] = []
    wrong: list[str] = []
    async with browse({"mcpServers": {}, "toolcrib": {"journal": {"enabled": False}}}) as browser:
        for server, tools in chosen(catalogs, every):
            await browser.crib.add_source(Recorded(server, tools, calls))
        keys = browser.crib.known_keys()
        with anyio.fail_after(LIMIT):
            for key in keys:
                tool = browser.crib.registry.tool(key)
                problem = await looked_at(browser, calls, tool)
                if problem:
                    wrong.append(f"{tool.id}: {problem}")
    assert not wrong, "\n".join(wrong)
    assert len(keys) > 2_400 // every


async def looked_at(browser: Any, calls: list[JsonObject], tool: Any) -> str:
    """What is wrong with a tool's page, its example, or what that sends; empty where nothing is."""
    path = f"/tools/{tool.id}"
    action = f"/console{path}#try"
    await browser.get(path)
    example = example_call(tool.input_schema)
    if compile_validator(tool.input_schema).validate(example).errors:
        return ""  # such as a pattern that no example can be made for
    page = await browser.post(path, do="example")
    values = {name: text for name, text in Form(page, action).values if name != "csrf"}
    page = await browser.post(path, **values, do="call")
    if "What will be sent" in page:
        [text] = [value for name, value in Form(page, f"/console{path}/call").values if name == "arguments"]
        sent = json.loads(text)
    elif calls:
        sent = calls.pop()["arguments"]
    else:
        return f"nothing is sent: {html.unescape(page)[:200]}"
    return "" if sent == example else f"{json.dumps(sent)} is sent in place of {json.dumps(example)}"
