"""What somebody does on a page stays theirs: how far they have read, where they are, what they have sent."""

from typing import Any

import pytest
from playwright.async_api import expect

from toolcrib.broker import ApprovalWaitingError, Caller

pytestmark = pytest.mark.anyio

CONFIG = {
    "mcpServers": {},
    "toolcrib": {
        "approvals": {"patience": 0.01},
        "http": {"drain_seconds": 0},
        "policy": {"rules": [{"tools": ["local.wipe"], "then": "ask"}]},
    },
}
CALLER = Caller(conversation="one", face="stdio")
ENDED = ("ERR_CONNECTION_", "ERR_INCOMPLETE_CHUNKED_ENCODING", "status of 401")


def wipe(paths: list[str]) -> str:
    """Wipe paths."""
    return f"wiped {len(paths)}"


def look(path: str) -> str:
    """Look at a path."""
    return path


async def asked(crib: Any, *paths: str) -> None:
    with pytest.raises(ApprovalWaitingError):
        await crib.call("local.wipe", {"paths": list(paths)}, caller=CALLER)


async def test_a_table_stays_where_it_was_scrolled_to_when_a_row_comes(open_house: Any, visit: Any) -> None:
    async with open_house(CONFIG) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(look)
        await house.crib.call("local.look", {"path": "/a"})
        await tab.resize(390)
        await tab.open("calls")
        table = page.get_by_role("region", name="Calls, newest first")
        await table.focus()
        await page.keyboard.press("End")
        await table.evaluate("each => { each.scrollLeft = 120; }")
        for rows in (2, 3):
            await house.crib.call("local.look", {"path": "/b"})
            await expect(table.locator("tbody tr")).to_have_count(rows)
            assert await table.evaluate("each => each.scrollLeft") == 120
            await expect(table).to_be_focused()


async def test_long_arguments_stay_where_they_were_read_when_another_question_comes(
    open_house: Any, visit: Any
) -> None:
    async with open_house(CONFIG) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(wipe)
        await asked(house.crib, *(f"/tmp/{number}" for number in range(200)))
        await tab.open("approvals")
        first = page.locator("article").first
        arguments = first.get_by_role("region", name="Arguments of local.wipe")
        await arguments.evaluate("each => { each.scrollTop = 900; }")
        await first.get_by_text("Not longer, and only for some arguments").click()
        deny = first.get_by_role("button", name="Deny local.wipe")
        await deny.focus()
        await asked(house.crib, "/etc")
        await expect(page.locator("article")).to_have_count(2)
        assert await arguments.evaluate("each => each.scrollTop") == 900
        await expect(first.get_by_label("Seconds that it holds")).to_be_visible()
        await expect(deny).to_be_focused()


async def test_no_button_becomes_another_one_while_somebody_is_at_it(open_house: Any, visit: Any) -> None:
    """A button at the place of one that has gone is not pressed in its stead."""
    async with open_house(CONFIG) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(wipe)
        await asked(house.crib, "/tmp/a")
        await asked(house.crib, "/tmp/b")
        await tab.open("approvals")
        await page.locator("article").first.get_by_role("button", name="Approve").focus()
        [gone, stays] = await house.crib.approvals.list()
        await house.crib.approvals.decide(gone.id, False)
        await expect(page.locator("article")).to_have_count(1)
        await page.keyboard.press("Enter")
        await page.keyboard.press("Space")
        assert (await house.crib.approvals.find(stays.id)).status == "waiting"


@pytest.mark.parametrize("scripts", [True, False], ids=["with JavaScript", "without"])
async def test_a_double_click_decides_once(open_house: Any, visit: Any, scripts: bool) -> None:
    async with open_house(CONFIG) as house, visit(house, java_script_enabled=scripts) as tab:
        page = tab.page
        house.crib.add_functions(wipe)
        await asked(house.crib, "/tmp/a")
        await tab.open("approvals")
        posts: list[str] = []
        page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
        await page.get_by_role("button", name="Approve local.wipe").dblclick(no_wait_after=True)
        await expect(page.get_by_text("local.wipe is approved.")).to_be_visible()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Approvals")
        if scripts:
            assert len(posts) == 1


async def test_a_form_that_is_open_over_a_sign_out_is_taken_after_the_next_sign_in(open_house: Any, visit: Any) -> None:
    async with open_house(CONFIG) as house, visit(house, expected=ENDED) as tab:
        page = tab.page
        house.crib.add_functions(look)
        await tab.open("tools/local.look")
        await page.get_by_label("path").fill("/tmp/typed before")
        other = await page.context.new_page()
        await other.goto(house.url)
        await other.get_by_role("button", name="Sign out").click()
        banner = page.locator("#connection")
        await expect(banner).to_contain_text("You are signed out")
        async with page.expect_response(lambda response: response.url.endswith("/tools/local.look")) as fetched:
            await other.goto(house.new_link())
        await (await fetched.value).finished()
        await expect(banner).to_be_hidden()
        await page.get_by_role("button", name="Look at the call").click()
        await expect(page.get_by_text("What will be sent")).to_be_visible()
        await expect(page.get_by_text("/tmp/typed before")).to_be_visible()


async def test_a_link_of_another_site_leads_in(open_house: Any, visit: Any) -> None:
    async with open_house(CONFIG) as house, visit(house) as tab:
        page = tab.page
        await page.route(
            "http://elsewhere.test/",
            lambda route: route.fulfill(
                body=f"<a href='{house.url}calls?state=failed'>look</a>", content_type="text/html"
            ),
        )
        await page.goto("http://elsewhere.test/")
        await page.get_by_role("link", name="look").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("From another page")
        await tab.check("come")
        await page.get_by_role("link", name="Go on to the console").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Calls")
        await expect(page.get_by_label("State")).to_have_value("failed")
        assert all(each.startswith("request: GET http://elsewhere.test/") for each in tab.watch.troubles)
        tab.watch.troubles.clear()
