"""Servers that want a login: what is said of them, how their tokens are used, renewed and kept to themselves."""

import logging
import stat

import anyio
import httpx2
import pytest
from authority import serving
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.errors import AuthRequiredError, ServerStartError

pytestmark = pytest.mark.anyio

COMMAND = "toolcrib servers login one"


async def test_a_server_without_a_login_needs_one_and_names_the_command(open_pool, authority):
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(AuthRequiredError, match="one wants a login") as caught:
            await opened["one"].ensure()
        assert caught.value.code == "needs_auth"
        assert COMMAND in caught.value.hint
        status = opened["one"].status
        assert status.state == "needs_auth"
        assert COMMAND in status.reason
    assert authority.authorizations == []


async def test_what_needs_a_login_is_asked_again_only_once_there_is_one(open_pool, authority, log_in_to, call):
    async with open_pool(one=authority.entry) as opened:
        for _ in range(5):  # more than a failing server may fail before it is left alone for a while
            with pytest.raises(AuthRequiredError):
                await opened["one"].ensure()
        asked = len(authority.requests)
        with pytest.raises(AuthRequiredError):
            await call(opened["one"], "read")
        assert len(authority.requests) == asked
        await log_in_to("one")
        assert (await call(opened["one"], "read"))["content"][0]["text"] == "read: done"
        assert opened["one"].status.state == "ready"


async def test_whoever_asks_for_an_attempt_gets_one(open_pool, authority):
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(AuthRequiredError):
            await opened["one"].ensure()
        authority.open_listing = True
        opened["one"].forgive()
        await opened["one"].ensure()
        assert opened["one"].status.state == "ready"


