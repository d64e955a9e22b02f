"""*Servers*: how each is and why, what one does with them, and what of their definitions has changed."""

import json
import re
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.console import CONSOLE_PATH

pytestmark = pytest.mark.anyio

STUBS = Path(__file__).resolve().parent.parent / "stubs"
COURIER = Path(__file__).resolve().parent / "browser" / "courier.py"
CROSS_SITE = '<script>alert("x")</script>'


def stub(mode: str = "Normal", **options: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", str(STUBS / "misbehave.py"), mode], "toolcrib": options}


def leaky(*arguments: str, **options: Any) -> dict[str, Any]:
    env = {"LEAK_TOKEN": "T0kenThatIsSecret"}
    return {"command": sys.executable, "args": ["-S", str(STUBS / "leaky.py"), *arguments], "env": env, **options}


def text_of(page: str) -> str:
    """What a reader sees of a page, with single blanks."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def seen_of(page: str, tool: str = "") -> str:
    """What tells which change of a tool, or of all tools, a page shows."""
    named = rf'name="tool" value="{re.escape(tool)}">\s*' if tool else '/accept">\\s*<[^>]*>\\s*'
    found = re.search(rf'{named}<input type="hidden" name="seen" value="(\w+)"', page)
    assert found is not None
    return found[1]


def words_of(line: str) -> str:
    """The text of a line, with single blanks."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", line))).strip()


def state(crib: Crib, server: str) -> str:
    return next(each.state for each in crib.servers if each.id == server)


async def test_every_server_stands_there_with_state_reason_and_tools(browse: Callable[..., Any]) -> None:
    servers = {
        "good": {**leaky(), "toolcrib": {"deny": ["d*"], "description": f"Good {CROSS_SITE}"}},
        "bad": stub("CrashOnStart"),
        "off": {**stub(), "disabled": True},
        "late": stub(start="on_request"),
    }
    async with browse({"mcpServers": servers}) as browser:
        await browser.crib.refresh("good")
        await browser.crib.refresh("bad")
        page = await browser.get("/servers")
        told = text_of(page)
        assert CROSS_SITE not in page
        # Of four tools `deny` hides one.
        assert re.search(
            r"good .*? ready 3 and 1 hidden 20\d\d-\d\d-\d\d \d+ ms ago|good .*? ready 3 and 1 hidden", told
        )
        assert re.search(r"bad failed bad ended before it answered \(exit code 3\)\.", told)
        assert "off disabled – – never" in told
        assert "late dormant off until enabled" in told
        bad = text_of(await browser.get("/servers/bad"))
        assert "line 1 of the traceback" in bad
        assert "line 40 of the traceback" in bad
        good = await browser.get("/servers/good")
        assert "starting with ***" in good
        assert "T0kenThatIsSecret" not in good
        assert "3, and 1 hidden by" in text_of(good)
        assert "good.tell" in good
        assert "good.die" not in good
        assert "There is no server" in await browser.get("/servers/nobody", 404)
        assert "Did you mean good?" in text_of(await browser.get("/servers/goood", 404))


async def test_servers_are_started_stopped_disabled_and_enabled(browse: Callable[..., Any]) -> None:
    async with browse({"mcpServers": {"one": stub()}}) as browser:
        await browser.get("/servers/one")
        assert "one is ready: 1 tool." in await browser.post("/servers/one/start")
        assert "one was stopped" in await browser.post("/servers/one/stop")
        assert state(browser.crib, "one") == "dormant"
        assert "one is off." in await browser.post("/servers/one/disable")
        assert state(browser.crib, "one") == "disabled"
        assert "/servers/one/start" not in browser.page
        assert "one is on." in await browser.post("/servers/one/enable")
        assert state(browser.crib, "one") == "dormant"
        await browser.get("/servers")
        assert "All servers are being listed anew." in await browser.post("/servers")
        with anyio.fail_after(30), browser.crib.events.subscribe() as events:
            while state(browser.crib, "one") != "ready":
                await anext(events)


