"""Which protocol era is spoken: specification 2026-07-28, basic/versioning, and what real servers do instead."""

import pytest

from toolcrib.errors import ServerStartError

pytestmark = pytest.mark.anyio


async def test_a_server_that_answers_the_probe_is_spoken_to_in_the_modern_era(stub, open_pool, call):
    server = stub("Modern")
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo")
        status = opened["one"].status
    assert (status.era, status.protocol_version) == ("modern", "2026-07-28")
    assert server.methods == ["server/discover", "tools/list", "tools/call"]
    # Specification 2026-07-28, basic: every request names the revision and the client's capabilities.
    for message in server.received:
        meta = message["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {}


async def test_a_server_that_refuses_the_probe_takes_the_handshake_on_the_same_connection(stub, open_pool):
    server = stub("Normal")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        status = opened["one"].status
    assert (status.era, status.protocol_version) == ("handshake", "2025-11-25")
    assert server.methods == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert server.starts == 1


@pytest.mark.parametrize("mode", ["DiesOfProbe", "SilentToProbe"])
async def test_a_server_that_the_probe_kills_or_silences_is_started_again_with_the_handshake(
    stub, open_pool, call, mode
):
    server = stub(mode, start_timeout=1.6)
    async with open_pool(one=server) as opened:
        await call(opened["one"], "echo")
        assert opened["one"].status.era == "handshake"
    assert server.starts == 2
    assert server.methods[:2] == ["server/discover", "initialize"]


async def test_the_era_is_remembered_so_that_the_second_start_needs_no_probe(stub, open_pool):
    server = stub("DiesOfProbe")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        await opened["one"].stop()
        await opened["one"].ensure()
        assert server.starts == 3
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
    assert server.starts == 4
    assert server.methods.count("server/discover") == 1


async def test_a_server_that_names_only_older_revisions_gets_the_handshake(stub, open_pool):
    server = stub("NamesOldVersion")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert opened["one"].status.era == "handshake"
    assert server.starts == 1


async def test_a_server_that_refuses_the_revision_that_it_names_is_asked_once_more_in_it(stub, open_pool):
    """Specification 2026-07-28, basic/versioning: a client retries in a revision that the error lists."""
    server = stub("RefusesOnce")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert opened["one"].status.era == "modern"
    assert server.methods == ["server/discover", "server/discover", "tools/list"]


async def test_an_era_fixed_by_the_configuration_is_not_probed_for(stub, open_pool):
    old, new = stub("Normal", protocol="legacy"), stub("Modern", protocol="modern")
    async with open_pool(old=old, new=new) as opened:
        await opened["old"].ensure()
        await opened["new"].ensure()
    assert "server/discover" not in old.methods
    assert "initialize" not in new.methods


async def test_a_fixed_modern_era_fails_with_a_server_that_has_only_the_handshake(stub, open_pool):
    server = stub("Normal", protocol="modern")
    async with open_pool(one=server) as opened:
        with pytest.raises(ServerStartError, match=r"one refused the connection: .*Method not found"):
            await opened["one"].ensure()
    assert "initialize" not in server.methods


async def test_a_server_that_moved_to_the_modern_era_alone_is_probed_again(stub, open_pool):
    server = stub("MovesOn")
    async with open_pool(one=server) as opened:
        await opened["one"].ensure()
        assert opened["one"].status.era == "handshake"
        await opened["one"].stop()
        await opened["one"].ensure()
        assert opened["one"].status.era == "modern"


async def test_a_revision_that_nobody_knows_is_refused_with_its_name(stub, open_pool):
    async with open_pool(one=stub("FutureOnly")) as opened:
        with pytest.raises(ServerStartError, match="2099-01-01"):
            await opened["one"].ensure()
