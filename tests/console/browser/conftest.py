"""Chromium, and what it looks at: a console over the demo servers after some days of use."""

import importlib.util
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import pytest

HERE = Path(__file__).resolve().parent
DOCS_IMAGES = HERE.parents[2] / "docs" / "images"
MOST_PICTURE_BYTES = 150_000
LIMIT = 30.0
"""Seconds that anything here may take."""


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"console_browser_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for their own module
    spec.loader.exec_module(module)
    return module


watching = _module("watching")
filling = _module("filling")


@pytest.fixture
def load() -> Callable[[str], ModuleType]:
    """Loads a module of this folder."""
    return _module


@pytest.fixture(scope="package")
def chromium() -> str:
    """Chromium's program: TOOLCRIB_CHROMIUM, or the one on the path."""
    names = (os.environ.get("TOOLCRIB_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        reason = "there is no Chromium; install Debian's `chromium`, or name one in TOOLCRIB_CHROMIUM"
        if os.environ.get("TOOLCRIB_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="package")
async def browser(anyio_backend: str, chromium: str) -> AsyncIterator[Any]:
    """One browser for all tests of this folder."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--font-render-hinting=none", "--disable-lcd-text"]
        )
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of pages are kept: TOOLCRIB_PICTURES, or a folder that pytest throws away."""
    given = os.environ.get("TOOLCRIB_PICTURES")
    folder = Path(given) if given else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


Browse = Callable[..., Any]


@pytest.fixture
def browse(browser: Any, pictures: Path) -> Browse:
    """Opens a tab in a context of its own, watched; at its end, what nobody expected fails the test."""

    @asynccontextmanager
    async def opened(base: str, *, expected: tuple[str, ...] = (), **options: Any) -> AsyncIterator[Any]:
        url = urlsplit(base)
        context = await browser.new_context(
            **{
                "viewport": {"width": watching.WIDE, "height": watching.HEIGHTS[watching.WIDE]},
                "locale": "en-GB",
                "timezone_id": "UTC",
                "reduced_motion": "reduce",
                "color_scheme": "light",
                **options,
            }
        )
        context.set_default_timeout(LIMIT * 1000)
        watch = watching.Watch(f"{url.scheme}://{url.netloc}", expected)
        try:
            await watch.over(context)
            keeps = bool(os.environ.get("TOOLCRIB_PICTURES"))
            yield watching.Tab(await context.new_page(), watch, base, pictures, keeps_pictures=keeps)
        finally:
            await watching.closed(context)
        watch.check()

    return opened


@pytest.fixture(scope="package")
def used(chromium: str, once: Callable[[str], Any]) -> Any:
    """A configuration, and the state that some days of use have left; nobody changes it."""
    with once("used-console") as (folder, is_first):
        place = filling.place_in(folder)
        if is_first:
            with ThreadPoolExecutor(1) as thread:  # the tests' own event loop stands in this one
                thread.submit(anyio.run, filling.fill, place).result()
    return place


@dataclass
class House:
    """A console that is served.

    Attributes:
        crib: What it shows.
        url: Where it is, with the slash that paths follow.
        link: A link that lets somebody in once.
        new_link: Makes another one.
        close: Ends the server, and the crib.
        cookies: Of a visitor who is in, once there was one.
    """

    crib: Any
    url: str
    link: str
    new_link: Callable[[], str]
    close: Callable[[], Awaitable[None]]
    cookies: list[Any] = field(default_factory=list[Any])


@asynccontextmanager
async def opened(config: Any, state: Path, port: int = 0) -> AsyncIterator[House]:
    """Open a configuration, and serve it over HTTP with its console."""
    from toolcrib import Crib
    from toolcrib.console import CONSOLE_PATH, Console, entry_link
    from toolcrib.gateway import Gateway, serve_http

    consoles: list[Console] = []
    urls: list[str] = []
    ready, ended = anyio.Event(), anyio.Event()

    def console(crib: Any, authenticator: Any) -> Console:
        consoles.append(Console(crib, authenticator))
        return consoles[0]

    def on_ready(url: str) -> None:
        urls.append(url)
        ready.set()

    async def serve() -> None:
        async with crib:
            await serve_http(Gateway(crib), port=port, on_ready=on_ready, beside={CONSOLE_PATH: console})

    async def close() -> None:
        serving.cancel()
        await ended.wait()

    async def run() -> None:
        with serving:
            await serve()
        ended.set()

    crib = Crib.open(config, state_dir=state)
    serving = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        with anyio.fail_after(LIMIT):
            await ready.wait()
        at = urljoin(urls[0], CONSOLE_PATH)

        def new_link() -> str:
            return entry_link(at, consoles[0].doorkeeper.new_key())

        yield House(crib, f"{at}/", new_link(), new_link, close)
        await close()


@pytest.fixture
def open_house(tmp_path: Path) -> Callable[..., Any]:
    """Opens a configuration over a new state, and serves it."""

    def opening(config: Any, port: int = 0) -> Any:
        return opened(config, tmp_path / "console-state", port)

    return opening


@pytest.fixture(scope="package")
async def house(anyio_backend: str, browser: Any, used: Any) -> AsyncIterator[House]:
    """The console after some days of use; for tests that only look."""
    with TemporaryDirectory(prefix="toolcrib-console-") as folder:
        state = Path(folder) / "state"
        shutil.copytree(used.state, state)
        async with opened(used.config, state) as house:
            yield house


@pytest.fixture
async def own_house(browser: Any, used: Any, tmp_path: Path) -> AsyncIterator[House]:
    """The same for one test, which may change everything."""
    state = tmp_path / "console-state"
    shutil.copytree(used.state, state)
    async with opened(used.config, state) as house:
        yield house


@pytest.fixture
def visit(browse: Browse) -> Browse:
    """Opens a tab of a visitor who is in; see `browse`."""

    @asynccontextmanager
    async def opened(house: House, **options: Any) -> AsyncIterator[Any]:
        async with browse(house.url, **options) as tab:
            # A cookie gets in quicker than a link, which one test alone is about.
            if not house.cookies:
                await tab.page.context.request.get(house.link)
                house.cookies = await tab.page.context.cookies()
            await tab.page.context.add_cookies(house.cookies)
            yield tab

    return opened


@pytest.fixture(scope="session")
def keep_picture(pictures: Path) -> Callable[[str, Path], None]:
    """Keeps a picture for the docs: with TOOLCRIB_RENEW_PICTURES=1 in `docs/images`, else nowhere."""

    def keep(name: str, picture: Path) -> None:
        size = picture.stat().st_size
        assert size < MOST_PICTURE_BYTES, f"{name} has {size} bytes"
        if os.environ.get("TOOLCRIB_RENEW_PICTURES"):
            shutil.copyfile(picture, DOCS_IMAGES / f"{name}.png")
        assert (DOCS_IMAGES / f"{name}.png").is_file(), "TOOLCRIB_RENEW_PICTURES=1 makes the docs' pictures"

    return keep
