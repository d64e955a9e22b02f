"""What waits is decided on the console: by keyboard, by whoever may, and as its call then finds out."""

from typing import Any

import pytest
from playwright.async_api import expect

from toolcrib.broker import ApprovalWaitingError, Caller, text_of
from toolcrib.config import TokenSettings, digest_of
from toolcrib.errors import DeniedError

pytestmark = pytest.mark.anyio

SETTINGS = {
    "approvals": {"patience": 0.01},
    "policy": {"rules": [{"name": "look first", "tools": ["local.*"], "then": "ask", "reason": "It can't be undone."}]},
    "principals": {
        "ana": {"allow": ["*"], "console": "approver"},
        "vic": {"allow": ["*"], "console": "viewer"},
    },
}
CALLER = Caller(conversation="one", face="stdio")


def wipe(path: str) -> str:
    """Wipe a path."""
    return f"wiped {path}"


async def asked(crib: Any, path: str) -> None:
    with pytest.raises(ApprovalWaitingError):
        await crib.call("local.wipe", {"path": path}, caller=CALLER)


@pytest.fixture
def config() -> dict[str, Any]:
    return {"mcpServers": {}, "toolcrib": {**SETTINGS, "http": {"drain_seconds": 0}}}


async def test_a_question_comes_up_by_itself_and_is_approved_by_keyboard(
    config: Any, open_house: Any, visit: Any
) -> None:
    async with open_house(config) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(wipe)
        await tab.open("approvals")
        await expect(page.get_by_text("Nothing waits for an approval.")).to_be_visible()
        await asked(house.crib, "/tmp/a")
        form = page.get_by_role("form", name="Decide about local.wipe")
        await expect(form).to_be_visible()
        await expect(page.get_by_text("It can't be undone.")).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="To the content")).to_be_focused()
        for _ in range(40):
            if await form.get_by_role("radio").first.evaluate("each => each === document.activeElement"):
                break
            await page.keyboard.press("Tab")
        await page.keyboard.press("ArrowDown")
        await expect(form.get_by_role("radio", name="this tool for the rest")).to_be_checked()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await expect(form.get_by_role("button", name="Approve")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("#grants tbody")).to_contain_text("local.wipe")
        for path in ("/tmp/a", "/tmp/b"):
            outcome = await house.crib.call("local.wipe", {"path": path}, caller=CALLER)
            assert text_of(outcome.result) == f"wiped {path}"


async def test_what_is_chosen_stays_when_another_question_comes(config: Any, open_house: Any, visit: Any) -> None:
    async with open_house(config) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(wipe)
        await asked(house.crib, "/tmp/a")
        await tab.open("approvals")
        forms = page.get_by_role("form", name="Decide about local.wipe")
        await forms.get_by_role("radio", name="this tool for the rest").check()
        await forms.get_by_text("Not longer, and only for some arguments").click()
        await forms.get_by_label("Seconds that it holds").fill("90")
        await forms.get_by_role("button", name="Approve").focus()
        await asked(house.crib, "/tmp/b")
        await expect(forms).to_have_count(2)
        chosen = page.locator("article", has_text='"/tmp/a"')
        await expect(chosen.get_by_role("radio", name="this tool for the rest")).to_be_checked()
        await expect(chosen.get_by_label("Seconds that it holds")).to_have_value("90")
        await expect(chosen.get_by_role("button", name="Approve")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("#grants tbody")).to_contain_text("local.wipe")


@pytest.mark.parametrize("how", ["typing", "pressing"])
async def test_a_part_in_use_follows_when_it_is_no_longer(config: Any, open_house: Any, visit: Any, how: str) -> None:
    async with open_house(config) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(wipe)
        await asked(house.crib, "/tmp/a")
        await tab.open("approvals")
        forms = page.get_by_role("form", name="Decide about local.wipe")
        if how == "typing":
            await forms.get_by_text("Not longer, and only for some arguments").click()
            await forms.get_by_label("Seconds that it holds").focus()
        else:
            await page.get_by_role("heading", name="What waits").hover()
            await page.mouse.down()
        async with page.expect_response(lambda response: response.url.endswith("/approvals")) as fetched:
            await asked(house.crib, "/tmp/b")
        await (await fetched.value).finished()
        await expect(forms).to_have_count(1)
        if how == "typing":
            await page.keyboard.press("Tab")
            await page.keyboard.press("Tab")
        else:
            await page.mouse.up()
        await expect(forms).to_have_count(2)


