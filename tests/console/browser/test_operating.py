"""Servers on the console: what is wrong with one, what changed of another, and starting and stopping them."""

from typing import Any

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.anyio


async def test_a_server_in_trouble_tells_why(house: Any, visit: Any) -> None:
    async with visit(house) as tab:
        page = tab.page
        await tab.open()
        await page.get_by_role("link", name="weather").first.click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("weather")
        await expect(page.get_by_text("failed", exact=True)).to_be_visible()
        await expect(page.locator("#output")).to_contain_text("tides.json has no table for this year")


async def test_a_changed_definition_is_looked_at_and_accepted(own_house: Any, visit: Any) -> None:
    async with visit(own_house) as tab:
        page = tab.page
        await tab.open()
        await page.get_by_role("link", name="tool has changed").click()
        await page.get_by_role("link", name="look at them").click()
        changes = page.locator("#changes")
        await expect(changes.locator(".removed")).to_contain_text("Answers the depot")
        await expect(changes.locator(".added").first).to_contain_text("contents of your notes")
        await page.get_by_role("button", name="Accept courier.track_parcel").click()
        await expect(changes).to_have_count(0)
        assert await own_house.crib.changes.list() == []


async def test_a_server_is_started_and_stopped(own_house: Any, visit: Any) -> None:
    async with visit(own_house) as tab:
        page = tab.page
        await tab.open("servers")
        await page.get_by_role("button", name="Start courier").click()
        state = page.locator("main .badge").first
        await expect(state).to_have_text("ready")
        await page.get_by_role("button", name="Stop courier").click()
        await expect(state).to_have_text("dormant")
