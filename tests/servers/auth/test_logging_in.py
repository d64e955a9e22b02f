"""Logging in: where the browser returns to, what is pasted, which client Toolcrib is, and what is refused."""

import json
from contextlib import asynccontextmanager

import anyio
import httpx2
import keyring
import pytest
from keyring.backend import KeyringBackend

from toolcrib.config import Variables, config_from_mapping
from toolcrib.errors import AuthRequiredError, ServerError
from toolcrib.servers.auth.login import Person, log_in
from toolcrib.servers.auth.redirect import loopback, parse_redirect

pytestmark = pytest.mark.anyio


class Paster:
    """A person who opens the page elsewhere and pastes lines: texts, or functions of the address it ended at."""

    def __init__(self, *lines):
        self.complaints = []
        self._lines = list(lines)
        self._ended_at = anyio.Event()
        self.person = Person(self.show, self.pasted, self.complaints.append)

    async def show(self, url):
        async with httpx2.AsyncClient() as client:
            self.address = (await client.get(url)).headers["location"]
        self._ended_at.set()

    async def pasted(self):
        await self._ended_at.wait()
        line = self._lines.pop(0)
        return line if isinstance(line, str) else line(self.address)


@pytest.fixture
def resolved(authority):
    """The resolved entry of the server `one`."""

    def make(**more):
        config = config_from_mapping({"mcpServers": {"one": {**authority.entry, **more}}})
        return config.servers["one"].resolve(Variables())

    return make


@pytest.fixture(autouse=True)
def in_time():
    """Nothing here takes long."""

    @asynccontextmanager
    async def limit():
        with anyio.fail_after(20):
            yield

    return limit


def code_of(address):
    return dict(httpx2.URL(address).params)["code"]


def whole(address):
    return f"  {address}\n"


def query(address):
    return f"?{httpx2.URL(address).query.decode()}"


@pytest.mark.parametrize("pasted", [whole, query])
async def test_the_address_that_a_browser_elsewhere_ended_at_can_be_pasted(authority, vault, resolved, pasted):
    done = await log_in("one", resolved(), vault, Paster(pasted).person)
    assert done.issuer == authority.url


async def test_the_code_alone_will_do_where_the_server_does_not_say_who_it_is(authority, vault, resolved):
    authority.metadata = {"authorization_response_iss_parameter_supported": None}
    assert (await log_in("one", resolved(), vault, Paster(code_of).person)).scope == "notes"


async def test_the_code_alone_will_not_do_where_the_server_promised_to_say_who_it_is(vault, resolved):
    with pytest.raises(AuthRequiredError, match="iss"):  # RFC 9207, 2.4
        await log_in("one", resolved(), vault, Paster(code_of).person)


async def test_what_is_no_answer_or_another_login_s_is_told_and_asked_for_again(vault, resolved):
    other = "http://127.0.0.1:1/callback?code=stolen&state=another&iss=x"
    paster = Paster("", "what now?", "http://127.0.0.1:1/elsewhere", other, whole)
    await log_in("one", resolved(), vault, paster.person)
    assert [complaint.partition(" ")[2] for complaint in paster.complaints] == [
        "is neither the address that the browser ended at nor its code.",
        "is neither the address that the browser ended at nor its code.",
        "address belongs to another login.",
    ]


async def test_a_login_that_is_refused_says_so(authority, vault, log_in_to):
    authority.denies = True
    with pytest.raises(AuthRequiredError, match="access_denied"):
        await log_in_to("one")
    assert vault.load("one", authority.entry["url"]) == (None, None)


async def test_nobody_is_waited_for_for_ever(vault, resolved):
    async def look_away(url):
        pass

    person = Person(look_away, None, pytest.fail, patience=0.5)
    with pytest.raises(AuthRequiredError, match="Nobody finished the login"):
        await log_in("one", resolved(), vault, person)


async def test_what_was_registered_serves_the_next_login_too(authority, log_in_to):
    await log_in_to("one")
    await log_in_to("one")
    assert list(authority.registered) == ["client-0"]
    assert authority.registered["client-0"]["application_type"] == "native"


async def test_another_port_is_another_registration(authority, log_in_to, unused_port):
    await log_in_to("one")
    await log_in_to("one", port=unused_port)
    assert authority.authorizations[1]["redirect_uri"] == f"http://127.0.0.1:{unused_port}/callback"
    assert len(authority.registered) == 2


async def test_a_port_that_is_taken_is_told(log_in_to):
    async with loopback(0) as taken:
        port = httpx2.URL(taken.redirect_uri).port
        with pytest.raises(AuthRequiredError, match=f"Port {port}"):
            await log_in_to("one", port=port)


async def test_a_client_of_the_configuration_is_used_with_its_secret_and_port(
    authority, log_in_to, unused_port, monkeypatch
):
    monkeypatch.setenv("OAUTH_SECRET_OF_ONE", "the client's / own secret")
    authority.registered["by-hand"] = {
        "client_secret": "the client's / own secret".replace("'", "%27").replace(" ", "%20").replace("/", "%2F"),
        "redirect_uris": [f"http://127.0.0.1:{unused_port}/callback"],
    }
    oauth = {"clientId": "by-hand", "clientSecret": "${OAUTH_SECRET_OF_ONE}", "callbackPort": unused_port}
    await log_in_to("one", oauth=oauth)
    assert list(authority.registered) == ["by-hand"]


