"""A crib of local functions, and what a scripted model is told and says."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from toolcrib import Crib

sys.path.insert(0, str(Path(__file__).parent))  # for `doubles`

CALLS: list[tuple[str, object]] = []


def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    CALLS.append(("add", (a, b)))
    return a + b


def paint(color: Literal["red", "green"], width: float = 1.0) -> str:
    """Paint a wall in a color.

    It takes a while.
    """
    CALLS.append(("paint", color))
    return f"painted {color}"


def ping() -> str:
    """Say that it is there."""
    CALLS.append(("ping", None))
    return "pong"


def fail(reason: str) -> str:
    """Fail."""
    CALLS.append(("fail", reason))
    raise ValueError(reason)


@pytest.fixture
async def crib(anyio_backend: str) -> AsyncIterator[Crib]:
    """A crib whose tools are the functions above, under `local`."""
    CALLS.clear()
    async with Crib.from_clients({}) as opened:
        opened.add_functions(add, paint, ping, fail)
        yield opened


@pytest.fixture
def calls() -> list[tuple[str, object]]:
    """What was really called."""
    return CALLS
