"""A console over a crib, asked over its ASGI application as a browser asks it."""

import importlib.util
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import keyring
import pytest
from keyring.backends import fail
from starlette.applications import Starlette
from starlette.routing import Mount

from toolcrib import Crib
from toolcrib.config import TokenFile, TokenSettings, config_from_mapping, digest_of
from toolcrib.console import CONSOLE_PATH, Console
from toolcrib.gateway.authenticator import Authenticator


def _hostile() -> ModuleType:
    spec = importlib.util.spec_from_file_location("console_hostile", Path(__file__).with_name("hostile.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


HOSTILE = _hostile()
ORIGIN = "http://127.0.0.1:8932"


@dataclass
class Browser:
    """What a browser does: it keeps cookies, says where its forms come from, and fills in the fields that a page hides.

    Attributes:
        crib: What the console shows.
        console: The console.
        client: Asks it.
        page: The text of the page that it got last.
    """

    crib: Crib
    console: Console
    client: httpx2.AsyncClient
    page: str = field(default="")

    async def sign_in(self) -> None:
        """Come in as the local user."""
        answer = await self.client.get(f"{CONSOLE_PATH}/enter", params={"key": self.console.doorkeeper.new_key()})
        assert answer.status_code == 200, answer.text

    async def get(self, path: str, status: int = 200) -> str:
        """The text of a page."""
        answer = await self.client.get(f"{CONSOLE_PATH}{path}", headers={"sec-fetch-mode": "navigate"})
        assert answer.status_code == status, answer.text
        self.page = answer.text
        return answer.text

    async def post(self, path: str, status: int = 200, csrf: str | None = None, **fields: Any) -> str:
        """The text of the page to which a form leads."""
        token = re.search(r'name="csrf" value="([0-9a-f]+)"', self.page) if csrf is None else None
        sent = {"csrf": token[1] if token else csrf or "", **fields}
        answer = await self.client.post(
            f"{CONSOLE_PATH}{path}", data=sent, headers={"origin": ORIGIN}, follow_redirects=True
        )
        assert answer.status_code == status, answer.text
        self.page = answer.text
        return answer.text


@pytest.fixture
def no_keyring() -> Iterator[None]:
    """Keeps tests that log in away from the keyring of whoever runs them."""
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def browse(tmp_path: Path) -> Callable[..., Any]:
    """Opens a crib over a configuration, and a browser on its console."""

    @asynccontextmanager
    async def browsing(
        config: Any = None, teller: Any = None, *, links: bool = True, signed_in: bool = True, **options: Any
    ) -> AsyncIterator[Browser]:
        async with Crib.open(config or {"mcpServers": {}}, state_dir=tmp_path / "state", **options) as crib:
            console = Console(crib, teller, links=links)
            app = Starlette(routes=[Mount(CONSOLE_PATH, console)])
            transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
            async with httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
                browser = Browser(crib, console, client)
                if signed_in:
                    await browser.sign_in()
                    await browser.get("/")
                yield browser

    return browsing


SECRET = "hunter2-correct-horse"
HOUSE: dict[str, Any] = {
    "mcpServers": {"off": {"command": "nothing", "env": {"API_TOKEN": SECRET}, "disabled": True}},
    "toolcrib": {
        "approvals": {"patience": 0.01},
        "policy": {
            "rules": [
                {"name": "sent mail", "tools": ["box.send"], "then": "ask", "reason": "It is mail."},
                {"name": "what was read stays", "tools": ["box.none"], "from": ["box.read"], "then": "deny"},
            ]
        },
        "principals": {name: {"console": role} for name, role in (("vic", "viewer"), ("ann", "approver"))},
    },
}

KNOWN = "The harbour is closed to all ships until the storm has passed by on Thursday night."


async def read(about: str) -> dict[str, str]:
    """Read something."""
    return {"about": about, "found": KNOWN}


async def write(text: str) -> dict[str, str]:
    """Write something."""
    if text == "bad":
        raise ValueError("no bad <b>texts</b>")
    return {"text": text}


async def send(to: str) -> str:
    """Send mail."""
    return f"sent to {to}"


@dataclass
class House:
    """Opens browsers on the console of a crib with the tools of `box`, and reads its pages.

    Attributes:
        secret: A value that the configuration has.
        known: What `box.read` finds.
    """

    browse: Callable[..., Any]
    folder: Path
    secret: str = SECRET
    known: str = KNOWN

    def __call__(self, visitor: str = "") -> AbstractAsyncContextManager[Browser]:
        """A browser, signed in as the local user or a principal."""
        return self._opened(visitor)

    @asynccontextmanager
    async def _opened(self, visitor: str) -> AsyncIterator[Browser]:
        config = config_from_mapping(HOUSE)
        file = TokenFile(self.folder / "tokens.json")
        for name in HOUSE["toolcrib"]["principals"]:
            file.add(TokenSettings(name=name, sha256=digest_of(f"tcrib_{name}"), principal=name))
        teller = Authenticator(config.settings.http, file, "/mcp")
        async with self.browse(config, teller, signed_in=not visitor) as browser:
            browser.crib.add_functions(read, write, send, server="box")
            if visitor:
                await self.come_in(browser, visitor)
            yield browser

    @staticmethod
    async def come_in(browser: Browser, name: str) -> None:
        """Sign in as a principal, in place of whoever was in."""
        browser.client.cookies.clear()
        await browser.post("/sign-in/token", token=f"tcrib_{name}")

    @staticmethod
    def words(page: str, part: str = "main") -> str:
        """What a page says, without its markup, in one line; of an element with an id, of that alone."""
        reader = _Reader(part)
        reader.feed(page)
        return re.sub(r"\s+", " ", " ".join(reader.said)).strip()

    @staticmethod
    def links(page: str, label: str) -> list[str]:
        """Where the links lead that say this, below the console's path."""
        found = re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>([^<]*)</a>', page)
        return [unescape(url).removeprefix(CONSOLE_PATH) for url, text in found if unescape(text) == label]


class _Reader(HTMLParser):
    """Collects the texts inside one element."""

    _VOID = frozenset({"input", "br", "img", "link", "meta", "rect"})

    def __init__(self, part: str) -> None:
        super().__init__()
        self._part = part
        self._depth = 0
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self._VOID and (self._depth or self._part in (tag, dict(attrs).get("id"))):
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag not in self._VOID:
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._depth and data.strip():
            self.said.append(data.strip())


@pytest.fixture
def house(browse: Callable[..., Any], tmp_path: Path) -> House:
    """See `House`."""
    return House(browse, tmp_path)


@pytest.fixture
def browse_as(browse: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Opens a crib over a configuration, and a browser in which a principal with a role on the console is signed in."""

    @asynccontextmanager
    async def browsing(name: str, role: str, config: Any = None, **about: Any) -> AsyncIterator[Browser]:
        given = config or {"mcpServers": {}}
        settings = {**given.get("toolcrib", {}), "principals": {name: {"console": role, **about}}}
        given = {**given, "toolcrib": settings}
        file = TokenFile(tmp_path / "tokens.json")
        file.add(TokenSettings(name=name, sha256=digest_of(f"tcrib_{name}"), principal=name))
        teller = Authenticator(config_from_mapping(given).settings.http, file, "/mcp")
        async with browse(given, teller, signed_in=False) as browser:
            await browser.post("/sign-in/token", token=f"tcrib_{name}")
            yield browser

    return browsing


@pytest.fixture
def hostile() -> ModuleType:
    """See `hostile.py`."""
    return HOSTILE


@pytest.fixture
async def shop(browse: Callable[..., Any]) -> AsyncIterator[Any]:
    """A console over local functions, with a browser of the local user, an admin."""

    def find_order(number: int, shop: str = "main") -> dict[str, Any]:
        """Find an order."""
        return {"number": number, "shop": shop}

    config = {"mcpServers": {}, "toolcrib": {"principals": HOSTILE.TOKENS}}
    async with browse(config) as browser:
        browser.crib.add_functions(find_order, server="shop")
        yield browser


@pytest.fixture
async def evil(browse: Callable[..., Any]) -> AsyncIterator[Any]:
    """The same over a hostile source."""
    async with browse({"mcpServers": {}, "toolcrib": {"principals": HOSTILE.TOKENS}}) as browser:
        browser.source = HOSTILE.Hostile()
        await browser.crib.add_source(browser.source)
        yield browser
