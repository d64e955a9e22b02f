"""The list of tools and the page of a tool; and that nothing that a server says hurts."""

import html
import json
import re
from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.anyio

LIMIT = 60.0


async def test_the_list_shows_tools_by_server_with_effect_and_tokens(shop: Any) -> None:
    page = await shop.get("/tools")
    assert "shop.find_order" in page
    assert "Find an order." in page
    assert "1 tool." in page


async def test_fifteen_thousand_tools_are_listed_a_page_at_a_time_and_filtered(shop: Any, hostile: Any) -> None:
    class Many(hostile.Hostile):
        @property
        def definitions(self) -> list[dict[str, Any]]:
            return [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(15_000)]

    many = Many()
    await shop.crib.add_source(many)
    with anyio.fail_after(LIMIT):
        page = await shop.get("/tools")
        assert "15,001 tools" in page
        assert page.count("<tr>") < 120
        assert "Page 1 of 151" in page
        last = await shop.get("/tools?page=999999")
        assert "Page 151 of 151" in last
        found = await shop.get("/tools?q=TOOL_ 14999")
        assert "evil.tool_14999" in found
        assert "1 of 15,001 tools" in found
        assert "shop.find_order" in await shop.get("/tools?server=shop")
        assert "No tool fits." in await shop.get("/tools?q=nothing&page=x")


async def test_a_tool_that_a_visitor_may_not_see_is_unknown_to_it(evil: Any, hostile: Any) -> None:
    hostile.become(evil, "cleo")
    assert "evil.run" not in await evil.get("/tools")
    assert "There is no tool" in await evil.get("/tools/evil.run", 404)
    assert "There is no tool" in await evil.post("/tools/evil.run", 404, do="call")


async def test_the_page_of_a_tool_has_its_definition_signature_and_stubs(shop: Any) -> None:
    page = html.unescape(await shop.get("/tools/shop.find_order"))
    assert "shop.find_order(number: int, shop?: str)" in page
    assert "class" in page or "def find_order" in page
    assert "find_order(" in page.partition("TypeScript")[2]
    assert '"inputSchema"' in page
    assert "nothing tells" in page
    assert "A call is allowed." in page


async def test_a_definition_of_any_length_can_be_read_whole(evil: Any, hostile: Any) -> None:
    long = "0123456789" * 20_000
    await evil.crib.add_source(hostile.Wordy(long))
    page = await evil.get("/tools/wordy.wordy")
    assert len(page) < 200_000
    assert "characters more)" in page
    parts: list[str] = []
    for number in range(1, 5):
        page = html.unescape(await evil.get(f"/tools/wordy.wordy/definition?page={number}"))
        text = re.search(r"<code>(.*)</code>", page, re.DOTALL)
        assert text is not None
        parts.append(text[1])
    assert json.loads("".join(parts))["description"] == long
    assert 'rel="next"' not in page
    hostile.assert_harmless(await evil.get("/tools/evil.run/definition"))


async def test_how_the_policy_decides_is_told_to_admins_alone_and_for_any_principal(evil: Any, hostile: Any) -> None:
    assert "It is hidden from this principal" in await evil.get("/tools/evil.run?principal=cleo")
    hostile.become(evil, "ben")
    assert "How the policy decides" not in await evil.get("/tools/evil.run")


async def test_every_page_of_a_hostile_tool_is_harmless_and_shows_what_it_says(evil: Any, hostile: Any) -> None:
    shown = html.escape(hostile.EVIL)
    [odd] = [key for key in evil.crib.known_keys() if key.startswith("evil.") and "script" in key]
    for tool in ("evil.run", odd):
        page = await evil.get(f"/tools/{tool}")
        hostile.assert_harmless(page)
        assert shown.replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page
        assert "⟨U+200B⟩" in page
        assert "⟨U+202E⟩" in page
        assert "It spells: <q>hi</q>" in page
        assert hostile.HIDDEN[3] not in page
    hostile.assert_harmless(await evil.get("/tools"))
    hostile.assert_harmless(await evil.get("/tools?q=" + "%22%3E%3Cscript%3E"))
    hostile.assert_harmless(await evil.get("/search?q=run"))
    filled = {"a.tags~rows": "1", "a.tags.0": hostile.EVIL, "do": "call"}
    await evil.get("/tools/evil.run")
    confirm = await evil.post("/tools/evil.run", **filled)
    hostile.assert_harmless(confirm)
    sent = hostile.hidden_fields(confirm)
    outcome = await evil.post(
        "/tools/evil.run/call", **{name: sent[name] for name in ("arguments", "definition", "call")}
    )
    hostile.assert_harmless(outcome)
    for text in (
        "javascript:alert(1)",
        "audio/wav",
        "The result holds text",
        "⟨U+200B⟩",
    ):
        assert text in outcome
    assert not any("javascript" in str(each.get("href")) for _, each in hostile.elements(outcome))
    assert [each["name"] for each in evil.source.calls] == ["run"]


async def test_an_effect_has_one_word_and_one_look_on_all_pages(evil: Any, hostile: Any) -> None:
    looks = {"unknown": "badge doubt", "destructive": "badge bad", "read": "badge good"}
    for tool, effect in (("run", "unknown"), ("drop", "destructive"), ("look", "read")):
        pages = ["/tools", f"/tools/evil.{tool}"]
        if effect != "destructive":  # somebody would be asked
            await evil.crib.call(f"evil.{tool}", {"tags": [], "only": hostile.EVIL})
            [entry, *_] = await evil.crib.journal.entries()
            pages += ["/calls", f"/calls/{entry.id}"]
        for page in pages:
            badge = rf'<span class="{looks[effect]}"[^>]*>(effect )?{effect}</span>'
            assert re.search(badge, await evil.get(page)), (page, effect)


async def test_tools_stand_in_the_order_of_their_servers(evil: Any) -> None:
    def first() -> str:
        """Come first."""
        return ""

    evil.crib.add_functions(first, server="all")
    page = await evil.get("/tools")
    headings = re.findall(r"<h2>(\w+)</h2>", page)
    assert headings == ["all", "evil"]
    assert re.findall(r'<option value="(\w+)"', page) == ["all", "evil"]


async def test_the_pages_of_a_tool_and_of_its_calls_lead_to_each_other(shop: Any) -> None:
    await shop.crib.call("shop.find_order", {"number": 5})
    page = html.unescape(await shop.get("/tools/shop.find_order"))
    assert 'href="/console/calls?tool=shop.find_order"' in page
    [entry] = await shop.crib.journal.entries()
    page = html.unescape(await shop.get(f"/calls/{entry.id}"))
    assert 'href="/console/tools/shop.find_order"' in page
    assert 'href="/console/calls?server=shop"' in page
