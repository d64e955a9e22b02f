"""Who is let in to the console, and what each may do."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.broker import Principal
from toolcrib.config import TokenFile, TokenSettings, config_from_mapping, digest_of
from toolcrib.console import Doorkeeper
from toolcrib.console.access import IDLE_SECONDS, LINK_SECONDS
from toolcrib.gateway.authenticator import Authenticator

pytestmark = pytest.mark.anyio

TEAM = {
    "mcpServers": {},
    "toolcrib": {
        "principals": {
            "ana": {"console": "admin"},
            "ben": {"console": "viewer", "roles": ["on-call"]},
            "cid": {},
        },
        "roles": {"on-call": {"console": "approver", "allow": ["*"]}},
    },
}
SETTINGS = config_from_mapping(TEAM).settings
TOKENS = {name: f"tcrib_{name}" for name in ("ana", "ben", "cid")}


def authenticator(folder: Path) -> Authenticator:
    file = TokenFile(folder / "tokens.json")
    for name, token in TOKENS.items():
        file.add(TokenSettings(name=name, sha256=digest_of(token), principal=name))
    return Authenticator(SETTINGS.http, file, "/mcp")


def doorkeeper(folder: Path, clock: Any = None, *, links: bool = True) -> Doorkeeper:
    options = {"clock": clock} if clock else {}
    return Doorkeeper(SETTINGS, folder, authenticator(folder), links=links, **options)


async def test_whoever_is_not_in_is_sent_to_the_door(browse: Any) -> None:
    async with browse(signed_in=False) as browser:
        answer = await browser.client.get("/console/", headers={"sec-fetch-mode": "navigate"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/sign-in")
        fetched = await browser.client.get("/console/ping", headers={"sec-fetch-mode": "cors"})
        assert fetched.status_code == 401
        assert "Make a new link" in await browser.get("/sign-in")


async def test_a_link_lets_in_once(browse: Any) -> None:
    async with browse(signed_in=False) as browser:
        key = browser.console.doorkeeper.new_key()
        first = await browser.client.get("/console/enter", params={"key": key})
        cookie = first.headers["set-cookie"]
        assert cookie.startswith("toolcrib_8932=")
        for attribute in ("HttpOnly", "SameSite=strict", "Path=/console"):
            assert attribute in cookie
        assert (await browser.client.get("/console/ping")).status_code == 204
        browser.client.cookies.clear()
        again = await browser.client.get("/console/enter", params={"key": key})
        assert (again.status_code, "set-cookie" in again.headers) == (403, False)


async def test_the_door_makes_another_link_that_lets_in(browse: Any, capfd: pytest.CaptureFixture[str]) -> None:
    async with browse(signed_in=False) as browser:
        page = await browser.post("/sign-in/link")
        told = capfd.readouterr().err
        assert "http" not in page.partition("<main")[2]  # only whoever started the program reads it
        link = re.search(r"\S+/enter\?key=\S+", told)
        assert link is not None
        assert "A link was made a moment ago" in await browser.post("/sign-in/link")
        assert capfd.readouterr().err == ""
        assert (await browser.client.get(link[0])).status_code == 200
        assert (await browser.client.get("/console/ping")).status_code == 204


@pytest.mark.parametrize("key", ["", "x", "é\ud800"])
async def test_a_wrong_key_lets_in_nobody(key: str, tmp_path: Path) -> None:
    keeper = doorkeeper(tmp_path)
    assert keeper.enter_by_key(key) is None  # also while there is no link at all
    good = keeper.new_key()
    assert keeper.enter_by_key(key) is None
    assert keeper.enter_by_key(good) is not None


async def test_a_link_ends_with_its_time_or_when_another_has_let_in(tmp_path: Path) -> None:
    now = [0.0]
    keeper = doorkeeper(tmp_path, lambda: now[0])
    old = keeper.new_key()
    now[0] = LINK_SECONDS
    assert keeper.enter_by_key(old) is None
    early, late = keeper.new_key(), keeper.new_key()
    assert keeper.enter_by_key(late) is not None
    assert keeper.enter_by_key(early) is None


async def test_whoever_asks_for_links_shuts_out_nobody_and_gets_few(tmp_path: Path) -> None:
    now = [0.0]
    keeper = doorkeeper(tmp_path, lambda: now[0])
    waiting = keeper.new_key()
    asked: list[str] = []
    for _ in range(800):
        now[0] += 0.125
        asked += filter(None, [keeper.asked_key()])
    assert len(asked) == 10
    now[0] -= 3_600  # the clock is put back
    assert keeper.asked_key() is not None
    assert keeper.enter_by_key(waiting) is not None


async def test_a_session_ends_when_it_was_idle_for_long(tmp_path: Path) -> None:
    now = [0.0]
    keeper = doorkeeper(tmp_path, lambda: now[0])
    name = await keeper.enter_by_token(TOKENS["ana"])
    assert name is not None
    now[0] += IDLE_SECONDS
    assert await keeper.visitor(name) is not None
    now[0] += IDLE_SECONDS + 1
    assert await keeper.visitor(name) is None


async def test_a_visit_keeps_whoever_came_by_a_link_signed_in_for_as_long_again(browse: Any) -> None:
    async with browse() as browser:
        keeper = browser.console.doorkeeper
        now = [keeper._clock()]
        keeper._clock = lambda: now[0]
        now[0] += IDLE_SECONDS - 60
        for mode, renews in (("cors", False), ("navigate", True), ("navigate", False)):
            answer = await browser.client.get("/console/servers", headers={"sec-fetch-mode": mode})
            assert answer.status_code == 200
            assert ("set-cookie" in answer.headers) is renews, mode
            if renews:
                assert f"Max-Age={IDLE_SECONDS:.0f}" in answer.headers["set-cookie"]
        now[0] += IDLE_SECONDS - 60
        name = browser.client.cookies["toolcrib_8932"]
        again = Doorkeeper(SETTINGS, browser.crib.state_dir, None, links=True, clock=lambda: now[0])
        assert await again.visitor(name) is not None
        now[0] += 61
        assert await again.visitor(name) is not None  # which is a visit again
        later = Doorkeeper(SETTINGS, browser.crib.state_dir, None, links=True, clock=lambda: now[0])
        assert await later.visitor(name) is None


async def test_who_signs_in_goes_on_to_where_they_wanted(browse: Any, tmp_path: Path) -> None:
    async with browse(TEAM, authenticator(tmp_path), links=False, signed_in=False) as browser:
        wanted = "/calls?state=failed&tool=a.*"
        answer = await browser.client.get(f"/console{wanted}", headers={"sec-fetch-mode": "navigate"})
        at = answer.headers["location"].removeprefix("/console")
        page = await browser.get(at)
        assert 'name="to" value="/calls?state=failed&amp;tool=a.*"' in page
        refused = await browser.post("/sign-in/token", 403, token="x", to=wanted)
        assert 'name="to" value="/calls?state=failed&amp;tool=a.*"' in refused
        page = await browser.post("/sign-in/token", token=TOKENS["ben"], to=wanted)
        assert "<option selected>failed</option>" in page


async def test_what_is_sent_after_a_visit_is_said_to_be_lost(browse: Any) -> None:
    async with browse() as browser:
        browser.client.cookies.clear()
        assert "what you sent was not taken" in await browser.post("/servers")


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example/",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil",
        "/\t/evil.example",
        "javascript:alert(1)",
        "/enter?key=x",
        "/live",
        "//[",
        "x",
        "",
    ],
)
async def test_nobody_is_sent_elsewhere(place: str, browse: Any, tmp_path: Path) -> None:
    async with browse(TEAM, authenticator(tmp_path), links=False, signed_in=False) as browser:
        answer = await browser.client.post(
            "/console/sign-in/token",
            data={"token": TOKENS["ben"], "to": place},
            headers={"origin": str(browser.client.base_url)},
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
        page = (await browser.client.get("/console/come", params={"to": place})).text
        assert 'href="/console/">Go on' in page


async def test_a_local_session_outlives_a_restart_and_a_token_s_does_not(tmp_path: Path) -> None:
    first = doorkeeper(tmp_path)
    local = first.enter_by_key(first.new_key())
    held = await first.enter_by_token(TOKENS["ana"])
    assert local is not None
    assert held is not None
    assert local not in (tmp_path / "console.json").read_text()
    second = Doorkeeper(SETTINGS, tmp_path, None, links=True)
    resumed = await second.visitor(local)
    assert resumed is not None
    assert (resumed.role, resumed.name) == ("admin", "local")
    assert await second.visitor(held) is None
    second.leave(local)
    assert await Doorkeeper(SETTINGS, tmp_path, None, links=True).visitor(local) is None
    # Where other machines come, what was let in by a link is not let in.
    third = doorkeeper_of_network(tmp_path)
    assert await third.visitor(local) is None


def doorkeeper_of_network(folder: Path) -> Doorkeeper:
    return Doorkeeper(SETTINGS, folder, None, links=False)


async def test_a_damaged_file_of_sessions_costs_only_the_sessions(tmp_path: Path) -> None:
    (tmp_path / "console.json").write_text("{")
    keeper = doorkeeper(tmp_path)
    assert await keeper.visitor("x") is None
    name = keeper.enter_by_key(keeper.new_key())
    assert name is not None
    assert await keeper.visitor(name) is not None


@pytest.mark.parametrize(("name", "role"), [("ana", "admin"), ("ben", "approver"), ("cid", None), ("dot", None)])
def test_the_greatest_role_counts(name: str, role: str | None, tmp_path: Path) -> None:
    assert doorkeeper(tmp_path).role_of(Principal(name)) == role


def test_a_role_that_comes_with_the_token_counts(tmp_path: Path) -> None:
    assert doorkeeper(tmp_path).role_of(Principal("cid", ("on-call",))) == "approver"


async def test_a_principal_without_a_role_is_not_let_in(browse: Any, tmp_path: Path) -> None:
    teller = authenticator(tmp_path)
    async with browse(TEAM, teller, links=False, signed_in=False) as browser:
        page = await browser.get("/sign-in")
        assert "Your bearer token" in page
        assert "Make a new link" not in page
        await browser.post("/sign-in/token", 403, token=TOKENS["cid"])
        await browser.post("/sign-in/token", 403, token="tcrib_nobody")
        assert "ben, approver" in await browser.post("/sign-in/token", token=f" {TOKENS['ben']} ")


async def test_a_token_taken_away_ends_its_session(browse: Any, tmp_path: Path) -> None:
    teller = authenticator(tmp_path)
    async with browse(TEAM, teller, links=False, signed_in=False) as browser:
        await browser.post("/sign-in/token", token=TOKENS["ana"])
        assert (await browser.client.get("/console/ping")).status_code == 204
        TokenFile(tmp_path / "tokens.json").remove("ana", None)
        answer = await browser.client.get("/console/ping", headers={"sec-fetch-mode": "cors"})
        assert answer.status_code == 401


async def test_two_requests_may_find_that_a_session_has_ended(tmp_path: Path) -> None:
    known = authenticator(tmp_path)
    both_asked = anyio.Event()
    asked: list[str] = []

    class TakenAway:
        """Knows a token once, and later says to two at the same time that it is gone."""

        def asks(self) -> bool:
            return True

        async def holder(self, token: str) -> Any:
            asked.append(token)
            if len(asked) == 1:
                return await known.holder(token)
            if len(asked) == 3:
                both_asked.set()
            await both_asked.wait()
            return None

    keeper = Doorkeeper(SETTINGS, tmp_path, TakenAway(), links=False)
    name = await keeper.enter_by_token(TOKENS["ana"])
    assert name is not None
    found: list[Any] = []

    async def ask(name: str) -> None:
        found.append(await keeper.visitor(name))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, name)
            tasks.start_soon(ask, name)
    assert found == [None, None]
