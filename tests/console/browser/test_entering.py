"""Coming in: by the link that works once, by a token with its role, and out again; by keyboard, without JavaScript."""

import re
from typing import Any

import pytest
from playwright.async_api import expect

from toolcrib.config import TokenSettings, digest_of

pytestmark = pytest.mark.anyio

REFUSED = "the server responded with a status of 403"
"""What the browser's console says of a page that is refused."""


async def test_a_link_lets_in_once(own_house: Any, browse: Any) -> None:
    async with browse(own_house.url) as tab:
        await tab.open()
        await expect(tab.page).to_have_url(re.compile("/console/sign-in"))
        await tab.check("sign-in")
        await tab.page.goto(own_house.link)
        await expect(tab.page.get_by_role("heading", level=1)).to_have_text("Overview")
        assert "key=" not in tab.page.url
    async with browse(own_house.url, expected=(REFUSED,)) as tab:
        await tab.page.goto(own_house.link)
        await expect(tab.page.get_by_role("alert")).to_contain_text("used already")
        await tab.open()
        await expect(tab.page).to_have_url(re.compile("/console/sign-in"))


async def test_who_signs_out_is_out(own_house: Any, visit: Any) -> None:
    async with visit(own_house) as tab:
        await tab.open()
        await tab.page.get_by_role("button", name="Sign out").click()
        await expect(tab.page).to_have_url(re.compile("/console/sign-in"))
        await tab.page.context.add_cookies(own_house.cookies)
        await tab.open()
        await expect(tab.page).to_have_url(re.compile("/console/sign-in"))


@pytest.mark.parametrize("role", ["viewer", "approver"])
async def test_a_token_lets_in_with_its_role(open_house: Any, browse: Any, role: str) -> None:
    settings = {"principals": {"ada": {"allow": ["*"], "console": role}, "ben": {"allow": ["*"]}}}
    async with open_house({"mcpServers": {}, "toolcrib": settings}) as house:
        for name in ("ada", "ben"):
            house.crib.tokens.add(TokenSettings(name=name, principal=name, sha256=digest_of(f"token of {name}")))
        async with browse(house.url, expected=(REFUSED,)) as tab:
            page = tab.page
            await tab.open()
            for wrong in ("token of nobody", "token of ben"):
                await page.get_by_label("Your bearer token").fill(wrong)
                await page.get_by_role("button", name="Sign in").click()
                await expect(page.get_by_role("alert")).to_contain_text("lets in nobody")
            await page.get_by_label("Your bearer token").fill("token of ada")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text(f"ada, {role}")).to_be_visible()
            house.crib.tokens.remove("ada", None)
            await tab.open()
            await expect(page).to_have_url(re.compile("/console/sign-in"))


async def test_everything_is_reached_by_keyboard(house: Any, visit: Any) -> None:
    async with visit(house) as tab:
        page = tab.page
        await tab.open()
        await page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="To the content")
        await expect(skip).to_be_focused()
        await expect(skip).to_be_in_viewport()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await tab.open()
        links = page.locator("header a:not(.skip), header button")
        for number in range(await links.count()):
            await page.keyboard.press("Tab")
            if number == 0:
                await page.keyboard.press("Tab")
            await expect(links.nth(number)).to_be_focused()


async def test_without_javascript_all_pages_work(house: Any, visit: Any) -> None:
    async with visit(house, java_script_enabled=False) as tab:
        page = tab.page
        await tab.open()
        names = await page.locator("nav a").all_inner_texts()
        for name in names:
            await page.locator("nav").get_by_role("link", name=name, exact=True).click()
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            await expect(page.locator("nav a[aria-current]")).to_have_text(name)