async def test_a_server_that_registers_nobody_wants_a_client_of_the_configuration(authority, log_in_to):
    authority.metadata = {"registration_endpoint": f"{authority.url}/nowhere"}
    with pytest.raises(AuthRequiredError, match="does not let Toolcrib register itself") as caught:
        await log_in_to("one")
    assert "oauth.clientId" in caught.value.hint


async def test_a_server_that_knows_no_oauth_wants_a_header(authority, log_in_to):
    authority.protects = False
    with pytest.raises(AuthRequiredError, match="says nothing of how to log in") as caught:
        await log_in_to("one")
    assert "headers" in caught.value.hint


async def test_a_server_that_wants_no_login_at_first_is_logged_in_to_all_the_same(
    authority, log_in_to, open_pool, call
):
    authority.open_listing = True
    await log_in_to("one")
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")


async def test_a_server_that_can_not_be_reached_is_told(vault):
    entry = {"type": "http", "url": "http://127.0.0.1:1/mcp"}
    resolved = config_from_mapping({"mcpServers": {"one": entry}}).servers["one"].resolve(Variables())
    with pytest.raises(ServerError, match="The login to one failed"):
        await log_in("one", resolved, vault, Paster().person)


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE"),
        ({"token_endpoint": "http://authority.example/token"}, "unencrypted"),
        ({"authorization_endpoint": "http://authority.example/authorize"}, "unencrypted"),
        ({"issuer": "https://authority.example"}, "issuer mismatch"),
    ],
)
async def test_an_authorization_server_that_protects_nothing_gets_nothing(authority, log_in_to, metadata, problem):
    authority.metadata = metadata
    with pytest.raises(AuthRequiredError, match=problem):
        await log_in_to("one")
    assert authority.authorizations == []


async def test_what_comes_to_the_port_and_belongs_to_no_login_is_turned_away(in_time):
    async with in_time(), loopback(0) as waiting, anyio.create_task_group() as tasks:
        found = []

        async def wait():
            found.append(await waiting.wait("right"))

        tasks.start_soon(wait)
        async with httpx2.AsyncClient() as client:
            for path, status in (("", 400), ("?code=a", 400), ("?code=a&state=wrong", 400)):
                assert (await client.get(f"{waiting.redirect_uri}{path}")).status_code == status
            assert (await client.get(f"{waiting.redirect_uri}/more?code=a&state=right")).status_code == 404
            assert (await client.post(f"{waiting.redirect_uri}?code=a&state=right")).status_code == 404
            # Any page of the browser can ask for this, which is no address (RFC 3986, 3.2.2).
            assert b"404" in await sent(waiting, b"GET //[ HTTP/1.1\r\n\r\n")
            page = await client.get(f"{waiting.redirect_uri}?code=good&state=right")
    assert "good" not in page.text
    assert found[0].code == "good"
    assert "good" not in repr(found)


async def sent(waiting, request: bytes) -> bytes:
    """What the port answers to bytes."""
    port = int(waiting.redirect_uri.split(":")[2].partition("/")[0])
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        return await stream.receive()


def test_what_is_pasted_is_told_apart():
    assert parse_redirect("http://127.0.0.1:9/callback?code=a&state=b").state == "b"
    assert parse_redirect("code=a&state=b").code == "a"
    assert parse_redirect("http://127.0.0.1:9/callback?error=access_denied&state=b").error == "access_denied"
    assert parse_redirect("4/0AeanS-code_alone").code == "4/0AeanS-code_alone"
    for other in ("", "  ", "two words", "http://127.0.0.1:9/callback", "state=b", "abc", "http://["):
        assert parse_redirect(other) is None


class Ring(KeyringBackend):
    """A keyring in memory, as a desktop has one."""

    priority = 5.0

    def __init__(self):
        super().__init__()
        self.held = {}
        self.locked = False

    def get_password(self, service, username):
        self._check()
        return self.held.get((service, username))

    def set_password(self, service, username, password):
        self._check()
        self.held[service, username] = password

    def delete_password(self, service, username):
        self._check()
        del self.held[service, username]

    def _check(self):
        if self.locked:
            raise keyring.errors.KeyringLocked


@pytest.fixture
def ring():
    """A keyring that is there; `no_keyring` puts back the one that was before."""
    found = Ring()
    keyring.set_keyring(found)
    return found


async def test_a_keyring_holds_what_is_secret_and_the_file_does_not(
    authority, log_in_to, tmp_path, ring, open_pool, call
):
    assert (await log_in_to("one")).place == "keyring"
    ((service, account),) = ring.held
    assert service == "toolcrib"
    assert account.endswith(f" {authority.url}")
    texts = [file.read_text() for file in (tmp_path / "auth").iterdir()]
    assert not any(value in text for text in texts for value in authority.secret_values)
    authority.revoke()
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")
    assert json.loads(ring.held[service, account])["tokens"]["access_token"] in authority.granted


async def test_a_keyring_that_is_locked_is_told_and_logging_in_uses_a_file(authority, log_in_to, ring, open_pool, call):
    await log_in_to("one")
    ring.locked = True
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(AuthRequiredError, match=r"keyring, which can't be read \(KeyringLocked\)"):
            await opened["one"].ensure()
        assert (await log_in_to("one")).place == "file"
        await call(opened["one"], "read")


async def test_logging_out_leaves_nothing(authority, log_in_to, vault, ring, tmp_path):
    await log_in_to("one")
    assert vault.forget("one", authority.entry["url"])
    assert ring.held == {}
    assert not list((tmp_path / "auth").glob("*.json"))
    assert not vault.forget("one", authority.entry["url"])
