"""The form of a tool: what is sent, when, by whom, and what came back."""

import html
import json
import re
from typing import Any

import anyio
import pytest

from toolcrib.broker import Grant

pytestmark = pytest.mark.anyio

LIMIT = 60.0


async def comes(browser: Any, path: str, word: str) -> str:
    """The page, once it says a word."""
    while word not in (page := await browser.get(path)):
        await browser.crib.journal.entries(limit=1)  # gives threads time, which asking for pages alone would not
    return page


async def test_an_effect_is_called_only_after_a_page_that_shows_what_is_sent(shop: Any, hostile: Any) -> None:
    await shop.get("/tools/shop.find_order")
    page = await shop.post("/tools/shop.find_order", **{"a.number": "5", "a.shop": "x", "do": "call"})
    assert "What will be sent" in page
    assert '"number": 5' in html.unescape(page)
    sent = hostile.hidden_fields(page)
    assert json.loads(sent["arguments"]) == {"number": 5, "shop": "x"}
    form = {name: sent[name] for name in ("arguments", "definition", "call")}
    outcome = html.unescape(await shop.post("/tools/shop.find_order/call", **form))
    assert "Done" in outcome
    assert '"number": 5' in outcome
    # The same form sent again shows the same call, and calls nothing.
    again = await shop.post("/tools/shop.find_order/call", **form)
    assert "Done" in again
    entries = await shop.crib.journal.entries()
    assert [(each.tool, each.origin) for each in entries] == [("shop.find_order", "console")]


async def test_a_definition_that_changed_meanwhile_is_looked_at_again(shop: Any, hostile: Any) -> None:
    await shop.get("/tools/shop.find_order")
    page = await shop.post("/tools/shop.find_order", **{"a.number": "5", "do": "call"})
    sent = hostile.hidden_fields(page)
    told = await shop.post("/tools/shop.find_order/call", arguments=sent["arguments"], definition="0" * 32, call="abc")
    assert "The definition has changed meanwhile" in told


@pytest.mark.parametrize("arguments", ["", "[]", "{", "null", "5"])
async def test_a_confirmation_that_was_tampered_with_calls_nothing(shop: Any, arguments: str, hostile: Any) -> None:
    await shop.get("/tools/shop.find_order")
    sent = hostile.hidden_fields(await shop.post("/tools/shop.find_order", **{"a.number": "5", "do": "call"}))
    form = {"arguments": arguments, "definition": sent["definition"], "call": sent["call"]}
    assert "nothing was called" in await shop.post("/tools/shop.find_order/call", 400, **form)


async def test_problems_stand_beside_their_fields_and_nothing_is_called(shop: Any) -> None:
    await shop.get("/tools/shop.find_order")
    page = html.unescape(
        await shop.post("/tools/shop.find_order", 422, **{"a.number": "many", "a.shop": "kept", "do": "call"})
    )
    assert "is not a whole number" in page
    assert "kept</textarea>" in page
    page = html.unescape(await shop.post("/tools/shop.find_order", 422, **{"a.number": "", "do": "call"}))
    assert 'missing required parameter "number"' in page
    raw = {"a~json": "[1]", "do": "call"}
    assert "must be a JSON object" in await shop.post("/tools/shop.find_order", 422, **raw)
    assert not await shop.crib.journal.entries()


async def test_an_example_and_the_buttons_of_the_form_work(evil: Any, hostile: Any) -> None:
    await evil.get("/tools/evil.run")
    page = await evil.post("/tools/evil.run", **{"a.tags~rows": "1", "a.tags.0": "one", "do": "add a.tags"})
    assert {"a.tags.0", "a.tags.1"} <= {each.get("name") for _, each in hostile.elements(page)}
    page = await evil.post("/tools/evil.run", do="example")
    hostile.assert_harmless(page)
    page = html.unescape(await evil.post("/tools/evil.run", **{"a.tags~rows": "1", "a.tags.0": "one", "do": "json"}))
    assert '"tags": [\n    "one"' in page
    assert evil.source.calls == []


async def test_a_read_is_called_at_once_also_by_a_viewer(evil: Any, hostile: Any) -> None:
    hostile.become(evil, "ana")
    await evil.get("/tools/evil.look")
    page = await evil.post("/tools/evil.look", do="call")
    assert "Done" in page
    assert [each["name"] for each in evil.source.calls] == ["look"]


@pytest.mark.parametrize("tool", ["evil.run", "evil.drop"])
async def test_a_viewer_calls_nothing_else(evil: Any, tool: str, hostile: Any) -> None:
    hostile.become(evil, "ana")
    assert "Approvers and admins may call it" in await evil.get(f"/tools/{tool}")
    filled = {"a.tags~rows": "1", "a.tags.0": "one", "do": "call"}
    assert "viewer here" in await evil.post(f"/tools/{tool}", 403, **filled)
    form = {"arguments": '{"tags": ["one"], "only": "x"}', "definition": "0", "call": "abc"}
    assert "this needs approver" in await evil.post(f"/tools/{tool}/call", 403, **form)
    assert evil.source.calls == []


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"tags":' + "[" * 100_000, "9" * 5000, "[]"])
async def test_arguments_that_no_page_has_sent_call_nothing(evil: Any, arguments: str, hostile: Any) -> None:
    page = await evil.get("/tools/evil.run")
    page = await evil.post("/tools/evil.run", **{"a.tags~rows": "1", "a.tags.0": "one", "do": "call"})
    sent = hostile.hidden_fields(page)
    form = {"arguments": arguments, "definition": sent["definition"], "call": sent["call"]}
    assert "nothing was called" in await evil.post("/tools/evil.run/call", 400, **form)
    assert evil.source.calls == []


