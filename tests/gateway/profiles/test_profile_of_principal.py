"""Which profile a principal gets where its path does not say."""

from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from toolcrib import Crib
from toolcrib.config import Config, config_from_mapping, digest_of, new_token
from toolcrib.errors import ConfigError
from toolcrib.gateway import Gateway

pytestmark = pytest.mark.anyio

LIMIT = 30.0
MODES: dict[str, Any] = {"handshake": "legacy", "modern": "auto"}

PRINCIPALS: dict[str, Any] = {
    "own": {"profile": "all"},
    "own before roles": {"profile": "discover", "roles": ["direct"], "allow": ["*"]},
    "by role": {"roles": ["plain", "direct"]},
    "fewest of roles": {"roles": ["direct", "few"]},
    "by size": {"profile": "auto"},
    "silent": {},
    "by token": {},
    "*": {"profile": "all", "allow": ["notes.*"]},
}
ROLES: dict[str, Any] = {
    "plain": {"allow": ["notes.*"]},
    "direct": {"allow": ["notes.*"], "profile": "all"},
    "few": {"allow": ["notes.*"], "profile": "discover"},
}
TOKENS = {name: new_token() for name in [*(each for each in PRINCIPALS if each != "*"), "unheard of"]}

DIRECT, CONSTANT = "notes__ping", "search_tools"

# By hand, from the rules of docs/http.md.
SHOWN = {
    "own": DIRECT,
    "own before roles": CONSTANT,
    "by role": DIRECT,
    "fewest of roles": CONSTANT,
    "by size": DIRECT,
    "silent": CONSTANT,
    "by token": DIRECT,
    "unheard of": DIRECT,
}


def ping() -> str:
    """Answer."""
    return "pong"


def token(principal: str) -> dict[str, Any]:
    more = {"roles": ["direct"]} if principal == "by token" else {}
    return {"name": principal, "principal": principal, "sha256": digest_of(TOKENS[principal]), **more}


def settings(**more: Any) -> dict[str, Any]:
    http = {"tokens": [token(each) for each in TOKENS]}
    return {"mcpServers": {}, "toolcrib": {"http": http, "principals": PRINCIPALS, "roles": ROLES, **more}}


async def first_tool(url: str, principal: str, mode: str) -> str:
    headers = {"authorization": f"Bearer {TOKENS[principal]}"}
    async with (
        httpx2.AsyncClient(headers=headers) as web,
        Client(streamable_http_client(url, http_client=web), mode=MODES[mode]) as client,
    ):
        return (await client.list_tools()).tools[0].name


@pytest.mark.parametrize("mode", MODES)
async def test_each_principal_gets_its_own_and_a_path_that_says_one_counts_more(
    tmp_path: Path, over_http: Any, mode: str
) -> None:
    with anyio.fail_after(LIMIT):
        async with Crib.open(settings(), state_dir=tmp_path) as crib, over_http(Gateway(crib)) as url:
            crib.add_functions(ping, server="notes")
            assert {name: await first_tool(url, name, mode) for name in SHOWN} == SHOWN
            assert await first_tool(f"{url}/all", "silent", mode) == DIRECT
            assert await first_tool(f"{url}/discover", "own", mode) == CONSTANT


async def test_what_everybody_gets_is_for_those_of_whom_nothing_is_said(tmp_path: Path, over_http: Any) -> None:
    with anyio.fail_after(LIMIT):
        async with (
            Crib.open(settings(profile="all"), state_dir=tmp_path) as crib,
            over_http(Gateway(crib)) as url,
        ):
            crib.add_functions(ping, server="notes")
            assert await first_tool(url, "silent", "modern") == DIRECT
            assert await first_tool(url, "fewest of roles", "modern") == CONSTANT


@pytest.mark.parametrize(("given", "shown"), [(None, DIRECT), ("discover", CONSTANT)])
async def test_the_local_user_has_one_too_unless_the_gateway_is_made_for_another(
    tmp_path: Path, given: Any, shown: str
) -> None:
    config = {"mcpServers": {}, "toolcrib": {"principals": {"local": {"profile": "all"}}}}
    async with Crib.open(config, state_dir=tmp_path) as crib, Client(Gateway(crib, given).server) as client:
        crib.add_functions(ping, server="notes")
        assert (await client.list_tools()).tools[0].name == shown


@pytest.mark.parametrize("wrong", ["both", "", 1, ["all"], "ALL"])
@pytest.mark.parametrize("place", ["principals", "roles"])
def test_a_profile_that_is_none_is_told(place: str, wrong: Any) -> None:
    with pytest.raises(ConfigError, match="profile"):
        load({place: {"ann": {"profile": wrong}}})


def load(toolcrib: dict[str, Any]) -> Config:
    return config_from_mapping({"mcpServers": {}, "toolcrib": toolcrib})
