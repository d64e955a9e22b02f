"""Those who see a page otherwise: much larger, in the colours of their system, or without scripts."""

from typing import Any

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.anyio

PAGES = ("", "servers", "tools", "tools/tickets.create_ticket", "calls", "runs", "approvals")


async def test_at_twice_the_size_everything_fits(house: Any, visit: Any) -> None:
    # A window of 1280 pixels that is enlarged to 200 % has 640 (WCAG 2.2, 1.4.4); 320 are what 400 % leaves (1.4.10).
    async with visit(house, device_scale_factor=2) as tab:
        for width in (640, 320):
            await tab.page.set_viewport_size({"width": width, "height": 430})
            for path in PAGES:
                await tab.open(path)
                assert await tab.unfit() == [], (width, path)


async def test_in_the_colours_of_the_system_nothing_is_told_by_a_background_alone(house: Any, visit: Any) -> None:
    async with visit(house, forced_colors="active") as tab:
        for path in PAGES:
            await tab.open(path)
            assert await tab.unfit() == [], path
            bare = await tab.page.evaluate("""() => [...document.querySelectorAll(".badge, [aria-current]")]
                .filter((each) => getComputedStyle(each).borderStyle === "none").map((each) => each.outerHTML)""")
            assert bare == [], path
        await tab.open("?span=week")
        bars = tab.page.locator("svg.bars rect.solid")
        assert await bars.first.evaluate("each => getComputedStyle(each).fill") != "rgb(0, 0, 0)"


async def test_without_scripts_everything_is_there_and_works(own_house: Any, visit: Any) -> None:
    async with visit(own_house, java_script_enabled=False) as tab:
        page = tab.page
        for path in PAGES:
            await tab.open(path)
        await page.get_by_role("button", name="Deny tickets.delete_ticket").click()
        await expect(page.locator("#decided tbody")).to_contain_text("tickets.delete_ticket")
        await tab.open("tools/tickets.create_ticket")
        await page.get_by_role("button", name="Fill in an example").click()
        await page.get_by_role("button", name="Look at the call").click()
        await expect(page.get_by_text("What will be sent")).to_be_visible()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


async def test_whoever_wants_no_motion_gets_none(house: Any, visit: Any) -> None:
    async with visit(house, reduced_motion="reduce") as tab:
        await tab.open()
        moving = await tab.page.evaluate("""() => [...document.querySelectorAll("*")].filter((each) => {
            const style = getComputedStyle(each);
            return style.animationName !== "none" || style.transitionDuration.split(", ").some((time) => time !== "0s");
        }).map((each) => each.outerHTML)""")
        assert moving == []