async def test_one_that_does_not_start_says_so(browse: Callable[..., Any]) -> None:
    async with browse({"mcpServers": {"bad": stub("SilentExit")}}) as browser:
        await browser.get("/servers/bad")
        page = text_of(await browser.post("/servers/bad/start"))
        assert "bad could not be started." in page
        assert "exit code 4" in page


async def test_only_an_admin_does_any_of_it_and_sees_how_servers_are_started(browse_as: Callable[..., Any]) -> None:
    config = {"mcpServers": {"one": leaky(), "secret": stub()}}
    acts = ("start", "stop", "enable", "disable", "accept", "login", "login/finish", "login/cancel", "logout")
    async with browse_as("ben", "approver", config, deny=["secret.*", "secret"]) as browser:
        await browser.crib.refresh("one")
        page = await browser.get("/servers/one")
        csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
        assert csrf is not None
        assert "<button" not in page.split("<main", 1)[1]
        for hidden in ("starting with", "leaky.py"):
            assert hidden not in page
        for act in acts:
            assert "this needs admin" in await browser.post(f"/servers/one/{act}", 403, csrf=csrf[1])
        assert "this needs admin" in await browser.post("/servers", 403, csrf=csrf[1])
        assert state(browser.crib, "one") == "ready"
        assert "secret" not in await browser.get("/servers")
        await browser.get("/servers/secret", 404)


async def test_a_server_that_another_toolcrib_runs_is_shown_as_it_told(
    browse: Callable[..., Any], tmp_path: Path
) -> None:
    config = {"mcpServers": {"one": stub()}}
    async with browse(config) as browser, Crib.open(config, state_dir=tmp_path / "state") as other:
        await other.refresh("one")
        with anyio.fail_after(30):
            while (await browser.crib.states_elsewhere()).get("one") is None:
                await anyio.lowlevel.checkpoint()
            while (await browser.crib.states_elsewhere())["one"].state != "ready":
                await anyio.lowlevel.checkpoint()
        assert "Another Toolcrib has it ready, since" in text_of(await browser.get("/servers"))
        assert "only that one can stop it" in text_of(await browser.get("/servers/one"))


def courier(folder: Path, *tools: dict[str, Any]) -> dict[str, Any]:
    file = folder / "tools.json"
    file.write_text(json.dumps(tools), encoding="utf-8")
    return {"command": sys.executable, "args": ["-S", str(COURIER), str(file), str(folder / "gate")]}


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


async def test_changed_definitions_are_shown_line_by_line_and_accepted_or_left(
    browse: Callable[..., Any], tmp_path: Path
) -> None:
    entry = courier(tmp_path, tool("track", "Track.\n\nFirst."), tool("pick", "Pick up."), tool("lose", "Lose."))
    async with browse({"mcpServers": {"courier": entry}}) as browser:
        crib = browser.crib
        for name in ("track", "pick", "lose"):
            await crib.call(f"courier.{name}", {})
        assert "Changed definitions" not in await browser.get("/servers")
        courier(tmp_path, tool("track", f"Track.\n\nSecond\u200b {CROSS_SITE}."), tool("pick", "Pick all up."))
        await crib.refresh("courier")
        assert "courier.track changed now holds hidden text" in text_of(await browser.get("/servers"))
        page = await browser.get("/servers/courier")
        assert CROSS_SITE not in page
        removed, added = (re.findall(rf'<span class="line {kind}">(.*?)</span>', page) for kind in ("removed", "added"))
        assert [words_of(each) for each in removed] == ['- First.",', '- "description": "Pick up.",']
        assert words_of(added[0]) == f'+ Second⟨U+200B⟩ {CROSS_SITE.replace(chr(34), chr(92) + chr(34))}.",'
        assert words_of(added[1]) == '+ "description": "Pick all up.",'
        assert re.search("<b>( all|all )</b>", added[1])  # what differs within the line
        assert "The server no longer lists it." in text_of(page)

        pick = {"tool": "courier.pick", "seen": seen_of(page, "courier.pick")}
        everything = seen_of(page)
        assert "Accepted: courier.pick." in await browser.post("/servers/courier/accept", **pick)
        assert [each.tool for each in await crib.changes.list()] == ["courier.track", None]
        # What is sent with a page that shows other changes accepts nothing.
        for seen in ({}, {"seen": everything}, {"tool": "courier.track", "seen": pick["seen"]}):
            assert "nothing was accepted" in await browser.post("/servers/courier/accept", **seen)
        courier(tmp_path, tool("track", "Track, and send all notes along."), tool("pick", "Pick all up."))
        shown = seen_of(page, "courier.track")
        await crib.refresh("courier")
        page = await browser.post("/servers/courier/accept", tool="courier.track", seen=shown)
        assert "It has changed once more meanwhile, so nothing was accepted" in page
        track = {"tool": "courier.track", "seen": seen_of(page, "courier.track")}
        assert "Accepted: courier.track." in await browser.post("/servers/courier/accept", **track)
        assert "nothing was accepted" in await browser.post("/servers/courier/accept", **track)


