"""Pages that stay open: they follow what happens, outlive a restart of the server, and many are open at once."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

GONE = ("ERR_CONNECTION_", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "status of 503")
"""What the browser's console says of a server that ends, or is not there."""

TABS = 10
CONFIG = {"mcpServers": {}, "toolcrib": {"http": {"drain_seconds": 0}}}


async def test_a_page_outlives_a_restart_of_the_server(open_house: Any, visit: Any) -> None:
    async with open_house(CONFIG) as house, visit(house, expected=GONE) as tab:
        page = tab.page
        await tab.open()
        await page.evaluate("() => { window.stays = true; }")
        banner = page.locator("#connection")
        await expect(banner).to_be_hidden()
        await house.close()
        await expect(banner).to_contain_text("The server does not answer")
        async with open_house(CONFIG, urlsplit(house.url).port):
            await expect(banner).to_be_hidden()
            assert await page.evaluate("() => window.stays")
            await tab.open()
            await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


async def test_ten_tabs_are_open_at_once(house: Any, visit: Any) -> None:
    """Browsers open six connections to one server (HTTP/1.1): a stream a page would leave none for the seventh."""
    async with visit(house) as tab:
        pages = [tab.page, *[await tab.page.context.new_page() for _ in range(TABS - 1)]]
        for page in pages:
            await page.goto(house.url)
        for page in pages:
            await expect(page.locator("#connection")).to_be_hidden()


@pytest.mark.parametrize("shares", [True, False], ids=["shared worker", "no shared worker"])
async def test_a_call_shows_without_loading_the_page_anew(open_house: Any, visit: Any, shares: bool) -> None:
    def greet(name: str) -> str:
        """Greets."""
        return name

    async with open_house(CONFIG) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(greet)
        if not shares:
            await page.add_init_script("delete window.SharedWorker")
        await tab.open("calls")
        await page.evaluate("() => { window.stays = true; }")
        await expect(page.get_by_text("No call is on record yet.")).to_be_visible()
        await house.crib.call("local.greet", {"name": "Ada"})
        await expect(page.locator("#calls tbody tr")).to_contain_text("local.greet")
        await page.locator("#calls tbody a").first.focus()
        await house.crib.call("local.greet", {"name": "Ben"})
        await expect(page.locator("#calls tbody tr")).to_have_count(2)
        assert await page.evaluate("() => window.stays")
        await expect(page.locator("#calls tbody tr").nth(1).get_by_role("link")).to_be_focused()