async def test_a_login_is_kept_for_its_owner_alone_and_used_by_whoever_comes_later(
    open_pool, authority, log_in_to, tmp_path, call
):
    done = await log_in_to("one")
    assert (done.issuer, done.scope, done.place) == (authority.url, "notes", "file")
    files = list((tmp_path / "auth").iterdir())
    assert stat.S_IMODE((tmp_path / "auth").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    for _ in range(2):
        async with open_pool(one=authority.entry) as opened:
            await call(opened["one"], "read")
    assert len(authority.authorizations) == 1
    assert authority.renewals == 0


async def test_two_servers_at_one_address_have_two_logins(open_pool, authority, log_in_to):
    await log_in_to("one")
    async with open_pool(one=authority.entry, two=authority.entry) as opened:
        await opened["one"].ensure()
        with pytest.raises(AuthRequiredError):
            await opened["two"].ensure()


async def test_tokens_that_have_expired_are_renewed_before_they_are_used(open_pool, authority, log_in_to, call):
    authority.lifetime = 0
    await log_in_to("one")
    authority.lifetime = 3600
    first = set(authority.granted)
    authority.revoke()
    authority.requests.clear()
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")
    assert authority.renewals == 1
    assert not first & {token for _, token in authority.requests if token}
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")
    assert authority.renewals == 1


async def test_tokens_that_are_refused_are_renewed_and_the_request_is_sent_again(open_pool, authority, log_in_to, call):
    await log_in_to("one")
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")
        authority.revoke()
        await call(opened["one"], "read")
    assert authority.renewals == 1


async def test_tokens_are_renewed_once_however_many_calls_and_processes_want_them(
    open_pool, authority, log_in_to, call
):
    await log_in_to("one")
    async with open_pool(one=authority.entry) as here, open_pool(one=authority.entry) as there:
        await call(here["one"], "read")
        await call(there["one"], "read")
        authority.revoke()
        async with anyio.create_task_group() as calls:
            for _ in range(5):
                calls.start_soon(call, here["one"], "read")
                calls.start_soon(call, there["one"], "read")
        # A refresh token that is used twice ends the login at this authorization server.
        assert authority.renewals == 1
        assert {here["one"].status.state, there["one"].status.state} == {"ready"}


async def test_a_login_that_can_not_be_renewed_is_wanted_anew(open_pool, authority, log_in_to, call):
    await log_in_to("one")
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")
        authority.revoke()
        authority.refusal = (400, "invalid_grant")
        with pytest.raises(AuthRequiredError, match="invalid_grant"):
            await call(opened["one"], "read")
        await opened.until(lambda: not opened["one"].running)
        assert opened["one"].status.state == "needs_auth"
        assert COMMAND in opened["one"].status.reason
        with pytest.raises(AuthRequiredError):
            await call(opened["one"], "read")
        assert authority.renewals == 1
        await log_in_to("one")
        await call(opened["one"], "read")


async def test_tokens_without_a_refresh_token_end_with_the_login(open_pool, authority, log_in_to):
    authority.refresh = False
    await log_in_to("one")
    authority.revoke()
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(AuthRequiredError, match="does not accept its stored login any more"):
            await opened["one"].ensure()


async def test_an_authorization_server_that_is_out_of_order_costs_no_login(open_pool, authority, log_in_to, call):
    await log_in_to("one")
    authority.revoke()
    authority.refusal = (503, "temporarily_unavailable")
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(ServerStartError, match="HTTP status 503"):
            await opened["one"].ensure()
        assert opened["one"].status.state == "failed"
        authority.refusal = None
        await call(opened["one"], "read")
    assert len(authority.authorizations) == 1


async def test_a_call_that_wants_more_rights_fails_alone_and_the_next_login_asks_for_them(
    open_pool, authority, log_in_to, call
):
    await log_in_to("one")
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(AuthRequiredError, match="more rights than its login has: admin") as caught:
            await call(opened["one"], "drop")
        assert COMMAND in caught.value.hint
        assert opened["one"].status.state == "needs_auth"
        await call(opened["one"], "read")
        assert (await log_in_to("one")).scope == "notes admin"
        assert (await call(opened["one"], "drop"))["content"][0]["text"] == "drop: done"
        assert opened["one"].status.state == "ready"
        # Two of each login, the second with the token, and one of the connection, which was kept.
        assert authority.methods.count("server/discover") == 2 + 1 + 2


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_header_of_the_configuration_that_is_refused_is_to_be_corrected(open_pool, authority, kind):
    entry = {**authority.entry, "type": kind, "headers": {"Authorization": "Bearer of-no-use"}}
    async with open_pool(one=entry) as opened:
        for attempt in (1, 2):
            with pytest.raises(AuthRequiredError, match="credentials of its configuration") as caught:
                await opened["one"].ensure()
            assert "headers" in caught.value.hint
            assert "of-no-use" not in str(caught.value)
            assert opened["one"].status.state == "needs_auth"
            assert len(authority.requests) >= attempt
    assert {token for _, token in authority.requests} == {"of-no-use"}


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_refusal_that_says_nothing_of_oauth_needs_a_login_too(open_pool, authority, kind):
    authority.protects = False
    async with open_pool(one={**authority.entry, "type": kind}) as opened:
        with pytest.raises(AuthRequiredError, match="HTTP status 401"):
            await opened["one"].ensure()
        assert opened["one"].status.state == "needs_auth"


async def test_a_token_goes_to_its_server_and_nowhere_else(open_pool, authority, log_in_to):
    await log_in_to("one")
    heard: list[httpx2.Headers] = []

    async def elsewhere(request):
        heard.append(request.headers)
        return Response(status_code=401)

    app = Starlette(routes=[Route("/mcp", elsewhere, methods=["GET", "POST"])])
    with serving(app) as other:
        authority.moved_to = f"{other}/mcp"
        async with open_pool(one=authority.entry) as opened:
            with pytest.raises(ServerStartError):
                await opened["one"].ensure()
        async with open_pool(one={"type": "http", "url": f"{other}/mcp"}) as opened:
            with pytest.raises(AuthRequiredError):
                await opened["one"].ensure()
    assert heard
    assert all("authorization" not in headers for headers in heard)


async def test_no_secret_is_shown(open_pool, authority, log_in_to, vault, caplog, capfd, call):
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    await log_in_to("one")
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")
        authority.revoke()
        await call(opened["one"], "read")
        authority.revoke()
        authority.refusal = (400, "invalid_grant")  # its description quotes the refresh token
        with pytest.raises(AuthRequiredError) as caught:
            await call(opened["one"], "read")
        login, _ = vault.load("one", authority.entry["url"])
        shown += [str(caught.value), repr(login), *(f"{state}" for state in opened.states)]
    shown += [caplog.text, *capfd.readouterr()]
    # The codes are known to the browser, which is this very process, and logs them.
    tokens = {value for value in authority.secret_values if not value.startswith("code")}
    assert len(tokens) == 4
    assert [value for value in tokens if any(value in text for text in shown)] == []


async def test_a_damaged_login_is_told_and_replaced(open_pool, authority, log_in_to, tmp_path, call):
    await log_in_to("one")
    (path,) = (tmp_path / "auth").glob("one-*.json")
    path.write_text("{")
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(AuthRequiredError, match="stored login of one can't be read"):
            await opened["one"].ensure()
        await log_in_to("one")
        await call(opened["one"], "read")


@pytest.mark.parametrize("authority", ["sse"], indirect=True)
async def test_the_older_transport_uses_and_renews_a_login_too(open_pool, authority, log_in_to, call):
    async with open_pool(one=authority.entry) as opened:
        with pytest.raises(AuthRequiredError, match="one wants a login"):
            await opened["one"].ensure()
        await log_in_to("one")
        assert (await call(opened["one"], "read"))["content"][0]["text"] == "read: done"
        authority.revoke()
        await call(opened["one"], "read")
        assert authority.renewals == 1
        authority.revoke()
        authority.refusal = (400, "invalid_grant")
        with pytest.raises(AuthRequiredError, match="invalid_grant"):
            await call(opened["one"], "read")
        await opened.until(lambda: not opened["one"].running)
        assert opened["one"].status.state == "needs_auth"


async def test_a_server_of_the_revision_before_resource_metadata_is_logged_in_to_and_renewed(
    open_pool, authority, log_in_to, call
):
    authority.older = True
    assert (await log_in_to("one")).issuer == authority.url
    authority.revoke()
    async with open_pool(one=authority.entry) as opened:
        await call(opened["one"], "read")
    assert authority.renewals == 1
