"""Logging in to servers from the console; the test is the browser that goes to the authorization server."""

import re
import sys
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "servers" / "auth"))

from authority import Authority, serving

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_keyring")]


@pytest.fixture
def authority() -> Iterator[Authority]:
    """A protected server with its authorization server, running."""
    both = Authority()
    with serving(both.app()) as url:
        both.url = url
        yield both


async def begun(browser: Any) -> str:
    """Begin a login, and give the address that the page leads to."""
    await browser.get("/servers/one")
    page = await browser.post("/servers/one/login")
    found = re.search(r'<a href="([^"]+)" target="_blank" rel="noopener noreferrer">', page)
    assert found is not None, page
    return unescape(found[1])


async def ended_at(url: str) -> str:
    """Where a browser that can't return to the port of a login is at the end."""
    async with httpx2.AsyncClient() as client:
        return (await client.get(url)).headers["location"]


def config(authority: Authority) -> dict[str, Any]:
    return {"mcpServers": {"one": authority.entry, "here": {"command": "no-such-command"}}}


async def test_a_browser_that_returns_needs_nothing_pasted(browse: Callable[..., Any], authority: Authority) -> None:
    async with browse(config(authority)) as browser:
        await browser.crib.refresh("one")
        assert 'class="badge bad">needs auth' in await browser.get("/servers")
        url = await begun(browser)
        assert url.startswith(f"{authority.url}/")
        with anyio.fail_after(30), browser.crib.events.subscribe() as events:
            async with httpx2.AsyncClient(follow_redirects=True) as client:
                assert "You are logged in." in (await client.get(url)).text
            while browser.crib.servers[0].state != "ready":
                await anext(events)
        page = await browser.get("/servers/one")
        assert "The address that the browser ended at" not in page
        assert "Log in anew" in page


async def test_from_another_machine_the_address_that_it_ends_at_is_pasted(
    browse: Callable[..., Any], authority: Authority
) -> None:
    async with browse(config(authority)) as browser:
        url = await begun(browser)
        far = await browser.client.get("/console/servers/one", headers={"host": "crib.example:8932"})
        assert "not yours: there is no page to be shown" in re.sub(r"\s+", " ", far.text)
        assert "This page tells when you are back." in await browser.get("/servers/one")
        page = await browser.post("/servers/one/login/finish", address="what?")
        assert "neither the address that the browser ended at nor its code" in page
        assert "Logged in to one." in await browser.post("/servers/one/login/finish", address=await ended_at(url))
        assert browser.crib.servers[0].state == "ready"
        assert "The login is forgotten." in await browser.post("/servers/one/logout")
        await browser.crib.refresh("one")
        assert browser.crib.servers[0].state == "needs_auth"


async def test_a_login_that_is_refused_says_why_and_can_be_begun_anew(
    browse: Callable[..., Any], authority: Authority
) -> None:
    authority.denies = True
    async with browse(config(authority)) as browser:
        url = await begun(browser)
        page = await browser.post("/servers/one/login/finish", address=await ended_at(url))
        assert "access_denied" in page
        assert "No login to one is under way." in await browser.post("/servers/one/login/finish", 400, address="x")
        await begun(browser)
        assert "The address that the browser ended at" not in await browser.post("/servers/one/login/cancel")


async def test_a_server_that_takes_no_login_offers_none(browse: Callable[..., Any], authority: Authority) -> None:
    async with browse(config(authority)) as browser:
        assert "Log in" not in await browser.get("/servers/here")
        await browser.get("/servers/one")
        assert "here takes no login." in await browser.post("/servers/here/login", 400)


async def test_what_an_authorization_server_names_is_no_script(browse: Callable[..., Any]) -> None:
    from toolcrib.console.logins import is_page

    assert is_page("https://login.example/authorize?x=1")
    assert is_page("http://127.0.0.1:9/authorize")
    for address in ("javascript:alert(1)//", "data:text/html,x", "file:///etc/passwd", "https:", "https://[", ""):
        assert not is_page(address), address
