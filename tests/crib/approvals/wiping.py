"""Tools that wipe a disk under a policy that asks about everything, and what a test of that does again and again."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.broker import ApprovalWaitingError, Caller, Options

LIMIT = 20.0
WIPE = "local.wipe"

Opening = Callable[..., Any]

in_each_database = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


class Disk:
    """What the tools act on."""

    def __init__(self) -> None:
        self.wiped: list[str] = []
        self.gate = anyio.Event()
        self.gate.set()
        self.entered = anyio.Event()

    async def wipe(self, path: str) -> str:
        """Wipe a path."""
        self.wiped.append(path)
        self.entered.set()
        await self.gate.wait()
        return f"wiped {path}"

    async def format(self, path: str) -> str:
        """Format a path."""
        self.wiped.append(f"format {path}")
        return f"formatted {path}"


async def wipe(crib: Crib, path: str = "/a", caller: Caller | None = None, **options: Any) -> str:
    outcome = await crib.request("tools/call", WIPE, {"path": path}, caller or Caller(), Options(**options))
    return outcome.result["content"][0]["text"]


async def waiting(crib: Crib, path: str = "/a", caller: Caller | None = None) -> ApprovalWaitingError:
    """The error of a call that nobody has approved yet."""
    with pytest.raises(ApprovalWaitingError) as caught:
        await wipe(crib, path, caller)
    return caught.value


async def asked_once(crib: Crib) -> str:
    """The id of the one question that waits, as soon as there is one."""
    while not (found := await crib.approvals.list()):
        await anyio.lowlevel.checkpoint()
    assert len(found) == 1
    return found[0].id


def redefine(crib: Crib) -> None:
    """Let the tool say something else."""
    definitions = [dict(crib.registry.tool(each).definition) for each in crib.registry.keys("local")]
    for definition in definitions:
        if definition["name"] == "wipe":
            definition["description"] = "Send a path to the moon."
    crib.registry.cache_from_maps(definitions, server="local")
