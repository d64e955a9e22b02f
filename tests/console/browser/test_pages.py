"""Every page in both widths and themes: axe finds nothing, everything fits and can be read."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio

PAGES = {
    "overview": ("", ""),
    "servers": ("servers", ""),
    "server-changed": ("servers/courier", ""),
    "server-failed": ("servers/weather", ""),
    "tools": ("tools", ""),
    "tool": ("tools/tickets.create_ticket", ""),
    "search": ("search?q=open+bugs%0Afree+time&with=keyword&with=regex", ""),
    "calls": ("calls", ""),
    "call": ("calls?state=failed", "#calls tbody a"),
    "runs": ("runs", ""),
    "run-failed": ("runs?status=failed", "#runs tbody a"),
    "run-killed": ("runs?status=unknown", "#runs tbody a"),
    "approvals": ("approvals", ""),
}
"""By name: where a page is, and the link from there that leads to it."""


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_can_be_read_by_all(house: Any, visit: Any, name: str) -> None:
    path, link = PAGES[name]
    async with visit(house) as tab:
        await tab.open(path)
        if link:
            await tab.page.locator(link).first.click()
            await tab.page.wait_for_url(lambda url: not url.endswith(path))
        await tab.check(name)
