"""From a search to a tool, and a call from the form that its schema makes: reads at once, effects when confirmed."""

from typing import Any

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.anyio


async def test_a_tool_is_found_looked_at_and_tried(own_house: Any, visit: Any) -> None:
    async with visit(own_house, expected=("status of 422",)) as tab:
        page = tab.page
        await tab.open("search")
        await page.get_by_label("What a model would search for").fill("open a bug report")
        await page.get_by_role("checkbox", name="regex").check()
        await page.get_by_role("button", name="Search").click()
        for strategy in ("keyword", "regex"):
            await expect(page.get_by_role("heading", name=strategy, exact=True)).to_be_visible()
        await expect(page.get_by_text("What the model would see")).to_be_visible()
        hit = page.locator("details.hit").first
        await hit.locator("summary").click()
        await expect(hit.get_by_role("table")).to_contain_text("params")
        await page.get_by_role("link", name="tickets.create_ticket").first.click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("tickets.create_ticket")

        await page.get_by_label("project").fill("web")
        await page.get_by_label("title").fill("Basket forgets its content")
        await page.get_by_label("reporter").fill("yuki")
        await page.get_by_label("priority").select_option("high")
        await page.get_by_role("button", name="Look at the call").click()
        await expect(page.get_by_role("alert")).to_contain_text("Nothing was called")
        project = page.get_by_label("project")
        await expect(project).to_have_attribute("aria-invalid", "true")
        await expect(page.get_by_label("title")).to_have_value("Basket forgets its content")
        await tab.check("form-refused")
        await project.fill("WEB")
        await page.get_by_role("button", name="Look at the call").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Call tickets.create_ticket?")
        await tab.check("call-to-confirm")
        before = await own_house.crib.journal.entries(limit=1)
        await page.get_by_role("button", name="Call it").click()
        await expect(page.get_by_text("Done in")).to_be_visible()
        await expect(page.locator("#outcome")).to_contain_text("WEB-10")
        await tab.check("call-done")
        [entry] = await own_house.crib.journal.entries(limit=1)
        assert (entry.tool, entry.origin, entry.state) == ("tickets.create_ticket", "console", "done")
        assert entry.seq == before[0].seq + 1
        await page.reload()
        assert (await own_house.crib.journal.entries(limit=1))[0].seq == entry.seq


async def test_what_only_reads_is_called_at_once(own_house: Any, visit: Any) -> None:
    async with visit(own_house) as tab:
        page = tab.page
        await tab.open("tools?server=courier")
        await page.get_by_role("link", name="courier.track_parcel").click()
        await page.get_by_label("parcel").fill("TC-42")
        await page.get_by_role("button", name="Call", exact=True).click()
        await expect(page.locator("#outcome")).to_contain_text("Lighthouse depot")
