"""That no other page, host or spelling of a path acts for a visitor of the console."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import httpx2
import pytest
from starlette.requests import Request

from toolcrib.console.guard import POLICY, cookie_name

pytestmark = pytest.mark.anyio


async def test_a_form_counts_only_from_a_page_of_this_session(browse: Any) -> None:
    async with browse() as browser:
        page = await browser.get("/")
        csrf = page.split('name="csrf" value="')[1].split('"')[0]
        form = {"csrf": csrf}
        for headers in (
            {"origin": "https://evil.example"},
            {"origin": "https://127.0.0.1:8932.evil.example"},
            {"origin": "http://127.0.0.1:8932@evil.example"},
            {"origin": "http://x@127.0.0.1:8932"},
            {"origin": "ftp://127.0.0.1:8932"},
            {"origin": "http://127.0.0.1"},
            {"origin": "null"},
            {"origin": "http://127.0.0.1:9999"},  # another program of this machine
            {"origin": "http://["},
            {"origin": "http://127.0.0.1:8932]"},
            {"sec-fetch-site": "cross-site"},
            {},
        ):
            answer = await browser.client.post("/console/leave", data=form, headers=headers)
            assert answer.status_code == 403, headers
        await browser.post("/leave", 403, csrf="0" * 64)
        await browser.post("/leave", 403, csrf="é")
        assert (await browser.client.get("/console/ping")).status_code == 204
        assert "Sign in" in await browser.post("/leave", csrf=csrf)
        assert (await browser.client.get("/console/ping", headers={"sec-fetch-mode": "cors"})).status_code == 401


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("tools.example:443", "https://tools.example", 303),  # a proxy that names the usual port
        ("tools.example", "https://tools.example", 303),
        ("tools.example:80", "http://tools.example", 303),
        ("Tools.Example", "https://tools.example", 303),
        ("tools.example:443", "http://tools.example", 403),
        ("tools.example", "https://tools.example:8443", 403),
        ("[::1]:8932", "http://[::1]:8932", 303),
    ],
)
async def test_a_proxy_may_name_the_usual_port(browse: Any, host: str, origin: str, status: int) -> None:
    async with browse(signed_in=False) as browser:
        key = browser.console.doorkeeper.new_key()
        first = await browser.client.get("/console/enter", params={"key": key}, headers={"host": host})
        browser.client.cookies.clear()
        headers = {"host": host, "origin": origin, "cookie": first.headers["set-cookie"].partition(";")[0]}
        page = await browser.client.get("/console/", headers=headers)
        csrf = re.findall(r'name="csrf" value="(\w+)"', page.text)[0]
        answer = await browser.client.post("/console/leave", data={"csrf": csrf}, headers=headers)
        assert answer.status_code == status, answer.text


async def test_over_https_no_other_host_can_plant_a_session(browse: Any) -> None:
    async with browse(signed_in=False) as browser:
        key = browser.console.doorkeeper.new_key()
        url = "https://tools.example/console"
        cookie = (await browser.client.get(f"{url}/enter", params={"key": key})).headers["set-cookie"]
        # RFC 6265bis, 4.1.3.2: browsers take a name with this prefix only so.
        assert cookie.startswith("__Host-toolcrib_")
        attributes = {each.strip() for each in cookie.split(";")[1:]}
        assert {"Secure", "Path=/"} <= attributes
        assert not [each for each in attributes if each.startswith("Domain")]
        browser.client.cookies.clear()
        own = cookie.partition(";")[0]
        planted = {"cookie": own.removeprefix("__Host-"), "sec-fetch-mode": "cors"}
        assert (await browser.client.get(f"{url}/ping", headers=planted)).status_code == 401
        assert (await browser.client.get(f"{url}/ping", headers={"cookie": own})).status_code == 204


@pytest.mark.parametrize(
    "path",
    [
        "/sign-in/../servers/x/stop",
        "/sign-in%2f..%2fservers/x/stop",
        "//servers/x/stop",
        "/static/..%2f..%2faccess.py",
        "/static//etc/passwd",
        "/enter/..;/servers/x/stop",
        "/servers/x/stop/",
    ],
)
async def test_no_spelling_of_a_path_leads_around_the_door(browse: Any, path: str) -> None:
    async with browse(signed_in=False) as browser:
        sent: list[int] = []
        for method in ("GET", "POST"):
            raw = f"/console{path}"
            scope = {
                "type": "http",
                "method": method,
                "path": unquote(raw),
                "raw_path": raw.encode(),
                "root_path": "/console",
                "scheme": "http",
                "query_string": b"",
                "headers": [(b"host", b"127.0.0.1:8932"), (b"origin", b"http://127.0.0.1:8932")],
                "server": ("127.0.0.1", 8932),
            }

            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message: Any) -> None:
                if message["type"] == "http.response.start":
                    sent.append(message["status"])
                    location = dict(message["headers"]).get(b"location", b"/console/sign-in")
                    assert location.partition(b"?")[0] == b"/console/sign-in"

            await browser.console(scope, receive, send)
        assert set(sent) <= {303, 403, 404, 405}, sent


async def test_a_notice_is_only_ever_text(browse: Any) -> None:
    async with browse() as browser:
        text = "<script>alert(1)</script>\r\nX: 1\u202e"
        [session] = browser.console.doorkeeper._sessions.values()
        sealed = {"notice": text, "seal": session.visitor.seal(text)}
        page = await browser.get(f"/servers?{urlencode(sealed)}")
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
        assert "\u202e" not in page


@pytest.mark.parametrize("seal", ["", "x", "é", "0" * 32])
async def test_an_address_that_somebody_made_up_tells_nothing(browse: Any, seal: str) -> None:
    async with browse() as browser:
        assert "password" not in await browser.get(f"/?{urlencode({'notice': 'Type in your password.', 'seal': seal})}")
        assert "being listed anew" in await browser.post("/servers")


async def test_a_link_of_another_site_leads_in_when_it_is_pressed(browse: Any) -> None:
    async with browse() as browser:
        headers = {"sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site", "cookie": ""}
        answer = await browser.client.get("/console/calls?text=a+b", headers=headers)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/come?to=%2Fcalls%3Ftext%3Da%2Bb")
        page = await browser.get("/come?to=%2Fcalls%3Ftext%3Da%2Bb")
        assert 'href="/console/calls?text=a+b"' in page
        assert "http-equiv" not in page


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_other_methods_are_refused(browse: Any, method: str) -> None:
    async with browse() as browser:
        assert (await browser.client.request(method, "/console/")).status_code == 405


async def test_a_form_that_is_too_long_is_not_read(browse: Any) -> None:
    async with browse() as browser:
        await browser.post("/leave", 413, text="x" * (2 * 1024 * 1024))
        browser.client.cookies.clear()
        assert "Sign in" in await browser.post("/leave", text="x" * (2 * 1024 * 1024))  # nor is that of a stranger


@pytest.mark.parametrize("path", ["/", "/sign-in", "/static/console.css", "/nothing"])
async def test_every_answer_tells_the_browser_what_it_may_load(browse: Any, path: str) -> None:
    async with browse() as browser:
        answer = await browser.client.get(f"/console{path}")
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


async def test_pages_name_nothing_of_elsewhere_and_have_no_code_of_their_own(browse: Any) -> None:
    async with browse() as browser:
        page = await browser.get("/")
        assert "//" not in page.replace("<!doctype html>", "")
        assert "style=" not in page
        assert "onclick" not in page
        assert page.count("<script") == page.count('<script type="module" src="/console/static/')


async def test_what_was_not_foreseen_tells_nothing_of_the_inside(browse: Any) -> None:
    async with browse() as browser:
        page = await browser.get("/nothing", 404)
        assert "Traceback" not in page
        assert "That did not work" in page


def test_each_port_of_a_host_has_a_cookie_of_its_own() -> None:
    def request(host: str) -> Request:
        return Request({"type": "http", "scheme": "http", "path": "/", "headers": [(b"host", host.encode())]})

    assert cookie_name(request("127.0.0.1:8932")) != cookie_name(request("127.0.0.1:8933"))


@pytest.mark.parametrize(
    "others",
    [
        'a={"x": 1}; {}',
        "a[0]=1; {}",
        "no cookie; {}",
        "é=ü; {}",
        '"; {}',
        "{}; a=1, 2 3",
        "{}; toolcrib_8932=of-a-shorter-path",
    ],
)
async def test_cookies_of_other_programs_of_this_host_lock_nobody_out(browse: Any, others: str) -> None:
    async with browse() as browser:
        own = f"toolcrib_8932={browser.client.cookies['toolcrib_8932']}"
        browser.client.cookies.clear()
        headers = {"cookie": others.replace("{}", own).encode()}
        assert (await browser.client.get("/console/ping", headers=headers)).status_code == 204


async def test_the_console_stands_beside_the_gateway(tmp_path: Path) -> None:
    from toolcrib import Crib
    from toolcrib.console import CONSOLE_PATH, Console
    from toolcrib.gateway import Gateway, http_app

    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        app = http_app(Gateway(crib), beside={CONSOLE_PATH: lambda crib, teller: Console(crib, teller)})
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8931") as client:
            assert (await client.get("/console/sign-in")).status_code == 200
            assert (await client.get("/console/sign-in", headers={"host": "evil.example"})).status_code == 421


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/mcp", "/"])
async def test_the_gateway_takes_no_path_of_the_console(tmp_path: Path, path: str) -> None:
    from toolcrib import Crib
    from toolcrib.console import CONSOLE_PATH, Console
    from toolcrib.errors import UsageError
    from toolcrib.gateway import Gateway, http_app

    def console(crib: Any, teller: Any) -> Console:
        return Console(crib, teller)

    async with Crib.open({"mcpServers": {}}, state_dir=tmp_path) as crib:
        at = "/all" if path == "/" else CONSOLE_PATH  # where a profile is served
        with pytest.raises(UsageError, match="is served beside it"):
            http_app(Gateway(crib), path=path, beside={at: console})
        http_app(Gateway(crib), path="/consoles", beside={CONSOLE_PATH: console})
