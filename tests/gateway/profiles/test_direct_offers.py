"""Resources, templates, prompts and completions as they come over the wire, in both eras on both sides."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from toolcrib import Crib
from toolcrib.gateway import Gateway
from toolcrib.servers.wire import raw_request

pytestmark = pytest.mark.anyio

STUBS = Path(__file__).resolve().parents[2] / "stubs"
sys.path.insert(0, str(STUBS))

from offers import ANSWERS, LISTS, META  # noqa: E402

LIMIT = 30.0
MODES: dict[str, Any] = {"handshake": "legacy", "modern": "auto"}
ARGUMENTS = {"ä b": "1", "": "empty"}
ARGUMENT = {"name": "", "value": "v"}
CONTEXT = {"arguments": {"ä b": "known"}}


@pytest.fixture(params=[(a, b) for a in MODES for b in MODES], ids=lambda pair: f"{pair[0]}-to-{pair[1]}")
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a gateway that shows all of one server in a process."""
    era, upstream_era = request.param
    server = {"command": sys.executable, "args": ["-S", str(STUBS / "offers.py"), upstream_era]}
    with anyio.fail_after(LIMIT):
        async with (
            Crib.open({"mcpServers": {"up": server}}, state_dir=tmp_path) as crib,
            Client(Gateway(crib, "all").server, mode=MODES[era]) as client,
        ):
            yield client


async def test_what_a_server_offers_comes_as_it_wrote_it(client: Client) -> None:
    for method, (member, entries) in LISTS.items():
        expected = [{**each, "name": "up__alone"} for each in entries] if member == "prompts" else entries
        assert (await raw_request(client.session, method, {}))[member] == expected


@pytest.mark.parametrize(
    ("method", "sent", "asked"),
    [
        ("resources/read", {"uri": "rel/path"}, {"uri": "rel/path"}),
        ("prompts/get", {"name": "up__alone", "arguments": ARGUMENTS}, {"name": "alone", "arguments": ARGUMENTS}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "up__alone"}, "argument": ARGUMENT, "context": CONTEXT},
            {"ref": {"type": "ref/prompt", "name": "alone"}, "argument": ARGUMENT, "context": CONTEXT},
        ),
    ],
)
async def test_an_answer_comes_as_the_server_wrote_it(
    client: Client, method: str, sent: dict[str, Any], asked: dict[str, Any]
) -> None:
    result = await raw_request(client.session, method, sent)

    expected = {**ANSWERS[method], "x-asked": asked}
    assert {key: result.get(key) for key in expected} == expected
    assert META.items() <= result["_meta"].items()
