"""Logging in to a server, as a person does: to the page of its authorization server, and back."""

import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "servers" / "auth"))

from authority import Authority, serving

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_keyring")]


async def test_a_login_begins_and_ends_on_the_page_of_its_server(open_house: Any, visit: Any) -> None:
    authority = Authority()
    with serving(authority.app()) as url:
        authority.url = url
        async with open_house({"mcpServers": {"one": authority.entry}}) as house, visit(house) as tab:
            page = tab.page
            await house.crib.refresh("one")
            await tab.open("servers")
            await page.get_by_role("button", name="Log in to one").click()
            link = page.locator("#login").get_by_role("link", name="Log in to one")
            async with page.expect_popup() as opening:
                await link.click()
            elsewhere = await opening.value
            await expect(elsewhere.get_by_text("You are logged in.")).to_be_visible()
            # The page that was left open tells by itself.
            await expect(page.get_by_role("button", name="Log in anew")).to_be_visible()
            await expect(page.locator("#state .badge").first).to_have_text("ready")
            await tab.check("server-logged-in")
            await page.get_by_role("button", name="Log out").click()
            await expect(page.get_by_text("The login is forgotten.")).to_be_visible()
            # Nothing but what the person followed a link to was asked for elsewhere.
            assert all(each.startswith("request: GET http://127.0.0.1:") for each in tab.watch.troubles)
            tab.watch.troubles.clear()