async def test_without_servers_it_says_what_to_do(browse: Callable[..., Any]) -> None:
    async with browse() as browser:
        assert "No servers are configured. Run toolcrib import" in text_of(await browser.get("/servers"))


async def test_a_store_that_cannot_be_read_costs_only_what_it_would_tell(
    browse: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "toolcrib.db").write_bytes(b"this is no database" * 100)
    async with browse({"mcpServers": {"one": stub()}}) as browser:
        for path in ("/", "/servers", "/servers/one"):
            assert "is damaged or no database" in text_of(await browser.get(path))
        assert f'href="{CONSOLE_PATH}/servers/one"' in await browser.get("/servers")


async def test_of_many_servers_those_are_shown_that_are_asked_for(browse: Callable[..., Any]) -> None:
    def listed(page: str) -> list[str]:
        return re.findall(r'<th scope="row"><a class="id" href="/console/servers/(\w+)"', page)

    servers: dict[str, Any] = {f"idle_{number}": stub() for number in range(6)}
    servers |= {
        "bad": stub("CrashOnStart"),
        "good": stub(description="Parcels and letters"),
        "gone": {**stub(), "disabled": True},
    }
    async with browse({"mcpServers": servers}) as browser:
        await browser.crib.refresh("good")
        await browser.crib.refresh("bad")
        page = await browser.get("/servers")
        assert len(listed(page)) == 9
        for tab in ("9 all", "1 in trouble", "1 running", "6 not running", "1 off"):
            assert f">{tab}</a>" in page, tab
        for query, names in (
            ("show=in+trouble", ["bad"]),
            ("show=running", ["good"]),
            ("show=off", ["gone"]),
            ("q=LETTERS+parcels", ["good"]),
            ("show=not+running&q=_3", ["idle_3"]),
            ("show=nonsense&q=go", ["gone", "good"]),
            ("show=off&q=good", []),
        ):
            page = await browser.get(f"/servers?{query}")
            assert sorted(listed(page)) == names, query
            assert "9 configured" in page
        assert "No server fits." in page


async def test_a_server_has_as_many_tools_on_each_page(browse: Callable[..., Any]) -> None:
    async with browse({"mcpServers": {"good": {**leaky(), "toolcrib": {"deny": ["d*"]}}}}) as browser:
        await browser.get("/servers/good")
        # Of four tools `deny` hides one.
        assert "good is ready: 3 tools, and 1 hidden." in await browser.post("/servers/good/start")
        assert "Tools 3, and 1 hidden by allow , deny or the policy" in text_of(await browser.get("/servers/good"))
        assert " 3 and 1 hidden " in text_of(await browser.get("/servers"))
        assert ">good (3)</option>" in await browser.get("/tools")
        assert "All 3 definitions together" in text_of(await browser.get("/"))
