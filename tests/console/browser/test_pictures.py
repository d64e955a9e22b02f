"""The pictures of the docs: taken from the pages as they are, and kept when they are asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio


async def test_pictures_of_the_docs(house: Any, visit: Any, keep_picture: Callable[[str, Path], None]) -> None:
    # Without JavaScript no part of a page is replaced while its picture is taken.
    async with visit(house, java_script_enabled=False) as tab:
        await tab.open("?span=week")
        keep_picture("console-overview", await tab.picture("console-overview"))
        await tab.open("search?q=free+time&with=keyword&with=regex")
        await tab.page.locator("details.hit summary").first.click()
        keep_picture("console-search", await tab.picture("console-search", part=".columns"))
        await tab.open("servers/courier")
        keep_picture("console-changes", await tab.picture("console-changes", part="#changes"))
        await tab.theme("dark")
        await tab.open("runs?status=failed")
        await tab.page.locator("#runs tbody a").first.click()
        await tab.page.wait_for_url("**/runs/run_*")
        keep_picture("console-run", await tab.picture("console-run"))
        await tab.resize(390)
        await tab.theme("light")
        await tab.open("approvals")
        keep_picture("console-approvals", await tab.picture("console-approvals", part="#waiting article >> nth=0"))
