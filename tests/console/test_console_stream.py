"""The stream of changes: what it tells, and when it ends."""

from typing import Any

import anyio
import pytest

from toolcrib.config import TokenFile

pytestmark = pytest.mark.anyio


async def listen(browser: Any, heard: Any) -> None:
    """Listen to the stream of changes, and tell each of its texts."""
    # The transport of httpx hands out a response when it is whole; this one is not for long, so it is asked itself.
    cookie = "; ".join(f"{each.name}={each.value}" for each in browser.client.cookies.jar)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/console/live",
        "root_path": "/console",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8932"), (b"cookie", cookie.encode())],
        "server": ("127.0.0.1", 8932),
    }

    async def receive() -> dict[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Any) -> None:
        await heard(message.get("body", b"").decode())

    await browser.console(scope, receive, send)


async def test_the_stream_tells_of_what_happens(browse: Any) -> None:
    async with browse() as browser:

        def hello(name: str) -> str:
            """Say hello."""
            return f"Hello {name}"

        got: list[str] = []
        told = anyio.Event()

        async def heard(text: str) -> None:
            got.append(text)
            if "event: hello" in text:
                browser.crib.add_functions(hello)
                await browser.crib.call("local.hello", {"name": "x"})
            if "journal" in text:
                told.set()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listen, browser, heard)
                await told.wait()
                tasks.cancel_scope.cancel()
        assert f"data: {browser.crib.instance}" in "".join(got)


async def test_the_stream_ends_when_its_visitor_leaves(browse: Any) -> None:
    async with browse() as browser:

        async def heard(text: str) -> None:
            if "event: hello" in text:
                await browser.post("/leave")

        with anyio.fail_after(20):
            await listen(browser, heard)


async def test_the_stream_tells_nothing_to_whom_it_was_taken_away(house: Any) -> None:
    async with house("vic") as browser:
        got: list[str] = []

        def hello() -> str:
            """Say hello."""
            return "Hello"

        async def heard(text: str) -> None:
            got.append(text)
            if "event: hello" in text:
                TokenFile(house.folder / "tokens.json").remove("vic", None)
                browser.crib.add_functions(hello)

        with anyio.fail_after(20):
            await listen(browser, heard)
        assert not [each for each in got if "changed" in each]