async def test_what_is_denied_is_refused(config: Any, open_house: Any, visit: Any) -> None:
    async with open_house(config) as house, visit(house) as tab:
        house.crib.add_functions(wipe)
        await asked(house.crib, "/tmp/a")
        await tab.open("approvals")
        await tab.page.get_by_role("button", name="Deny local.wipe").click()
        await expect(tab.page.locator("#decided tbody")).to_contain_text("denied")
        with pytest.raises(DeniedError):
            await house.crib.call("local.wipe", {"path": "/tmp/a"}, caller=CALLER)


async def test_an_approver_decides_and_a_viewer_does_not(config: Any, open_house: Any, browse: Any) -> None:
    async with open_house(config) as house:
        house.crib.add_functions(wipe)
        for name in ("ana", "vic"):
            house.crib.tokens.add(TokenSettings(name=name, principal=name, sha256=digest_of(f"token of {name}")))
        await asked(house.crib, "/tmp/a")
        for name in ("vic", "ana"):
            async with browse(house.url) as tab:
                await tab.open()
                await tab.page.get_by_label("Your bearer token").fill(f"token of {name}")
                await tab.page.keyboard.press("Enter")
                await expect(tab.page.get_by_role("heading", level=1)).to_have_text("Overview")
                await tab.open("approvals")
                buttons = tab.page.get_by_role("button", name="Approve local.wipe")
                if name == "vic":
                    await expect(buttons).to_have_count(0)
                else:
                    await buttons.click()
                    await expect(tab.page.locator("#decided tbody")).to_contain_text("ana")
        assert (
            text_of((await house.crib.call("local.wipe", {"path": "/tmp/a"}, caller=CALLER)).result) == "wiped /tmp/a"
        )


async def test_what_was_granted_is_revoked(config: Any, open_house: Any, visit: Any) -> None:
    async with open_house(config) as house, visit(house) as tab:
        page = tab.page
        house.crib.add_functions(wipe)
        await asked(house.crib, "/tmp/a")
        await tab.open("approvals")
        await page.get_by_label("this tool for its whole conversation").check()
        await page.get_by_text("Not longer, and only for some arguments").click()
        await page.get_by_label("Seconds that it holds at most").fill("600")
        await page.get_by_label("What arguments must be").fill('{"at": "/path", "pattern": "^/tmp/"}')
        await page.get_by_role("button", name="Approve local.wipe").click()
        grants = page.locator("#grants tbody")
        await expect(grants).to_contain_text("^/tmp/")
        await expect(grants).to_contain_text("10 min")
        await house.crib.call("local.wipe", {"path": "/tmp/a"}, caller=CALLER)
        await house.crib.call("local.wipe", {"path": "/tmp/b"}, caller=CALLER)
        await page.get_by_role("button", name="Revoke the grant for local.wipe").click()
        await expect(page.get_by_text("is revoked.")).to_be_visible()
        await expect(page.get_by_text("Nothing is granted beyond single calls.")).to_be_visible()
        await asked(house.crib, "/tmp/c")


async def test_of_two_who_decide_the_first_counts_and_the_second_is_told(
    config: Any, open_house: Any, visit: Any
) -> None:
    async with (
        open_house(config) as house,
        visit(house, java_script_enabled=False) as one,
        visit(house, java_script_enabled=False, expected=("409",)) as other,
    ):
        house.crib.add_functions(wipe)
        await asked(house.crib, "/tmp/a")
        for tab in (one, other):
            await tab.open("approvals")
        await one.page.get_by_role("button", name="Deny local.wipe").click()
        await expect(one.page.get_by_text("local.wipe is denied.")).to_be_visible()
        await other.page.get_by_role("button", name="Approve local.wipe").click()
        await expect(other.page.get_by_role("alert")).to_contain_text("denied")
        with pytest.raises(DeniedError):
            await house.crib.call("local.wipe", {"path": "/tmp/a"}, caller=CALLER)