async def test_a_form_of_more_rows_than_a_browser_sends_is_refused(browse: Any) -> None:
    async def keep(grid: list[list[str]]) -> None:
        """Keep a grid."""

    async with browse() as browser:
        browser.crib.add_functions(keep, server="box")
        rows = {f"a.grid.{row}~rows": "200" for row in range(200)}
        page = await browser.post("/tools/box.keep", 400, do="x", **{"a.grid~rows": "200", **rows})
        assert "too many rows" in page


async def test_a_call_that_is_asked_about_waits_and_goes_on(evil: Any, hostile: Any) -> None:
    await evil.get("/tools/evil.drop")
    page = await evil.post("/tools/evil.drop", **{"a.tags~rows": "1", "a.tags.0": "one", "do": "call"})
    assert "Its effect is destructive" in page
    assert "asks first" in page
    sent = hostile.hidden_fields(page)
    form = {name: sent[name] for name in ("arguments", "definition", "call")}
    with anyio.fail_after(LIMIT):
        page = await evil.post("/tools/evil.drop/call", **form)
        assert "under way" in page
        assert "it waits under" in page
        [question] = await evil.crib.approvals.list()
        await evil.crib.approvals.decide(question.id, True)
        await comes(evil, f"/tools/evil.drop/outcome/{sent['call']}", "Done")
    assert [each["name"] for each in evil.source.calls] == ["drop"]


async def test_a_call_that_was_asked_about_is_gone_on_with_once(browse: Any, hostile: Any) -> None:
    config = {"mcpServers": {}, "toolcrib": {"approvals": {"patience": 0.01}}}
    async with browse(config) as evil:
        evil.source = hostile.Hostile()
        await evil.crib.add_source(evil.source)
        await evil.get("/tools/evil.drop")
        page = await evil.post("/tools/evil.drop", **{"a.tags~rows": "1", "a.tags.0": "one", "do": "call"})
        sent = hostile.hidden_fields(page)
        form = {name: sent[name] for name in ("arguments", "definition", "call")}
        outcome = f"/tools/evil.drop/outcome/{sent['call']}"
        with anyio.fail_after(LIMIT):
            await evil.post("/tools/evil.drop/call", **form)
            await comes(evil, outcome, "Go on with it")
            [question] = await evil.crib.approvals.list()
            await evil.crib.approvals.decide(question.id, True, grant=Grant("caller"))
            for _ in range(2):
                await evil.post(outcome)
            following = re.search('href="/console([^"]+)">what came of it', await evil.get(outcome))
            assert following is not None
            await comes(evil, following[1], "Done")
        assert [each["name"] for each in evil.source.calls] == ["drop"]


async def test_the_arguments_of_a_call_are_changed_for_another(shop: Any, hostile: Any) -> None:
    await shop.get("/tools/shop.find_order")
    page = await shop.post("/tools/shop.find_order", **{"a.number": "5", "a.shop": "north", "do": "call"})
    sent = hostile.hidden_fields(page)
    page = await shop.post("/tools/shop.find_order/call", **{n: sent[n] for n in ("arguments", "definition", "call")})
    link = re.search(r'href="/console(/tools/[^"#]+\?like=\w+)#try"', page)
    assert link is not None
    page = await shop.get(link[1])
    assert 'value="5"' in page
    assert ">\nnorth</textarea>" in page
    assert 'value="5"' not in await shop.get("/tools/shop.find_order?like=nothing")


async def test_an_outcome_is_shown_to_its_caller_alone(evil: Any, hostile: Any) -> None:
    page = await evil.get("/tools/evil.run")
    page = await evil.post("/tools/evil.run", **{"a.tags~rows": "1", "a.tags.0": "one", "do": "call"})
    sent = hostile.hidden_fields(page)
    await evil.post("/tools/evil.run/call", **{name: sent[name] for name in ("arguments", "definition", "call")})
    assert "Structured content" in await evil.get(f"/tools/evil.run/outcome/{sent['call']}")
    hostile.become(evil, "ana")
    assert "not kept here any more" in await evil.get(f"/tools/evil.run/outcome/{sent['call']}", 400)


async def test_an_error_of_the_tool_is_told_as_one(evil: Any) -> None:
    await evil.get("/tools/evil.fail")
    assert "The tool answered with an error." in await evil.post("/tools/evil.fail", do="call")


async def test_a_source_that_breaks_breaks_nothing_else(evil: Any, hostile: Any) -> None:
    await evil.get("/tools/evil.crash")
    page = await evil.post("/tools/evil.crash", do="call")
    hostile.assert_harmless(page)
    assert "in the call of evil.crash" in page
    assert "Done" in await evil.post(
        "/tools/evil.look", csrf=re.findall(r'name="csrf" value="(\w+)"', page)[0], do="call"
    )


async def test_a_result_too_large_for_a_page_is_read_by_pages(evil: Any, hostile: Any) -> None:
    await evil.get("/tools/evil.long")
    page = await evil.post("/tools/evil.long", do="call")
    link = re.search(r'href="/console(/results/[^"]+)"', page)
    assert link is not None
    first = html.unescape(await evil.get(link[1]))
    assert "100,001 lines" in first or "100,000 lines" in first
    following = re.search(r'rel="next" href="(\?[^"]+)"', first)
    assert following is not None
    assert "line of text" in await evil.get(link[1] + following[1])
    assert "can't be used" in html.unescape(await evil.get(link[1] + "?grep=(", 400))
    hostile.become(evil, "ana")
    assert "There is no stored result" in html.unescape(await evil.get(link[1], 404))


async def test_a_form_of_another_visit_calls_nothing(evil: Any) -> None:
    await evil.post("/tools/evil.look", 403, csrf="0" * 64, do="call")
    assert evil.source.calls == []
